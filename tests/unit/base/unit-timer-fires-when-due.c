/* SPDX-License-Identifier: MIT */
/* A timer fires once, not before its time, also when it was set anew; one that was unset
 * does not fire; and many threads may set theirs. */
#include "base/clock.h"
#include "base/timer.h"
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#define N_THREADS 4
#define N_ROUNDS  200

struct bell {
	struct sfs_timer timer; /* first */
	_Atomic uint64_t rung_ns;
	atomic_int n;
};

static struct sfs_timers *timers;

static void ring(struct sfs_timer *timer)
{
	struct bell *bell = (struct bell *)timer;

	atomic_store(&bell->rung_ns, sfs_clock_ns());
	atomic_fetch_add(&bell->n, 1);
}

static void nap(uint64_t ns)
{
	nanosleep(&(struct timespec){.tv_nsec = (long)ns}, NULL);
}

static void await(struct bell *bell, int n)
{
	while (atomic_load(&bell->n) < n)
		nap(SFS_NS_PER_MS);
	CHECK_EQ(atomic_load(&bell->n), n);
}

static void rings_once_and_not_before(void)
{
	struct bell late = {.timer.fire = ring}, soon = {.timer.fire = ring};
	uint64_t now = sfs_clock_ns();

	sfs_timer_set(timers, &late.timer, now + 60 * SFS_NS_PER_MS);
	sfs_timer_set(timers, &soon.timer, now + 20 * SFS_NS_PER_MS);
	await(&soon, 1);
	CHECK(soon.rung_ns >= now + 20 * SFS_NS_PER_MS);
	await(&late, 1);
	CHECK(late.rung_ns >= now + 60 * SFS_NS_PER_MS);
	sfs_timer_set(timers, &soon.timer, now); /* past already */
	await(&soon, 2);
	sfs_timer_unset(timers, &soon.timer);
}

static void set_anew_is_what_counts(void)
{
	struct bell bell = {.timer.fire = ring};
	uint64_t now = sfs_clock_ns();

	sfs_timer_set(timers, &bell.timer, now + 3600 * SFS_NS_PER_S);
	sfs_timer_set(timers, &bell.timer, now + 10 * SFS_NS_PER_MS);
	await(&bell, 1);
	now = sfs_clock_ns();
	sfs_timer_set(timers, &bell.timer, now + 10 * SFS_NS_PER_MS);
	sfs_timer_set(timers, &bell.timer, now + 50 * SFS_NS_PER_MS);
	await(&bell, 2);
	CHECK(bell.rung_ns >= now + 50 * SFS_NS_PER_MS);
}

static void unset_never_rings(void)
{
	struct bell bell = {.timer.fire = ring};

	sfs_timer_set(timers, &bell.timer, sfs_clock_ns() + 20 * SFS_NS_PER_MS);
	sfs_timer_unset(timers, &bell.timer);
	nap(50 * SFS_NS_PER_MS);
	CHECK_EQ(atomic_load(&bell.n), 0);
}

static void *set_and_unset(void *arg)
{
	struct bell bell = {.timer.fire = ring};
	int i;

	(void)arg;
	for (i = 0; i < N_ROUNDS; i++) {
		sfs_timer_set(timers, &bell.timer, sfs_clock_ns() + SFS_NS_PER_MS / 4);
		if (i % 3 == 0)
			nap(SFS_NS_PER_MS / 4);
		sfs_timer_unset(timers, &bell.timer);
	}
	return NULL; /* the bell is gone now */
}

int main(void)
{
	pthread_t threads[N_THREADS];
	int i;

	sfs_timers_stop(NULL);
	timers = sfs_timers_start();
	rings_once_and_not_before();
	set_anew_is_what_counts();
	unset_never_rings();
	for (i = 0; i < N_THREADS; i++)
		pthread_create(&threads[i], NULL, set_and_unset, NULL);
	for (i = 0; i < N_THREADS; i++)
		pthread_join(threads[i], NULL);
	sfs_timers_stop(timers);
	return 0;
}
