/* SPDX-License-Identifier: MIT */
#include "lane.h"

#include "mem.h"

#include <errno.h>

void sfs_lane_init(struct sfs_lane *lane, const struct sfs_order *order, uint32_t number)
{
	*lane = (struct sfs_lane){.order = order, .lane = number};
}

void sfs_block_clear(struct sfs_block *block)
{
	block->n = 0;
}

void sfs_block_done(struct sfs_block *block)
{
	free(block->samples);
	free(block->perm);
	*block = (struct sfs_block){0};
}

static void add_sample(struct sfs_block *b, const struct sfs_lane *lane, uint32_t shard,
		       const struct sfs_table_sample *s)
{
	if (b->n == b->capacity) {
		b->capacity = b->capacity ? 2 * b->capacity : 4;
		b->samples =
			sfs_reallocarray(b->samples, b->capacity, sizeof *b->samples);
		b->perm = sfs_reallocarray(b->perm, b->capacity, sizeof *b->perm);
	}
	b->samples[b->n++] = (struct sfs_block_sample){
		.shard = shard,
		.m = lane->m,
		.has_global = s->has_global,
		.index = (uint32_t)lane->index,
		.start = s->start,
		.n_bytes = s->n_bytes,
		.key_hash = s->key_hash,
	};
}

static int finish_block(const struct sfs_lane *lane, struct sfs_block *b)
{
	sfs_order_block(lane->order, lane->lane, b->piece, b->perm, b->n);
	return 0;
}

/* Take samples of the current segment, up to table number n.
 * true: the block is whole, for what comes next lies in another piece.  (Where
 * the next sample will lie is known before the sample itself is.) */
static bool take_samples(struct sfs_lane *lane, const struct sfs_table *table, uint64_t n,
			 uint32_t shard, struct sfs_block *b)
{
	uint64_t place = lane->base + sfs_table_place(table, lane->index);
	struct sfs_table_sample s;

	for (;; lane->index++, lane->number++) {
		if (b->n > 0 && place >= b->end_place)
			return true;
		if (lane->index == n)
			return false;
		s = sfs_table_get(table, lane->index);
		if (b->n == 0) {
			b->piece = sfs_order_piece(lane->order, place);
			b->end_place = sfs_order_piece_end(lane->order, b->piece);
			b->first = lane->number;
		}
		add_sample(b, lane, shard, &s);
		place += s.n_bytes;
	}
}

int sfs_lane_form(struct sfs_lane *lane, const struct sfs_tables *tables,
		  struct sfs_block *block, uint32_t *ret_shard)
{
	uint32_t n_segments = sfs_order_lane_segments(lane->order, lane->lane), shard;
	const struct sfs_table *table;
	enum sfs_table_state state;
	uint64_t n;

	while (lane->m < n_segments) {
		shard = sfs_order_lane_shard(lane->order, lane->lane, lane->m);
		table = tables->get(tables->ctx, shard);
		state = table ? sfs_table_state(table) : SFS_TABLE_GROWING;
		n = table ? sfs_table_n(table) : 0;
		if (table && take_samples(lane, table, n, shard, block))
			return finish_block(lane, block);
		if (state != SFS_TABLE_WHOLE) {
			*ret_shard = shard;
			return state == SFS_TABLE_DAMAGED ? -EBADMSG : -EAGAIN;
		}
		lane->base += sfs_table_place(table, n);
		lane->index = 0;
		lane->m++;
	}
	return block->n > 0 ? finish_block(lane, block) : -ENODATA;
}
