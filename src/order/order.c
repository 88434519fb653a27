/* SPDX-License-Identifier: MIT */
#include "order/order.h"

#include "base/alloc.h"
#include "base/rng.h"
#include "order/cuts.h"
#include "tar/header.h"

/* The last word of a generator's name: the purpose of its numbers. */
enum { PURPOSE_SEGMENTS = 1, PURPOSE_BLOCK = 2, PURPOSE_PACE = 3, PURPOSE_TURN = 4 };

static struct sfs_rng rng_of(const struct sfs_order *o, uint64_t lane, uint64_t piece,
			     uint64_t purpose)
{
	struct sfs_rng r = o->name;

	sfs_rng_name(&r, lane);
	sfs_rng_name(&r, piece);
	sfs_rng_name(&r, purpose);
	return r;
}

static uint32_t *identity(uint32_t *a, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		a[i] = (uint32_t)i;
	return a;
}

uint64_t sfs_order_positions(const struct sfs_order_settings *settings, uint64_t n,
			     uint32_t n_ranks)
{
	uint64_t odd = n % n_ranks;

	switch (settings->equal) {
	case SFS_EQUAL_DROP: return n - odd;
	case SFS_EQUAL_PAD: return odd ? n - odd + n_ranks : n;
	case SFS_EQUAL_NONE: break;
	}
	return n;
}

uint32_t *sfs_order_permute(const struct sfs_order *o, uint32_t n)
{
	uint32_t *segments = identity(sfs_reallocarray(NULL, n, sizeof *segments), n);
	struct sfs_rng r = rng_of(o, 0, 0, PURPOSE_SEGMENTS);

	sfs_rng_shuffle(&r, segments, n);
	return segments;
}

uint64_t sfs_order_turn(const struct sfs_order *o, uint64_t n)
{
	struct sfs_rng r = rng_of(o, 0, 0, PURPOSE_TURN);

	return sfs_rng_below(&r, n);
}

/* ---- dealt lanes ---- */

uint32_t sfs_order_dealt(const struct sfs_order_settings *settings, const uint64_t *sizes,
			 uint32_t n_shards)
{
	if (settings->segment == SFS_SEGMENT_SHARD)
		return n_shards;
	return sfs_cuts_count(sizes, n_shards);
}

uint32_t sfs_order_most_lanes(const struct sfs_order_settings *settings,
			      uint32_t n_shards)
{
	uint32_t most = settings->lanes;

	if (sfs_order_deals_shards(settings))
		most = n_shards;
	else if (!sfs_order_wants_equal_lanes(settings))
		most = SFS_CUTS_MAX;
	return most < settings->lanes ? most : settings->lanes;
}

static void deal_segment(struct sfs_order *o, uint32_t lane, const struct sfs_cuts *cuts,
			 uint32_t segment)
{
	uint64_t k = o->lane_start[lane + 1];
	const struct sfs_stretch *stretch;
	size_t i;

	for (i = cuts->starts[segment]; i < cuts->starts[segment + 1]; i++, k++) {
		stretch = &cuts->stretches[i];
		o->slices[k] =
			(struct sfs_slice){.shard = stretch->shard, .n = SFS_SLICE_ALL};
		if (o->cuts) /* until it is known which samples it has */
			o->slices[k].first = (uint32_t)i;
		o->bases[k] = o->paces[lane].n_bytes;
		if (o->cuts)
			o->cuts[k] = stretch->begin;
		o->paces[lane].n_bytes += stretch->end - stretch->begin;
	}
	o->lane_start[lane + 1] = k;
}

/* Distribute the segments, one to each lane in turn, and keep those of the share's
 * lanes. */
static void deal(struct sfs_order *o, const struct sfs_cuts *cuts, uint32_t n_lanes)
{
	sfs_autofree uint32_t *permuted = sfs_order_permute(o, cuts->n_segments);
	size_t n_stretches = cuts->starts[cuts->n_segments];
	struct sfs_rng r;
	uint64_t i;
	uint32_t l;

	o->slices = sfs_reallocarray(NULL, n_stretches, sizeof *o->slices);
	o->bases = sfs_reallocarray(NULL, n_stretches, sizeof *o->bases);
	o->lane_start = sfs_calloc((size_t)o->n_lanes + 1, sizeof *o->lane_start);
	o->paces = sfs_calloc(o->n_lanes, sizeof *o->paces);
	for (l = 0; l < o->n_lanes; l++) {
		o->lane_start[l + 1] = o->lane_start[l];
		for (i = sfs_order_lane_number(o, l); i < cuts->n_segments; i += n_lanes)
			deal_segment(o, l, cuts, permuted[i]);
		r = rng_of(o, sfs_order_lane_number(o, l), 0, PURPOSE_PACE);
		o->paces[l].half =
			(uint32_t)(SFS_TIMES / 4 + sfs_rng_below(&r, SFS_TIMES / 2));
	}
}

struct sfs_order sfs_order_empty(const struct sfs_order_settings *settings,
				 uint64_t epoch, struct sfs_share share)
{
	const uint64_t words[] = {settings->seed, epoch};
	struct sfs_order o = {.share = share,
			      .shortened = SFS_NO_LANE,
			      .repeating = SFS_NO_LANE};

	sfs_rng_init(&o.name, words, SFS_COUNT(words));
	return o;
}

void sfs_order_init(struct sfs_order *o, const struct sfs_order_settings *settings,
		    uint64_t epoch, const uint64_t *sizes, uint32_t n_shards,
		    struct sfs_share share)
{
	uint32_t n = sfs_order_dealt(settings, sizes, n_shards);
	uint32_t n_lanes = n < settings->lanes ? n : settings->lanes;
	struct sfs_cuts cuts = {0};

	*o = sfs_order_empty(settings, epoch, share);
	o->piece_bytes = sfs_order_c(settings, n_lanes);
	if (share.first < n_lanes)
		o->n_lanes = (uint32_t)((n_lanes - 1 - share.first) / share.step + 1);
	if (settings->segment == SFS_SEGMENT_SHARD) {
		sfs_cuts_make_whole(&cuts, sizes, n_shards);
	} else {
		sfs_cuts_make(&cuts, o->name, sizes, n_shards);
		o->cuts = sfs_calloc(cuts.starts[n], sizeof *o->cuts);
	}
	deal(o, &cuts, n_lanes);
	sfs_cuts_done(&cuts);
}

void sfs_order_use_stretches(struct sfs_order *o, uint32_t first)
{
	uint64_t i;

	for (i = 0; i < sfs_order_slices(o); i++) {
		o->slices[i].shard = first + o->slices[i].first;
		o->slices[i].first = 0;
	}
}

void sfs_order_done(struct sfs_order *o)
{
	free(steal(&o->slices));
	free(steal(&o->lane_start));
	free(steal(&o->bases));
	free(steal(&o->cuts));
	free(steal(&o->paces));
	sfs_numbering_done(&o->numbering);
	sfs_grid_done(&o->grid);
}

struct sfs_slice sfs_order_single(const struct sfs_order *o, uint32_t lane, uint32_t m)
{
	uint32_t number = sfs_order_number(o, lane, m);
	uint32_t shard = sfs_numbering_shard(&o->numbering, number);

	return (struct sfs_slice){.shard = shard,
				  .first = (uint32_t)(number - o->numbering.first[shard]),
				  .n = 1};
}

/* ---- times ---- */

/* a * b / c, which fits 64 bits; c > 0. */
static uint64_t scale(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t product;

	if (!__builtin_mul_overflow(a, b, &product))
		return product / c;
	return (uint64_t)((unsigned __int128)a * b / c);
}

/* In blocks of 512, so that products of most lanes fit 64 bits: the quotients are the
 * same.  A lane of Z bytes goes from V = 0 to 3 Z. */
uint64_t sfs_order_time(const struct sfs_order *o, uint32_t lane, uint64_t v)
{
	uint64_t all = 3 * (o->paces[lane].n_bytes / SFS_TAR_BLOCK),
		 twice = 2 * (v / SFS_TAR_BLOCK), half = o->paces[lane].half;

	if (all == 0)
		return 0;
	if (twice < all)
		return scale(twice, half, all);
	return half + scale(twice - all, SFS_TIMES - half, all);
}

/* a * b / c rounded up. */
static uint64_t scale_up(uint64_t a, uint64_t b, uint64_t c)
{
	return (uint64_t)(((unsigned __int128)a * b + c - 1) / c);
}

uint64_t sfs_order_v_at(const struct sfs_order *o, uint32_t lane, uint64_t time)
{
	uint64_t all = 3 * (o->paces[lane].n_bytes / SFS_TAR_BLOCK),
		 half = o->paces[lane].half, twice;

	if (time <= half)
		twice = scale_up(all, time, half);
	else
		twice = all + scale_up(all, time - half, SFS_TIMES - half);
	return (twice + 1) / 2 * SFS_TAR_BLOCK;
}

uint64_t sfs_order_due(const struct sfs_order *o, uint32_t lane, uint64_t place)
{
	if (sfs_order_is_dealt(o))
		return sfs_order_time(o, lane, 3 * place);
	return o->n_bytes > 0 ? scale(place, o->n_samples, o->n_bytes) : 0;
}

/* ---- pieces ---- */

uint64_t sfs_order_c(const struct sfs_order_settings *settings, uint64_t n_lanes)
{
	uint64_t c = n_lanes ? settings->buffer_bytes / n_lanes : 0;

	return c < 512 ? 512 : c; /* the smallest sample */
}

/* Pieces 0 to 4 end at C/16, C/8, C/4, C/2, C; the others are C long. */
uint64_t sfs_order_piece_end(const struct sfs_order *o, uint64_t piece)
{
	return piece < 4 ? o->piece_bytes >> (4 - piece) : (piece - 3) * o->piece_bytes;
}

uint64_t sfs_order_piece_start(const struct sfs_order *o, uint64_t piece)
{
	return piece == 0 ? 0 : sfs_order_piece_end(o, piece - 1);
}

uint64_t sfs_order_piece(const struct sfs_order *o, uint64_t place)
{
	uint64_t piece = 0;

	if (place >= o->piece_bytes)
		return place / o->piece_bytes + 4;
	while (place >= sfs_order_piece_end(o, piece))
		piece++;
	return piece;
}

void sfs_order_block(const struct sfs_order *o, uint32_t lane, uint64_t piece,
		     uint32_t *perm, size_t n)
{
	struct sfs_rng r;

	identity(perm, n);
	if (n < 2)
		return; /* many blocks of large samples: no number would be drawn */
	r = rng_of(o, sfs_order_lane_number(o, lane), piece, PURPOSE_BLOCK);
	sfs_rng_shuffle(&r, perm, n);
}
