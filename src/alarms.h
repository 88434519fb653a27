/* SPDX-License-Identifier: MIT */
/* alarms - have something done at a moment, on a thread of its own.
 *
 * For few alarms at a time: each is looked at when one rings.  Thread-safe.
 */
#ifndef SFS_ALARMS_H
#define SFS_ALARMS_H

#include "list.h"

#include <stdint.h>

struct sfs_alarms;

struct sfs_alarm {
	struct sfs_link link;
	uint64_t at_ns; /* of sfs_clock_ns() */

	/* Called once, then or later, under the alarms' lock: must be quick, and must not
	 * call back. */
	void (*ring)(struct sfs_alarm *alarm);
};

/* Starts the thread. */
struct sfs_alarms *sfs_alarms_start(void);

/* Ends it; no alarm may be set any more.  NULL is fine. */
void sfs_alarms_stop(struct sfs_alarms *alarms);

/* Set an alarm (zeroed, but for its ring), or set it anew. */
void sfs_alarm_set(struct sfs_alarms *alarms, struct sfs_alarm *alarm, uint64_t at_ns);

/* From now on it neither rings nor is ringing. */
void sfs_alarm_unset(struct sfs_alarms *alarms, struct sfs_alarm *alarm);

#endif
