/* SPDX-License-Identifier: MIT */
/* timers - have something done at a moment, on a thread of its own.
 *
 * For few timers at a time: each is looked at when one rings.  Thread-safe.
 */
#ifndef SFS_TIMER_H
#define SFS_TIMER_H

#include "base/list.h"

#include <stdint.h>

struct sfs_timers;

struct sfs_timer {
	struct sfs_link link;
	uint64_t at_ns; /* of sfs_clock_ns() */

	/* Called once, then or later, under the timers' lock: must be quick, and must not
	 * call back. */
	void (*ring)(struct sfs_timer *timer);
};

/* Starts the thread. */
struct sfs_timers *sfs_timers_start(void);

/* Ends it; no timer may be set any more.  NULL is fine. */
void sfs_timers_stop(struct sfs_timers *timers);

/* Set an timer (zeroed, but for its ring), or set it anew. */
void sfs_timer_set(struct sfs_timers *timers, struct sfs_timer *timer, uint64_t at_ns);

/* From now on it neither rings nor is ringing. */
void sfs_timer_unset(struct sfs_timers *timers, struct sfs_timer *timer);

#endif
