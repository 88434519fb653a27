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

/* Milliseconds since 1970, for people and logs only. */
uint64_t sfs_clock_wall_ms(void);

/* Write the wall time `wall_ms` as "2026-11-21T14:41:07.123Z" and return buf. */
const char *sfs_clock_format(uint64_t wall_ms, char buf[32]);

#endif
