/* SPDX-License-Identifier: MIT */
/* stall - has anything come from the sources of late?
 *
 * The command line waits for sizes, headers and searches with no reader of its own that
 * has a deadline.  It goes on for as long as some request of a source ends now and then,
 * and gives up when none has for `read-timeout`.  One per process; any thread may call.
 */
#ifndef SFS_STALL_H
#define SFS_STALL_H

#include <stdint.h>

/* From now on: so long without an answer is too long.  0: nothing is. */
void sfs_stall_set_limit(uint64_t limit_ms);
uint64_t sfs_stall_limit_ns(void);

/* A request of a source has ended. */
void sfs_stall_note_answer(void);

/* Until when may who waits since `begun_ns` wait at most?  UINT64_MAX: there is no limit.
 */
uint64_t sfs_stall_deadline(uint64_t begun_ns);

/* Who waits since `begun_ns`: until when, as things stand?  It is to look again then:
 * something may have come. */
uint64_t sfs_stall_until(uint64_t begun_ns);

#endif
