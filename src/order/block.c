/* SPDX-License-Identifier: MIT */
#include "order/block.h"

#include "base/alloc.h"

#include <errno.h>

void sfs_block_clear(struct sfs_block *block)
{
	block->n = 0;
}

void sfs_block_done(struct sfs_block *block)
{
	free(block->samples);
	free(block->perm);
	free(block->times);
	*block = (struct sfs_block){0};
}

/* Of the next sample, if its slice has one more; if it has not, it is no later than that
 * of the sample after it.  (The last sample of a stretch may end behind the next one's
 * beginning.) */
static uint64_t time_of_next(const struct sfs_lane *lane)
{
	uint64_t v = lane->ends[0] + lane->ends[1] + lane->ends[2], most;

	if (!sfs_order_is_dealt(lane->order))
		return lane->number;
	if (lane->order->cuts) {
		most = 3 * sfs_order_base(lane->order, lane->lane, lane->m + 1);
		v = v < most ? v : most;
	}
	return sfs_order_time(lane->order, lane->lane, v);
}

static void add_sample(struct sfs_block *b, const struct sfs_lane *lane, uint32_t shard,
		       const struct sfs_sample_table_sample *s)
{
	if (b->n == b->capacity) {
		b->capacity = b->capacity ? 2 * b->capacity : 4;
		b->samples =
			sfs_reallocarray(b->samples, b->capacity, sizeof *b->samples);
		b->perm = sfs_reallocarray(b->perm, b->capacity, sizeof *b->perm);
		b->times = sfs_reallocarray(b->times, b->capacity, sizeof *b->times);
	}
	b->times[b->n] = time_of_next(lane);
	b->samples[b->n++] = (struct sfs_block_sample){
		.shard = shard,
		.m = lane->m,
		.has_global = s->has_global,
		.is_unverified = s->is_unverified,
		.index = (uint32_t)lane->index,
		.start = s->start,
		.n_bytes = s->n_bytes,
		.key_hash = s->key_hash,
	};
}

/* Was that the lane's last sample? */
static bool is_at_end(const struct sfs_lane *lane)
{
	uint32_t n = sfs_order_lane_slices(lane->order, lane->lane);
	struct sfs_slice slice;

	if (lane->m >= n)
		return true;
	slice = sfs_order_slice(lane->order, lane->lane, lane->m);
	return lane->m + 1 == n && slice.n != SFS_SLICE_ALL &&
	       lane->index == sfs_slice_end(&slice, 0);
}

static void shuffle(const struct sfs_lane *lane, struct sfs_block *b)
{
	sfs_order_block(lane->order, lane->lane, b->piece, b->perm, b->n);
}

static void add_end(struct sfs_lane *lane, uint64_t end)
{
	lane->ends[0] = lane->ends[1];
	lane->ends[1] = lane->ends[2];
	lane->ends[2] = end;
}

/* Take samples of the current slice, up to table number n.  true: the block is whole, as
 * the next sample lies in another piece.  (It lies no earlier than where the last one
 * ends; in an equal lane, just there.  So that may be known before the sample is.) */
static bool take_samples(struct sfs_lane *lane, const struct sfs_slice *slice,
			 const struct sfs_sample_table *table, uint64_t n,
			 struct sfs_block *b)
{
	const struct sfs_order *order = lane->order;
	const bool is_dealt = sfs_order_is_dealt(order);
	const size_t i = order->lane_start[lane->lane] + lane->m;
	uint64_t in_table = sfs_sample_table_place(table, lane->index);
	uint64_t place = lane->ends[2], next = 0;
	struct sfs_sample_table_sample s;

	if (order->cuts)
		next = sfs_order_base(order, lane->lane, lane->m + 1);
	if (!is_dealt)
		place = lane->base + in_table -
			sfs_sample_table_place(table, slice->first);
	for (;; lane->index++, lane->number++) {
		if (is_dealt && lane->index < n)
			place = sfs_order_place_of(
				order, i, sfs_sample_table_start(table, lane->index));
		else if (order->cuts && place > next)
			place = next; /* the last sample may reach beyond */
		if (b->n > 0 && place >= b->end_place)
			return true;
		if (lane->index == n)
			return false;
		s = sfs_sample_table_get_at(table, lane->index, in_table);
		if (b->n == 0) {
			b->piece = sfs_order_piece(order, place);
			b->end_place = sfs_order_piece_end(order, b->piece);
			b->first = lane->number;
		}
		add_sample(b, lane, slice->shard, &s);
		place += s.n_bytes;
		in_table += s.n_bytes;
		if (is_dealt)
			add_end(lane, place);
	}
}

static void enter_slice(struct sfs_lane *lane)
{
	bool is_there = lane->m < sfs_order_lane_slices(lane->order, lane->lane);

	lane->index =
		is_there ? sfs_order_slice(lane->order, lane->lane, lane->m).first : 0;
	lane->ends[0] = lane->ends[1] = lane->ends[2] = lane->base;
}

/* The current slice has no more samples. */
static void leave_slice(struct sfs_lane *lane, const struct sfs_slice *slice,
			const struct sfs_sample_table *table)
{
	lane->m++;
	if (sfs_order_is_dealt(lane->order))
		lane->base = sfs_order_base(lane->order, lane->lane, lane->m);
	else
		lane->base += sfs_sample_table_place(table, sfs_slice_end(slice, 0)) -
			      sfs_sample_table_place(table, slice->first);
	enter_slice(lane);
}

void sfs_lane_init(struct sfs_lane *lane, const struct sfs_order *order, uint32_t number)
{
	*lane = (struct sfs_lane){.order = order, .lane = number};
	enter_slice(lane);
}

void sfs_lane_set_ends(struct sfs_lane *lane, const struct sfs_sample_table *table)
{
	const struct sfs_order *order = lane->order;
	const size_t k = order->lane_start[lane->lane] + lane->m;
	uint64_t i;

	lane->ends[0] = lane->ends[1] = lane->ends[2] = lane->base;
	if (!sfs_order_is_dealt(order))
		return;
	i = order->slices[k].first;
	i = lane->index < i + 3 ? i : lane->index - 3;
	for (; i < lane->index; i++)
		add_end(lane, sfs_order_place_of(order, k,
						 sfs_sample_table_end_of(table, i)));
}

uint64_t sfs_lane_time(const struct sfs_lane *lane, const struct sfs_block *forming)
{
	if (forming->n > 0)
		return forming->times[0];
	return is_at_end(lane) ? SFS_NEVER : time_of_next(lane);
}

/* At the start of a slice: does it begin another block, whatever its samples are? */
static bool begins_block(const struct sfs_lane *lane, const struct sfs_block *b)
{
	if (lane->index > sfs_order_slice(lane->order, lane->lane, lane->m).first)
		return false;
	return lane->base >= b->end_place ||
	       sfs_order_is_alone(lane->order, lane->lane, lane->m - 1) ||
	       sfs_order_is_alone(lane->order, lane->lane, lane->m);
}

int sfs_lane_form(struct sfs_lane *lane, const struct sfs_sample_tables *tables,
		  struct sfs_block *block, uint32_t *ret_shard)
{
	uint32_t n_slices = sfs_order_lane_slices(lane->order, lane->lane);
	struct sfs_slice slice;
	const struct sfs_sample_table *table;
	enum sfs_sample_table_state state;
	uint64_t n, end;

	while (lane->m < n_slices) {
		if (block->n > 0 && begins_block(lane, block))
			break;
		slice = sfs_order_slice(lane->order, lane->lane, lane->m);
		table = tables->get(tables->ctx, slice.shard);
		state = table ? sfs_sample_table_state(table) : SFS_SAMPLE_TABLE_GROWING;
		n = table ? sfs_sample_table_n(table) : 0;
		end = sfs_slice_end(&slice, n);
		if (table && lane->index <= n &&
		    take_samples(lane, &slice, table, n < end ? n : end, block)) {
			shuffle(lane, block);
			return 0;
		}
		if (state != SFS_SAMPLE_TABLE_WHOLE) {
			*ret_shard = slice.shard;
			return state == SFS_SAMPLE_TABLE_DAMAGED ? -EBADMSG : -EAGAIN;
		}
		leave_slice(lane, &slice, table);
	}
	if (block->n == 0)
		return -ENODATA;
	shuffle(lane, block);
	return 0;
}
