/* SPDX-License-Identifier: MIT */
/* partition - distributes an epoch, or a part of one, to its lanes.
 *
 * Whole shards are distributed by order.h.  With smaller segments, or equal lanes, the
 * segments are laid end to end and cut into equal runs of samples, which needs all
 * tables. docs/ORDER.md, sections 3 and 8.  Pure.
 */
#ifndef SFS_PARTITION_H
#define SFS_PARTITION_H

#include "order/block.h"
#include "order/order.h"

/* Make the order of a share of an epoch; free it with sfs_order_done().  If the settings
 * want equal lanes, all tables are whole, stay so during the call, and have less than
 * 2^32 samples together; else only the sizes are used. */
void sfs_partition(struct sfs_order *o, const struct sfs_order_settings *settings,
		   uint64_t epoch, uint32_t n_shards,
		   const struct sfs_sample_tables *tables, struct sfs_share share);

/* Find the bytes of a part of single samples (segment=sample), which sfs_partition()
 * leaves at 0: it visits each sample, 1.5 s for 100 million.  For other orders nothing. */
void sfs_partition_sum(struct sfs_order *o, const struct sfs_sample_tables *tables);

#endif
