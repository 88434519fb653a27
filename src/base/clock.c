/* SPDX-License-Identifier: MIT */
/* How this works: whoever reads the clock leaves the time of it behind, but not each one,
 * or all threads would write there.  Two seconds after it, although somebody reads each
 * second, there was a pause, and from then on it is subtracted: all but what may have been
 * returned since it was left.  Who has read while that was computed reads again. */
#include "base/clock.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

static uint64_t read_clock(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * SFS_NS_PER_S + (uint64_t)t.tv_nsec;
}

#define PAUSE_NS (2 * SFS_NS_PER_S)
#define NEWS_NS	 (50 * SFS_NS_PER_MS) /* no time that was returned is later than last's */

static atomic_bool skips_pauses;
static _Atomic uint64_t paused, last; /* of the system's clock */
/* Odd while somebody writes `paused`.  No mutex: the clock is read with any lock held. */
static _Atomic uint64_t edition;

/* There seems to have been a pause, in this edition. */
static void skip_pause(uint64_t even)
{
	uint64_t was, now;

	if (!atomic_compare_exchange_strong(&edition, &even, even + 1))
		return;
	do {
		was = atomic_load(&last);
		now = read_clock(CLOCK_MONOTONIC);
	} while (now >= was + PAUSE_NS &&
		 !atomic_compare_exchange_strong(&last, &was, now));
	if (now >= was + PAUSE_NS)
		atomic_fetch_add(&paused, now - was - NEWS_NS);
	atomic_store(&edition, even + 2);
}

uint64_t sfs_clock_ns(void)
{
	uint64_t before, now, was, ns;

	for (;;) {
		before = atomic_load(&edition);
		now = read_clock(CLOCK_MONOTONIC);
		ns = now - atomic_load(&paused);
		if (before % 2 == 1) {
			sched_yield();
			continue;
		}
		was = atomic_load(&last);
		if (!atomic_load(&skips_pauses))
			was = now;
		if (now >= was + PAUSE_NS) {
			skip_pause(before);
			continue;
		}
		if (now > was + NEWS_NS)
			atomic_compare_exchange_strong(&last, &was, now);
		if (atomic_load(&edition) == before)
			return ns;
	}
}

void sfs_clock_skip_pauses(bool skips)
{
	if (skips)
		atomic_store(&last, read_clock(CLOCK_MONOTONIC));
	atomic_store(&skips_pauses, skips);
}

uint64_t sfs_clock_paused_ns(void)
{
	return atomic_load(&paused);
}

uint64_t sfs_clock_system_ns(uint64_t ns)
{
	return ns + atomic_load(&paused);
}

uint64_t sfs_clock_wall_ms(void)
{
	return read_clock(CLOCK_REALTIME) / SFS_NS_PER_MS;
}

const char *sfs_clock_format(uint64_t wall_ms, char buf[32])
{
	time_t s = (time_t)(wall_ms / 1000);
	struct tm tm;
	char day[24];

	gmtime_r(&s, &tm);
	strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(buf, 32, "%s.%03uZ", day, (unsigned)(wall_ms % 1000));
	return buf;
}
