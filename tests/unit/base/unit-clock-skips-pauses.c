/* SPDX-License-Identifier: MIT */
/* Where pauses are skipped, no thread sees the clock jump, nor go back, when all of them
 * did not run for a while.  Elsewhere the time counts. */
#include "base/clock.h"
#include "base/cond.h"
#include "base/threadpool.h"
#include "check.h"

#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define N_THREADS 4
#define N_PAUSES  5
#define PAUSE_S	  100

static atomic_int jumped_s;
static atomic_bool is_over;
static atomic_int n_rounds[N_THREADS];

/* Instead of libc's: a pause is a jump of the system's clock. */
int clock_gettime(clockid_t id, struct timespec *t)
{
	int ret = (int)syscall(SYS_clock_gettime, id, t);

	if (id == CLOCK_MONOTONIC)
		t->tv_sec += atomic_load(&jumped_s);
	return ret;
}

static void *look(void *arg)
{
	atomic_int *rounds = arg;
	uint64_t first = sfs_clock_ns(), before = first, now;

	while (!atomic_load(&is_over)) {
		now = sfs_clock_ns();
		CHECK(now >= before);
		CHECK(now - first < PAUSE_S * SFS_NS_PER_S);
		before = now;
		atomic_fetch_add(rounds, 1);
	}
	return NULL;
}

/* Each thread has looked since. */
static void wait_for_rounds(void)
{
	int i, before;

	for (i = 0; i < N_THREADS; i++) {
		before = atomic_load(&n_rounds[i]);
		while (atomic_load(&n_rounds[i]) < before + 2)
			usleep(100);
	}
}

static void skips(void)
{
	pthread_t threads[N_THREADS];
	uint64_t begun = sfs_clock_ns();
	int i;

	sfs_clock_skip_pauses(true);
	for (i = 0; i < N_THREADS; i++)
		threads[i] = sfs_thread_start("look", look, &n_rounds[i]);
	for (i = 0; i < N_PAUSES; i++) {
		wait_for_rounds();
		atomic_fetch_add(&jumped_s, PAUSE_S);
	}
	wait_for_rounds();
	atomic_store(&is_over, true);
	for (i = 0; i < N_THREADS; i++)
		pthread_join(threads[i], NULL);
	CHECK(sfs_clock_ns() - begun < PAUSE_S * SFS_NS_PER_S);
	CHECK(sfs_clock_paused_ns() >= N_PAUSES * (PAUSE_S - 1) * SFS_NS_PER_S);
	CHECK(sfs_clock_system_ns(7) == sfs_clock_paused_ns() + 7);
}

static void counts(void)
{
	uint64_t begun = sfs_clock_ns();

	sfs_clock_skip_pauses(false);
	CHECK(sfs_clock_ns() - begun < PAUSE_S * SFS_NS_PER_S); /* no jump by that */
	begun = sfs_clock_ns();
	atomic_fetch_add(&jumped_s, PAUSE_S);
	CHECK(sfs_clock_ns() - begun >= PAUSE_S * SFS_NS_PER_S);
}

int main(void)
{
	skips();
	counts();
	return 0;
}
