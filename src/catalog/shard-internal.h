/* SPDX-License-Identifier: MIT */
/* shard-internal - how a table of samples grows: what shard.c (pins, and bytes that are
 * fed) and shard-known.c (what is known without them) share. */
#ifndef SFS_SHARD_INTERNAL_H
#define SFS_SHARD_INTERNAL_H

#include "catalog/shard.h"
#include "tar/scan.h"

/* The scan of one shard, and the table that it fills. */
struct sfs_growth {
	struct sfs_scan scan;
	struct sfs_sample_table table;
	struct sfs_charge bytes; /* that the table borrows, if it came from an index */
	uint64_t counted_bytes;	 /* in the account, if it did not */

	/* Its members, if they were read. */
	bool has_members;
	struct sfs_members members;
	struct sfs_charge members_held; /* what they borrow, or their count */
};

/* All with the shard locked. */

/* The table is whole. */
void sfs_shard_sum_up(struct sfs_shard *shard);

/* A table in use stays, whether or not the budget has room. */
void sfs_shard_note_memory(struct sfs_shards *s, struct sfs_growth *g);

#endif
