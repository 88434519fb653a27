/* SPDX-License-Identifier: MIT */
/* How this works: a lane has one buffer for each slice it holds bytes of, and one
 * block whose samples the cursor takes one by one.  The next block is formed from
 * the tables when the one before is used up; the tables grow as parts arrive.
 *
 * When a lane falls due is estimated in rounds: the samples left in its block,
 * and what its undealt bytes are worth in samples of the mean size.  `due` is
 * kept as an array, so that choosing the next lane is one pass over numbers.
 *
 * Progress is certain whatever the budget: when the lane that blocks the cursor
 * is refused, its sample's data are given up (the cursor fetches them in pieces,
 * from the grabber's own account), and headers are looked at through small
 * passing grabs from that account too. */
#include "stream/prefetch.h"

#include "base/alloc.h"
#include "base/ledger.h"
#include "stream/sizing.h"

#include <assert.h>
#include <errno.h>

#define HEADER_BYTES ((uint64_t)64 << 10)
#define NOT_NOW	     UINT64_MAX
#define GOLDEN_RATIO 2654435769u /* of 2^32: its multiples lie evenly modulo that */
#define SOON_ROUNDS                                                         \
	3 /* what is due so soon behind the lane that blocks may block next \
	   */

struct lane {
	struct sfs_lane at; /* behind the block */
	struct sfs_block block;
	bool is_formed, has_ended;
	bool is_requested; /* nothing of it is left to be requested for */
	size_t t;	   /* the next sample of the block to leave */
	int damage;	   /* what comes next is damaged: -EBADMSG */
	uint64_t n_taken;  /* the number in the lane of the next to leave */

	struct sfs_slice_buffer *first_buffer, *last_buffer;
	uint32_t next_m; /* the slice after last_buffer's */
	uint32_t n_in_flight;
	uint64_t requested_bytes; /* bytes to be kept, since the start */
	bool has_failed;     /* its last part failed; only a waiting reader asks anew */
	bool has_only_large; /* samples are too large to hold: look for headers only */
};

struct sfs_prefetch {
	struct sfs_runtime *runtime;
	const struct sfs_order *order;
	struct sfs_account *account;
	struct sfs_prefetch_owner owner;
	struct sfs_link parts; /* that are on their way */
	uint32_t n_in_flight, max_lane_in_flight;
	uint32_t n_left;		     /* lanes that are not requested */
	bool is_refused;		     /* by the account, when last requested */
	uint64_t n_assigned, assigned_bytes; /* of all lanes, for the mean size */
	uint64_t arrived_bytes;		     /* slabs */
	uint64_t kept_bytes;		     /* see sfs_prefetch_set_kept() */
	struct lane *forming;		     /* whose tables may be looked at */
	uint64_t part_bytes, lane_share;     /* as of the last sfs_prefetch_pump() */
	uint64_t *due;			     /* of each lane; NOT_NOW: do not ask */
	struct lane lanes[];
};

struct sfs_part {
	struct sfs_prefetch *prefetch;
	uint32_t lane;
	struct sfs_slice_buffer *buffer;
	int err;
	uint64_t due;		      /* the round in which its lane needs it */
	struct sfs_link link;	      /* in lanes->parts */
	struct sfs_deferred_call job; /* to submit it */
	struct sfs_link ended;	      /* the owner's */

	/* To be kept: slabs of the buffer. */
	struct sfs_request request;
	void **slabs;
	struct iovec *iov;
	size_t n_slabs, n_here;	   /* so many, the first ones, are the buffer's */
	_Atomic uint64_t begun_ns; /* see sfs_request */

	/* Or only to be looked at. */
	bool is_header;
	struct sfs_range range;
};

struct sfs_link *sfs_part_link(struct sfs_part *part)
{
	return &part->ended;
}

struct sfs_part *sfs_part_of(struct sfs_link *link)
{
	return sfs_container(link, struct sfs_part, ended);
}

static void set_requested(struct sfs_prefetch *p, struct lane *lane, bool is_requested)
{
	p->n_left += lane->is_requested;
	lane->is_requested = is_requested;
	p->n_left -= is_requested;
}

static void end_lane(struct sfs_prefetch *p, struct lane *lane)
{
	lane->has_ended = true;
	set_requested(p, lane, true);
}

uint64_t sfs_prefetch_part_bytes(const struct sfs_runtime *runtime)
{
	struct sfs_netpath path = sfs_runtime_path(runtime);

	return sfs_sizing_part(&path, runtime->budget.limit_bytes,
			       atomic_load(&runtime->n_open_lanes));
}

/* ---- runs ---- */

static struct sfs_slice_buffer *find_buffer(const struct lane *lane, uint32_t m)
{
	struct sfs_slice_buffer *buffer = lane->first_buffer;

	while (buffer && buffer->m != m)
		buffer = buffer->next;
	return buffer;
}

/* Of the lane's slice m, from byte `from` of the shard on, or from the slice's first. */
static struct sfs_slice_buffer *add_buffer(struct sfs_prefetch *p, struct lane *lane,
					   uint32_t m, uint64_t from)
{
	const struct sfs_slice *slice = sfs_order_slice(p->order, lane->at.lane, m);
	struct sfs_shard *shard = &p->runtime->shards.shards[slice->shard];
	struct sfs_sample_table_sample last;
	struct sfs_slice_buffer *buffer;
	uint64_t end = shard->object.size;

	sfs_shard_pin(&p->runtime->shards, shard);
	if (slice->n != SFS_SLICE_ALL) {
		last = sfs_sample_table_get(sfs_shard_table(shard),
					    sfs_slice_end(slice, 0) - 1);
		end = last.start + last.n_bytes;
		if (from == 0)
			from = sfs_sample_table_start(sfs_shard_table(shard),
						      slice->first);
	}
	buffer = sfs_slice_buffer_new(shard, p->runtime->slabs, p->account, from, end);
	buffer->m = m;
	buffer->is_open = true;
	if (lane->last_buffer)
		lane->last_buffer->next = buffer;
	else
		lane->first_buffer = buffer;
	lane->last_buffer = buffer;
	lane->next_m = m + 1;
	if (shard->object.size == 0)
		sfs_shard_feed(&p->runtime->shards, shard, 0, NULL, 0);
	return buffer;
}

/* Have the runs up to where the lane is. */
static void add_buffers(struct sfs_prefetch *p, struct lane *lane)
{
	uint32_t n_slices = sfs_order_lane_slices(p->order, lane->at.lane);

	while (lane->next_m <= lane->at.m && lane->next_m < n_slices)
		add_buffer(p, lane, lane->next_m, 0);
}

static void close_buffer(struct sfs_prefetch *p, struct sfs_slice_buffer *buffer)
{
	struct sfs_shard *shard = buffer->shard;

	sfs_slice_buffer_free(buffer);
	sfs_shard_unpin(&p->runtime->shards, shard);
}

/* Close the runs at the front that nobody needs any more. */
static void drop_buffers(struct sfs_prefetch *p, struct lane *lane)
{
	struct sfs_slice_buffer *buffer;

	while ((buffer = lane->first_buffer) != NULL && !buffer->is_open &&
	       buffer->n_users == 0 && buffer->n_in_flight == 0) {
		lane->first_buffer = buffer->next;
		if (!lane->first_buffer)
			lane->last_buffer = NULL;
		close_buffer(p, buffer);
	}
}

/* Feed the shard's table with what the buffer has at the place it wants. */
static void feed_table(struct sfs_prefetch *p, struct sfs_slice_buffer *buffer)
{
	uint64_t wanted = sfs_shard_wanted(buffer->shard);
	unsigned char *bytes;
	size_t n;

	while (wanted != UINT64_MAX &&
	       (bytes = sfs_slice_buffer_at(buffer, wanted, &n)) != NULL)
		wanted = sfs_shard_feed(&p->runtime->shards, buffer->shard, wanted, bytes,
					n);
}

/* The tables that a lane may form blocks from: those its runs have pinned. */
static const struct sfs_sample_table *table_of(void *ctx, uint32_t shard)
{
	struct sfs_prefetch *p = ctx;
	struct sfs_slice_buffer *buffer;

	for (buffer = p->forming->first_buffer; buffer; buffer = buffer->next)
		if (buffer->shard->index == shard)
			return sfs_shard_table(buffer->shard);
	return NULL;
}

/* ---- when a lane falls due ---- */

static uint64_t mean_bytes(const struct sfs_prefetch *p)
{
	return p->n_assigned ? p->assigned_bytes / p->n_assigned : 64 << 10;
}

/* Lanes with something left to ask for; at least one, to divide by. */
static uint32_t n_left(const struct sfs_prefetch *p)
{
	return p->n_left ? p->n_left : 1;
}

/* Something about the lane has changed: when will it buffer dry, in rounds? */
static void update_due(struct sfs_prefetch *p, struct lane *lane)
{
	uint64_t *due = &p->due[lane - p->lanes], bytes = 0;
	const struct sfs_slice_buffer *buffer;

	*due = NOT_NOW;
	if (lane->has_ended || lane->damage || lane->has_failed ||
	    lane->n_in_flight >= (lane->has_only_large ? 1 : p->max_lane_in_flight))
		return;
	for (buffer = lane->first_buffer; buffer; buffer = buffer->next)
		if (buffer->is_open && buffer->requested > buffer->assigned)
			bytes += buffer->requested - buffer->assigned;
	*due = lane->n_taken + (lane->is_formed ? lane->block.n - lane->t : 0) +
	       bytes / mean_bytes(p) + 1;
}

static uint32_t choose_lane(const struct sfs_prefetch *p)
{
	uint64_t first = NOT_NOW;
	uint32_t l, found = UINT32_MAX;

	for (l = 0; l < p->order->n_lanes; l++) {
		if (p->due[l] < first) {
			first = p->due[l];
			found = l;
		}
	}
	return found;
}

/* ---- blocks ---- */

/* A block was formed: its samples count on their slabs, and what no later sample
 * needs may go. */
static void assign_block(struct sfs_prefetch *p, struct lane *lane)
{
	const struct sfs_block_sample *s;
	const struct sfs_sample_table *table;
	struct sfs_slice_buffer *buffer;
	uint64_t end;
	size_t t;

	for (t = lane->t; t < lane->block.n; t++) {
		s = sfs_block_at(&lane->block, t);
		/* A slice whose shard's table was at hand by another slice of that shard.
		 */
		while (lane->next_m <= s->m)
			add_buffer(p, lane, lane->next_m, 0);
		sfs_slice_buffer_hold(find_buffer(lane, s->m), s->start, s->n_bytes);
		p->assigned_bytes += s->n_bytes;
	}
	p->n_assigned += lane->block.n - lane->t;
	for (buffer = lane->first_buffer; buffer; buffer = buffer->next) {
		if (buffer->m > lane->at.m)
			break;
		buffer->is_open = buffer->m == lane->at.m;
		table = sfs_shard_table(buffer->shard);
		end = sfs_slice_end(sfs_order_slice(p->order, lane->at.lane, buffer->m),
				    sfs_sample_table_n(table));
		if (!buffer->is_open)
			sfs_slice_buffer_assign(buffer, UINT64_MAX);
		else if (lane->at.index < end)
			sfs_slice_buffer_assign(buffer,
						sfs_sample_table_start(table,
								       lane->at.index));
		else
			sfs_slice_buffer_assign(buffer,
						sfs_shard_frontier(buffer->shard));
	}
}

/* Form the block, opening the runs of further slices as they are reached. */
static int try_form(struct sfs_prefetch *p, struct lane *lane)
{
	const struct sfs_sample_tables tables = {.ctx = p, .get = table_of};
	uint32_t n_slices = sfs_order_lane_slices(p->order, lane->at.lane), shard;
	int ret;

	p->forming = lane;
	for (;;) {
		ret = sfs_lane_form(&lane->at, &tables, &lane->block, &shard);
		if (ret != -EAGAIN || lane->at.m < lane->next_m ||
		    lane->next_m == n_slices)
			break;
		add_buffer(p, lane, lane->next_m, 0);
	}
	if (ret == 0) /* several slices of one shard may have been gone through at once */
		add_buffers(p, lane);
	return ret;
}

static int form(struct sfs_prefetch *p, struct lane *lane)
{
	struct sfs_slice_buffer *buffer;
	int ret;

	if (lane->has_ended)
		return -ENODATA;
	if (lane->damage)
		return lane->damage;
	ret = try_form(p, lane);
	if (ret == -EAGAIN && (buffer = find_buffer(lane, lane->at.m)) != NULL) {
		/* Another cursor may have fed the table up to bytes that we have. */
		feed_table(p, buffer);
		ret = try_form(p, lane);
	}
	if (ret == -ENODATA)
		end_lane(p, lane);
	else if (ret < 0 && ret != -EAGAIN)
		lane->damage = ret;
	if (lane->damage)
		sfs_block_clear(&lane->block);
	lane->is_formed = ret == 0;
	lane->t = 0;
	if (ret != -EAGAIN) {
		assign_block(p, lane);
		drop_buffers(p, lane);
		update_due(p, lane);
	}
	return ret;
}

int sfs_prefetch_peek(struct sfs_prefetch *p, uint32_t l,
		      const struct sfs_block_sample **ret_sample,
		      struct sfs_slice_buffer **ret_run)
{
	struct lane *lane = &p->lanes[l];
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
	buffer = find_buffer(lane, s->m);
	state = sfs_slice_buffer_state(buffer, s->start, s->n_bytes);
	if (state == SFS_SLICE_BUFFER_EXPECTED)
		return -EAGAIN;
	*ret_run = state == SFS_SLICE_BUFFER_HERE ? buffer : NULL;
	*ret_sample = s;
	return 0;
}

void sfs_prefetch_take(struct sfs_prefetch *p, uint32_t l)
{
	struct lane *lane = &p->lanes[l];
	const struct sfs_block_sample *s = sfs_block_at(&lane->block, lane->t);
	struct sfs_slice_buffer *buffer = find_buffer(lane, s->m);

	if (sfs_slice_buffer_state(buffer, s->start, s->n_bytes) ==
	    SFS_SLICE_BUFFER_GONE) {
		sfs_slice_buffer_release(buffer, s->start, s->n_bytes);
		drop_buffers(p, lane);
	}
	lane->n_taken++;
	if (++lane->t == lane->block.n) {
		lane->is_formed = false;
		lane->t = 0;
		sfs_block_clear(&lane->block);
		update_due(p, lane);
	}
}

void sfs_prefetch_release(struct sfs_prefetch *p, uint32_t l,
			  struct sfs_slice_buffer *buffer, uint64_t start,
			  uint64_t n_bytes)
{
	sfs_slice_buffer_release(buffer, start, n_bytes);
	drop_buffers(p, &p->lanes[l]);
}

/* ---- parts ---- */

static void on_request(struct sfs_request *request, int err)
{
	struct sfs_part *part = sfs_container(request, struct sfs_part, request);

	part->err = err;
	part->prefetch->owner.ended(part->prefetch->owner.ctx, part);
}

static void on_ready(struct sfs_request *request)
{
	struct sfs_part *part = sfs_container(request, struct sfs_part, request);

	part->prefetch->owner.ready(part->prefetch->owner.ctx);
}

static void on_range(struct sfs_range *range, int err)
{
	struct sfs_part *part = sfs_container(range, struct sfs_part, range);

	part->err = err;
	part->prefetch->owner.ended(part->prefetch->owner.ctx, part);
}

static struct sfs_part *new_part(struct sfs_prefetch *p, struct lane *lane,
				 struct sfs_slice_buffer *buffer)
{
	struct sfs_part *part = sfs_calloc(1, sizeof *part);

	part->prefetch = p;
	part->lane = lane->at.lane;
	part->buffer = buffer;
	part->due = p->due[lane->at.lane];
	sfs_list_push(&p->parts, &part->link);
	buffer->n_in_flight++;
	lane->n_in_flight++;
	p->n_in_flight++;
	return part;
}

static void free_part(struct sfs_part *part)
{
	struct sfs_prefetch *p = part->prefetch;

	sfs_link_remove(&part->link);
	part->buffer->n_in_flight--;
	p->lanes[part->lane].n_in_flight--;
	p->n_in_flight--;
	free(part->slabs);
	free(part->iov);
	free(part);
}

static void submit(struct sfs_deferred_call *job)
{
	struct sfs_part *part = sfs_container(job, struct sfs_part, job);

	if (part->is_header)
		sfs_range_start(&part->prefetch->runtime->range_reader, &part->range,
				NULL);
	else
		sfs_request_submit(&part->request);
}

/* Ask for n bytes (whole slabs, but at the shard's end) to be kept.
 * false: the account refuses. */
static bool request_bytes(struct sfs_prefetch *p, struct lane *lane,
			  struct sfs_slice_buffer *buffer, uint64_t offset, uint64_t n,
			  bool is_urgent, struct sfs_deferred *out)
{
	size_t n_slabs = (size_t)sfs_slab_count(n), i;
	struct sfs_part *part;

	p->is_refused = sfs_account_take(p->account, n_slabs * SFS_SLAB_BYTES) < 0;
	if (p->is_refused)
		return false;
	part = new_part(p, lane, buffer);
	part->n_slabs = n_slabs;
	part->slabs = sfs_calloc(n_slabs, sizeof *part->slabs);
	part->iov = sfs_calloc(n_slabs, sizeof *part->iov);
	sfs_slabs_get(p->runtime->slabs, part->slabs, n_slabs);
	for (i = 0; i < n_slabs; i++) {
		part->iov[i].iov_base = part->slabs[i];
		part->iov[i].iov_len = SFS_SLAB_BYTES;
	}
	part->iov[n_slabs - 1].iov_len = n - (n_slabs - 1) * SFS_SLAB_BYTES;
	part->request = (struct sfs_request){
		.kind = SFS_REQUEST_READ,
		.object = &buffer->shard->object,
		.is_urgent = is_urgent,
		.is_ahead = !is_urgent,
		.offset = offset,
		.n_bytes = n,
		.iov = part->iov,
		.n_iov = (int)n_slabs,
		.done = on_request,
		.ready = on_ready,
		.begun_ns = &part->begun_ns,
	};
	if (is_urgent)
		sfs_request_await(&part->request);
	sfs_slice_buffer_expect(buffer, offset, n);
	lane->requested_bytes += n;
	sfs_deferred_add(out, &part->job, submit);
	return true;
}

/* Look at the bytes at `offset` without keeping them. */
static void request_header(struct sfs_prefetch *p, struct lane *lane,
			   struct sfs_slice_buffer *buffer, uint64_t offset,
			   bool is_urgent, struct sfs_deferred *out)
{
	struct sfs_part *part = new_part(p, lane, buffer);
	uint64_t left = buffer->shard->object.size - offset;

	part->is_header = true;
	part->range = (struct sfs_range){
		.shard = buffer->shard,
		.offset = offset,
		.n_bytes = left < HEADER_BYTES ? left : HEADER_BYTES,
		.is_urgent = is_urgent,
		.done = on_range,
	};
	sfs_deferred_add(out, &part->job, submit);
}

static void take_header(struct sfs_prefetch *p, struct sfs_part *part)
{
	uint64_t at = part->range.offset;
	int i;

	for (i = 0; part->err == 0 && i < part->range.n_iov; i++) {
		sfs_shard_feed(&p->runtime->shards, part->buffer->shard, at,
			       part->range.iov[i].iov_base, part->range.iov[i].iov_len);
		at += part->range.iov[i].iov_len;
	}
	sfs_range_drop(&part->range);
}

/* The first n slabs of a part are here. */
static void take_slabs(struct sfs_prefetch *p, struct sfs_part *part, size_t n)
{
	if (n <= part->n_here)
		return;
	p->arrived_bytes += (n - part->n_here) * SFS_SLAB_BYTES;
	sfs_slice_buffer_arrive(part->buffer,
				part->request.offset + part->n_here * SFS_SLAB_BYTES,
				part->slabs + part->n_here, n - part->n_here);
	part->n_here = n;
}

/* What of a failed part has come is kept, in whole slabs: a next try goes on behind. */
static void take_bytes(struct sfs_prefetch *p, struct sfs_part *part)
{
	size_t n_lost;

	take_slabs(p, part,
		   part->err == 0 ? part->n_slabs
				  : (size_t)(part->request.n_got / SFS_SLAB_BYTES));
	n_lost = part->n_slabs - part->n_here;
	if (n_lost == 0)
		return;
	sfs_slice_buffer_fail(part->buffer,
			      part->request.offset + part->n_here * SFS_SLAB_BYTES,
			      n_lost);
	sfs_slabs_put(p->runtime->slabs, part->slabs + part->n_here, n_lost);
	sfs_account_give(p->account, n_lost * SFS_SLAB_BYTES);
}

/* A reader waits for the part: take what of it is here, and be told when there is more.
 * true: there was something. */
static bool take_ready(struct sfs_prefetch *p, struct sfs_part *part)
{
	size_t n = (size_t)(sfs_request_await(&part->request) / SFS_SLAB_BYTES);

	if (n <= part->n_here)
		return false;
	take_slabs(p, part, n);
	feed_table(p, part->buffer);
	update_due(p, &p->lanes[part->lane]);
	return true;
}

static uint64_t first_byte(const struct sfs_part *part)
{
	if (part->is_header)
		return part->range.offset;
	return part->request.offset + part->n_here * SFS_SLAB_BYTES;
}

static uint64_t end_byte(const struct sfs_part *part)
{
	if (part->is_header)
		return part->range.offset + part->range.n_bytes;
	return part->request.offset + part->request.n_bytes;
}

void sfs_prefetch_arrive(struct sfs_prefetch *p, struct sfs_part *part,
			 struct sfs_prefetch_loss *ret_loss)
{
	struct lane *lane = &p->lanes[part->lane];
	int err = part->err;

	lane->has_failed |= err < 0;
	if (err < 0 && !lane->has_ended)
		set_requested(p, lane, false);
	if (part->is_header)
		take_header(p, part);
	else
		take_bytes(p, part);
	feed_table(p, part->buffer);
	*ret_loss = (struct sfs_prefetch_loss){.err = err,
					       .lane = part->lane,
					       .m = part->buffer->m,
					       .start = first_byte(part),
					       .end = end_byte(part)};
	free_part(part);
	drop_buffers(p, lane);
	update_due(p, lane);
}

/* ---- what to ask for ---- */

struct want {
	struct sfs_slice_buffer *buffer;
	uint64_t offset, n_bytes;
	bool is_header;
};

/* Samples too large to hold are passed over, as is what comes behind the last one:
 * moves `requested` over them, and ends *n_bytes before the next such.  What the table
 * does not know yet counts as one sample, from the frontier to the byte it wants.
 * true: only headers are worth asking for, at *ret_wanted. */
static bool skip_large(struct sfs_slice_buffer *buffer, const struct sfs_slice *slice,
		       uint64_t cap, uint64_t *n_bytes, uint64_t *ret_wanted)
{
	const struct sfs_sample_table *table = sfs_shard_table(buffer->shard);
	uint64_t wanted = sfs_shard_wanted(buffer->shard);
	uint64_t frontier = sfs_shard_frontier(buffer->shard);
	uint64_t n = sfs_slice_end(slice, sfs_sample_table_n(table));
	uint64_t i = sfs_sample_table_at(table, n, buffer->requested);
	struct sfs_sample_table_sample s;
	bool has_small = false; /* a sample to be held, from `requested` on */

	*ret_wanted = wanted;
	for (; i <= n; i++) {
		if (i < n)
			s = sfs_sample_table_get(table, i);
		else if (wanted == UINT64_MAX)
			break;
		else
			s = (struct sfs_sample_table_sample){.start = frontier,
							     .n_bytes =
								     wanted - frontier};
		if (s.start >= buffer->requested + *n_bytes)
			return false;
		if (i < n && s.start + s.n_bytes <= buffer->requested)
			continue; /* given up before */
		if (s.n_bytes <= cap) {
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

/* A part of this size, or of half of it or more.  Lanes are to fall due one after the
 * other: if many did at one time, a reader would wait until the first part of all of them
 * is here, and then have as much at once.  So each lane has its own bytes, of every
 * part_bytes of them, at which its parts end, whatever happened to it before.  While it
 * is young they also end at the first of these, however small that makes one: else all
 * lanes would have a whole part at one time, at the beginning, which is memory. */
static uint64_t staggered(const struct lane *lane, uint64_t part_bytes)
{
	uint64_t n = part_bytes / SFS_SLAB_BYTES,
		 requested = lane->requested_bytes / SFS_SLAB_BYTES;
	uint64_t end = ((uint64_t)(lane->at.lane * GOLDEN_RATIO) * n) >> 32;
	uint64_t left = n - (requested + n - end) % n;

	if (requested >= 2 * n && left < n - n / 2)
		left = (left + n + 1) / 2;
	return left * SFS_SLAB_BYTES;
}

/* The first parts of a lane are small: each is as large as all before. */
static uint64_t next_part_bytes(const struct sfs_prefetch *p, const struct lane *lane,
				uint64_t part_bytes)
{
	struct sfs_netpath path = sfs_runtime_path(p->runtime);
	uint64_t first = sfs_sizing_first(&path);
	uint64_t ramp = lane->requested_bytes > first ? lane->requested_bytes : first;
	uint64_t n = staggered(lane, part_bytes);

	return n < ramp ? n : ramp / SFS_SLAB_BYTES * SFS_SLAB_BYTES;
}

/* What would this buffer ask for next, of what failed from byte `from` on, or anew?
 * false: nothing. */
static bool want_of_buffer(struct sfs_prefetch *p, struct lane *lane,
			   struct sfs_slice_buffer *buffer, uint64_t from, struct want *w)
{
	const struct sfs_slice *slice =
		sfs_order_slice(p->order, lane->at.lane, buffer->m);
	uint64_t end = buffer->is_open ? buffer->end : buffer->held_end, wanted;
	uint64_t part_bytes = next_part_bytes(p, lane, p->part_bytes);

	*w = (struct want){.buffer = buffer, .n_bytes = part_bytes};
	if (sfs_slice_buffer_missing(buffer, from, part_bytes, &w->offset, &w->n_bytes))
		return true;
	if (buffer->requested >= end)
		return false;
	lane->has_only_large = w->is_header =
		skip_large(buffer, slice, p->lane_share, &w->n_bytes, &wanted);
	if (buffer->requested >= end)
		return false;
	w->offset = w->is_header ? wanted : buffer->requested;
	if (w->n_bytes > buffer->end - w->offset)
		w->n_bytes = buffer->end - w->offset;
	return true;
}

static bool want_of(struct sfs_prefetch *p, struct lane *lane, struct want *w)
{
	uint32_t n_slices = sfs_order_lane_slices(p->order, lane->at.lane);
	struct sfs_slice_buffer *buffer;

	for (buffer = lane->first_buffer; buffer; buffer = buffer->next)
		if (want_of_buffer(p, lane, buffer, 0, w))
			return true;
	while (lane->next_m < n_slices) {
		buffer = add_buffer(p, lane, lane->next_m, 0);
		if (want_of_buffer(p, lane, buffer, 0, w))
			return true;
	}
	return false;
}

/* The buffer that a blocked lane waits for: that of the sample that is due, or where
 * the next block is being formed. */
static struct sfs_slice_buffer *blocking_buffer(struct sfs_prefetch *p, struct lane *lane)
{
	if (lane->is_formed)
		return find_buffer(lane, sfs_block_at(&lane->block, lane->t)->m);
	add_buffers(p, lane);
	return find_buffer(lane, lane->at.m);
}

/* The byte of that buffer that a blocked lane lacks.  UINT64_MAX: none is known. */
static uint64_t lacking(const struct lane *lane, const struct sfs_slice_buffer *buffer)
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

static bool is_in_flight(const struct sfs_prefetch *p,
			 const struct sfs_slice_buffer *buffer, uint64_t byte)
{
	SFS_EACH (part, &p->parts, struct sfs_part, link) {
		if (part->buffer == buffer && byte >= first_byte(part) &&
		    byte < end_byte(part))
			return true;
	}
	return false;
}

bool sfs_prefetch_needs(struct sfs_prefetch *p, const struct sfs_prefetch_loss *loss)
{
	struct lane *lane = &p->lanes[loss->lane];
	const struct sfs_slice_buffer *buffer = blocking_buffer(p, lane);
	uint64_t byte;

	if (lane->has_ended || lane->damage || !buffer || buffer->m != loss->m)
		return false;
	byte = lacking(lane, buffer);
	return byte >= loss->start && byte < loss->end;
}

/* A reader waits for the lane: what is on its way for it, or for others that are due
 * next, is needed.  true: some of it is here. */
static bool hurry_parts(struct sfs_prefetch *p, const struct lane *lane)
{
	bool has_more = false;

	SFS_EACH (part, &p->parts, struct sfs_part, link) {
		if (part->is_header)
			continue;
		if (part->lane == lane->at.lane)
			has_more |= take_ready(p, part);
		else if (part->due > lane->n_taken + SOON_ROUNDS)
			continue;
		sfs_request_hurry(&part->request);
	}
	return has_more;
}

/* The lane that a reader waits for: have something on its way, whatever it takes.
 * true: it has come further, or its sample was given up. */
static bool unblock(struct sfs_prefetch *p, struct lane *lane, struct sfs_deferred *out)
{
	const struct sfs_block_sample *s;
	uint64_t wanted, byte;
	struct want w;

	if (lane->has_ended || lane->damage)
		return false;
	w.buffer = blocking_buffer(p, lane);
	byte = lacking(lane, w.buffer);
	/* If that failed before the reader came, only asking for it again tells whether
	 * the reader can have it. */
	if (lane->n_in_flight > 0 &&
	    (!lane->has_failed || is_in_flight(p, w.buffer, byte)))
		return hurry_parts(p, lane);
	lane->has_failed = false;
	update_due(p, lane);
	if (want_of_buffer(p, lane, w.buffer, byte, &w) && !w.is_header &&
	    w.offset <= byte &&
	    request_bytes(p, lane, w.buffer, w.offset, w.n_bytes, true, out)) {
		update_due(p, lane);
		return false;
	}
	/* Too large to hold, or no memory: do without the sample that is due, or look
	 * for where the next one is. */
	if (lane->is_formed) {
		s = sfs_block_at(&lane->block, lane->t);
		sfs_slice_buffer_give_up(w.buffer, s->start, s->n_bytes);
		return true;
	}
	wanted = sfs_shard_wanted(w.buffer->shard);
	if (wanted != UINT64_MAX)
		request_header(p, lane, w.buffer, wanted, true, out);
	update_due(p, lane);
	return false;
}

/* A block has a sample at least, however large that is. */
static uint64_t block_bytes(const struct sfs_prefetch *p)
{
	uint64_t sample = mean_bytes(p), block = p->order->piece_bytes;

	return block > sample ? block : sample;
}

/* Has a lane enough?  That is requested of each for itself: were only the sum looked at,
 * many lanes that fall due at one time would be requested for one behind the other. */
static bool has_enough(const struct sfs_prefetch *p, uint32_t l, uint64_t part_bytes)
{
	struct sfs_netpath path = sfs_runtime_path(p->runtime);
	uint64_t bytes = sfs_sizing_lane(&path, n_left(p), block_bytes(p), part_bytes);

	return p->due[l] > p->lanes[l].n_taken + bytes / mean_bytes(p);
}

/* Is as much held as a near stream of all these lanes may hold?  Also then the lane that
 * a reader waits for is requested for.  A limit that is low for now is the account's
 * affair: it refuses, and calls when there is room again.  Slices of shards have slabs of
 * their own, so what they cost says little of what they bring. */
static bool is_full(const struct sfs_prefetch *p)
{
	struct sfs_netpath path = sfs_runtime_path(p->runtime);
	uint64_t part = sfs_sizing_part(&path, p->runtime->budget.total_bytes,
					atomic_load(&p->runtime->n_open_lanes));

	if (sfs_netpath_is_far(&path) || p->order->has_equal_lanes)
		return false;
	return sfs_account_used(p->account) >=
	       p->kept_bytes +
		       sfs_sizing_stream(&path, p->order->n_lanes, block_bytes(p), part);
}

/* How many parts may be on their way now. */
static uint32_t max_in_flight(const struct sfs_prefetch *p)
{
	struct sfs_netpath path = sfs_runtime_path(p->runtime);

	return sfs_sizing_in_flight(&path, sfs_prefetch_part_bytes(p->runtime));
}

/* The fewer lanes have anything left to ask for, the more each may have on its way: a
 * lane that is longer than the others would end the stream with two requests at a time.
 */
static void spread(struct sfs_prefetch *p, uint32_t most)
{
	uint32_t max = 2 * most / n_left(p), l;

	max = max < 2 ? 2 : max;
	if (max == p->max_lane_in_flight)
		return;
	p->max_lane_in_flight = max;
	for (l = 0; l < p->order->n_lanes; l++)
		update_due(p, &p->lanes[l]);
}

bool sfs_prefetch_pump(struct sfs_prefetch *p, uint32_t blocking,
		       struct sfs_deferred *out)
{
	uint64_t share = sfs_account_share(p->account) / p->order->n_lanes;
	uint32_t most = max_in_flight(p), l;
	struct lane *lane;
	struct want w;

	p->part_bytes = sfs_prefetch_part_bytes(p->runtime);
	p->lane_share = share > p->part_bytes ? share : p->part_bytes;
	spread(p, most);
	p->is_refused = false;
	if (blocking != UINT32_MAX && unblock(p, &p->lanes[blocking], out))
		return true;
	while (p->n_in_flight < most && (l = choose_lane(p)) != UINT32_MAX &&
	       !has_enough(p, l, p->part_bytes) && !is_full(p)) {
		lane = &p->lanes[l];
		if (!want_of(p, lane, &w)) {
			p->due[l] = NOT_NOW;
			set_requested(p, lane, true);
			continue;
		}
		if (w.is_header)
			request_header(p, lane, w.buffer, w.offset, false, out);
		else if (!request_bytes(p, lane, w.buffer, w.offset, w.n_bytes, false,
					out))
			break; /* the account calls when there is room */
		update_due(p, lane);
	}
	return false;
}

void sfs_prefetch_set_kept(struct sfs_prefetch *p, uint64_t n_bytes)
{
	p->kept_bytes = n_bytes;
}

bool sfs_prefetch_has_all(const struct sfs_prefetch *p)
{
	return p->n_left == 0;
}

bool sfs_prefetch_is_sated(struct sfs_prefetch *p)
{
	uint32_t l = choose_lane(p);

	return l == UINT32_MAX || has_enough(p, l, sfs_prefetch_part_bytes(p->runtime)) ||
	       is_full(p);
}

/* ---- whom a read waits for ---- */

bool sfs_prefetch_is_busy(const struct sfs_prefetch *p)
{
	return 2 * p->n_in_flight >= max_in_flight(p);
}

bool sfs_prefetch_is_short(const struct sfs_prefetch *p)
{
	return p->is_refused && !sfs_prefetch_is_busy(p);
}

uint64_t sfs_prefetch_arrived_bytes(const struct sfs_prefetch *p)
{
	return p->arrived_bytes;
}

/* A block is here in part, and it is one of those that grow to their whole size.  Later
 * ones are formed while the one before leaves: if they are late, bytes are. */
static bool is_filling(const struct sfs_prefetch *p, const struct lane *lane)
{
	const struct sfs_block *block = &lane->block;
	const struct sfs_slice_buffer *buffer;
	size_t n;

	if (block->n == 0 ||
	    sfs_order_piece_start(p->order, block->piece) > p->order->piece_bytes)
		return false;
	buffer = find_buffer(lane, block->samples[0].m);
	return buffer && sfs_slice_buffer_at(buffer, block->samples[0].start, &n) != NULL;
}

enum sfs_wait sfs_prefetch_wait_cause(const struct sfs_prefetch *p, uint32_t l,
				      uint64_t *ret_since_ns)
{
	if (sfs_prefetch_is_short(p))
		return SFS_WAIT_BUDGET;
	if (is_filling(p, &p->lanes[l]))
		return SFS_WAIT_BLOCK;
	/* The oldest part of a lane is the one that is needed first. */
	SFS_EACH (part, &p->parts, struct sfs_part, link) {
		if (part->lane != l)
			continue;
		*ret_since_ns = atomic_load(&part->begun_ns);
		return *ret_since_ns ? SFS_WAIT_NETWORK : SFS_WAIT_SOURCE;
	}
	return SFS_WAIT_SOURCE;
}

void sfs_prefetch_explain(const struct sfs_prefetch *p, uint32_t l,
			  struct sfs_cause *cause)
{
	SFS_EACH (part, &p->parts, struct sfs_part, link) {
		if (part->lane != l)
			continue;
		sfs_object_explain(&part->buffer->shard->object,
				   part->is_header
					   ? part->range.offset
					   : part->request.offset +
						     part->n_here * SFS_SLAB_BYTES,
				   part->is_header ? "a header" : "bytes", cause);
		return;
	}
	if (sfs_prefetch_is_short(p))
		sfs_cause_set(cause, NULL, SFS_NO_OFFSET,
			      "memory for a lane: budget= is used up");
}

/* ---- life ---- */

/* Put the lane behind the block that holds its sample `number`. */
static int start_at(struct sfs_prefetch *p, struct lane *lane, struct sfs_locator *map,
		    uint64_t number)
{
	const struct sfs_block_sample *s;
	uint32_t shard, m, first_m, last_m = 0, lane_number = lane->at.lane;
	uint64_t from = UINT64_MAX, skip;
	size_t t;
	int ret;

	ret = sfs_locator_seek(map, lane_number, number, &lane->at, &lane->block, &skip,
			       &shard);
	if (ret == -ENODATA) {
		end_lane(p, lane);
		lane->next_m = sfs_order_lane_slices(p->order, lane_number);
		return 0;
	}
	if (ret < 0)
		return ret;
	lane->is_formed = true;
	lane->t = (size_t)skip;
	lane->n_taken = number;
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
		add_buffer(p, lane, m, m == first_m ? from : 0);
	assign_block(p, lane);
	return 0;
}

int sfs_prefetch_new(struct sfs_runtime *runtime, const struct sfs_order *order,
		     struct sfs_account *account, const struct sfs_prefetch_owner *owner,
		     struct sfs_locator *map, const struct sfs_spot *at,
		     struct sfs_prefetch **ret_lanes)
{
	struct sfs_prefetch *p;
	uint32_t l;
	int ret = 0;

	p = sfs_calloc(1, sizeof *p + order->n_lanes * sizeof p->lanes[0]);
	p->runtime = runtime;
	p->order = order;
	p->account = account;
	p->owner = *owner;
	p->n_left = order->n_lanes;
	p->due = sfs_calloc(order->n_lanes, sizeof *p->due);
	sfs_list_init(&p->parts);
	for (l = 0; l < order->n_lanes; l++)
		sfs_lane_init(&p->lanes[l].at, order, l);
	for (l = 0; at && l < order->n_lanes && ret == 0; l++)
		ret = start_at(p, &p->lanes[l], map, at->round + (l < at->lane));
	if (ret < 0) {
		sfs_prefetch_free(p);
		return ret;
	}
	for (l = 0; l < order->n_lanes; l++)
		update_due(p, &p->lanes[l]);
	*ret_lanes = p;
	return 0;
}

void sfs_prefetch_cancel(struct sfs_prefetch *p)
{
	/* Passing grabs are small and may not have begun: they just end. */
	SFS_EACH (part, &p->parts, struct sfs_part, link)
		if (!part->is_header)
			sfs_request_cancel(&part->request);
}

uint32_t sfs_prefetch_in_flight(const struct sfs_prefetch *p)
{
	return p->n_in_flight;
}

uint64_t sfs_prefetch_live_bytes(const struct sfs_prefetch *p)
{
	const struct sfs_slice_buffer *buffer;
	uint64_t n = 0;
	uint32_t l;

	for (l = 0; l < p->order->n_lanes; l++)
		for (buffer = p->lanes[l].first_buffer; buffer; buffer = buffer->next)
			n += sfs_slice_buffer_live_bytes(buffer);
	return n;
}

void sfs_prefetch_free(struct sfs_prefetch *p)
{
	struct sfs_slice_buffer *buffer;
	uint32_t l;

	if (!p)
		return;
	assert(p->n_in_flight == 0);
	for (l = 0; l < p->order->n_lanes; l++) {
		while ((buffer = p->lanes[l].first_buffer) != NULL) {
			p->lanes[l].first_buffer = buffer->next;
			close_buffer(p, buffer);
		}
		sfs_block_done(&p->lanes[l].block);
	}
	free(p->due);
	free(p);
}
