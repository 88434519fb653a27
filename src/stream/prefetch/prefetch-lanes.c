/* SPDX-License-Identifier: MIT */
/* How this works: pump() requests a part for the lane whose next byte falls
 * due first, and then for the next, until enough is in flight.  `due` is an array, so
 * that finding that lane is one pass over numbers.  A lane has enough when that byte is
 * not due soon: so a fast lane is read further ahead than a slow one.
 *
 * Progress is certain whatever the budget.  When the account refuses memory for the lane
 * that blocks the cursor, prefetch gives up the data of that sample: the cursor fetches
 * them in pieces, from the range reader's own account.  Headers come from there, too. */
#include "stream/prefetch/prefetch-lanes.h"

#include "base/alloc.h"
#include "base/ledger.h"
#include "stream/prefetch/sizing.h"

#include <errno.h>

#define GOLDEN_RATIO 2654435769u /* of 2^32: its multiples lie evenly modulo that */
#define BEFORE_MAX   ((uint64_t)1 << 20) /* bytes that are searched, in a request */
#define SOON_SAMPLES 3 /* of each lane; who needs a part so soon may block next */

/* ---- what to request ---- */

static uint32_t choose_lane(const struct sfs_prefetch_lanes *p)
{
	int64_t first = SFS_PREFETCH_NOT_NOW;
	uint32_t l, found = UINT32_MAX;

	for (l = 0; l < p->base.order->n_lanes; l++) {
		if (p->due[l] < first) {
			first = p->due[l];
			found = l;
		}
	}
	return found;
}

/* Skip samples that are too large to hold, and what follows the last sample: move
 * `requested` past them, and end *n_bytes before the next one.  What the table does not
 * know yet counts as one sample, from the frontier to the byte it wants.
 * true: only headers are worth a request, at *ret_wanted. */
static bool skip_large(struct sfs_slice_buffer *buffer, const struct sfs_slice *slice,
		       uint64_t max_bytes, uint64_t *n_bytes, uint64_t *ret_wanted)
{
	const struct sfs_sample_table *table = sfs_shard_table(buffer->shard);
	struct sfs_shard_progress known = sfs_shard_progress(buffer->shard);
	uint64_t n = sfs_slice_end(slice, known.n_samples);
	uint64_t i = sfs_sample_table_at(table, n, buffer->requested);
	struct sfs_sample_table_sample s;
	bool has_small = false; /* a sample to be held, from `requested` on */

	*ret_wanted = known.wanted;
	if (known.wanted_end > 0)
		known.frontier = known.wanted; /* it looks for its first sample */
	for (; i <= n; i++) {
		if (i < n)
			s = sfs_sample_table_get(table, i);
		else if (known.wanted == UINT64_MAX)
			break;
		else
			s = (struct sfs_sample_table_sample){
				.start = known.frontier,
				.n_bytes = known.wanted - known.frontier};
		if (s.start >= buffer->requested + *n_bytes)
			return false;
		if (i < n && s.start + s.n_bytes <= buffer->requested)
			continue; /* given up before */
		if (s.n_bytes <= max_bytes) {
			has_small = true;
		} else if (has_small) {
			*n_bytes = sfs_slice_buffer_round_up(buffer, s.start) -
				   buffer->requested;
			return false;
		} else {
			sfs_slice_buffer_skip(buffer, s.start + s.n_bytes);
			if (i == n)
				return true;
		}
	}
	if (!has_small)
		sfs_slice_buffer_skip(buffer,
				      sfs_slice_buffer_round_up(buffer, buffer->end));
	return false;
}

/* A part of part_bytes, or between half of that and all.  Lanes should run dry one after
 * another.  If many did at once, a reader would wait for the next part of all of them,
 * and then have them all at once.  So the parts of each lane end at offsets of its own,
 * modulo part_bytes.  The first part that ends there may be smaller than half: otherwise
 * all lanes would hold a whole part at the start. */
static uint64_t staggered_bytes(const struct sfs_prefetch_lane *lane, uint64_t part_bytes)
{
	uint64_t n = part_bytes / SFS_SLAB_BYTES,
		 requested = lane->requested_bytes / SFS_SLAB_BYTES;
	uint64_t end = ((uint64_t)(lane->at.lane * GOLDEN_RATIO) * n) >> 32;
	uint64_t left = n - (requested + n - end) % n;

	if (requested >= 2 * n && left < n - n / 2)
		left = (left + n + 1) / 2;
	return left * SFS_SLAB_BYTES;
}

/* The first parts of a lane are small: each is as large as all before it together. */
static uint64_t next_part_bytes(const struct sfs_prefetch_lanes *p,
				const struct sfs_prefetch_lane *lane,
				const struct sfs_shard *shard)
{
	struct sfs_netpath path = sfs_object_netpath(shard->object);
	uint64_t first = sfs_sizing_first(&path, lane->at.lane);
	uint64_t ramp = lane->requested_bytes > first ? lane->requested_bytes : first;
	uint64_t n = staggered_bytes(lane, sfs_prefetch_part_over(&p->base, &path));

	return n < ramp ? n : ramp / SFS_SLAB_BYTES * SFS_SLAB_BYTES;
}

/* What a buffer, or a lane, wants to be requested next. */
enum want {
	WANTS_NOTHING,
	WANTS_BYTES, /* or headers */
	WAITS,	     /* for what is in flight, which decides about the rest */
};

/* A stretch looks for its first sample in bytes that its buffer will not have.  Until it
 * is found, nothing else is requested, unless the buffer keeps bytes from before the cut.
 * WANTS_NOTHING: it does not. */
static enum want want_before(const struct sfs_prefetch_lanes *p,
			     struct sfs_prefetch_want *w)
{
	const struct sfs_slice_buffer *buffer = w->buffer;
	struct sfs_shard_progress known;

	if (!buffer->shard->part.whole)
		return WANTS_NOTHING;
	known = sfs_shard_progress(buffer->shard);
	if (known.wanted_end == 0 || known.wanted >= buffer->start)
		return WANTS_NOTHING;
	if (sfs_lane_part_is_in_flight(p, buffer, known.wanted))
		return buffer->start < buffer->shard->part.begin ? WANTS_NOTHING : WAITS;
	w->is_header = true;
	w->offset = known.wanted;
	w->n_bytes = known.wanted_end - known.wanted;
	if (w->n_bytes > BEFORE_MAX)
		w->n_bytes = BEFORE_MAX;
	return WANTS_BYTES;
}

/* What should this buffer request next: what failed from byte `from` on, or else what was
 * not requested yet? */
static enum want buffer_want(struct sfs_prefetch_lanes *p, struct sfs_prefetch_lane *lane,
			     struct sfs_slice_buffer *buffer, uint64_t from,
			     struct sfs_prefetch_want *w)
{
	struct sfs_slice slice = sfs_order_slice(p->base.order, lane->at.lane, buffer->m);
	uint64_t part_bytes = next_part_bytes(p, lane, buffer->shard), end, wanted;
	enum want before;

	*w = (struct sfs_prefetch_want){.buffer = buffer, .n_bytes = part_bytes};
	before = want_before(p, w);
	if (before != WANTS_NOTHING)
		return before;
	sfs_prefetch_lane_extend(buffer);
	end = buffer->is_open ? buffer->end : buffer->held_end;
	if (sfs_slice_buffer_missing(buffer, from, part_bytes, &w->offset, &w->n_bytes))
		return WANTS_BYTES;
	if (buffer->requested >= end)
		return WANTS_NOTHING;
	lane->has_only_large = w->is_header =
		skip_large(buffer, &slice, p->lane_share, &w->n_bytes, &wanted);
	if (buffer->requested >= end)
		return WANTS_NOTHING;
	w->offset = w->is_header ? wanted : buffer->requested;
	if (w->is_header)
		w->n_bytes = SFS_HEADER_BYTES;
	else if (w->n_bytes > buffer->end - w->offset)
		w->n_bytes = buffer->end - w->offset;
	return WANTS_BYTES;
}

static enum want lane_want(struct sfs_prefetch_lanes *p, struct sfs_prefetch_lane *lane,
			   struct sfs_prefetch_want *w)
{
	uint32_t n_slices = sfs_order_lane_slices(p->base.order, lane->at.lane);
	struct sfs_slice_buffer *buffer;
	enum want want = WANTS_NOTHING;

	for (buffer = lane->first_buffer; buffer && !want; buffer = buffer->next)
		want = buffer_want(p, lane, buffer, 0, w);
	while (!want && lane->next_m < n_slices) {
		buffer = sfs_prefetch_lane_add(p, lane, lane->next_m, 0);
		want = buffer_want(p, lane, buffer, 0, w);
	}
	return want;
}

/* The buffer that a blocked lane waits for: that of its next sample, or that in which its
 * next block is being formed. */
static struct sfs_slice_buffer *blocking_buffer(struct sfs_prefetch_lanes *p,
						struct sfs_prefetch_lane *lane)
{
	if (lane->is_formed)
		return sfs_prefetch_lane_find(lane,
					      sfs_block_at(&lane->block, lane->t)->m);
	sfs_prefetch_lane_open(p, lane);
	return sfs_prefetch_lane_find(lane, lane->at.m);
}

/* The byte of that buffer that a blocked lane waits for.  UINT64_MAX: none is known. */
static uint64_t missing_byte(const struct sfs_prefetch_lane *lane,
			     const struct sfs_slice_buffer *buffer)
{
	const struct sfs_block_sample *s;
	uint64_t at;
	size_t n;

	if (!lane->is_formed)
		return sfs_shard_wanted(buffer->shard);
	s = sfs_block_at(&lane->block, lane->t);
	for (at = s->start; at < s->start + s->n_bytes; at += n)
		if (!sfs_slice_buffer_at(buffer, at, &n))
			return at;
	return UINT64_MAX;
}

static bool needs(struct sfs_prefetch *base, const struct sfs_prefetch_loss *loss)
{
	struct sfs_prefetch_lanes *p = sfs_prefetch_lanes_of(base);
	struct sfs_prefetch_lane *lane = &p->lanes[loss->lane];
	const struct sfs_slice_buffer *buffer;
	uint64_t byte;

	if (loss->lane != p->blocked || lane->has_ended || lane->damage)
		return false;
	buffer = blocking_buffer(p, lane);
	if (!buffer || buffer->m != loss->m)
		return false;
	byte = missing_byte(lane, buffer);
	return byte >= loss->start && byte < loss->end;
}

/* A reader waits for the lane: hurry its parts, and those that lanes need next.
 * true: more of it is here. */
static bool hurry_parts(struct sfs_prefetch_lanes *p,
			const struct sfs_prefetch_lane *lane)
{
	uint64_t soon =
		SOON_SAMPLES * sfs_prefetch_mean_bytes(p) * sfs_prefetch_n_left(p);
	int64_t until = (int64_t)p->now + sfs_prefetch_duration(p, soon);
	bool has_more = false;

	SFS_EACH (part, &p->base.parts, struct sfs_lane_part, base.link) {
		if (part->is_header)
			continue;
		if (part->lane == lane->at.lane)
			has_more |= sfs_lane_part_take_ready(p, part);
		else if (part->needed > until)
			continue;
		sfs_request_hurry(&part->base.request);
	}
	return has_more;
}

/* A reader waits for the lane: have its next byte in flight, whatever that takes.
 * true: more of it is here, or its sample was given up. */
static bool unblock(struct sfs_prefetch_lanes *p, struct sfs_prefetch_lane *lane,
		    struct sfs_deferred *out)
{
	const struct sfs_block_sample *s;
	struct sfs_prefetch_want w;
	uint64_t byte;

	if (lane->has_ended || lane->damage)
		return false;
	w.buffer = blocking_buffer(p, lane);
	byte = missing_byte(lane, w.buffer);
	/* If that byte failed before the reader came, it is requested again at once,
	 * whatever else is in flight. */
	if (lane->n_in_flight > 0 &&
	    (!lane->has_failed || sfs_lane_part_is_in_flight(p, w.buffer, byte)))
		return hurry_parts(p, lane);
	lane->has_failed = false;
	sfs_prefetch_lane_update(p, lane);
	if (buffer_want(p, lane, w.buffer, byte, &w) == WANTS_BYTES && !w.is_header &&
	    w.offset <= byte && sfs_lane_part_request(p, lane, &w, true, out)) {
		sfs_prefetch_lane_update(p, lane);
		return false;
	}
	/* Too large to hold, or no memory: give up the sample that is due, or look for
	 * the header of the next one. */
	if (lane->is_formed) {
		s = sfs_block_at(&lane->block, lane->t);
		sfs_slice_buffer_give_up(w.buffer, s->start, s->n_bytes);
		return true;
	}
	if (!w.is_header) {
		w.offset = sfs_shard_wanted(w.buffer->shard);
		w.n_bytes = SFS_HEADER_BYTES;
	}
	if (w.offset < SFS_WANTED_LATER)
		sfs_lane_part_request_header(p, lane, &w, true, out);
	sfs_prefetch_lane_update(p, lane);
	return false;
}

/* A block has at least one sample, however large that is. */
static uint64_t block_bytes(const struct sfs_prefetch_lanes *p)
{
	uint64_t sample = sfs_prefetch_mean_bytes(p), block = p->base.order->piece_bytes;

	return block > sample ? block : sample;
}

/* Has the lane enough?  Each lane counts for itself: by the sum of all, many lanes that
 * run dry at the same time would get their parts one after another. */
static bool has_enough(const struct sfs_prefetch_lanes *p, uint32_t l)
{
	return p->due[l] > (int64_t)p->now + p->lead;
}

/* Samples of a dealt lane leave about one sample before their place is due. */
static uint64_t wanted_margin(const struct sfs_prefetch_lanes *p)
{
	struct sfs_netpath path = sfs_prefetch_slowest_path(p->base.runtime);

	return sfs_sizing_margin(&path, block_bytes(p)) +
	       (sfs_order_is_dealt(p->base.order) ? sfs_prefetch_mean_bytes(p) : 0);
}

static void update_all(struct sfs_prefetch_lanes *p)
{
	uint32_t l;

	for (l = 0; l < p->base.order->n_lanes; l++)
		sfs_prefetch_lane_update(p, &p->lanes[l]);
}

static void set_enough(struct sfs_prefetch_lanes *p)
{
	struct sfs_netpath path = sfs_prefetch_slowest_path(p->base.runtime);
	uint64_t margin = wanted_margin(p), slack = p->margin / 8;

	p->lead = sfs_prefetch_duration(
		p, sfs_sizing_lead(&path, sfs_prefetch_part_over(&p->base, &path)));
	if (margin <= p->margin + slack && margin + slack >= p->margin)
		return;
	p->margin = margin;
	update_all(p);
}

/* Does a stream over a near path hold as much as it may?  (unblock() requests all the
 * same.)  The budget's total counts here, not its limit of the moment: the account sees
 * to that.  Equal lanes have many short slices, each with slabs of its own, so what they
 * hold says little about what they have ahead. */
static bool is_full(const struct sfs_prefetch_lanes *p)
{
	struct sfs_netpath path = sfs_prefetch_slowest_path(p->base.runtime);
	uint64_t part = sfs_sizing_part(&path, p->base.runtime->budget.total_bytes,
					sfs_prefetch_open_lanes(&p->base));

	if (sfs_netpath_is_far(&path) || p->base.order->has_equal_lanes)
		return false;
	return sfs_account_used(p->base.account) >=
	       p->base.kept_bytes + sfs_sizing_stream(&path, p->base.order->n_lanes,
						      block_bytes(p), part);
}

/* The fewer lanes have something left to request, the more each may have in flight:
 * otherwise the last lanes would end the stream with two requests at a time. */
static void spread(struct sfs_prefetch_lanes *p, uint32_t most)
{
	uint32_t max = 2 * most / sfs_prefetch_n_left(p);

	max = max < 2 ? 2 : max;
	if (max == p->max_lane_in_flight)
		return;
	p->max_lane_in_flight = max;
	update_all(p);
}

static bool pump(struct sfs_prefetch *base, bool is_awaited, struct sfs_deferred *out)
{
	struct sfs_prefetch_lanes *p = sfs_prefetch_lanes_of(base);
	uint64_t share = sfs_account_share(base->account) / base->order->n_lanes;
	uint32_t most = sfs_prefetch_max_in_flight(base), l;
	struct sfs_netpath path = sfs_runtime_path(base->runtime);
	struct sfs_prefetch_lane *lane;
	struct sfs_prefetch_want w;
	enum want want;

	p->part_bytes = sfs_prefetch_part_over(base, &path);
	p->lane_share = share > p->part_bytes ? share : p->part_bytes;
	spread(p, most);
	set_enough(p);
	if (is_awaited && p->blocked != UINT32_MAX &&
	    unblock(p, &p->lanes[p->blocked], out))
		return true;
	while (base->n_in_flight < most && (l = choose_lane(p)) != UINT32_MAX &&
	       !has_enough(p, l) && !is_full(p)) {
		lane = &p->lanes[l];
		want = lane_want(p, lane, &w);
		if (want == WANTS_NOTHING)
			sfs_prefetch_lane_set_requested(p, lane, true);
		if (want != WANTS_BYTES) {
			p->due[l] = SFS_PREFETCH_NOT_NOW;
			continue;
		}
		if (w.is_header)
			sfs_lane_part_request_header(p, lane, &w, false, out);
		else if (!sfs_lane_part_request(p, lane, &w, false, out))
			break; /* the account calls when there is room */
		sfs_prefetch_lane_update(p, lane);
	}
	return false;
}

static bool has_all(const struct sfs_prefetch *base)
{
	return sfs_prefetch_lanes_of(base)->n_left == 0;
}

static bool is_sated(struct sfs_prefetch *base)
{
	struct sfs_prefetch_lanes *p = sfs_prefetch_lanes_of(base);
	uint32_t l = choose_lane(p);

	return l == UINT32_MAX || has_enough(p, l) || is_full(p);
}

/* ---- what a read waits for ---- */

/* Is the lane's block here in part, and one of the first, which grow to their full size?
 * Later blocks are formed while the one before leaves: there, bytes are late. */
static bool is_filling(const struct sfs_prefetch_lanes *p,
		       const struct sfs_prefetch_lane *lane)
{
	const struct sfs_block *block = &lane->block;
	const struct sfs_slice_buffer *buffer;
	size_t n;

	if (block->n == 0 || sfs_order_piece_start(p->base.order, block->piece) >
				     p->base.order->piece_bytes)
		return false;
	buffer = sfs_prefetch_lane_find(lane, block->samples[0].m);
	return buffer && sfs_slice_buffer_at(buffer, block->samples[0].start, &n) != NULL;
}

/* The oldest part of the blocked lane is the one that is needed first. */
static const struct sfs_lane_part *awaited_part(const struct sfs_prefetch_lanes *p)
{
	SFS_EACH (part, &p->base.parts, struct sfs_lane_part, base.link) {
		if (part->lane == p->blocked)
			return part;
	}
	return NULL;
}

static enum sfs_wait wait_cause(const struct sfs_prefetch *base, uint64_t *ret_since_ns)
{
	const struct sfs_prefetch_lanes *p = sfs_prefetch_lanes_of(base);
	const struct sfs_lane_part *part = awaited_part(p);

	if (p->blocked != UINT32_MAX && is_filling(p, &p->lanes[p->blocked]))
		return SFS_WAIT_BLOCK;
	return part ? sfs_part_wait(&part->base, part->buffer->shard->object,
				    ret_since_ns)
		    : SFS_WAIT_SOURCE;
}

/* No part of the blocked lane is in flight. */
static void explain_lane(const struct sfs_prefetch_lanes *p, struct sfs_cause *cause)
{
	const struct sfs_prefetch_lane *lane = &p->lanes[p->blocked];
	uint32_t m = lane->is_formed ? sfs_block_at(&lane->block, lane->t)->m
				     : lane->at.m;
	const struct sfs_slice_buffer *buffer = sfs_prefetch_lane_find(lane, m);

	if (buffer)
		sfs_object_explain(buffer->shard->object, missing_byte(lane, buffer),
				   "bytes that were not requested yet", cause);
}

static void lanes_explain(const struct sfs_prefetch *base, struct sfs_cause *cause)
{
	const struct sfs_prefetch_lanes *p = sfs_prefetch_lanes_of(base);
	const struct sfs_lane_part *part = awaited_part(p);

	if (part)
		sfs_object_explain(part->buffer->shard->object,
				   sfs_lane_part_first_byte(part),
				   part->is_header ? "a header" : "bytes", cause);
	else if (sfs_prefetch_is_short(base))
		sfs_cause_set(cause, NULL, SFS_NO_OFFSET,
			      "memory for a lane: budget= is used up");
	else if (p->blocked != UINT32_MAX)
		explain_lane(p, cause);
}

/* Does the blocked lane wait for the table of a shard in which nothing can be guessed? */
static bool waits(const struct sfs_prefetch *base)
{
	const struct sfs_prefetch_lanes *p = sfs_prefetch_lanes_of(base);
	const struct sfs_prefetch_lane *lane;
	const struct sfs_slice_buffer *buffer;

	if (p->blocked == UINT32_MAX)
		return false;
	lane = &p->lanes[p->blocked];
	buffer = lane->is_formed ? NULL : sfs_prefetch_lane_find(lane, lane->at.m);
	return buffer && sfs_shard_wanted(buffer->shard) == SFS_WANTED_LATER;
}

/* ---- samples ---- */

static int peek(struct sfs_prefetch *base, struct sfs_prefetch_next *ret_next)
{
	struct sfs_prefetch_lanes *p = sfs_prefetch_lanes_of(base);
	struct sfs_prefetch_lane *lane;
	uint64_t time;
	int ret;

	p->blocked = UINT32_MAX;
	while (p->merge.n > 0) {
		lane = &p->lanes[sfs_merge_lane(&p->merge)];
		ret = sfs_prefetch_lane_peek(p, lane, ret_next);
		time = sfs_prefetch_lane_time(lane);
		if (time > sfs_merge_time(&p->merge)) {
			sfs_merge_set(&p->merge, time); /* more is known now */
			continue;
		}
		if (ret == -EAGAIN)
			p->blocked = lane->at.lane;
		return ret;
	}
	return -ENODATA;
}

static void lanes_take(struct sfs_prefetch *base)
{
	struct sfs_prefetch_lanes *p = sfs_prefetch_lanes_of(base);
	struct sfs_prefetch_lane *lane = &p->lanes[sfs_merge_lane(&p->merge)];

	sfs_prefetch_lane_take(p, lane);
	sfs_merge_set(&p->merge, sfs_prefetch_lane_time(lane));
}

static void released(struct sfs_prefetch *base, struct sfs_slice_buffer *buffer)
{
	struct sfs_prefetch_lanes *p = sfs_prefetch_lanes_of(base);

	sfs_prefetch_lane_drop(p, &p->lanes[buffer->lane]);
}

static void arrive(struct sfs_prefetch *base, struct sfs_part *part,
		   struct sfs_prefetch_loss *ret_loss)
{
	sfs_lane_part_take(sfs_prefetch_lanes_of(base),
			   sfs_container(part, struct sfs_lane_part, base), ret_loss);
}

/* ---- life ---- */

static uint64_t live_bytes(const struct sfs_prefetch *base)
{
	const struct sfs_prefetch_lanes *p = sfs_prefetch_lanes_of(base);
	const struct sfs_slice_buffer *buffer;
	uint64_t n = 0;
	uint32_t l;

	for (l = 0; l < base->order->n_lanes; l++)
		for (buffer = p->lanes[l].first_buffer; buffer; buffer = buffer->next)
			n += sfs_slice_buffer_live_bytes(buffer);
	return n;
}

static void free_lanes(struct sfs_prefetch *base)
{
	struct sfs_prefetch_lanes *p = sfs_prefetch_lanes_of(base);
	struct sfs_slice_buffer *buffer;
	uint32_t l;

	for (l = 0; l < base->order->n_lanes; l++) {
		while ((buffer = p->lanes[l].first_buffer) != NULL) {
			p->lanes[l].first_buffer = buffer->next;
			sfs_prefetch_lane_close(p, buffer);
		}
		sfs_block_done(&p->lanes[l].block);
	}
	sfs_merge_done(&p->merge);
	free(p->due);
	free(p);
}

static const struct sfs_prefetch_ops ops = {
	.free = free_lanes,
	.peek = peek,
	.take = lanes_take,
	.released = released,
	.arrive = arrive,
	.needs = needs,
	.pump = pump,
	.has_all = has_all,
	.is_sated = is_sated,
	.wait_cause = wait_cause,
	.explain = lanes_explain,
	.waits = waits,
	.live_bytes = live_bytes,
};

int sfs_prefetch_lanes_new(const struct sfs_prefetch_settings *settings,
			   struct sfs_locator *locator, const struct sfs_spot *at,
			   struct sfs_prefetch **ret_prefetch)
{
	const struct sfs_order *order = settings->order;
	struct sfs_prefetch_lanes *p;
	uint64_t number, time;
	uint32_t l, shard;
	int ret = 0;

	p = sfs_calloc(1, sizeof *p + order->n_lanes * sizeof p->lanes[0]);
	sfs_prefetch_init(&p->base, &ops, settings);
	sfs_merge_init(&p->merge, order->n_lanes);
	p->blocked = UINT32_MAX;
	p->n_left = order->n_lanes;
	p->due = sfs_calloc(order->n_lanes, sizeof *p->due);
	p->now = at && !at->is_end ? at->time : 0;
	for (l = 0; l < order->n_lanes; l++)
		sfs_lane_init(&p->lanes[l].at, order, l);
	for (l = 0; at && l < order->n_lanes && ret == 0; l++) {
		ret = sfs_locator_lane_number(locator, at, l, &number, &shard);
		if (ret == 0)
			ret = sfs_prefetch_lane_start(p, &p->lanes[l], locator, number);
	}
	if (ret < 0) {
		free_lanes(&p->base);
		return ret;
	}
	for (l = 0; l < order->n_lanes; l++) {
		sfs_prefetch_lane_update(p, &p->lanes[l]);
		time = sfs_prefetch_lane_time(&p->lanes[l]);
		if (time != SFS_NEVER)
			sfs_merge_add(&p->merge, l, time);
	}
	*ret_prefetch = &p->base;
	return 0;
}
