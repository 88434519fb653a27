/* SPDX-License-Identifier: MIT */
/* trail - the pages of a file that all its readers have left behind.
 *
 * A stream is read once, from front to back, and its pages are of no use to anybody when
 * all who have it open have gone on.  A file has a trail, and each open file a walker.
 * Walkers are as far as their furthest read; a read that the page cache answers is not
 * seen, so a walker may be further than it seems, but not less far.
 *
 * A walker that has read nothing yet may begin anywhere: nothing is left behind.  One
 * that leaps (a read further than `kept` before or behind its furthest) needs its pages,
 * and nothing is left behind until it leaves.
 *
 * Nothing here locks.  All numbers are bytes.
 */
#ifndef SFS_TRAIL_H
#define SFS_TRAIL_H

#include "base/list.h"

#include <stdbool.h>
#include <stdint.h>

#define SFS_TRAIL_STEP ((uint64_t)16 << 20) /* dropped at a time: some 2 ms */

struct sfs_trail {
	struct sfs_link walkers;
	uint64_t kept;	/* this much behind a walker stays */
	uint64_t begin; /* what lies before it is left behind, or was never read */
};

struct sfs_walker {
	struct sfs_link link;
	uint64_t front;
	bool has_read, leaps;
};

void sfs_trail_init(struct sfs_trail *trail, uint64_t kept);

/* A walker is in one trail at a time, from join to leave. */
void sfs_trail_join(struct sfs_trail *trail, struct sfs_walker *walker);
void sfs_trail_leave(struct sfs_trail *trail, struct sfs_walker *walker);

/* The walker reads n bytes.  true: sfs_trail_take() may have a step now. */
bool sfs_trail_read(struct sfs_trail *trail, struct sfs_walker *walker, uint64_t offset,
		    uint64_t n);

/* The next step that was left behind, SFS_TRAIL_STEP bytes from *ret_offset on; it will
 * not be given again, unless it is read again.  false: none. */
bool sfs_trail_take(struct sfs_trail *trail, uint64_t *ret_offset);

#endif
