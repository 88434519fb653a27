/* SPDX-License-Identifier: MIT */
/* timer - calls a function at a given time, on a thread of its own.
 *
 * For few timers at a time: all are checked when one fires.  Thread-safe.
 */
#ifndef SFS_TIMER_H
#define SFS_TIMER_H

#include "base/list.h"

#include <stdint.h>

struct sfs_timers;

struct sfs_timer {
	struct sfs_link link;
	uint64_t at_ns; /* of sfs_clock_ns() */

	/* Called once, at that time or later, with the lock of the timers held: it must
	 * be quick, and must not call timer functions. */
	void (*fire)(struct sfs_timer *timer);
};

/* Start the thread. */
struct sfs_timers *sfs_timers_start(void);

/* End the thread; no timer may be set any more.  NULL is fine. */
void sfs_timers_stop(struct sfs_timers *timers);

/* Set a timer (zeroed except for `fire`), or change its time. */
void sfs_timer_set(struct sfs_timers *timers, struct sfs_timer *timer, uint64_t at_ns);

/* After this, it neither fires nor is firing. */
void sfs_timer_unset(struct sfs_timers *timers, struct sfs_timer *timer);

#endif
