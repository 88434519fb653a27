/* SPDX-License-Identifier: MIT */
/* stall - detects that no source has responded for too long.
 *
 * The commands wait for sizes, headers and searches without a reader that has a deadline.
 * They go on as long as requests of some source end now and then, and give up when none
 * has ended for `read-timeout`.  A mount that takes long says what it waits for, once.
 * One per process; any thread may call.
 */
#ifndef SFS_STALL_H
#define SFS_STALL_H

#include "base/cause.h"

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

/* A user waits for this command and sees nothing: if it takes longer than 2.5 s from now,
 * it is to say what it waits for. */
void sfs_stall_begin_saying(void);
void sfs_stall_end_saying(void);

/* When that is to be said; UINT64_MAX: never, or it was. */
uint64_t sfs_stall_say_at(void);

/* Say that it waits for this, and (`until_ns`) for how long at most: then it `then`, such
 * as "gives up".  Once. */
void sfs_stall_say(const struct sfs_cause *cause, uint64_t until_ns, const char *then);

#endif
