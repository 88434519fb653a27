/* SPDX-License-Identifier: MIT */
/* thrift - holds the budget to the memory that there is now.
 *
 * While memory is hard to get (pressure.h) the budget's limit falls, second by second, to
 * what open streams need for their shuffling; then it rises again.  With budget=auto it
 * also follows a control group's limit that is lowered under the mount.  Nothing is taken
 * from readers: streams prefetch less, and what is unused goes back to the system.
 *
 * Called by the ticker; the numbers may be read on any thread.
 */
#ifndef SFS_RECLAIM_H
#define SFS_RECLAIM_H

#include "io/runtime.h"

struct sfs_reclaim {
	struct sfs_runtime *runtime;
	char *pressure_file;
	_Atomic uint32_t pressure; /* as sfs_psi_read() gave it last */

	/* The ticker's alone. */
	uint64_t memory_bytes; /* that there was at the start; 0: not to be looked at */
	uint64_t most_bytes;   /* the limit without pressure */
	uint32_t allowed;      /* of what goes beyond the least, see pressure.h */
	uint32_t n_ticks;
	bool is_lean; /* the limit is lower than the budget */
	uint64_t said_ns;
};

/* `is_auto`: the budget is a part of the memory, not the user's word. */
void sfs_reclaim_init(struct sfs_reclaim *reclaim, struct sfs_runtime *runtime,
		      bool is_auto);
void sfs_reclaim_done(struct sfs_reclaim *reclaim);

/* Every second.  Reads a small file of /proc or of the control group. */
void sfs_reclaim_tick(struct sfs_reclaim *reclaim);

/* Per cent of the last ten seconds in which somebody waited for memory, rounded up;
 * 0 if that is not known. */
uint64_t sfs_reclaim_pressure_percent(struct sfs_reclaim *reclaim);

#endif
