/* SPDX-License-Identifier: MIT */
/* runtime - what every reader of shards works with: memory, threads, shards and settings.
 * The engine makes it once. */
#ifndef SFS_RUNTIME_H
#define SFS_RUNTIME_H

#include "base/threadpool.h"
#include "base/timer.h"
#include "base/waits.h"
#include "catalog/shard.h"
#include "config/options.h"
#include "io/range.h"
#include "memory/budget.h"
#include "memory/slab.h"
#include "order/block.h"
#include "tar/rewrite.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Counted since the mount started; any thread may count and read. */
struct sfs_counters {
	_Atomic uint64_t reads, reads_waited, waited_ns; /* of streams */
	_Atomic uint64_t reads_far;
	_Atomic uint64_t delivered_bytes; /* to readers of streams */
	_Atomic uint64_t renamed;	  /* samples that keys=auto gave a folder */
	struct sfs_waits_total waits;	  /* of all cursors; see cursor.h */
};

struct sfs_runtime {
	struct sfs_budget budget;
	struct sfs_slabs *slabs;
	struct sfs_threadpool *pool;
	struct sfs_timers *timers;
	struct sfs_range_reader range_reader;
	struct sfs_shards shards;
	struct sfs_account texts; /* of files that are made when they are opened */

	/* Settings; see options.def. */
	struct sfs_order_settings order;
	enum sfs_choice_keys keys;
	int n_connections;		 /* at most */
	struct sfs_source *source;	 /* of most shards */
	struct sfs_source *other_source; /* of the other shards; NULL: there are none */

	struct sfs_counters counters;
	_Atomic uint64_t n_open_lanes; /* of all cursors: they share the budget */
};

/* Does a stream put the shard's folder before the names of the sample?  *key is the hash
 * of the previous sample's key in the stream (sfs_rewrite_key(); 0: none), and then that
 * of this sample's. */
static inline bool sfs_runtime_renames(const struct sfs_runtime *runtime, uint64_t *key,
				       const struct sfs_block_sample *sample)
{
	bool is_renamed = runtime->keys == SFS_KEYS_UNIQUE;

	if (runtime->keys == SFS_KEYS_AUTO)
		*key = sfs_rewrite_key(*key, sample->key_hash,
				       runtime->shards.shards[sample->shard].folder,
				       &is_renamed);
	return is_renamed;
}

/* Bytes of the budget that texts may take. */
static inline uint64_t sfs_runtime_texts_most(const struct sfs_runtime *runtime)
{
	return runtime->budget.total_bytes / 4;
}

/* What is known now of the network path to most shards. */
static inline struct sfs_netpath sfs_runtime_path(const struct sfs_runtime *runtime)
{
	return sfs_source_path(runtime->source);
}

#endif
