/* SPDX-License-Identifier: MIT */
/* How this works: segments are numbered in the order of the dataset; a list says where
 * each begins.  One pass over the permutation keeps what belongs to the share's lanes, as
 * slices; segments that are neighbours in the permutation and in a shard become one
 * slice. */
#include "order/partition.h"

#include "base/alloc.h"
#include "order/cuts.h"
#include "order/sums.h"

#include <assert.h>
#include <string.h>

#define N_AHEAD 16 /* segments whose table entries are prefetched */

struct dealing {
	const struct sfs_order_settings *settings;
	const struct sfs_sample_tables *tables;
	uint32_t n_shards;
	const struct sfs_sample_table **table; /* of each shard */
	uint64_t *base; /* samples of the shards before; n_shards + 1 of them */
	struct sfs_slice *segments; /* or what they have of a shard, if that is not one */
	uint64_t n_segments, capacity;
	struct sfs_cuts cuts; /* segment=random: which of these a segment has */
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
		assert(d->table[i] &&
		       sfs_sample_table_state(d->table[i]) == SFS_SAMPLE_TABLE_WHOLE);
		d->base[i + 1] = d->base[i] + sfs_sample_table_n(d->table[i]);
	}
}

/* Samples `first` to end - 1 of a shard. */
static struct sfs_slice slice_in(const struct sfs_sample_table *table, uint32_t shard,
				 uint64_t first, uint64_t end)
{
	uint64_t n_bytes =
		sfs_sample_table_place(table, end) - sfs_sample_table_place(table, first);

	return (struct sfs_slice){.shard = shard,
				  .first = (uint32_t)first,
				  .n = (uint32_t)(end - first),
				  .n_blocks = (uint32_t)(n_bytes / SFS_TAR_BLOCK)};
}

static struct sfs_slice slice_of(const struct dealing *d, uint32_t shard, uint64_t first,
				 uint64_t end)
{
	return slice_in(d->table[shard], shard, first, end);
}

/* The samples of a shard that start at or after one byte, and before another one. */
static struct sfs_slice slice_between(const struct sfs_sample_table *table,
				      uint32_t shard, uint64_t begin, uint64_t end)
{
	uint64_t n = sfs_sample_table_n(table);

	return slice_in(table, shard, sfs_sample_table_from(table, n, begin),
			sfs_sample_table_from(table, n, end));
}

static void add_segment(struct dealing *d, struct sfs_slice segment)
{
	if (d->n_segments == d->capacity) {
		d->capacity += d->capacity / 2 + 64;
		d->segments =
			sfs_reallocarray(d->segments, d->capacity, sizeof *d->segments);
	}
	d->segments[d->n_segments++] = segment;
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
			add_segment(d, slice_of(d, shard, first, i));
		first = i;
		end = (start / size + 1) * size;
	}
	if (n > first)
		add_segment(d, slice_of(d, shard, first, n));
}

static uint64_t *sizes_of(const struct sfs_sample_tables *tables, uint32_t n_shards)
{
	uint64_t *sizes = sfs_reallocarray(NULL, n_shards, sizeof *sizes);
	uint32_t i;

	for (i = 0; i < n_shards; i++)
		sizes[i] = tables->size(tables->ctx, i);
	return sizes;
}

/* segment=random */
static void list_stretches(struct dealing *d, const struct sfs_order *o)
{
	sfs_autofree uint64_t *sizes = sizes_of(d->tables, d->n_shards);
	const struct sfs_stretch *stretch;
	size_t i;

	sfs_cuts_make(&d->cuts, o->name, sizes, d->n_shards);
	for (i = 0; i < d->cuts.starts[d->cuts.n_segments]; i++) {
		stretch = &d->cuts.stretches[i];
		add_segment(d, slice_between(d->table[stretch->shard], stretch->shard,
					     stretch->begin, stretch->end));
	}
}

/* The order of the segments as they are permuted; or rather, of d->segments. */
static uint32_t *permute(struct dealing *d, const struct sfs_order *o)
{
	const struct sfs_cuts *cuts = &d->cuts;
	sfs_autofree uint32_t *permuted = NULL;
	uint32_t *ret, i;
	size_t n = 0, k;

	if (d->settings->segment != SFS_SEGMENT_RANDOM)
		return sfs_order_permute(o, (uint32_t)d->n_segments);
	permuted = sfs_order_permute(o, cuts->n_segments);
	ret = sfs_reallocarray(NULL, d->n_segments, sizeof *ret);
	for (i = 0; i < cuts->n_segments; i++)
		for (k = cuts->starts[permuted[i]]; k < cuts->starts[permuted[i] + 1]; k++)
			ret[n++] = (uint32_t)k;
	return ret;
}

static void list_segments(struct dealing *d, const struct sfs_order *o)
{
	uint64_t segment = d->settings->segment;
	uint32_t i;

	if (segment == SFS_SEGMENT_RANDOM) {
		list_stretches(d, o);
		return;
	}
	for (i = 0; i < d->n_shards; i++) {
		if (segment == SFS_SEGMENT_SHARD)
			add_segment(d, slice_of(d, i, 0, sfs_sample_table_n(d->table[i])));
		else
			cut_shard(d, i, segment);
	}
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

/* The segments, end to end, as they are cut where lanes end. */
struct cutting {
	const struct dealing *d;
	struct sfs_order *o;
	uint64_t capacity;    /* of o->slices */
	uint64_t lane, n, at; /* the lane, its samples, and how many of them are cut */
	bool is_ours;
	uint32_t own;		/* if so, its number in the share */
	uint64_t first_lane;	/* equal=pad: whose first sample is repeated, */
	struct sfs_slice first; /* and that sample */
};

static void enter_lane(struct cutting *c, uint64_t lane)
{
	uint64_t lanes = c->d->settings->lanes, n = n_samples(c->d);

	c->lane = lane;
	c->n = n / lanes + (lane < n % lanes);
	c->at = 0;
	c->is_ours = is_in_share(c->o->share, lane, &c->own) && c->own < c->o->n_lanes;
	if (c->is_ours)
		c->o->lane_start[c->own + 1] = c->o->lane_start[c->own];
}

static bool is_last(const struct cutting *c)
{
	return c->at + 1 == c->n;
}

/* How many of the next n samples are cut off at once: the first and the last of a lane
 * are slices of their own. */
static uint64_t cut_length(const struct cutting *c, uint64_t n)
{
	uint64_t left = c->n - c->at;

	if (!c->is_ours && c->lane != c->first_lane)
		return n < left ? n : left;
	if (c->at == 0 || is_last(c))
		return 1;
	return n < left - 1 ? n : left - 1;
}

static bool is_continued(const struct sfs_slice *a, const struct sfs_slice *b)
{
	return a->shard == b->shard && a->first + a->n == b->first;
}

static void add_slice(struct cutting *c, const struct sfs_slice *slice)
{
	struct sfs_order *o = c->o;
	uint64_t n = o->lane_start[c->own + 1];

	if (c->at > 1 && !is_last(c) && is_continued(&o->slices[n - 1], slice)) {
		o->slices[n - 1].n += slice->n;
		o->slices[n - 1].n_blocks += slice->n_blocks;
		return;
	}
	if (n == c->capacity) {
		c->capacity += c->capacity / 2 + 64;
		o->slices = sfs_reallocarray(o->slices, c->capacity, sizeof *o->slices);
	}
	o->slices[n] = *slice;
	o->lane_start[c->own + 1] = n + 1;
}

static void partition_take(struct cutting *c, const struct sfs_slice *slice)
{
	if (c->at == 0 && c->lane == c->first_lane)
		c->first = *slice;
	if (c->is_ours && !(is_last(c) && c->own == c->o->shortened))
		add_slice(c, slice);
	c->at += slice->n;
}

/* The first n samples of the slice. */
static struct sfs_slice start_of(const struct dealing *d, const struct sfs_slice *slice,
				 uint64_t n)
{
	if (n == slice->n)
		return *slice;
	return slice_of(d, slice->shard, slice->first, slice->first + n);
}

/* The slice without its first n samples. */
static struct sfs_slice without(const struct dealing *d, const struct sfs_slice *slice,
				uint64_t n)
{
	if (n == 0)
		return *slice;
	if (n == slice->n)
		return (struct sfs_slice){0};
	return slice_of(d, slice->shard, slice->first + n,
			(uint64_t)slice->first + slice->n);
}

/* The segment is next. */
static void cut(struct cutting *c, struct sfs_slice rest)
{
	struct sfs_slice piece;

	for (; rest.n > 0; rest = without(c->d, &rest, piece.n)) {
		if (c->at == c->n)
			enter_lane(c, c->lane + 1);
		piece = start_of(c->d, &rest, cut_length(c, rest.n));
		partition_take(c, &piece);
	}
}

/* Which of the permuted segments holds item *item of them all; *item becomes its number
 * in that segment. */
static uint64_t find_item(const struct dealing *d, const uint32_t *permuted,
			  uint64_t *item)
{
	uint64_t i = 0, n;

	while ((n = d->segments[permuted[i]].n) <= *item) {
		*item -= n;
		i++;
		if (i + N_AHEAD < d->n_segments)
			__builtin_prefetch(&d->segments[permuted[i + N_AHEAD]]);
	}
	return i;
}

/* Walk once round the permuted segments, from the sample at which the
 * first lane begins. */
static void cut_lanes(struct cutting *c, const uint32_t *permuted)
{
	const struct dealing *d = c->d;
	uint64_t turn = sfs_order_turn(c->o, n_samples(d));
	uint64_t first = find_item(d, permuted, &turn), i, k;
	struct sfs_slice slice = d->segments[permuted[first]];

	enter_lane(c, 0);
	cut(c, without(d, &slice, turn));
	for (k = 1, i = first + 1; k < d->n_segments; k++, i++) {
		i = i < d->n_segments ? i : 0;
		if (i + N_AHEAD < d->n_segments)
			__builtin_prefetch(&d->segments[permuted[i + N_AHEAD]]);
		cut(c, d->segments[permuted[i]]);
	}
	if (turn > 0)
		cut(c, start_of(d, &slice, turn));
	for (i = 1; i <= c->o->n_lanes; i++) /* lanes that only pad() fills */
		if (c->o->lane_start[i] < c->o->lane_start[i - 1])
			c->o->lane_start[i] = c->o->lane_start[i - 1];
}

/* equal=drop: positions that not all ranks have are left out.  The share of one rank has
 * at most one of them: its last sample, which is the last of its lane. */
static void find_dropped(const struct dealing *d, struct sfs_order *o)
{
	uint64_t at = count_positions(d, o->share);
	uint32_t own;

	for (; at < n_samples(d); at++)
		if (is_in_share(o->share, at % d->settings->lanes, &own))
			o->shortened = own;
}

/* equal=pad: the positions after the end of the epoch repeat its first samples, each the
 * first of its lane.  The share of one rank has at most one of them: which lane's. */
static uint64_t repeated_lane(const struct dealing *d, struct sfs_order *o)
{
	uint64_t n = n_samples(d), end = count_positions(d, o->share), k,
		 found = UINT64_MAX;
	uint32_t own;

	for (k = 0; n + k < end; k++) {
		if (!is_in_share(o->share, (n + k) % d->settings->lanes, &own))
			continue;
		o->repeating = own;
		found = k % n;
	}
	return found;
}

/* Put the repeated sample at the end of its lane. */
static void pad(struct cutting *c)
{
	struct sfs_order *o = c->o;
	uint64_t n = sfs_order_slices(o), at, l;

	if (o->repeating == SFS_NO_LANE)
		return;
	at = o->lane_start[o->repeating + 1];
	o->slices = sfs_reallocarray(o->slices, n + 1, sizeof *o->slices);
	memmove(o->slices + at + 1, o->slices + at, (n - at) * sizeof *o->slices);
	o->slices[at] = c->first;
	for (l = o->repeating + 1; l <= o->n_lanes; l++)
		o->lane_start[l]++;
}

static void sum_up(struct sfs_order *o)
{
	uint64_t i;

	for (i = 0; i < sfs_order_slices(o); i++) {
		o->n_samples += o->slices[i].n;
		o->n_bytes += (uint64_t)o->slices[i].n_blocks * SFS_TAR_BLOCK;
	}
}

/* Segments to lanes. */
static void deal_segments(struct dealing *d, struct sfs_order *o)
{
	struct cutting c = {.d = d, .o = o, .first_lane = UINT64_MAX};
	sfs_autofree uint32_t *permuted = NULL;

	list_segments(d, o);
	permuted = permute(d, o);
	c.first_lane = repeated_lane(d, o);
	cut_lanes(&c, permuted);
	pad(&c);
	sum_up(o);
}

/* Single samples: how many a lane has is all there is to be said. */
static void deal_singles(struct dealing *d, struct sfs_order *o, uint64_t epoch)
{
	uint64_t lanes = d->settings->lanes, n = n_samples(d),
		 end = count_positions(d, o->share), lane;
	uint32_t l, i;

	repeated_lane(d, o);
	for (l = 0, lane = o->share.first; l < o->n_lanes; l++, lane += o->share.step)
		o->lane_start[l + 1] = o->lane_start[l] + (end - 1 - lane) / lanes + 1;
	o->n_samples = sfs_order_slices(o);
	o->lanes = (uint32_t)lanes;
	sfs_grid_init(&o->grid, d->settings->seed, epoch, (uint32_t)n);
	sfs_numbering_init(&o->numbering, steal(&d->base), d->n_shards);
	if (o->n_samples != n)
		return; /* see sfs_partition_sum() */
	for (i = 0; i < d->n_shards; i++)
		o->n_bytes += sfs_sample_table_place(d->table[i],
						     sfs_sample_table_n(d->table[i]));
}

static void deal(struct dealing *d, struct sfs_order *o, uint64_t epoch)
{
	uint64_t lanes = d->settings->lanes, n = n_samples(d),
		 in_use = count_positions(d, o->share);

	in_use = in_use < lanes ? in_use : lanes;
	o->has_equal_lanes = true;
	o->piece_bytes = sfs_order_c(d->settings, n < lanes ? n : lanes);
	if (o->share.first < in_use)
		o->n_lanes =
			(uint32_t)((in_use - 1 - o->share.first) / o->share.step + 1);
	o->lane_start = sfs_calloc((size_t)o->n_lanes + 1, sizeof *o->lane_start);
	find_dropped(d, o);
	if (o->n_lanes == 0)
		return;
	if (d->settings->segment == SFS_SEGMENT_SAMPLE)
		deal_singles(d, o, epoch);
	else
		deal_segments(d, o);
}

struct sfs_dealt sfs_partition_dealt(const struct sfs_order_settings *settings,
				     uint32_t n_shards,
				     const struct sfs_sample_tables *tables)
{
	sfs_autofree uint64_t *sizes = NULL;

	if (sfs_order_wants_equal_lanes(settings))
		return SFS_NOT_DEALT;
	if (sfs_order_deals_shards(settings))
		return (struct sfs_dealt){n_shards, "shard"};
	sizes = sizes_of(tables, n_shards);
	return (struct sfs_dealt){sfs_order_dealt(settings, sizes, n_shards), "segment"};
}

/* Where the stretch of slice i ends in its shard, which is the m-th of its lane. */
static uint64_t stretch_end(const struct sfs_order *o, uint32_t lane, uint32_t m, size_t i)
{
	return o->cuts[i] + sfs_order_base(o, lane, m + 1) - o->bases[i];
}

/* Segments are dealt whole; find the samples of their stretches. */
static void deal_whole(struct sfs_order *o, const struct sfs_order_settings *settings,
		       uint64_t epoch, uint32_t n_shards,
		       const struct sfs_sample_tables *tables, struct sfs_share share)
{
	sfs_autofree uint64_t *sizes = sizes_of(tables, n_shards);
	uint32_t l, m, shard;
	size_t i;

	sfs_order_init(o, settings, epoch, sizes, n_shards, share);
	for (l = 0, i = 0; o->cuts && l < o->n_lanes; l++) {
		for (m = 0; m < sfs_order_lane_slices(o, l); m++, i++) {
			shard = o->slices[i].shard;
			o->slices[i] = slice_between(tables->get(tables->ctx, shard),
						     shard, o->cuts[i],
						     stretch_end(o, l, m, i));
		}
	}
}

void sfs_partition(struct sfs_order *o, const struct sfs_order_settings *settings,
		   uint64_t epoch, uint32_t n_shards,
		   const struct sfs_sample_tables *tables, struct sfs_share share)
{
	struct dealing d = {.settings = settings, .tables = tables, .n_shards = n_shards};

	if (!sfs_order_wants_equal_lanes(settings)) {
		deal_whole(o, settings, epoch, n_shards, tables, share);
		return;
	}
	*o = sfs_order_empty(settings, epoch, share);
	count_samples(&d);
	deal(&d, o, epoch);
	free(d.table);
	free(d.base);
	free(d.segments);
	sfs_cuts_done(&d.cuts);
}

void sfs_partition_sum(struct sfs_order *o, const struct sfs_sample_tables *tables)
{
	if (o->has_equal_lanes && o->n_bytes == 0)
		o->n_bytes = sfs_sums_all(o, tables);
}

/* The start of the first sample at or after a byte of the shard; its ends stay what they
 * are. */
static uint64_t sample_at(const struct sfs_sample_tables *tables, uint32_t shard,
			  uint64_t offset)
{
	const struct sfs_sample_table *table = tables->get(tables->ctx, shard);
	uint64_t n = sfs_sample_table_n(table), i;

	if (offset == 0)
		return 0;
	i = sfs_sample_table_from(table, n, offset);
	return i < n ? sfs_sample_table_start(table, i)
		     : sfs_tar_padded(tables->size(tables->ctx, shard));
}

uint64_t sfs_partition_bytes(const struct sfs_order *o,
			     const struct sfs_sample_tables *tables)
{
	uint64_t n = 0;
	uint32_t l, m, shard;
	size_t i;

	if (o->has_equal_lanes)
		return o->n_bytes;
	if (!o->cuts) {
		for (l = 0; l < o->n_lanes; l++)
			n += o->paces[l].n_bytes;
		return n;
	}
	for (l = 0, i = 0; l < o->n_lanes; l++) {
		for (m = 0; m < sfs_order_lane_slices(o, l); m++, i++) {
			shard = o->slices[i].shard;
			n += sample_at(tables, shard, stretch_end(o, l, m, i)) -
			     sample_at(tables, shard, o->cuts[i]);
		}
	}
	return n;
}
