/* SPDX-License-Identifier: MIT */
/* How this works: a lane has one slice buffer for each slice that it holds bytes of, and
 * one block whose samples the cursor takes one by one.  The next block is formed from the
 * tables when the one before is used up; the tables grow as parts arrive.
 *
 * When a byte of a dealt lane falls due is known from its place alone (order.h).  Of an
 * equal lane it is estimated: the number of the next sample that is in no block, and the
 * unassigned bytes divided by the mean size of a sample. */
#include "stream/prefetch/prefetch-lanes.h"

#include "base/alloc.h"

#include <errno.h>

#define LONGEST ((int64_t)1 << 62)

/* At its pace, a dealt lane would be through so many bytes in SFS_TIMES.  The pace is
 * that of the middle of what is prefetched. */
static uint64_t speed_of(const struct sfs_prefetch_lanes *p, uint32_t lane)
{
	const struct sfs_pace *pace;
	uint64_t time; /* that half of the lane takes */

	if (!sfs_order_is_dealt(p->base.order))
		return 0;
	pace = &p->base.order->paces[lane];
	time = p->now + (uint64_t)p->lead / 2 < pace->half ? pace->half
							   : SFS_TIMES - pace->half;
	return (uint64_t)((double)pace->n_bytes / 2 * (double)SFS_TIMES / (double)time);
}

static void set_speed(struct sfs_prefetch_lanes *p, struct sfs_prefetch_lane *lane)
{
	p->speed -= lane->speed;
	lane->speed = speed_of(p, lane->at.lane);
	p->speed += lane->speed;
}

void sfs_prefetch_lane_set_requested(struct sfs_prefetch_lanes *p,
				     struct sfs_prefetch_lane *lane, bool is_requested)
{
	p->n_left += lane->is_requested;
	lane->is_requested = is_requested;
	p->n_left -= is_requested;
}

static void end_lane(struct sfs_prefetch_lanes *p, struct sfs_prefetch_lane *lane)
{
	lane->has_ended = true;
	sfs_prefetch_lane_set_requested(p, lane, true);
}

struct sfs_slice_buffer *sfs_prefetch_lane_find(const struct sfs_prefetch_lane *lane,
						uint32_t m)
{
	struct sfs_slice_buffer *buffer = lane->first_buffer;

	while (buffer && buffer->m != m)
		buffer = buffer->next;
	return buffer;
}

static uint64_t end_of_samples(const struct sfs_sample_table *table, uint64_t n,
			       uint64_t start)
{
	return n > 0 ? sfs_sample_table_end_of(table, n - 1) : start;
}

/* Its last sample is known: no more is requested than that. */
static void set_end(struct sfs_slice_buffer *buffer, uint64_t end)
{
	if (end < buffer->requested)
		end = buffer->end < buffer->requested ? buffer->end : buffer->requested;
	buffer->end = end;
}

void sfs_prefetch_lane_extend(struct sfs_slice_buffer *buffer)
{
	const struct sfs_shard *shard = buffer->shard;
	struct sfs_shard_progress known;
	uint64_t end;

	if (!shard->part.whole)
		return;
	known = sfs_shard_progress(buffer->shard);
	sfs_slice_buffer_begin_at(buffer, known.from);
	if (known.wanted == UINT64_MAX) {
		set_end(buffer, end_of_samples(sfs_shard_table(buffer->shard),
					       known.n_samples, buffer->start));
		return;
	}
	if (known.wanted == SFS_WANTED_LATER)
		known.wanted = 0;
	/* In whole slabs, as more may follow. */
	end = known.wanted < shard->part.end ? shard->part.end : known.wanted + 1;
	end = sfs_slice_buffer_round_up(buffer, end > buffer->requested
							? end
							: buffer->requested);
	buffer->end = end < shard->object->size ? end : shard->object->size;
}

/* Which bytes of the shard hold the slice? */
static void find_range(const struct sfs_slice *slice, struct sfs_shard *shard,
		       uint64_t *from, uint64_t *ret_end)
{
	const struct sfs_sample_table *table = sfs_shard_table(shard);
	uint64_t begin = *from;

	*ret_end = shard->object->size;
	if (slice->n != SFS_SLICE_ALL) {
		if (begin == 0 && slice->n > 0)
			begin = sfs_sample_table_start(table, slice->first);
		*ret_end = slice->n > 0
				   ? end_of_samples(table, sfs_slice_end(slice, 0), 0)
				   : begin;
	} else if (shard->part.whole && begin == 0) {
		begin = sfs_shard_progress(shard).from;
	}
	*from = begin;
}

struct sfs_slice_buffer *sfs_prefetch_lane_add(struct sfs_prefetch_lanes *p,
					       struct sfs_prefetch_lane *lane, uint32_t m,
					       uint64_t from)
{
	struct sfs_slice slice = sfs_order_slice(p->base.order, lane->at.lane, m);
	struct sfs_shard *shard = &p->base.runtime->shards.shards[slice.shard];
	struct sfs_slice_buffer *buffer;
	uint64_t end;

	sfs_shard_pin(&p->base.runtime->shards, shard);
	find_range(&slice, shard, &from, &end);
	buffer = sfs_slice_buffer_new(shard, p->base.runtime->slabs, p->base.account,
				      from, end);
	sfs_prefetch_lane_extend(buffer);
	buffer->lane = lane->at.lane;
	buffer->m = m;
	buffer->is_open = true;
	if (lane->last_buffer)
		lane->last_buffer->next = buffer;
	else
		lane->first_buffer = buffer;
	lane->last_buffer = buffer;
	lane->next_m = m + 1;
	if (shard->object->size == 0)
		sfs_shard_feed(&p->base.runtime->shards, shard, 0, NULL, 0);
	return buffer;
}

void sfs_prefetch_lane_open(struct sfs_prefetch_lanes *p, struct sfs_prefetch_lane *lane)
{
	uint32_t n_slices = sfs_order_lane_slices(p->base.order, lane->at.lane);

	while (lane->next_m <= lane->at.m && lane->next_m < n_slices)
		sfs_prefetch_lane_add(p, lane, lane->next_m, 0);
}

void sfs_prefetch_lane_close(struct sfs_prefetch_lanes *p,
			     struct sfs_slice_buffer *buffer)
{
	struct sfs_shard *shard = buffer->shard;

	sfs_slice_buffer_free(buffer);
	sfs_shard_unpin(&p->base.runtime->shards, shard);
}

void sfs_prefetch_lane_drop(struct sfs_prefetch_lanes *p, struct sfs_prefetch_lane *lane)
{
	struct sfs_slice_buffer *buffer;

	while ((buffer = lane->first_buffer) != NULL && !buffer->is_open &&
	       buffer->n_users == 0 && buffer->n_in_flight == 0) {
		lane->first_buffer = buffer->next;
		if (!lane->first_buffer)
			lane->last_buffer = NULL;
		sfs_prefetch_lane_close(p, buffer);
	}
}

void sfs_prefetch_lane_feed(struct sfs_prefetch_lanes *p, struct sfs_slice_buffer *buffer)
{
	uint64_t wanted = sfs_shard_wanted(buffer->shard);
	unsigned char *bytes;
	size_t n;

	while (wanted < SFS_WANTED_LATER &&
	       (bytes = sfs_slice_buffer_at(buffer, wanted, &n)) != NULL)
		wanted = sfs_shard_feed(&p->base.runtime->shards, buffer->shard, wanted,
					bytes, n);
}

/* The tables that a lane may form blocks from: those its buffers have pinned. */
static const struct sfs_sample_table *table_of(void *ctx, uint32_t shard)
{
	struct sfs_prefetch_lanes *p = ctx;
	struct sfs_slice_buffer *buffer;

	for (buffer = p->forming->first_buffer; buffer; buffer = buffer->next)
		if (buffer->shard->index == shard)
			return sfs_shard_table(buffer->shard);
	return NULL;
}

uint64_t sfs_prefetch_mean_bytes(const struct sfs_prefetch_lanes *p)
{
	if (p->base.order->n_samples > 0)
		return p->base.order->n_bytes / p->base.order->n_samples;
	return p->n_assigned ? p->assigned_bytes / p->n_assigned : 64 << 10;
}

uint32_t sfs_prefetch_n_left(const struct sfs_prefetch_lanes *p)
{
	return p->n_left ? p->n_left : 1;
}

int64_t sfs_prefetch_duration(const struct sfs_prefetch_lanes *p, uint64_t n_bytes)
{
	double speed =
		sfs_order_is_dealt(p->base.order)
			? (double)p->speed / (double)SFS_TIMES
			: (double)sfs_prefetch_mean_bytes(p) * sfs_prefetch_n_left(p);
	double time = (double)n_bytes / (speed > 0 ? speed : 1);

	return time < (double)LONGEST ? (int64_t)time : LONGEST;
}

/* The place in a dealt lane of its first byte that was not requested. */
static uint64_t place_of(const struct sfs_prefetch_lanes *p,
			 const struct sfs_prefetch_lane *lane)
{
	const struct sfs_slice_buffer *buffer;
	uint64_t end, byte;

	for (buffer = lane->first_buffer; buffer; buffer = buffer->next) {
		end = buffer->is_open ? buffer->end : buffer->held_end;
		byte = buffer->requested;
		if (byte >= end)
			continue;
		if (byte < buffer->shard->part.begin) /* looking back from the cut */
			byte = buffer->shard->part.begin;
		return sfs_order_place_of(p->base.order,
					  p->base.order->lane_start[lane->at.lane] +
						  buffer->m,
					  byte);
	}
	return sfs_order_base(p->base.order, lane->at.lane, lane->next_m);
}

static uint64_t unassigned_bytes(const struct sfs_prefetch_lane *lane)
{
	const struct sfs_slice_buffer *buffer;
	uint64_t n = 0;

	for (buffer = lane->first_buffer; buffer; buffer = buffer->next)
		if (buffer->is_open && buffer->requested > buffer->assigned)
			n += buffer->requested - buffer->assigned;
	return n;
}

/* Before a dealt lane has its margin it is overdue, by its bytes alone: so at the start
 * all lanes take turns, as they will leave. */
static int64_t dealt_due(const struct sfs_prefetch_lanes *p, uint32_t lane,
			 uint64_t place)
{
	if (place < p->margin)
		return (int64_t)place - (int64_t)p->margin;
	return (int64_t)sfs_order_due(p->base.order, lane, place - p->margin);
}

static int64_t equal_due(const struct sfs_prefetch_lanes *p,
			 const struct sfs_prefetch_lane *lane, uint64_t margin)
{
	int64_t bytes = (int64_t)unassigned_bytes(lane) - (int64_t)margin;

	return (int64_t)lane->at.number + bytes / (int64_t)sfs_prefetch_mean_bytes(p);
}

/* How many requests of the lane may be in flight: of dealt lanes, a fast one has more. */
static uint32_t max_of_lane(const struct sfs_prefetch_lanes *p,
			    const struct sfs_prefetch_lane *lane)
{
	uint32_t mean = p->max_lane_in_flight, n = mean;

	if (lane->has_only_large)
		return 1;
	if (p->speed > 0)
		n = (uint32_t)((double)mean * (double)lane->speed /
			       ((double)p->speed / p->base.order->n_lanes));
	return n > 2 ? n : 2;
}

void sfs_prefetch_lane_update(struct sfs_prefetch_lanes *p,
			      struct sfs_prefetch_lane *lane)
{
	int64_t *due = &p->due[lane - p->lanes];

	set_speed(p, lane);
	*due = SFS_PREFETCH_NOT_NOW;
	if (lane->has_ended || lane->damage || lane->has_failed ||
	    lane->n_in_flight >= max_of_lane(p, lane))
		return;
	*due = sfs_order_is_dealt(p->base.order)
		       ? dealt_due(p, lane->at.lane, place_of(p, lane))
		       : equal_due(p, lane, p->margin);
}

int64_t sfs_prefetch_lane_needed(const struct sfs_prefetch_lanes *p,
				 const struct sfs_prefetch_lane *lane)
{
	uint64_t piece;

	if (!sfs_order_is_dealt(p->base.order))
		return equal_due(p, lane, 0);
	piece = sfs_order_piece(p->base.order, place_of(p, lane));
	return (int64_t)sfs_order_due(p->base.order, lane->at.lane,
				      sfs_order_piece_start(p->base.order, piece));
}

/* A block was formed: its samples count on their slabs, and what no later sample
 * needs may go. */
static void assign_block(struct sfs_prefetch_lanes *p, struct sfs_prefetch_lane *lane)
{
	struct sfs_shard_progress known;
	const struct sfs_block_sample *s;
	struct sfs_slice_buffer *buffer;
	struct sfs_slice slice;
	uint64_t end;
	size_t t;

	for (t = lane->t; t < lane->block.n; t++) {
		s = sfs_block_at(&lane->block, t);
		/* Another slice of the same shard had the table at hand. */
		while (lane->next_m <= s->m)
			sfs_prefetch_lane_add(p, lane, lane->next_m, 0);
		sfs_slice_buffer_hold(sfs_prefetch_lane_find(lane, s->m), s->start,
				      s->n_bytes);
		p->assigned_bytes += s->n_bytes;
	}
	p->n_assigned += lane->block.n - lane->t;
	for (buffer = lane->first_buffer; buffer; buffer = buffer->next) {
		if (buffer->m > lane->at.m)
			break;
		buffer->is_open = buffer->m == lane->at.m;
		known = sfs_shard_progress(buffer->shard);
		slice = sfs_order_slice(p->base.order, lane->at.lane, buffer->m);
		end = sfs_slice_end(&slice, known.n_samples);
		if (!buffer->is_open)
			sfs_slice_buffer_assign(buffer, UINT64_MAX);
		else if (lane->at.index < end)
			sfs_slice_buffer_assign(
				buffer,
				sfs_sample_table_start(sfs_shard_table(buffer->shard),
						       lane->at.index));
		else
			sfs_slice_buffer_assign(buffer, known.frontier);
	}
}

/* Form the block; add buffers for further slices as it reaches them. */
static int try_form(struct sfs_prefetch_lanes *p, struct sfs_prefetch_lane *lane)
{
	const struct sfs_sample_tables tables = {.ctx = p, .get = table_of};
	uint32_t n_slices = sfs_order_lane_slices(p->base.order, lane->at.lane), shard;
	int ret;

	p->forming = lane;
	for (;;) {
		ret = sfs_lane_form(&lane->at, &tables, &lane->block, &shard);
		if (ret != -EAGAIN || lane->at.m < lane->next_m ||
		    lane->next_m == n_slices)
			break;
		sfs_prefetch_lane_add(p, lane, lane->next_m, 0);
	}
	if (ret == 0) /* it may have reached several slices of one shard at once */
		sfs_prefetch_lane_open(p, lane);
	return ret;
}

static int form(struct sfs_prefetch_lanes *p, struct sfs_prefetch_lane *lane)
{
	struct sfs_slice_buffer *buffer;
	int ret;

	if (lane->has_ended)
		return -ENODATA;
	if (lane->damage)
		return lane->damage;
	ret = try_form(p, lane);
	if (ret == -EAGAIN &&
	    (buffer = sfs_prefetch_lane_find(lane, lane->at.m)) != NULL) {
		/* Another cursor may have fed the table up to bytes that are here. */
		sfs_prefetch_lane_feed(p, buffer);
		ret = try_form(p, lane);
	}
	if (ret == -ENODATA)
		end_lane(p, lane);
	else if (ret < 0 && ret != -EAGAIN)
		lane->damage = ret;
	if (lane->damage) {
		lane->damage_time = sfs_lane_time(&lane->at, &lane->block);
		sfs_block_clear(&lane->block);
	}
	lane->is_formed = ret == 0;
	lane->t = 0;
	if (ret != -EAGAIN) {
		assign_block(p, lane);
		sfs_prefetch_lane_drop(p, lane);
		sfs_prefetch_lane_update(p, lane);
	}
	return ret;
}

uint64_t sfs_prefetch_lane_time(const struct sfs_prefetch_lane *lane)
{
	if (lane->is_formed)
		return lane->block.times[lane->t];
	if (lane->has_ended)
		return SFS_NEVER;
	return lane->damage ? lane->damage_time : sfs_lane_time(&lane->at, &lane->block);
}

int sfs_prefetch_lane_peek(struct sfs_prefetch_lanes *p, struct sfs_prefetch_lane *lane,
			   struct sfs_prefetch_next *ret_next)
{
	const struct sfs_block_sample *s;
	enum sfs_slice_buffer_state state;
	struct sfs_slice_buffer *buffer;
	int ret;

	if (!lane->is_formed) {
		ret = form(p, lane);
		if (ret < 0)
			return ret;
	}
	s = sfs_block_at(&lane->block, lane->t);
	buffer = sfs_prefetch_lane_find(lane, s->m);
	state = sfs_slice_buffer_state(buffer, s->start, s->n_bytes);
	if (state == SFS_SLICE_BUFFER_EXPECTED)
		return -EAGAIN;
	ret_next->sample = s;
	ret_next->buffer = state == SFS_SLICE_BUFFER_HERE ? buffer : NULL;
	ret_next->start = s->start;
	return 0;
}

void sfs_prefetch_lane_take(struct sfs_prefetch_lanes *p, struct sfs_prefetch_lane *lane)
{
	const struct sfs_block_sample *s = sfs_block_at(&lane->block, lane->t);
	struct sfs_slice_buffer *buffer = sfs_prefetch_lane_find(lane, s->m);

	if (sfs_slice_buffer_state(buffer, s->start, s->n_bytes) ==
	    SFS_SLICE_BUFFER_GONE) {
		sfs_slice_buffer_release(buffer, s->start, s->n_bytes);
		sfs_prefetch_lane_drop(p, lane);
	}
	p->now = lane->block.times[lane->t];
	if (++lane->t == lane->block.n) {
		lane->is_formed = false;
		lane->t = 0;
		sfs_block_clear(&lane->block);
		sfs_prefetch_lane_update(p, lane);
	} else {
		__builtin_prefetch(sfs_block_at(&lane->block, lane->t)); /* soon */
	}
}

int sfs_prefetch_lane_start(struct sfs_prefetch_lanes *p, struct sfs_prefetch_lane *lane,
			    struct sfs_locator *map, uint64_t number)
{
	const struct sfs_block_sample *s;
	uint32_t shard, m, first_m, last_m = 0, lane_number = lane->at.lane;
	uint64_t from = UINT64_MAX;
	size_t t;
	int ret;

	ret = sfs_locator_seek(map, lane_number, number, &lane->at, &lane->block, &shard);
	if (ret == -ENODATA) {
		end_lane(p, lane);
		lane->next_m = sfs_order_lane_slices(p->base.order, lane_number);
		return 0;
	}
	if (ret < 0)
		return ret;
	lane->is_formed = true;
	lane->t = (size_t)(number - lane->block.first);
	first_m = UINT32_MAX;
	for (t = 0; t < lane->block.n; t++) {
		s = sfs_block_at(&lane->block, t);
		last_m = s->m > last_m ? s->m : last_m;
		if (t < lane->t)
			continue;
		if (s->m < first_m || (s->m == first_m && s->start < from)) {
			first_m = s->m;
			from = s->start;
		}
	}
	for (m = first_m; m <= last_m; m++)
		sfs_prefetch_lane_add(p, lane, m, m == first_m ? from : 0);
	assign_block(p, lane);
	return 0;
}
