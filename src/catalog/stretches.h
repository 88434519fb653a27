/* SPDX-License-Identifier: MIT */
/* stretches - the stretches of an epoch of random segments, each with a table of its own.
 *
 * What an epoch has of a shard between two cuts (order/cuts.h) is read like a shard: it
 * is a struct sfs_shard behind those of the dataset, whose table begins at the first
 * sample from the cut on, which is found from the bytes nearby (tar/resync.h).  All
 * streams of the epoch share them.
 *
 * That is a guess, until the stretch before it in the shard was read to its end: then it
 * is known where the next one begins.  If that differs, the set is wrong, and its streams
 * fail.  Any thread may call; nothing waits.
 */
#ifndef SFS_STRETCHES_H
#define SFS_STRETCHES_H

#include "catalog/shard.h"
#include "order/order.h"

/* Those of an epoch; all sizes are known.  Stretch i of sfs_cuts_make() is the shard
 * number set->first + i.  A set that was wrong is not taken again.  NULL:
 * s->n_sets are in use. */
struct sfs_stretch_set *sfs_stretches_take(struct sfs_shards *s,
					   const struct sfs_order_settings *settings,
					   uint64_t epoch);

/* As often as taken.  What is known of the latest sets is kept, as they may be taken
 * again. */
void sfs_stretches_release(struct sfs_shards *s, struct sfs_stretch_set *set);

/* The same for who has one of its shards; for other shards nothing. */
void sfs_stretch_hold(struct sfs_shards *s, struct sfs_shard *shard);
void sfs_stretch_let_go(struct sfs_shards *s, struct sfs_shard *shard);

/* All stretches were read to their ends: do they agree? */
bool sfs_stretches_agree(const struct sfs_shards *s, const struct sfs_stretch_set *set);

/* Free all sets; nobody has any. */
void sfs_stretches_done(struct sfs_shards *s);

#endif
