/* SPDX-License-Identifier: MIT */
/* A wait ends at its moment although the wall clock was set back by an hour right after
 * somebody looked at it; a signal ends it before; and one without a deadline waits. */
#include "base/clock.h"
#include "base/cond.h"
#include "base/threadpool.h"
#include "check.h"

#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Instead of libc's: whoever makes a deadline of the wall clock waits for an hour. */
int clock_gettime(clockid_t id, struct timespec *t)
{
	int ret = (int)syscall(SYS_clock_gettime, id, t);

	if (id == CLOCK_REALTIME)
		t->tv_sec += 3600;
	return ret;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static bool is_told;

static void *tell(void *arg)
{
	pthread_mutex_lock(&lock);
	is_told = true;
	pthread_cond_signal(&cond);
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void ends_at_its_moment(uint64_t after_ns)
{
	uint64_t until_ns = sfs_clock_ns() + after_ns;

	pthread_mutex_lock(&lock);
	while (sfs_cond_wait_until(&cond, &lock, until_ns))
		;
	pthread_mutex_unlock(&lock);
	CHECK(sfs_clock_ns() >= until_ns);
}

static void ends_when_told(uint64_t until_ns)
{
	pthread_t thread;

	is_told = false;
	pthread_mutex_lock(&lock);
	thread = sfs_thread_start("teller", tell, NULL);
	while (!is_told)
		CHECK(sfs_cond_wait_until(&cond, &lock, until_ns));
	pthread_mutex_unlock(&lock);
	pthread_join(thread, NULL);
}

int main(void)
{
	ends_at_its_moment(0);
	ends_at_its_moment(30 * SFS_NS_PER_MS);
	ends_when_told(sfs_clock_ns() + 3600 * SFS_NS_PER_S);
	ends_when_told(UINT64_MAX);
	return 0;
}
