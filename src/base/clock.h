/* SPDX-License-Identifier: MIT */
/* clock - the time, in one unit, from one place. */
#ifndef SFS_CLOCK_H
#define SFS_CLOCK_H

#include <stdint.h>

#define SFS_NS_PER_MS 1000000ULL
#define SFS_NS_PER_S  1000000000ULL

/* Nanoseconds since some fixed moment; never goes back. */
uint64_t sfs_clock_ns(void);

/* Milliseconds since 1970, for people and logs only. */
uint64_t sfs_clock_wall_ms(void);

/* Write the wall time `wall_ms` as "2026-11-21T14:41:07.123Z" and return buf. */
const char *sfs_clock_format(uint64_t wall_ms, char buf[32]);

#endif
