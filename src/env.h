/* SPDX-License-Identifier: MIT */
/* env - what every reader of shards works with; made once, by core.c. */
#ifndef SFS_ENV_H
#define SFS_ENV_H

#include "alarms.h"
#include "blame.h"
#include "budget.h"
#include "edit.h"
#include "grab.h"
#include "lane.h"
#include "options.h"
#include "pool.h"
#include "shard.h"
#include "slab.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Counted since the mount began; anybody may count and read. */
struct sfs_counters {
	_Atomic uint64_t reads, reads_waited, waited_ns; /* of streams */
	_Atomic uint64_t reads_far;
	_Atomic uint64_t delivered_bytes; /* to readers of streams */
	_Atomic uint64_t renamed;	  /* samples that keys=auto gave a folder */
	struct sfs_blame_total waits;	  /* of all cursors; see cursor.h */
};

struct sfs_env {
	struct sfs_budget budget;
	struct sfs_slabs *slabs;
	struct sfs_pool *pool;
	struct sfs_alarms *alarms;
	struct sfs_grabber grabber;
	struct sfs_shards shards;

	/* Settings; see options.def. */
	struct sfs_order_settings order;
	enum sfs_choice_keys keys;
	int n_connections;	   /* at most */
	struct sfs_source *source; /* of most shards: how many requests are of use */

	struct sfs_counters counters;
	_Atomic uint64_t n_open_lanes; /* of all cursors: they share the budget */
};

/* Does a stream put the shard's folder before the sample's names?  *key is the key of the
 * sample before it, as the stream has it (sfs_edit_key(); 0: none), and then its own. */
static inline bool sfs_env_renames(const struct sfs_env *env, uint64_t *key,
				   const struct sfs_block_sample *sample)
{
	bool is_renamed = env->keys == SFS_KEYS_UNIQUE;

	if (env->keys == SFS_KEYS_AUTO)
		*key = sfs_edit_key(*key, sample->key_hash,
				    env->shards.shards[sample->shard].folder,
				    &is_renamed);
	return is_renamed;
}

#define SFS_LANE_FLOOR	 ((uint64_t)256 << 10) /* bytes of budget that a lane must have */
#define SFS_PART_MAX	 ((uint64_t)4 << 20)
#define SFS_ON_WAY_LEAST ((uint64_t)32 << 20)
#define SFS_PARTS_MAX	 ((uint64_t)768 << 20) /* one part of each lane, all together */

/* How large a part should be with so many lanes open: a third of what one lane may have.
 * More than that is of no use to many lanes: a stream begins as fast as their first parts
 * come, and what they hold is touched by the processor for the first time. */
static inline uint64_t sfs_env_part_bytes_of(const struct sfs_env *env, uint64_t lanes)
{
	uint64_t n = env->budget.limit_bytes / 3;

	n = (n < SFS_PARTS_MAX ? n : SFS_PARTS_MAX) / (lanes ? lanes : 1);
	n = n < SFS_LANE_FLOOR ? SFS_LANE_FLOOR : n > SFS_PART_MAX ? SFS_PART_MAX : n;
	return n / SFS_SLAB_BYTES * SFS_SLAB_BYTES;
}

/* How long nothing comes of a read that was asked for: the way there and back, and what
 * the server needs to begin.  0: not known, or none. */
static inline uint64_t sfs_env_latency_ns(const struct sfs_env *env)
{
	uint64_t rtt_ns =
		atomic_load_explicit(&env->source->rtt_ns, memory_order_relaxed);
	uint64_t wait_ns =
		atomic_load_explicit(&env->source->wait_ns, memory_order_relaxed);

	return rtt_ns > wait_ns ? rtt_ns : wait_ns;
}

/* Is the source far?  One that is near and slow to answer, as S3 is, counts as far. */
static inline bool sfs_env_is_far(const struct sfs_env *env)
{
	return sfs_env_latency_ns(env) > SFS_FAR_NS;
}

/* Is it the path that is long?  Only that loses packets, and brings bytes in gusts. */
static inline bool sfs_env_has_long_path(const struct sfs_env *env)
{
	return atomic_load_explicit(&env->source->rtt_ns, memory_order_relaxed) >
	       SFS_FAR_NS;
}

/* Now.  From far, no more than a connection brings in a second: where each loses packets,
 * a large part would take many, and its lane would hold up all others. */
static inline uint64_t sfs_env_part_bytes(const struct sfs_env *env)
{
	uint64_t n = sfs_env_part_bytes_of(env, atomic_load(&env->n_open_lanes));
	uint64_t rate =
		atomic_load_explicit(&env->source->bytes_per_s, memory_order_relaxed);
	uint64_t most = rate / (uint64_t)atomic_load(&env->source->n_parallel);

	if (rate == 0 || !sfs_env_is_far(env) || n <= most)
		return n;
	most = most > SFS_LANE_FLOOR ? most : SFS_LANE_FLOOR;
	return most / SFS_SLAB_BYTES * SFS_SLAB_BYTES;
}

/* How many requests of a stream may be on their way: what the source has a use for, and
 * some more that wait in line there.  But no more bytes than four times what is on the
 * path, and some: from far, connections would only make each other lose packets; near,
 * they would only be memory.  Of a path of which nothing is known yet, any number. */
static inline uint32_t sfs_env_on_way(const struct sfs_env *env)
{
	uint64_t rate =
		atomic_load_explicit(&env->source->bytes_per_s, memory_order_relaxed);
	uint64_t latency_us = sfs_env_latency_ns(env) / 1000;
	uint32_t n = (uint32_t)atomic_load_explicit(&env->source->n_parallel,
						    memory_order_relaxed);
	uint64_t most = (4 * rate / 1000000 * latency_us + SFS_ON_WAY_LEAST) /
			sfs_env_part_bytes(env);

	uint32_t least = sfs_env_is_far(env) ? 0 : n + 2; /* so that a line is seen */

	n += n / 2 + 4;
	if (most >= n || (rate == 0 && sfs_env_is_far(env)))
		return n;
	return most > least ? (uint32_t)most : least;
}

/* How large the first part of a lane is; the next are as large as all before.  From a
 * source that is far, small ones: the first sample comes when its part is whole. */
static inline uint64_t sfs_env_first_part_bytes(const struct sfs_env *env)
{
	return sfs_env_is_far(env) ? SFS_SLAB_BYTES : 4 * SFS_SLAB_BYTES;
}

/* With how many bytes ahead of it a lane has enough: its block, two slabs, and its part
 * of what the connections carry: then the next block is whole when it is to be formed.
 * From far, the next block as well and four times that part, for there the slowest of
 * many parts takes some times as long as most, and others must last until it is here.
 * More would only make a stream begin later: memory is slow when it is first touched. */
static inline uint64_t sfs_env_lane_bytes(const struct sfs_env *env, uint64_t n_lanes,
					  uint64_t block_bytes, uint64_t part_bytes)
{
	uint64_t carried = sfs_env_on_way(env) * part_bytes / n_lanes;
	uint64_t near_bytes = block_bytes + 2 * SFS_SLAB_BYTES + carried;

	return sfs_env_is_far(env) ? near_bytes + block_bytes + 3 * carried : near_bytes;
}

/* What a stream holds then: some lanes have just got a part, others are about to. */
static inline uint64_t sfs_env_enough_bytes(const struct sfs_env *env, uint64_t n_lanes,
					    uint64_t block_bytes, uint64_t part_bytes)
{
	return n_lanes * (sfs_env_lane_bytes(env, n_lanes, block_bytes, part_bytes) +
			  part_bytes / 2);
}

#endif
