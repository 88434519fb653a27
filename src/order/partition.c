/* SPDX-License-Identifier: MIT */
/* How this works: segments are numbered in the order of the dataset; a list says where
 * each begins.  Single samples need no list: a binary search finds their shard.  One pass
 * over the permutation keeps what belongs to the share's lanes, as slices; segments that
 * are neighbours in the permutation and in a shard become one slice. */
#include "order/partition.h"

#include "base/alloc.h"

#include <string.h>

#define N_AHEAD 16 /* segments whose table entries are prefetched */

struct dealing {
	const struct sfs_order_settings *settings;
	const struct sfs_sample_tables *tables;
	uint32_t n_shards;
	const struct sfs_sample_table **table; /* of each shard */
	uint64_t *base; /* samples of the shards before; n_shards + 1 of them */
	struct sfs_slice *segments; /* NULL: each sample is one */
	uint64_t n_segments, capacity;

	/* If each sample is one: the shard of each k-th sample, to start a search at. */
	uint32_t *shard_of;
	int shift;
};

static uint64_t n_samples(const struct dealing *d)
{
	return d->base[d->n_shards];
}

/* ---- segments ---- */

static void count_samples(struct dealing *d)
{
	uint32_t i;

	d->base = sfs_calloc((size_t)d->n_shards + 1, sizeof *d->base);
	d->table = sfs_calloc(d->n_shards, sizeof *d->table);
	for (i = 0; i < d->n_shards; i++) {
		d->table[i] = d->tables->get(d->tables->ctx, i);
		d->base[i + 1] = d->base[i] + sfs_sample_table_n(d->table[i]);
	}
}

static struct sfs_slice slice_of(const struct dealing *d, uint32_t shard, uint64_t first,
				 uint64_t end)
{
	const struct sfs_sample_table *table = d->table[shard];
	uint64_t n_bytes =
		sfs_sample_table_place(table, end) - sfs_sample_table_place(table, first);

	return (struct sfs_slice){.shard = shard,
				  .first = (uint32_t)first,
				  .n = (uint32_t)(end - first),
				  .n_blocks = (uint32_t)(n_bytes / SFS_TAR_BLOCK)};
}

static void add_segment(struct dealing *d, uint32_t shard, uint64_t first, uint64_t end)
{
	if (d->n_segments == d->capacity) {
		d->capacity += d->capacity / 2 + 64;
		d->segments =
			sfs_reallocarray(d->segments, d->capacity, sizeof *d->segments);
	}
	d->segments[d->n_segments++] = slice_of(d, shard, first, end);
}

/* Cut a shard's samples where they begin in another `size` bytes. */
static void cut_shard(struct dealing *d, uint32_t shard, uint64_t size)
{
	const struct sfs_sample_table *table = d->table[shard];
	uint64_t n = sfs_sample_table_n(table), first = 0, end = 0, i, start;

	for (i = 0; i < n; i++) {
		start = sfs_sample_table_start(table, i);
		if (start < end)
			continue;
		if (i > first)
			add_segment(d, shard, first, i);
		first = i;
		end = (start / size + 1) * size;
	}
	if (n > first)
		add_segment(d, shard, first, n);
}

/* A sample's shard is then found in a step or two. */
static void list_shards(struct dealing *d)
{
	uint64_t n = n_samples(d), i;
	uint32_t shard = 0;

	while (n >> d->shift > 16 * (uint64_t)d->n_shards + 1024)
		d->shift++;
	d->shard_of = sfs_calloc((n >> d->shift) + 1, sizeof *d->shard_of);
	for (i = 0; i <= n >> d->shift; i++) {
		while (shard + 1 < d->n_shards && d->base[shard + 1] <= i << d->shift)
			shard++;
		d->shard_of[i] = shard;
	}
}

static void list_segments(struct dealing *d)
{
	uint64_t segment = d->settings->segment;
	uint32_t i;

	if (segment == SFS_SEGMENT_SAMPLE) {
		d->n_segments = n_samples(d);
		list_shards(d);
		return;
	}
	for (i = 0; i < d->n_shards; i++) {
		if (segment == SFS_SEGMENT_SHARD)
			add_segment(d, i, 0, sfs_sample_table_n(d->table[i]));
		else
			cut_shard(d, i, segment);
	}
}

static uint32_t shard_of(const struct dealing *d, uint32_t number)
{
	uint32_t shard = d->shard_of[number >> d->shift];

	while (d->base[shard + 1] <= number)
		shard++;
	return shard;
}

static struct sfs_slice segment_at(const struct dealing *d, uint32_t number)
{
	uint64_t first;
	uint32_t shard;

	if (d->segments)
		return d->segments[number];
	shard = shard_of(d, number);
	first = number - d->base[shard];
	return slice_of(d, shard, first, first + 1);
}

/* The segment will be needed soon. */
static void prefetch_segment(const struct dealing *d, uint32_t number)
{
	uint64_t first;
	uint32_t shard;

	if (d->segments) {
		__builtin_prefetch(&d->segments[number]);
		return;
	}
	shard = shard_of(d, number);
	first = number - d->base[shard];
	sfs_sample_table_prefetch(d->table[shard], first, first + 1);
}

/* ---- lanes ---- */

static uint64_t count_positions(const struct dealing *d, struct sfs_share share)
{
	return sfs_order_positions(d->settings, n_samples(d), share.n_ranks);
}

static bool is_in_share(struct sfs_share share, uint64_t lane, uint32_t *ret_own)
{
	*ret_own = (uint32_t)((lane - share.first) / share.step);
	return lane >= share.first && (lane - share.first) % share.step == 0;
}

static void add_slice(struct sfs_order *o, uint64_t *capacity, uint32_t own,
		      const struct sfs_slice *slice)
{
	uint64_t n = o->lane_start[own + 1];
	struct sfs_slice *last = n > o->lane_start[own] ? &o->slices[n - 1] : NULL;

	if (last && last->shard == slice->shard &&
	    last->first + last->n == slice->first) {
		last->n += slice->n;
		last->n_blocks += slice->n_blocks;
		return;
	}
	if (n == *capacity) {
		*capacity += *capacity / 2 + 64;
		o->slices = sfs_reallocarray(o->slices, *capacity, sizeof *o->slices);
	}
	o->slices[n] = *slice;
	o->lane_start[own + 1] = n + 1;
}

/* The slice without its first n samples. */
static struct sfs_slice without(const struct dealing *d, const struct sfs_slice *slice,
				uint32_t n)
{
	if (n == slice->n)
		return (struct sfs_slice){0};
	return slice_of(d, slice->shard, (uint64_t)slice->first + n,
			(uint64_t)slice->first + slice->n);
}

/* Walk through the permuted segments, and cut them where lanes end. */
static void cut_lanes(const struct dealing *d, struct sfs_order *o,
		      const uint32_t *permuted)
{
	uint64_t lanes = d->settings->lanes, each = n_samples(d) / lanes,
		 odd = n_samples(d) % lanes, lane = 0, left = each + (odd > 0),
		 capacity = 0, i;
	struct sfs_slice rest, piece;
	uint32_t own;
	bool is_ours = is_in_share(o->share, 0, &own);

	for (i = 0; i < d->n_segments; i++) {
		if (!d->segments && !is_ours && left > 0) {
			left--; /* a sample of another share: nothing to look up */
			continue;
		}
		if (i + N_AHEAD < d->n_segments)
			prefetch_segment(d, permuted[i + N_AHEAD]);
		rest = segment_at(d, permuted[i]);
		for (; rest.n > 0; rest = without(d, &rest, piece.n), left -= piece.n) {
			for (; left == 0; left = each + (lane < odd)) {
				is_ours = is_in_share(o->share, ++lane, &own);
				if (is_ours)
					o->lane_start[own + 1] = o->lane_start[own];
			}
			piece = rest;
			if (rest.n > left)
				piece = slice_of(d, rest.shard, rest.first,
						 rest.first + left);
			if (is_ours)
				add_slice(o, &capacity, own, &piece);
		}
	}
	for (i = 1; i <= o->n_lanes; i++) /* lanes that only pad() fills */
		if (o->lane_start[i] < o->lane_start[i - 1])
			o->lane_start[i] = o->lane_start[i - 1];
}

/* The first sample that leaves a lane of the epoch. */
static struct sfs_slice first_of_lane(const struct dealing *d,
				      const struct sfs_order *part,
				      const uint32_t *permuted, uint64_t lane)
{
	struct sfs_order o = *part;
	struct sfs_slice slice = {0};
	struct sfs_block block = {0};
	struct sfs_lane at;
	uint32_t shard;

	o.share = (struct sfs_share){.first = lane, .step = d->settings->lanes};
	o.n_lanes = 1;
	o.repeating = SFS_NO_LANE;
	o.slices = NULL;
	o.lane_start = sfs_calloc(2, sizeof *o.lane_start);
	cut_lanes(d, &o, permuted);
	sfs_lane_init(&at, &o, 0);
	if (sfs_lane_form(&at, d->tables, &block, &shard) == 0)
		slice = slice_of(d, sfs_block_at(&block, 0)->shard,
				 sfs_block_at(&block, 0)->index,
				 (uint64_t)sfs_block_at(&block, 0)->index + 1);
	sfs_block_done(&block);
	sfs_order_done(&o);
	return slice;
}

/* equal=pad: the positions after the end of the epoch repeat its first samples.  The
 * share of one rank has at most one of them. */
static void pad(const struct dealing *d, struct sfs_order *o, const uint32_t *permuted)
{
	uint64_t n = n_samples(d), end = count_positions(d, o->share), k, at, l;
	uint64_t lanes = d->settings->lanes;
	struct sfs_slice slice;
	uint32_t own;

	for (k = 0; n + k < end; k++) {
		if (!is_in_share(o->share, (n + k) % lanes, &own))
			continue;
		slice = first_of_lane(d, o, permuted, k % n);
		at = o->lane_start[own + 1];
		o->slices = sfs_reallocarray(o->slices, sfs_order_slices(o) + 1,
					     sizeof *o->slices);
		memmove(o->slices + at + 1, o->slices + at,
			(sfs_order_slices(o) - at) * sizeof *o->slices);
		o->slices[at] = slice;
		for (l = own + 1; l <= o->n_lanes; l++)
			o->lane_start[l]++;
		o->repeating = own;
	}
}

/* The last block of a lane, and its last sample to leave. */
static uint64_t last_of_lane(const struct dealing *d, const struct sfs_order *o,
			     uint32_t own)
{
	struct sfs_block block = {0};
	struct sfs_lane at;
	uint64_t n_bytes = 0;
	uint32_t shard;

	sfs_lane_init(&at, o, own);
	while (sfs_lane_form(&at, d->tables, &block, &shard) == 0) {
		n_bytes = sfs_block_at(&block, block.n - 1)->n_bytes;
		sfs_block_clear(&block);
	}
	sfs_block_done(&block);
	return n_bytes;
}

/* equal=drop: positions that not all ranks have are left out. */
static void drop(const struct dealing *d, struct sfs_order *o)
{
	uint64_t n = n_samples(d), at = count_positions(d, o->share);
	uint32_t own;

	for (; at < n; at++) {
		if (!is_in_share(o->share, at % d->settings->lanes, &own))
			continue;
		o->n_dropped_bytes = last_of_lane(d, o, own);
		o->shortened = own;
	}
}

static void sum_up(struct sfs_order *o)
{
	uint64_t i;

	for (i = 0; i < sfs_order_slices(o); i++) {
		o->n_samples += o->slices[i].n;
		o->n_bytes += (uint64_t)o->slices[i].n_blocks * SFS_TAR_BLOCK;
	}
	o->n_samples -= o->shortened != SFS_NO_LANE;
	o->n_bytes -= o->n_dropped_bytes;
}

static void deal(const struct dealing *d, struct sfs_order *o)
{
	uint64_t lanes = d->settings->lanes, n = n_samples(d),
		 in_use = count_positions(d, o->share);
	sfs_autofree uint32_t *permuted = NULL;

	in_use = in_use > n ? in_use : n;
	in_use = in_use < lanes ? in_use : lanes;
	o->has_equal_lanes = true;
	o->piece_bytes = sfs_order_c(d->settings, n < lanes ? n : lanes);
	if (o->share.first < in_use)
		o->n_lanes =
			(uint32_t)((in_use - 1 - o->share.first) / o->share.step + 1);
	o->lane_start = sfs_calloc((size_t)o->n_lanes + 1, sizeof *o->lane_start);
	if (o->n_lanes == 0)
		return;
	permuted = sfs_order_permute(o, (uint32_t)d->n_segments);
	cut_lanes(d, o, permuted);
	pad(d, o, permuted);
	drop(d, o);
	sum_up(o);
}

static uint64_t *sizes_of(const struct sfs_sample_tables *tables, uint32_t n_shards)
{
	uint64_t *sizes = sfs_reallocarray(NULL, n_shards, sizeof *sizes);
	uint32_t i;

	for (i = 0; i < n_shards; i++)
		sizes[i] = tables->size(tables->ctx, i);
	return sizes;
}

void sfs_partition(struct sfs_order *o, const struct sfs_order_settings *settings,
		   uint64_t epoch, uint32_t n_shards,
		   const struct sfs_sample_tables *tables, struct sfs_share share)
{
	struct dealing d = {.settings = settings, .tables = tables, .n_shards = n_shards};
	sfs_autofree uint64_t *sizes = NULL;

	if (!sfs_order_wants_equal_lanes(settings)) {
		sizes = sizes_of(tables, n_shards);
		sfs_order_init(o, settings, epoch, sizes, n_shards, share);
		return;
	}
	*o = sfs_order_empty(settings, epoch, share);
	count_samples(&d);
	list_segments(&d);
	deal(&d, o);
	free(d.table);
	free(d.base);
	free(d.segments);
	free(d.shard_of);
}
