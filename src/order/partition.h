/* SPDX-License-Identifier: MIT */
/* partition - distributes an epoch, or a part of one, to its lanes.
 *
 * Whole shards are distributed by order.h; so are random segments, whose samples are then
 * found here.  For equal lanes the segments are laid end to end and cut into equal runs
 * of samples.  All but whole shards needs all tables.  docs/ORDER.md, sections 3 and 8.
 * Pure.
 */
#ifndef SFS_PARTITION_H
#define SFS_PARTITION_H

#include "order/block.h"
#include "order/name.h"
#include "order/order.h"

/* Make the order of a share of an epoch; free it with sfs_order_done().  If whole shards
 * are dealt, only the sizes are used; else all tables are whole and stay so during the
 * call, and with equal lanes they have less than 2^32 samples together. */
void sfs_partition(struct sfs_order *o, const struct sfs_order_settings *settings,
		   uint64_t epoch, uint32_t n_shards,
		   const struct sfs_sample_tables *tables, struct sfs_share share);

/* What is dealt to lanes, and how much of it; with equal lanes, nothing.  Only sizes are
 * used. */
struct sfs_dealt sfs_partition_dealt(const struct sfs_order_settings *settings,
				     uint32_t n_shards,
				     const struct sfs_sample_tables *tables);

/* How long the file of an order's stream is, without the two blocks of zeros at its end:
 * section 7. */
uint64_t sfs_partition_bytes(const struct sfs_order *o,
			     const struct sfs_sample_tables *tables);

/* Find the bytes of a part of single samples (segment=sample), which sfs_partition()
 * leaves at 0: it visits each sample, 1.5 s for 100 million.  For other orders nothing. */
void sfs_partition_sum(struct sfs_order *o, const struct sfs_sample_tables *tables);

#endif
