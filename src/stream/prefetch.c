/* SPDX-License-Identifier: MIT */
/* How this works: a lane has one run for each slice it holds bytes of, and one
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

#define PASSING_BYTES ((uint64_t)64 << 10)
#define NOT_NOW	      UINT64_MAX
#define GOLDEN_RATIO  2654435769u /* of 2^32: its multiples lie evenly modulo that */
#define SOON_ROUNDS                                                         \
	3 /* what is due so soon behind the lane that blocks may block next \
	   */

struct lane {
	struct sfs_lane at; /* behind the block */
	struct sfs_block block;
	bool is_formed, has_ended;
	bool is_asked;	  /* nothing of it is left to be asked for */
	size_t t;	  /* the next sample of the block to leave */
	int damage;	  /* what comes next is damaged: -EBADMSG */
	uint64_t n_taken; /* the number in the lane of the next to leave */

	struct sfs_slice_buffer *first_run, *last_run;
	uint32_t next_m; /* the slice after last_run's */
	uint32_t n_on_way;
	uint64_t n_asked; /* bytes to be kept, since the start */
	bool has_failed;  /* its last part failed; only a waiting reader asks anew */
	bool is_jumping;  /* samples are too large to hold: look for headers only */
};

struct sfs_prefetch {
	struct sfs_runtime *runtime;
	const struct sfs_order *order;
	struct sfs_account *account;
	struct sfs_prefetch_owner owner;
	struct sfs_link parts; /* that are on their way */
	uint32_t n_on_way, max_lane_on_way;
	uint32_t n_left;		 /* lanes that are not asked */
	bool is_refused;		 /* by the account, when last asked */
	uint64_t n_dealt, dealt_bytes;	 /* of all lanes, for the mean size */
	uint64_t came_bytes;		 /* slabs */
	uint64_t kept_bytes;		 /* see sfs_prefetch_keep() */
	struct lane *forming;		 /* whose tables may be looked at */
	uint64_t part_bytes, lane_share; /* as of the last sfs_prefetch_pump() */
	uint64_t *due;			 /* of each lane; NOT_NOW: do not ask */
	struct lane lanes[];
};

struct sfs_part {
	struct sfs_prefetch *lanes;
	uint32_t lane;
	struct sfs_slice_buffer *run;
	int err;
	uint64_t due;		      /* the round in which its lane needs it */
	struct sfs_link link;	      /* in lanes->parts */
	struct sfs_deferred_call job; /* to submit it */
	struct sfs_link ended;	      /* the owner's */

	/* To be kept: slabs of the run. */
	struct sfs_request request;
	void **slabs;
	struct iovec *iov;
	size_t n_slabs, n_here;	   /* so many, the first ones, are the run's */
	_Atomic uint64_t begun_ns; /* see sfs_request */

	/* Or only to be looked at. */
	bool is_passing;
	struct sfs_range grab;
};

struct sfs_link *sfs_part_link(struct sfs_part *part)
{
	return &part->ended;
}

struct sfs_part *sfs_part_of(struct sfs_link *link)
{
	return sfs_container(link, struct sfs_part, ended);
}

static void set_asked(struct sfs_prefetch *ls, struct lane *lane, bool is_asked)
{
	ls->n_left += lane->is_asked;
	lane->is_asked = is_asked;
	ls->n_left -= is_asked;
}

static void end_lane(struct sfs_prefetch *ls, struct lane *lane)
{
	lane->has_ended = true;
	set_asked(ls, lane, true);
}

uint64_t sfs_prefetch_part_bytes(const struct sfs_runtime *runtime)
{
	struct sfs_netpath path = sfs_runtime_path(runtime);

	return sfs_sizing_part(&path, runtime->budget.limit_bytes,
			       atomic_load(&runtime->n_open_lanes));
}

/* ---- runs ---- */

static struct sfs_slice_buffer *find_run(const struct lane *lane, uint32_t m)
{
	struct sfs_slice_buffer *run = lane->first_run;

	while (run && run->m != m)
		run = run->next;
	return run;
}

/* Of the lane's slice m, from byte `from` of the shard on, or from the slice's first. */
static struct sfs_slice_buffer *open_run(struct sfs_prefetch *ls, struct lane *lane,
					 uint32_t m, uint64_t from)
{
	const struct sfs_slice *slice = sfs_order_slice(ls->order, lane->at.lane, m);
	struct sfs_shard *shard = &ls->runtime->shards.shards[slice->shard];
	struct sfs_sample_table_sample last;
	struct sfs_slice_buffer *run;
	uint64_t end = shard->object.size;

	sfs_shard_pin(&ls->runtime->shards, shard);
	if (slice->n != SFS_SLICE_ALL) {
		last = sfs_sample_table_get(sfs_shard_table(shard),
					    sfs_slice_end(slice, 0) - 1);
		end = last.start + last.n_bytes;
		if (from == 0)
			from = sfs_sample_table_start(sfs_shard_table(shard),
						      slice->first);
	}
	run = sfs_slice_buffer_new(shard, ls->runtime->slabs, ls->account, from, end);
	run->m = m;
	run->is_open = true;
	if (lane->last_run)
		lane->last_run->next = run;
	else
		lane->first_run = run;
	lane->last_run = run;
	lane->next_m = m + 1;
	if (shard->object.size == 0)
		sfs_shard_feed(&ls->runtime->shards, shard, 0, NULL, 0);
	return run;
}

/* Have the runs up to where the lane is. */
static void open_runs(struct sfs_prefetch *ls, struct lane *lane)
{
	uint32_t n_slices = sfs_order_lane_slices(ls->order, lane->at.lane);

	while (lane->next_m <= lane->at.m && lane->next_m < n_slices)
		open_run(ls, lane, lane->next_m, 0);
}

static void close_run(struct sfs_prefetch *ls, struct sfs_slice_buffer *run)
{
	struct sfs_shard *shard = run->shard;

	sfs_slice_buffer_free(run);
	sfs_shard_unpin(&ls->runtime->shards, shard);
}

/* Close the runs at the front that nobody needs any more. */
static void drop_runs(struct sfs_prefetch *ls, struct lane *lane)
{
	struct sfs_slice_buffer *run;

	while ((run = lane->first_run) != NULL && !run->is_open && run->n_users == 0 &&
	       run->n_on_way == 0) {
		lane->first_run = run->next;
		if (!lane->first_run)
			lane->last_run = NULL;
		close_run(ls, run);
	}
}

/* Feed the shard's table with what the run has at the place it wants. */
static void feed_table(struct sfs_prefetch *ls, struct sfs_slice_buffer *run)
{
	uint64_t wanted = sfs_shard_wanted(run->shard);
	unsigned char *bytes;
	size_t n;

	while (wanted != UINT64_MAX &&
	       (bytes = sfs_slice_buffer_at(run, wanted, &n)) != NULL)
		wanted = sfs_shard_feed(&ls->runtime->shards, run->shard, wanted, bytes,
					n);
}

/* The tables that a lane may form blocks from: those its runs have pinned. */
static const struct sfs_sample_table *table_of(void *ctx, uint32_t shard)
{
	struct sfs_prefetch *ls = ctx;
	struct sfs_slice_buffer *run;

	for (run = ls->forming->first_run; run; run = run->next)
		if (run->shard->index == shard)
			return sfs_shard_table(run->shard);
	return NULL;
}

/* ---- when a lane falls due ---- */

static uint64_t mean_bytes(const struct sfs_prefetch *ls)
{
	return ls->n_dealt ? ls->dealt_bytes / ls->n_dealt : 64 << 10;
}

/* Lanes with something left to ask for; at least one, to divide by. */
static uint32_t n_left(const struct sfs_prefetch *ls)
{
	return ls->n_left ? ls->n_left : 1;
}

/* Something about the lane has changed: when will it run dry, in rounds? */
static void touch(struct sfs_prefetch *ls, struct lane *lane)
{
	uint64_t *due = &ls->due[lane - ls->lanes], bytes = 0;
	const struct sfs_slice_buffer *run;

	*due = NOT_NOW;
	if (lane->has_ended || lane->damage || lane->has_failed ||
	    lane->n_on_way >= (lane->is_jumping ? 1 : ls->max_lane_on_way))
		return;
	for (run = lane->first_run; run; run = run->next)
		if (run->is_open && run->asked > run->dealt)
			bytes += run->asked - run->dealt;
	*due = lane->n_taken + (lane->is_formed ? lane->block.n - lane->t : 0) +
	       bytes / mean_bytes(ls) + 1;
}

static uint32_t choose(const struct sfs_prefetch *ls)
{
	uint64_t first = NOT_NOW;
	uint32_t l, found = UINT32_MAX;

	for (l = 0; l < ls->order->n_lanes; l++) {
		if (ls->due[l] < first) {
			first = ls->due[l];
			found = l;
		}
	}
	return found;
}

/* ---- blocks ---- */

/* A block was formed: its samples count on their slabs, and what no later sample
 * needs may go. */
static void deal(struct sfs_prefetch *ls, struct lane *lane)
{
	const struct sfs_block_sample *s;
	const struct sfs_sample_table *table;
	struct sfs_slice_buffer *run;
	uint64_t end;
	size_t t;

	for (t = lane->t; t < lane->block.n; t++) {
		s = sfs_block_at(&lane->block, t);
		/* A slice whose shard's table was at hand by another slice of that shard.
		 */
		while (lane->next_m <= s->m)
			open_run(ls, lane, lane->next_m, 0);
		sfs_slice_buffer_hold(find_run(lane, s->m), s->start, s->n_bytes);
		ls->dealt_bytes += s->n_bytes;
	}
	ls->n_dealt += lane->block.n - lane->t;
	for (run = lane->first_run; run; run = run->next) {
		if (run->m > lane->at.m)
			break;
		run->is_open = run->m == lane->at.m;
		table = sfs_shard_table(run->shard);
		end = sfs_slice_end(sfs_order_slice(ls->order, lane->at.lane, run->m),
				    sfs_sample_table_n(table));
		if (!run->is_open)
			sfs_slice_buffer_deal(run, UINT64_MAX);
		else if (lane->at.index < end)
			sfs_slice_buffer_deal(run,
					      sfs_sample_table_start(table,
								     lane->at.index));
		else
			sfs_slice_buffer_deal(run, sfs_shard_frontier(run->shard));
	}
}

/* Form the block, opening the runs of further slices as they are reached. */
static int try_form(struct sfs_prefetch *ls, struct lane *lane)
{
	const struct sfs_sample_tables tables = {.ctx = ls, .get = table_of};
	uint32_t n_slices = sfs_order_lane_slices(ls->order, lane->at.lane), shard;
	int ret;

	ls->forming = lane;
	for (;;) {
		ret = sfs_lane_form(&lane->at, &tables, &lane->block, &shard);
		if (ret != -EAGAIN || lane->at.m < lane->next_m ||
		    lane->next_m == n_slices)
			break;
		open_run(ls, lane, lane->next_m, 0);
	}
	if (ret == 0) /* several slices of one shard may have been gone through at once */
		open_runs(ls, lane);
	return ret;
}

static int form(struct sfs_prefetch *ls, struct lane *lane)
{
	struct sfs_slice_buffer *run;
	int ret;

	if (lane->has_ended)
		return -ENODATA;
	if (lane->damage)
		return lane->damage;
	ret = try_form(ls, lane);
	if (ret == -EAGAIN && (run = find_run(lane, lane->at.m)) != NULL) {
		/* Another cursor may have fed the table up to bytes that we have. */
		feed_table(ls, run);
		ret = try_form(ls, lane);
	}
	if (ret == -ENODATA)
		end_lane(ls, lane);
	else if (ret < 0 && ret != -EAGAIN)
		lane->damage = ret;
	if (lane->damage)
		sfs_block_clear(&lane->block);
	lane->is_formed = ret == 0;
	lane->t = 0;
	if (ret != -EAGAIN) {
		deal(ls, lane);
		drop_runs(ls, lane);
		touch(ls, lane);
	}
	return ret;
}

int sfs_prefetch_peek(struct sfs_prefetch *ls, uint32_t l,
		      const struct sfs_block_sample **ret_sample,
		      struct sfs_slice_buffer **ret_run)
{
	struct lane *lane = &ls->lanes[l];
	const struct sfs_block_sample *s;
	enum sfs_slice_buffer_state state;
	struct sfs_slice_buffer *run;
	int ret;

	if (!lane->is_formed) {
		ret = form(ls, lane);
		if (ret < 0)
			return ret;
	}
	s = sfs_block_at(&lane->block, lane->t);
	run = find_run(lane, s->m);
	state = sfs_slice_buffer_state(run, s->start, s->n_bytes);
	if (state == SFS_SLICE_BUFFER_EXPECTED)
		return -EAGAIN;
	*ret_run = state == SFS_SLICE_BUFFER_HERE ? run : NULL;
	*ret_sample = s;
	return 0;
}

void sfs_prefetch_take(struct sfs_prefetch *ls, uint32_t l)
{
	struct lane *lane = &ls->lanes[l];
	const struct sfs_block_sample *s = sfs_block_at(&lane->block, lane->t);
	struct sfs_slice_buffer *run = find_run(lane, s->m);

	if (sfs_slice_buffer_state(run, s->start, s->n_bytes) == SFS_SLICE_BUFFER_GONE) {
		sfs_slice_buffer_release(run, s->start, s->n_bytes);
		drop_runs(ls, lane);
	}
	lane->n_taken++;
	if (++lane->t == lane->block.n) {
		lane->is_formed = false;
		lane->t = 0;
		sfs_block_clear(&lane->block);
		touch(ls, lane);
	}
}

void sfs_prefetch_release(struct sfs_prefetch *ls, uint32_t l,
			  struct sfs_slice_buffer *run, uint64_t start, uint64_t n_bytes)
{
	sfs_slice_buffer_release(run, start, n_bytes);
	drop_runs(ls, &ls->lanes[l]);
}

/* ---- parts ---- */

static void on_read(struct sfs_request *request, int err)
{
	struct sfs_part *part = sfs_container(request, struct sfs_part, request);

	part->err = err;
	part->lanes->owner.ended(part->lanes->owner.ctx, part);
}

static void on_ready(struct sfs_request *request)
{
	struct sfs_part *part = sfs_container(request, struct sfs_part, request);

	part->lanes->owner.stirred(part->lanes->owner.ctx);
}

static void on_grab(struct sfs_range *grab, int err)
{
	struct sfs_part *part = sfs_container(grab, struct sfs_part, grab);

	part->err = err;
	part->lanes->owner.ended(part->lanes->owner.ctx, part);
}

static struct sfs_part *new_part(struct sfs_prefetch *ls, struct lane *lane,
				 struct sfs_slice_buffer *run)
{
	struct sfs_part *part = sfs_calloc(1, sizeof *part);

	part->lanes = ls;
	part->lane = lane->at.lane;
	part->run = run;
	part->due = ls->due[lane->at.lane];
	sfs_list_push(&ls->parts, &part->link);
	run->n_on_way++;
	lane->n_on_way++;
	ls->n_on_way++;
	return part;
}

static void free_part(struct sfs_part *part)
{
	struct sfs_prefetch *ls = part->lanes;

	sfs_link_remove(&part->link);
	part->run->n_on_way--;
	ls->lanes[part->lane].n_on_way--;
	ls->n_on_way--;
	free(part->slabs);
	free(part->iov);
	free(part);
}

static void submit(struct sfs_deferred_call *job)
{
	struct sfs_part *part = sfs_container(job, struct sfs_part, job);

	if (part->is_passing)
		sfs_range_start(&part->lanes->runtime->range_reader, &part->grab, NULL);
	else
		sfs_request_submit(&part->request);
}

/* Ask for n bytes (whole slabs, but at the shard's end) to be kept.
 * false: the account refuses. */
static bool ask_to_keep(struct sfs_prefetch *ls, struct lane *lane,
			struct sfs_slice_buffer *run, uint64_t offset, uint64_t n,
			bool is_urgent, struct sfs_deferred *out)
{
	size_t n_slabs = (size_t)sfs_slab_count(n), i;
	struct sfs_part *part;

	ls->is_refused = sfs_account_take(ls->account, n_slabs * SFS_SLAB_BYTES) < 0;
	if (ls->is_refused)
		return false;
	part = new_part(ls, lane, run);
	part->n_slabs = n_slabs;
	part->slabs = sfs_calloc(n_slabs, sizeof *part->slabs);
	part->iov = sfs_calloc(n_slabs, sizeof *part->iov);
	sfs_slabs_get(ls->runtime->slabs, part->slabs, n_slabs);
	for (i = 0; i < n_slabs; i++) {
		part->iov[i].iov_base = part->slabs[i];
		part->iov[i].iov_len = SFS_SLAB_BYTES;
	}
	part->iov[n_slabs - 1].iov_len = n - (n_slabs - 1) * SFS_SLAB_BYTES;
	part->request = (struct sfs_request){
		.kind = SFS_REQUEST_READ,
		.object = &run->shard->object,
		.is_urgent = is_urgent,
		.is_ahead = !is_urgent,
		.offset = offset,
		.n_bytes = n,
		.iov = part->iov,
		.n_iov = (int)n_slabs,
		.done = on_read,
		.ready = on_ready,
		.begun_ns = &part->begun_ns,
	};
	if (is_urgent)
		sfs_request_await(&part->request);
	sfs_slice_buffer_expect(run, offset, n);
	lane->n_asked += n;
	sfs_deferred_add(out, &part->job, submit);
	return true;
}

/* Look at the bytes at `offset` without keeping them. */
static void ask_to_look(struct sfs_prefetch *ls, struct lane *lane,
			struct sfs_slice_buffer *run, uint64_t offset, bool is_urgent,
			struct sfs_deferred *out)
{
	struct sfs_part *part = new_part(ls, lane, run);
	uint64_t left = run->shard->object.size - offset;

	part->is_passing = true;
	part->grab = (struct sfs_range){
		.shard = run->shard,
		.offset = offset,
		.n_bytes = left < PASSING_BYTES ? left : PASSING_BYTES,
		.is_urgent = is_urgent,
		.done = on_grab,
	};
	sfs_deferred_add(out, &part->job, submit);
}

static void take_passing(struct sfs_prefetch *ls, struct sfs_part *part)
{
	uint64_t at = part->grab.offset;
	int i;

	for (i = 0; part->err == 0 && i < part->grab.n_iov; i++) {
		sfs_shard_feed(&ls->runtime->shards, part->run->shard, at,
			       part->grab.iov[i].iov_base, part->grab.iov[i].iov_len);
		at += part->grab.iov[i].iov_len;
	}
	sfs_range_drop(&part->grab);
}

/* The first n slabs of a part are here. */
static void take_first(struct sfs_prefetch *ls, struct sfs_part *part, size_t n)
{
	if (n <= part->n_here)
		return;
	ls->came_bytes += (n - part->n_here) * SFS_SLAB_BYTES;
	sfs_slice_buffer_arrive(part->run,
				part->request.offset + part->n_here * SFS_SLAB_BYTES,
				part->slabs + part->n_here, n - part->n_here);
	part->n_here = n;
}

/* What of a failed part has come is kept, in whole slabs: a next try goes on behind. */
static void take_kept(struct sfs_prefetch *ls, struct sfs_part *part)
{
	size_t n_lost;

	take_first(ls, part,
		   part->err == 0 ? part->n_slabs
				  : (size_t)(part->request.n_got / SFS_SLAB_BYTES));
	n_lost = part->n_slabs - part->n_here;
	if (n_lost == 0)
		return;
	sfs_slice_buffer_fail(part->run,
			      part->request.offset + part->n_here * SFS_SLAB_BYTES,
			      n_lost);
	sfs_slabs_put(ls->runtime->slabs, part->slabs + part->n_here, n_lost);
	sfs_account_give(ls->account, n_lost * SFS_SLAB_BYTES);
}

/* A reader waits for the part: take what of it is here, and be told when there is more.
 * true: there was something. */
static bool take_ready(struct sfs_prefetch *ls, struct sfs_part *part)
{
	size_t n = (size_t)(sfs_request_await(&part->request) / SFS_SLAB_BYTES);

	if (n <= part->n_here)
		return false;
	take_first(ls, part, n);
	feed_table(ls, part->run);
	touch(ls, &ls->lanes[part->lane]);
	return true;
}

static uint64_t first_byte(const struct sfs_part *part)
{
	if (part->is_passing)
		return part->grab.offset;
	return part->request.offset + part->n_here * SFS_SLAB_BYTES;
}

static uint64_t end_byte(const struct sfs_part *part)
{
	if (part->is_passing)
		return part->grab.offset + part->grab.n_bytes;
	return part->request.offset + part->request.n_bytes;
}

void sfs_prefetch_arrive(struct sfs_prefetch *ls, struct sfs_part *part,
			 struct sfs_prefetch_loss *ret_loss)
{
	struct lane *lane = &ls->lanes[part->lane];
	int err = part->err;

	lane->has_failed |= err < 0;
	if (err < 0 && !lane->has_ended)
		set_asked(ls, lane, false);
	if (part->is_passing)
		take_passing(ls, part);
	else
		take_kept(ls, part);
	feed_table(ls, part->run);
	*ret_loss = (struct sfs_prefetch_loss){.err = err,
					       .lane = part->lane,
					       .m = part->run->m,
					       .start = first_byte(part),
					       .end = end_byte(part)};
	free_part(part);
	drop_runs(ls, lane);
	touch(ls, lane);
}

/* ---- what to ask for ---- */

struct want {
	struct sfs_slice_buffer *run;
	uint64_t offset, n_bytes;
	bool is_passing;
};

/* Samples too large to hold are passed over, as is what comes behind the last one:
 * moves `asked` over them, and ends *n_bytes before the next such.  What the table
 * does not know yet counts as one sample, from the frontier to the byte it wants.
 * true: only headers are worth asking for, at *ret_wanted. */
static bool pass_over(struct sfs_slice_buffer *run, const struct sfs_slice *slice,
		      uint64_t cap, uint64_t *n_bytes, uint64_t *ret_wanted)
{
	const struct sfs_sample_table *table = sfs_shard_table(run->shard);
	uint64_t wanted = sfs_shard_wanted(run->shard);
	uint64_t frontier = sfs_shard_frontier(run->shard);
	uint64_t n = sfs_slice_end(slice, sfs_sample_table_n(table));
	uint64_t i = sfs_sample_table_at(table, n, run->asked);
	struct sfs_sample_table_sample s;
	bool has_small = false; /* a sample to be held, from `asked` on */

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
		if (s.start >= run->asked + *n_bytes)
			return false;
		if (i < n && s.start + s.n_bytes <= run->asked)
			continue; /* given up before */
		if (s.n_bytes <= cap) {
			has_small = true;
		} else if (has_small) {
			*n_bytes = sfs_slice_buffer_round_up(run, s.start) - run->asked;
			return false;
		} else {
			sfs_slice_buffer_skip(run, s.start + s.n_bytes);
			if (i == n)
				return true;
		}
	}
	if (!has_small)
		sfs_slice_buffer_skip(run, sfs_slice_buffer_round_up(run, run->end));
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
	uint64_t n = part_bytes / SFS_SLAB_BYTES, asked = lane->n_asked / SFS_SLAB_BYTES;
	uint64_t end = ((uint64_t)(lane->at.lane * GOLDEN_RATIO) * n) >> 32;
	uint64_t left = n - (asked + n - end) % n;

	if (asked >= 2 * n && left < n - n / 2)
		left = (left + n + 1) / 2;
	return left * SFS_SLAB_BYTES;
}

/* The first parts of a lane are small: each is as large as all before. */
static uint64_t next_part_bytes(const struct sfs_prefetch *ls, const struct lane *lane,
				uint64_t part_bytes)
{
	struct sfs_netpath path = sfs_runtime_path(ls->runtime);
	uint64_t first = sfs_sizing_first(&path);
	uint64_t ramp = lane->n_asked > first ? lane->n_asked : first;
	uint64_t n = staggered(lane, part_bytes);

	return n < ramp ? n : ramp / SFS_SLAB_BYTES * SFS_SLAB_BYTES;
}

/* What would this run ask for next, of what failed from byte `from` on, or anew?  false:
 * nothing. */
static bool want_of_run(struct sfs_prefetch *ls, struct lane *lane,
			struct sfs_slice_buffer *run, uint64_t from, struct want *w)
{
	const struct sfs_slice *slice = sfs_order_slice(ls->order, lane->at.lane, run->m);
	uint64_t end = run->is_open ? run->end : run->held_end, wanted;
	uint64_t part_bytes = next_part_bytes(ls, lane, ls->part_bytes);

	*w = (struct want){.run = run, .n_bytes = part_bytes};
	if (sfs_slice_buffer_missing(run, from, part_bytes, &w->offset, &w->n_bytes))
		return true;
	if (run->asked >= end)
		return false;
	lane->is_jumping = w->is_passing =
		pass_over(run, slice, ls->lane_share, &w->n_bytes, &wanted);
	if (run->asked >= end)
		return false;
	w->offset = w->is_passing ? wanted : run->asked;
	if (w->n_bytes > run->end - w->offset)
		w->n_bytes = run->end - w->offset;
	return true;
}

static bool want_of(struct sfs_prefetch *ls, struct lane *lane, struct want *w)
{
	uint32_t n_slices = sfs_order_lane_slices(ls->order, lane->at.lane);
	struct sfs_slice_buffer *run;

	for (run = lane->first_run; run; run = run->next)
		if (want_of_run(ls, lane, run, 0, w))
			return true;
	while (lane->next_m < n_slices) {
		run = open_run(ls, lane, lane->next_m, 0);
		if (want_of_run(ls, lane, run, 0, w))
			return true;
	}
	return false;
}

/* The run that a blocked lane waits for: that of the sample that is due, or where
 * the next block is being formed. */
static struct sfs_slice_buffer *blocking_run(struct sfs_prefetch *ls, struct lane *lane)
{
	if (lane->is_formed)
		return find_run(lane, sfs_block_at(&lane->block, lane->t)->m);
	open_runs(ls, lane);
	return find_run(lane, lane->at.m);
}

/* The byte of that run that a blocked lane lacks.  UINT64_MAX: none is known. */
static uint64_t lacking(const struct lane *lane, const struct sfs_slice_buffer *run)
{
	const struct sfs_block_sample *s;
	uint64_t at;
	size_t n;

	if (!lane->is_formed)
		return sfs_shard_wanted(run->shard);
	s = sfs_block_at(&lane->block, lane->t);
	for (at = s->start; at < s->start + s->n_bytes; at += n)
		if (!sfs_slice_buffer_at(run, at, &n))
			return at;
	return UINT64_MAX;
}

static bool is_in_flight(const struct sfs_prefetch *ls,
			 const struct sfs_slice_buffer *run, uint64_t byte)
{
	SFS_EACH (part, &ls->parts, struct sfs_part, link) {
		if (part->run == run && byte >= first_byte(part) && byte < end_byte(part))
			return true;
	}
	return false;
}

bool sfs_prefetch_needs(struct sfs_prefetch *ls, const struct sfs_prefetch_loss *loss)
{
	struct lane *lane = &ls->lanes[loss->lane];
	const struct sfs_slice_buffer *run = blocking_run(ls, lane);
	uint64_t byte;

	if (lane->has_ended || lane->damage || !run || run->m != loss->m)
		return false;
	byte = lacking(lane, run);
	return byte >= loss->start && byte < loss->end;
}

/* A reader waits for the lane: what is on its way for it, or for others that are due
 * next, is needed.  true: some of it is here. */
static bool hurry(struct sfs_prefetch *ls, const struct lane *lane)
{
	bool has_more = false;

	SFS_EACH (part, &ls->parts, struct sfs_part, link) {
		if (part->is_passing)
			continue;
		if (part->lane == lane->at.lane)
			has_more |= take_ready(ls, part);
		else if (part->due > lane->n_taken + SOON_ROUNDS)
			continue;
		sfs_request_hurry(&part->request);
	}
	return has_more;
}

/* The lane that a reader waits for: have something on its way, whatever it takes.
 * true: it has come further, or its sample was given up. */
static bool unblock(struct sfs_prefetch *ls, struct lane *lane, struct sfs_deferred *out)
{
	const struct sfs_block_sample *s;
	uint64_t wanted, byte;
	struct want w;

	if (lane->has_ended || lane->damage)
		return false;
	w.run = blocking_run(ls, lane);
	byte = lacking(lane, w.run);
	/* If that failed before the reader came, only asking for it again tells whether
	 * the reader can have it. */
	if (lane->n_on_way > 0 && (!lane->has_failed || is_in_flight(ls, w.run, byte)))
		return hurry(ls, lane);
	lane->has_failed = false;
	touch(ls, lane);
	if (want_of_run(ls, lane, w.run, byte, &w) && !w.is_passing && w.offset <= byte &&
	    ask_to_keep(ls, lane, w.run, w.offset, w.n_bytes, true, out)) {
		touch(ls, lane);
		return false;
	}
	/* Too large to hold, or no memory: do without the sample that is due, or look
	 * for where the next one is. */
	if (lane->is_formed) {
		s = sfs_block_at(&lane->block, lane->t);
		sfs_slice_buffer_give_up(w.run, s->start, s->n_bytes);
		return true;
	}
	wanted = sfs_shard_wanted(w.run->shard);
	if (wanted != UINT64_MAX)
		ask_to_look(ls, lane, w.run, wanted, true, out);
	touch(ls, lane);
	return false;
}

/* A block has a sample at least, however large that is. */
static uint64_t block_bytes(const struct sfs_prefetch *ls)
{
	uint64_t sample = mean_bytes(ls), block = ls->order->piece_bytes;

	return block > sample ? block : sample;
}

/* Has a lane enough?  That is asked of each for itself: were only the sum looked at, many
 * lanes that fall due at one time would be asked for one behind the other. */
static bool has_enough(const struct sfs_prefetch *ls, uint32_t l, uint64_t part_bytes)
{
	struct sfs_netpath path = sfs_runtime_path(ls->runtime);
	uint64_t bytes = sfs_sizing_lane(&path, n_left(ls), block_bytes(ls), part_bytes);

	return ls->due[l] > ls->lanes[l].n_taken + bytes / mean_bytes(ls);
}

/* Is as much held as a near stream of all these lanes may hold?  Also then the lane that
 * a reader waits for is asked for.  A limit that is low for now is the account's affair:
 * it refuses, and calls when there is room again.  Slices of shards have slabs of their
 * own, so what they cost says little of what they bring. */
static bool is_full(const struct sfs_prefetch *ls)
{
	struct sfs_netpath path = sfs_runtime_path(ls->runtime);
	uint64_t part = sfs_sizing_part(&path, ls->runtime->budget.total_bytes,
					atomic_load(&ls->runtime->n_open_lanes));

	if (sfs_netpath_is_far(&path) || ls->order->has_equal_lanes)
		return false;
	return sfs_account_used(ls->account) >=
	       ls->kept_bytes + sfs_sizing_stream(&path, ls->order->n_lanes,
						  block_bytes(ls), part);
}

/* How many parts may be on their way now. */
static uint32_t on_way(const struct sfs_prefetch *ls)
{
	struct sfs_netpath path = sfs_runtime_path(ls->runtime);

	return sfs_sizing_on_way(&path, sfs_prefetch_part_bytes(ls->runtime));
}

/* The fewer lanes have anything left to ask for, the more each may have on its way: a
 * lane that is longer than the others would end the stream with two requests at a time.
 */
static void spread(struct sfs_prefetch *ls, uint32_t most)
{
	uint32_t max = 2 * most / n_left(ls), l;

	max = max < 2 ? 2 : max;
	if (max == ls->max_lane_on_way)
		return;
	ls->max_lane_on_way = max;
	for (l = 0; l < ls->order->n_lanes; l++)
		touch(ls, &ls->lanes[l]);
}

bool sfs_prefetch_pump(struct sfs_prefetch *ls, uint32_t blocking,
		       struct sfs_deferred *out)
{
	uint64_t share = sfs_account_share(ls->account) / ls->order->n_lanes;
	uint32_t most = on_way(ls), l;
	struct lane *lane;
	struct want w;

	ls->part_bytes = sfs_prefetch_part_bytes(ls->runtime);
	ls->lane_share = share > ls->part_bytes ? share : ls->part_bytes;
	spread(ls, most);
	ls->is_refused = false;
	if (blocking != UINT32_MAX && unblock(ls, &ls->lanes[blocking], out))
		return true;
	while (ls->n_on_way < most && (l = choose(ls)) != UINT32_MAX &&
	       !has_enough(ls, l, ls->part_bytes) && !is_full(ls)) {
		lane = &ls->lanes[l];
		if (!want_of(ls, lane, &w)) {
			ls->due[l] = NOT_NOW;
			set_asked(ls, lane, true);
			continue;
		}
		if (w.is_passing)
			ask_to_look(ls, lane, w.run, w.offset, false, out);
		else if (!ask_to_keep(ls, lane, w.run, w.offset, w.n_bytes, false, out))
			break; /* the account calls when there is room */
		touch(ls, lane);
	}
	return false;
}

void sfs_prefetch_keep(struct sfs_prefetch *ls, uint64_t n_bytes)
{
	ls->kept_bytes = n_bytes;
}

bool sfs_prefetch_have_all(const struct sfs_prefetch *ls)
{
	return ls->n_left == 0;
}

bool sfs_prefetch_are_sated(struct sfs_prefetch *ls)
{
	uint32_t l = choose(ls);

	return l == UINT32_MAX ||
	       has_enough(ls, l, sfs_prefetch_part_bytes(ls->runtime)) || is_full(ls);
}

/* ---- whom a read waits for ---- */

bool sfs_prefetch_are_busy(const struct sfs_prefetch *ls)
{
	return 2 * ls->n_on_way >= on_way(ls);
}

bool sfs_prefetch_are_short(const struct sfs_prefetch *ls)
{
	return ls->is_refused && !sfs_prefetch_are_busy(ls);
}

uint64_t sfs_prefetch_came(const struct sfs_prefetch *ls)
{
	return ls->came_bytes;
}

/* A block is here in part, and it is one of those that grow to their whole size.  Later
 * ones are formed while the one before leaves: if they are late, bytes are. */
static bool is_filling(const struct sfs_prefetch *ls, const struct lane *lane)
{
	const struct sfs_block *block = &lane->block;
	const struct sfs_slice_buffer *run;
	size_t n;

	if (block->n == 0 ||
	    sfs_order_piece_start(ls->order, block->piece) > ls->order->piece_bytes)
		return false;
	run = find_run(lane, block->samples[0].m);
	return run && sfs_slice_buffer_at(run, block->samples[0].start, &n) != NULL;
}

enum sfs_wait sfs_prefetch_wait_cause(const struct sfs_prefetch *ls, uint32_t l,
				      uint64_t *ret_since_ns)
{
	if (sfs_prefetch_are_short(ls))
		return SFS_WAIT_BUDGET;
	if (is_filling(ls, &ls->lanes[l]))
		return SFS_WAIT_BLOCK;
	/* The oldest part of a lane is the one that is needed first. */
	SFS_EACH (part, &ls->parts, struct sfs_part, link) {
		if (part->lane != l)
			continue;
		*ret_since_ns = atomic_load(&part->begun_ns);
		return *ret_since_ns ? SFS_WAIT_NETWORK : SFS_WAIT_SOURCE;
	}
	return SFS_WAIT_SOURCE;
}

void sfs_prefetch_explain(const struct sfs_prefetch *ls, uint32_t l,
			  struct sfs_cause *cause)
{
	SFS_EACH (part, &ls->parts, struct sfs_part, link) {
		if (part->lane != l)
			continue;
		sfs_object_explain(&part->run->shard->object,
				   part->is_passing
					   ? part->grab.offset
					   : part->request.offset +
						     part->n_here * SFS_SLAB_BYTES,
				   part->is_passing ? "a header" : "bytes", cause);
		return;
	}
	if (sfs_prefetch_are_short(ls))
		sfs_cause_set(cause, NULL, SFS_NO_OFFSET,
			      "memory for a lane: budget= is used up");
}

/* ---- life ---- */

/* Put the lane behind the block that holds its sample `number`. */
static int start_at(struct sfs_prefetch *ls, struct lane *lane, struct sfs_locator *map,
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
		end_lane(ls, lane);
		lane->next_m = sfs_order_lane_slices(ls->order, lane_number);
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
		open_run(ls, lane, m, m == first_m ? from : 0);
	deal(ls, lane);
	return 0;
}

int sfs_prefetch_new(struct sfs_runtime *runtime, const struct sfs_order *order,
		     struct sfs_account *account, const struct sfs_prefetch_owner *owner,
		     struct sfs_locator *map, const struct sfs_spot *at,
		     struct sfs_prefetch **ret_lanes)
{
	struct sfs_prefetch *ls;
	uint32_t l;
	int ret = 0;

	ls = sfs_calloc(1, sizeof *ls + order->n_lanes * sizeof ls->lanes[0]);
	ls->runtime = runtime;
	ls->order = order;
	ls->account = account;
	ls->owner = *owner;
	ls->n_left = order->n_lanes;
	ls->due = sfs_calloc(order->n_lanes, sizeof *ls->due);
	sfs_list_init(&ls->parts);
	for (l = 0; l < order->n_lanes; l++)
		sfs_lane_init(&ls->lanes[l].at, order, l);
	for (l = 0; at && l < order->n_lanes && ret == 0; l++)
		ret = start_at(ls, &ls->lanes[l], map, at->round + (l < at->lane));
	if (ret < 0) {
		sfs_prefetch_free(ls);
		return ret;
	}
	for (l = 0; l < order->n_lanes; l++)
		touch(ls, &ls->lanes[l]);
	*ret_lanes = ls;
	return 0;
}

void sfs_prefetch_cancel(struct sfs_prefetch *ls)
{
	/* Passing grabs are small and may not have begun: they just end. */
	SFS_EACH (part, &ls->parts, struct sfs_part, link)
		if (!part->is_passing)
			sfs_request_cancel(&part->request);
}

uint32_t sfs_prefetch_on_way(const struct sfs_prefetch *ls)
{
	return ls->n_on_way;
}

uint64_t sfs_prefetch_live(const struct sfs_prefetch *ls)
{
	const struct sfs_slice_buffer *run;
	uint64_t n = 0;
	uint32_t l;

	for (l = 0; l < ls->order->n_lanes; l++)
		for (run = ls->lanes[l].first_run; run; run = run->next)
			n += sfs_slice_buffer_live(run);
	return n;
}

void sfs_prefetch_free(struct sfs_prefetch *ls)
{
	struct sfs_slice_buffer *run;
	uint32_t l;

	if (!ls)
		return;
	assert(ls->n_on_way == 0);
	for (l = 0; l < ls->order->n_lanes; l++) {
		while ((run = ls->lanes[l].first_run) != NULL) {
			ls->lanes[l].first_run = run->next;
			close_run(ls, run);
		}
		sfs_block_done(&ls->lanes[l].block);
	}
	free(ls->due);
	free(ls);
}
