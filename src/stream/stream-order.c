/* SPDX-License-Identifier: MIT */
/* How this works: most orders follow from sizes alone, or from tables of all samples.
 * With random segments a stream has stretches (catalog/stretches.h), whose samples become
 * known as it reads them; if there are indexes, they are read first.  The size of a share
 * depends on where the first samples of its stretches begin, and those behind them: they
 * are looked for before it is opened.  That they were found rightly is proven while it is
 * read (io/proof.h). */
#include "base/alloc.h"
#include "catalog/stretches.h"
#include "order/partition.h"
#include "stream/stream-internal.h"

#include <errno.h>

#define N_AHEAD 64 /* indexes, or first samples, that are looked for at a time */

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

/* Does a stream find its samples as it reads? */
static bool uses_stretches(const struct sfs_runtime *runtime)
{
	return runtime->order.segment == SFS_SEGMENT_RANDOM &&
	       !sfs_order_wants_equal_lanes(&runtime->order) &&
	       !runtime->shards.skip_damaged;
}

bool sfs_streams_need_tables(const struct sfs_runtime *runtime)
{
	return !sfs_order_deals_shards(&runtime->order) && !uses_stretches(runtime);
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
	s->random.proof = s->proof;
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

bool sfs_streams_size(struct sfs_runtime *runtime, uint64_t epoch, struct sfs_share share,
		      uint64_t *ret_bytes)
{
	struct sfs_order order;

	if (uses_stretches(runtime)) {
		*ret_bytes = bytes_of_all(&runtime->shards);
		return share.step == 1;
	}
	init_order(&order, runtime, epoch, share, 0);
	*ret_bytes = count_bytes(runtime, &order);
	sfs_order_done(&order);
	return true;
}

int sfs_stream_have_order(struct sfs_stream *s)
{
	int ret = 0;

	if (s->has_order)
		return 0;
	if (uses_stretches(s->runtime)) {
		ret = init_stretches(s);
		s->has_size = s->share.step == 1; /* (of a share: see measure()) */
		s->n_bytes = bytes_of_all(&s->runtime->shards);
	} else {
		init_order(&s->order, s->runtime, s->epoch, s->share, s->known_end);
		s->n_bytes = count_bytes(s->runtime, &s->order);
		s->has_size = true;
	}
	s->has_order = ret == 0;
	return ret;
}

/* ---- what is looked for before a stream is read ---- */

struct looking {
	struct sfs_stream *s;
	struct sfs_waiter *waiter; /* for the first thing that was asked for */
	int n_asked;
};

/* What a look returned.  Once the waiter waits, the caller comes again: it gets no error
 * then. */
static int note(struct looking *l, int ret)
{
	l->n_asked += ret == -EINPROGRESS;
	return ret < 0 && l->n_asked > 0 ? -EINPROGRESS : ret;
}

static struct sfs_waiter *waiter_of(const struct looking *l)
{
	return l->n_asked == 0 ? l->waiter : NULL;
}

static int look_for_index(struct looking *l, struct sfs_shard *whole)
{
	return note(l,
		    sfs_header_scan_index(l->s->streams->scanner, whole, waiter_of(l)));
}

static struct sfs_shard *stretch_of_slice(const struct sfs_stream *s, uint64_t i)
{
	return &s->runtime->shards.shards[s->order.slices[i].shard];
}

/* Have the indexes looked for of the shards with which lanes begin.  As many as may be at a
 * time; the caller comes again when the first one is found, or is not there. */
static int seek_first_indexes(struct sfs_stream *s, struct sfs_waiter *waiter)
{
	struct looking look = {.s = s, .waiter = waiter};
	uint64_t i;
	uint32_t l;
	int ret;

	for (l = 0; l < s->order.n_lanes && look.n_asked < N_AHEAD; l++) {
		i = s->order.lane_start[l];
		if (i == s->order.lane_start[l + 1])
			continue;
		ret = look_for_index(&look, stretch_of_slice(s, i)->part.whole);
		if (ret < 0 && ret != -EINPROGRESS)
			return ret;
	}
	return look.n_asked > 0 ? -EINPROGRESS : 0;
}

static int seek_indexes(struct sfs_stream *s, struct sfs_waiter *waiter)
{
	uint64_t i;
	int ret;

	if (s->has_sought)
		return 0;
	ret = seek_first_indexes(s, waiter);
	if (ret < 0)
		return ret;
	s->has_sought = true;
	for (i = 0; i < sfs_order_slices(&s->order); i++)
		sfs_header_scan_index(s->streams->scanner,
				      stretch_of_slice(s, i)->part.whole, NULL);
	return 0;
}

/* Where the first sample of a stretch begins; 0 for the first stretch of a shard. */
static int find_first(struct looking *l, struct sfs_shard *stretch, uint64_t *ret_first)
{
	int ret = 0;

	*ret_first = stretch->part.begin == 0 ? 0 : atomic_load(&stretch->part.first);
	if (*ret_first != SFS_NOT_FOUND)
		return 0;
	ret = look_for_index(l, stretch->part.whole);
	if (ret == 0)
		ret = note(l, sfs_header_scan_first(l->s->streams->scanner, stretch,
						    waiter_of(l)));
	*ret_first = atomic_load(&stretch->part.first);
	return ret;
}

/* What a slice adds to the size of its stream: from its first sample to that of the next
 * stretch. */
static int measure_slice(struct looking *l, struct sfs_shard *stretch,
			 uint64_t *ret_bytes)
{
	uint64_t first, end = sfs_tar_padded(stretch->object->size);
	int ret = find_first(l, stretch, &first), ret_end = 0;

	if (stretch->part.next)
		ret_end = find_first(l, stretch->part.next, &end);
	*ret_bytes = end - first;
	return ret < 0 ? ret : ret_end;
}

static int measure(struct sfs_stream *s, struct sfs_waiter *waiter)
{
	struct looking l = {.s = s, .waiter = waiter};
	uint64_t sum = 2 * SFS_TAR_BLOCK, n = 0, i;
	int ret;

	for (i = 0; i < sfs_order_slices(&s->order) && l.n_asked < N_AHEAD; i++) {
		ret = measure_slice(&l, stretch_of_slice(s, i), &n);
		if (ret < 0 && ret != -EINPROGRESS)
			return ret;
		sum += n;
	}
	if (l.n_asked > 0)
		return -EINPROGRESS;
	s->n_bytes = sum;
	s->has_size = true;
	return 0;
}

int sfs_stream_know_size(struct sfs_stream *s, struct sfs_waiter *waiter)
{
	int ret = sfs_stream_have_order(s);

	if (ret == 0 && s->stretches)
		ret = seek_indexes(s, waiter);
	if (ret == 0 && !s->has_size)
		ret = measure(s, waiter);
	if (ret == 0 && s->stretches && atomic_load(&s->stretches->is_wrong))
		ret = -EIO; /* the ledger has it */
	return ret;
}

bool sfs_stream_has_sure_size(const struct sfs_stream *s)
{
	struct sfs_shard *stretch;
	uint64_t i;

	if (!s->stretches || s->share.step == 1)
		return true;
	for (i = 0; i < sfs_order_slices(&s->order); i++) {
		stretch = stretch_of_slice(s, i);
		if (!sfs_stretch_is_sure(stretch) ||
		    (stretch->part.next && !sfs_stretch_is_sure(stretch->part.next)))
			return false;
	}
	/* (Once guesses were wrong in this mount, files of other sizes may be open.) */
	return !atomic_load(&s->runtime->shards.was_wrong);
}
