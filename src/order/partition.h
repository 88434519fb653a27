/* SPDX-License-Identifier: MIT */
/* deal - an epoch, or a part of one, dealt to its lanes, whatever is permuted.
 *
 * Whole shards are dealt as order.h does.  With smaller segments, or lanes that must be
 * equal, the segments are laid end to end and cut into equal runs of samples: for that,
 * all tables must be there.  docs/ORDER.md, sections 3 and 8.  Pure.
 */
#ifndef SFS_PARTITION_H
#define SFS_PARTITION_H

#include "order/block.h"
#include "order/order.h"

/* `tables` may be NULL if the settings want no equal lanes; else all tables must be
 * whole, and stay so, with less than 2^32 samples together.  Free it with
 * sfs_order_done(). */
void sfs_partition(struct sfs_order *o, const struct sfs_order_settings *settings,
		   uint64_t epoch, uint32_t n_shards,
		   const struct sfs_sample_tables *tables, struct sfs_share share);

#endif
