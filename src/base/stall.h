/* SPDX-License-Identifier: MIT */
/* stall - detects that no source has responded for too long.
 *
 * The commands wait for sizes, headers and searches without a reader that has a deadline.
 * They go on as long as requests of some source end now and then, and give up when none
 * has ended for `read-timeout`.  One per process; any thread may call.
 */
#ifndef SFS_STALL_H
#define SFS_STALL_H

#include <stdint.h>

/* Set the limit; 0: none. */
void sfs_stall_set_limit(uint64_t limit_ms);
uint64_t sfs_stall_limit_ns(void);

/* A request of a source has ended. */
void sfs_stall_note_answer(void);

/* The deadline of a wait that began at `begun_ns`; UINT64_MAX: no limit. */
uint64_t sfs_stall_deadline(uint64_t begun_ns);

/* The same, but the limit counts from the last request that ended, if that is later: so
 * the caller asks again at that time. */
uint64_t sfs_stall_until(uint64_t begun_ns);

#endif
