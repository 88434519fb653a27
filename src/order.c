/* SPDX-License-Identifier: MIT */
#include "order.h"

#include "mem.h"
#include "rng.h"

/* The last word of a generator's name: what its numbers are for. */
enum { PURPOSE_SEGMENTS = 1, PURPOSE_BLOCK = 2 };

static void init_rng(struct sfs_rng *r, const struct sfs_order *o, uint64_t lane,
		     uint64_t piece, uint64_t purpose)
{
	const uint64_t words[] = {o->seed, o->epoch, lane, piece, purpose};

	sfs_rng_init(r, words, SFS_COUNT(words));
}

static uint32_t *identity(uint32_t *a, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		a[i] = (uint32_t)i;
	return a;
}

/* Keep the segments of the share's lanes: of each row of segments that is dealt, one to
 * a lane, those in its columns. */
static uint32_t keep_share(uint32_t *shards, uint32_t n, uint32_t n_lanes,
			   struct sfs_share share)
{
	uint64_t row, lane;
	uint32_t kept = 0;

	for (row = 0; row < n; row += n_lanes)
		for (lane = share.first; lane < n_lanes && row + lane < n;
		     lane += share.step)
			shards[kept++] = shards[row + lane];
	return kept;
}

void sfs_order_init(struct sfs_order *o, const struct sfs_order_settings *settings,
		    uint64_t epoch, uint32_t n_shards, struct sfs_share share)
{
	uint32_t n_lanes = n_shards < settings->lanes ? n_shards : settings->lanes;
	struct sfs_rng r;

	*o = (struct sfs_order){.seed = settings->seed, .epoch = epoch, .share = share};
	o->piece_bytes = n_lanes ? settings->buffer_bytes / n_lanes : 0;
	if (o->piece_bytes < 512)
		o->piece_bytes = 512; /* a sample has at least that */
	o->shards =
		identity(sfs_reallocarray(NULL, n_shards, sizeof *o->shards), n_shards);
	init_rng(&r, o, 0, 0, PURPOSE_SEGMENTS);
	sfs_rng_shuffle(&r, o->shards, n_shards);
	o->n_segments = keep_share(o->shards, n_shards, n_lanes, share);
	if (share.first < n_lanes)
		o->n_lanes = (uint32_t)((n_lanes - 1 - share.first) / share.step + 1);
}

void sfs_order_done(struct sfs_order *o)
{
	free(steal(&o->shards));
}

uint32_t sfs_order_lane_segments(const struct sfs_order *o, uint32_t lane)
{
	return (o->n_segments - lane + o->n_lanes - 1) / o->n_lanes;
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
	init_rng(&r, o, o->share.first + lane * o->share.step, piece, PURPOSE_BLOCK);
	sfs_rng_shuffle(&r, perm, n);
}
