/* SPDX-License-Identifier: MIT */
/* How this works: most orders follow from sizes alone, or from tables of all samples.  With
 * random segments the stream of a whole epoch has stretches (catalog/stretches.h), whose
 * samples become known as it reads them; if there are indexes, they are read first. */
#include "base/alloc.h"
#include "catalog/stretches.h"
#include "order/partition.h"
#include "stream/stream-internal.h"

#include <errno.h>

#define N_SEEK_AHEAD 64

/* ---- the order ---- */

/* `end`: where the last sample ends, if that is known, else 0. */
static void init_order(struct sfs_order *order, struct sfs_runtime *runtime,
		       uint64_t epoch, struct sfs_share share, uint64_t end)
{
	const struct sfs_sample_tables tables = sfs_shards_tables(&runtime->shards);

	sfs_partition(order, &runtime->order, epoch, runtime->shards.n, &tables, share);
	if (order->has_equal_lanes && end > 0)
		order->n_bytes = end;
	sfs_partition_sum(order, &tables);
}

/* Does a stream find its samples as it reads?  A share does not: who reads only some of the
 * stretches does not see whether they begin where those before them end. */
static bool uses_stretches(const struct sfs_runtime *runtime, struct sfs_share share)
{
	return runtime->order.segment == SFS_SEGMENT_RANDOM && share.step == 1 &&
	       !sfs_order_wants_equal_lanes(&runtime->order) &&
	       !runtime->shards.skip_damaged;
}

bool sfs_stream_needs_tables(const struct sfs_runtime *runtime, struct sfs_share share)
{
	return !sfs_order_deals_shards(&runtime->order) &&
	       !uses_stretches(runtime, share);
}

/* An order whose samples become known as they are read.  -ENFILE: too many epochs have
 * one. */
static int init_stretches(struct sfs_stream *s)
{
	struct sfs_runtime *runtime = s->runtime;
	struct sfs_shards *shards = &runtime->shards;
	sfs_autofree uint64_t *sizes = NULL;

	s->stretches = sfs_stretches_take(shards, &runtime->order, s->epoch);
	if (!s->stretches)
		return -ENFILE;
	s->random.stretches = s->stretches;
	sizes = sfs_shards_sizes(shards);
	sfs_order_init(&s->order, &runtime->order, s->epoch, sizes, shards->n, s->share);
	sfs_order_use_stretches(&s->order, s->stretches->first);
	s->proof = sfs_proof_new(runtime, s->streams->scanner, s->stretches, &s->order,
				 &(struct sfs_proof_owner){.ctx = s,
							   .lock = &s->lock,
							   .wake = sfs_stream_wake});
	return 0;
}

/* ---- the size ---- */

/* The size of an order's file, in bytes. */
static uint64_t count_bytes(struct sfs_runtime *runtime, const struct sfs_order *order)
{
	const struct sfs_sample_tables tables = sfs_shards_tables(&runtime->shards);

	return sfs_partition_bytes(order, &tables) + 2 * SFS_TAR_BLOCK;
}

/* All stretches, or shards, together are as long as the shards. */
static uint64_t bytes_of_all(const struct sfs_shards *shards)
{
	uint64_t n = 2 * SFS_TAR_BLOCK;
	uint32_t i;

	for (i = 0; i < shards->n; i++)
		n += sfs_tar_padded(shards->shards[i].object->size);
	return n;
}

uint64_t sfs_stream_bytes(struct sfs_runtime *runtime, uint64_t epoch,
			  struct sfs_share share)
{
	struct sfs_order order;
	uint64_t n;

	if (uses_stretches(runtime, share))
		return bytes_of_all(&runtime->shards);
	init_order(&order, runtime, epoch, share, 0);
	n = count_bytes(runtime, &order);
	sfs_order_done(&order);
	return n;
}

int sfs_stream_have_order(struct sfs_stream *s)
{
	int ret = 0;

	if (s->has_order)
		return 0;
	if (uses_stretches(s->runtime, s->share)) {
		ret = init_stretches(s);
		s->n_bytes = bytes_of_all(&s->runtime->shards);
	} else {
		init_order(&s->order, s->runtime, s->epoch, s->share, s->known_end);
		s->n_bytes = count_bytes(s->runtime, &s->order);
	}
	s->has_order = ret == 0;
	return ret;
}

/* ---- indexes ---- */

static struct sfs_shard *shard_of_slice(const struct sfs_stream *s, uint64_t i)
{
	return s->runtime->shards.shards[s->order.slices[i].shard].part.whole;
}

/* Have the indexes looked for of the shards with which lanes begin.  As many as may be at a
 * time; the caller comes again when the first one is found, or is not there. */
static int seek_first_indexes(struct sfs_stream *s, struct sfs_waiter *waiter)
{
	struct sfs_header_scanner *scanner = s->streams->scanner;
	int n_asked = 0, ret;
	uint64_t i;
	uint32_t l;

	for (l = 0; l < s->order.n_lanes && n_asked < N_SEEK_AHEAD; l++) {
		i = s->order.lane_start[l];
		if (i == s->order.lane_start[l + 1])
			continue;
		ret = sfs_header_scan_index(scanner, shard_of_slice(s, i),
					    n_asked == 0 ? waiter : NULL);
		if (ret == -EINPROGRESS)
			n_asked++;
		else if (ret < 0 && n_asked == 0)
			return ret;
	}
	return n_asked > 0 ? -EINPROGRESS : 0;
}

int sfs_stream_seek_indexes(struct sfs_stream *s, struct sfs_waiter *waiter)
{
	uint64_t i;
	int ret;

	if (!s->stretches || s->has_sought)
		return 0;
	ret = seek_first_indexes(s, waiter);
	if (ret < 0)
		return ret;
	s->has_sought = true;
	for (i = 0; i < sfs_order_slices(&s->order); i++)
		sfs_header_scan_index(s->streams->scanner, shard_of_slice(s, i), NULL);
	return 0;
}
