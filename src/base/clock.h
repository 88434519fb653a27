/* SPDX-License-Identifier: MIT */
/* clock - the time, in one unit, from one place. */
#ifndef SFS_CLOCK_H
#define SFS_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define SFS_NS_PER_MS 1000000ULL
#define SFS_NS_PER_S  1000000000ULL

/* Nanoseconds since some fixed moment; never goes back. */
uint64_t sfs_clock_ns(void);

/* Shall time count in which the whole process did not run (SIGSTOP, a frozen control
 * group)?  While `skips`, two seconds and more do not: no source could answer then.  Some
 * thread must read the clock each second meanwhile.  At first it counts. */
void sfs_clock_skip_pauses(bool skips);

/* For how long it did not run. */
uint64_t sfs_clock_paused_ns(void);

/* A time of sfs_clock_ns() on the system's monotonic clock, if there is no pause until
 * then. */
uint64_t sfs_clock_system_ns(uint64_t ns);

/* From one time to another; 0 if the second is earlier.  The clock is often read before
 * that which it is then compared to, and a plain difference would be 584 years. */
static inline uint64_t sfs_clock_between(uint64_t from_ns, uint64_t to_ns)
{
	return to_ns > from_ns ? to_ns - from_ns : 0;
}

/* Has what began at `since_ns` lasted for `limit_ms`?  0: there is no limit. */
static inline bool sfs_clock_is_over(uint64_t since_ns, uint64_t limit_ms,
				     uint64_t now_ns)
{
	return limit_ms > 0 &&
	       sfs_clock_between(since_ns, now_ns) >= limit_ms * SFS_NS_PER_MS;
}

/* When a wait ends that begins now; < 0: UINT64_MAX, never. */
static inline uint64_t sfs_clock_deadline(int64_t timeout_ms)
{
	return timeout_ms < 0 ? UINT64_MAX
			      : sfs_clock_ns() + (uint64_t)timeout_ms * SFS_NS_PER_MS;
}

/* Milliseconds since 1970, for people and logs only. */
uint64_t sfs_clock_wall_ms(void);

/* Write the wall time `wall_ms` as "2026-11-21T14:41:07.123Z" and return buf. */
const char *sfs_clock_format(uint64_t wall_ms, char buf[32]);

#endif
