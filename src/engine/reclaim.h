/* SPDX-License-Identifier: MIT */
/* reclaim - adapts the budget to the memory that is available now.
 *
 * Under memory pressure (psi.h), the limit of the budget falls, second by second, to what
 * open streams need for shuffling; then it rises again.  Pressure does not count while
 * there is as much clean cache (limit.h) as the whole budget.  With budget=auto the limit
 * also follows that of the control group when it is lowered.  Readers lose nothing:
 * streams prefetch less, and unused memory goes back to the system.
 *
 * Called by the ticker; any thread may read the numbers.
 */
#ifndef SFS_RECLAIM_H
#define SFS_RECLAIM_H

#include "io/runtime.h"

struct sfs_reclaim {
	struct sfs_runtime *runtime;
	char *pressure_file;
	_Atomic uint32_t pressure; /* as sfs_psi_read() gave it last */

	/* Used by the ticker only. */
	uint64_t memory_bytes; /* available at the start; 0: do not check */
	uint64_t most_bytes;   /* the limit without pressure */
	uint32_t allowed;      /* of what exceeds the least, see psi.h */
	uint32_t n_ticks;
	bool is_low;	      /* the limit is lower than the budget */
	bool is_said;	      /* a line said so, and another will say when it has ended */
	uint64_t said_ns;     /* when it did last; 0: never */
	uint64_t least_bytes; /* the lowest limit since then */
};

/* `is_auto`: the budget is a share of the memory, not set by the user. */
void sfs_reclaim_init(struct sfs_reclaim *reclaim, struct sfs_runtime *runtime,
		      bool is_auto);
void sfs_reclaim_done(struct sfs_reclaim *reclaim);

/* Call it every second.  Reads a small file of /proc or of the control group. */
void sfs_reclaim_tick(struct sfs_reclaim *reclaim);

/* Percent of the last ten seconds in which processes waited for memory, rounded up; 0 if
 * it is not known. */
uint64_t sfs_reclaim_pressure_percent(struct sfs_reclaim *reclaim);

#endif
