/* SPDX-License-Identifier: MIT */
/* cuts - where the segments of segment=random begin and end in an epoch: docs/ORDER.md,
 * section 3.
 *
 * All shards, end to end, are a ring.  It is cut about a thousand times, at places that
 * are drawn anew for each epoch; a segment reaches from one cut to the next.  The places
 * follow from the sizes of the shards alone.  Pure.
 */
#ifndef SFS_CUTS_H
#define SFS_CUTS_H

#include "base/rng.h"

#include <stddef.h>
#include <stdint.h>

/* What a segment has of a shard: the samples that start at or after `begin`, and before
 * `end` (bytes, multiples of 512, begin < end).  There may be none. */
struct sfs_stretch {
	uint32_t shard;
	uint64_t begin, end;
};

/* Segment i has the stretches starts[i] to starts[i + 1] - 1, in this sequence. */
struct sfs_cuts {
	uint32_t n_segments;
	size_t *starts;
	struct sfs_stretch *stretches;
};

/* The most segments that a dataset can have, whatever its size. */
#define SFS_CUTS_MAX 1001

/* How many segments n_shards of these sizes have (in bytes; 0: it is missing): as many in
 * each epoch, at least one. */
uint32_t sfs_cuts_count(const uint64_t *sizes, uint32_t n_shards);

/* The segments of an epoch; `epoch` is the generator that is named by seed and epoch. */
void sfs_cuts_make(struct sfs_cuts *cuts, struct sfs_rng epoch, const uint64_t *sizes,
		   uint32_t n_shards);

/* The same struct, if each shard is a segment. */
void sfs_cuts_make_whole(struct sfs_cuts *cuts, const uint64_t *sizes, uint32_t n_shards);

void sfs_cuts_done(struct sfs_cuts *cuts);

#endif
