/* SPDX-License-Identifier: MIT */
/* How this works: sfs_cursor_run() takes what has arrived, appends samples to the extents
 * (cursor-extents.c), answers reads (cursor-reads.c), and requests more.  Parts end on
 * other threads; they are queued under `arrived_lock`.
 *
 * What a read waits for is decided by one function, find_wait(), whenever something has
 * changed.  What happens on other threads between these calls leaves its time: the first
 * byte of a response, and the first wake of the stream's task.
 */
#include "stream/cursor/cursor.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/ledger.h"
#include "base/lock.h"
#include "stream/cursor/cursor-internal.h"

#include <errno.h>

#define FORWARD_BYTES ((uint64_t)64 << 20) /* a read so far ahead still goes on */

/* ---- on other threads ---- */

static void wake(void *ctx)
{
	struct sfs_cursor *c = ctx;

	if (atomic_load(&c->woken_ns) == 0)
		atomic_store(&c->woken_ns, sfs_clock_ns());
	c->owner.wake(c->owner.ctx);
}

static void on_part(void *ctx, struct sfs_part *part)
{
	struct sfs_cursor *c = ctx;

	/* With the lock held: once the part is taken, all may go away. */
	pthread_mutex_lock(&c->arrived_lock);
	sfs_list_push(&c->arrived, sfs_part_link(part));
	wake(c);
	pthread_mutex_unlock(&c->arrived_lock);
}

static void on_room(struct sfs_account *account)
{
	wake(sfs_container(account, struct sfs_cursor, account));
}

static void on_timer(struct sfs_timer *timer)
{
	wake(sfs_container(timer, struct sfs_cursor, timer));
}

/* ---- what a read waits for ---- */

/* What is waited for now?  If the NETWORK: since *ret_since_ns. */
static enum sfs_wait find_wait(const struct sfs_cursor *c, uint64_t *ret_since_ns)
{
	const struct sfs_oversize_piece *piece;
	const struct sfs_read *read;

	if (sfs_list_is_empty(&c->waiting)) {
		if (c->is_closed || c->is_ahead || c->is_queued)
			return SFS_WAIT_IDLE;
		if (!sfs_list_is_empty(&c->answered))
			return SFS_WAIT_CPU;
		if (c->is_gathering)
			return SFS_WAIT_BUDGET;
		return c->is_complete && c->front >= c->extents.end ? SFS_WAIT_IDLE
								    : SFS_WAIT_READER;
	}
	if (!c->prefetch)
		return SFS_WAIT_BUDGET;
	read = sfs_container(c->waiting.next, struct sfs_read, link);
	piece = sfs_cursor_missing_piece(c, read);
	if (piece && sfs_prefetch_is_short(c->prefetch))
		return SFS_WAIT_BUDGET;
	if (piece)
		return sfs_oversize_piece_wait(piece, ret_since_ns);
	if (c->early_since_ns) {
		*ret_since_ns = c->early_since_ns;
		return c->early_cause;
	}
	if (c->is_proving)
		return SFS_WAIT_SOURCE;
	if (!c->is_blocked)
		return SFS_WAIT_CPU;
	return sfs_prefetch_wait_cause(c->prefetch, ret_since_ns);
}

static void update_waits(struct sfs_cursor *c, uint64_t now_ns)
{
	uint64_t since_ns = 0;
	enum sfs_wait state = find_wait(c, &since_ns);

	/* There was no call when the first byte came. */
	if (state == SFS_WAIT_NETWORK && c->waits.state == SFS_WAIT_SOURCE &&
	    since_ns < now_ns)
		sfs_waits_enter(&c->waits, state, since_ns);
	sfs_waits_enter(&c->waits, state, now_ns);
}

void sfs_cursor_gathers_ended(struct sfs_cursor *c)
{
	if (!c->is_gathering)
		return;
	c->is_gathering = false;
	update_waits(c, sfs_clock_ns());
}

void sfs_cursor_tick(struct sfs_cursor *c)
{
	update_waits(c, sfs_clock_ns());
}

/* ---- going on ---- */

/* A failed part may have brought some bytes: reads that need no more are
 * answered first. */
static void take_part(struct sfs_cursor *c, struct sfs_part *part,
		      struct sfs_deferred *out)
{
	struct sfs_prefetch_loss loss;

	sfs_prefetch_arrive(c->prefetch, part, &loss);
	if (loss.err == 0 || c->is_closed)
		return;
	sfs_cursor_extend(c);
	sfs_cursor_serve(c, out);
	if (c->is_blocked && sfs_prefetch_needs(c->prefetch, &loss))
		sfs_cursor_fail_blocked(c, loss.err, out);
}

static struct sfs_part *next_arrived(struct sfs_cursor *c)
{
	struct sfs_link *link;

	pthread_mutex_lock(&c->arrived_lock);
	link = sfs_list_pop(&c->arrived);
	pthread_mutex_unlock(&c->arrived_lock);
	return link ? sfs_part_of(link) : NULL;
}

static int start_prefetch(struct sfs_cursor *c, struct sfs_locator *locator,
			  const struct sfs_spot *at)
{
	const struct sfs_prefetch_settings settings = {
		.runtime = c->runtime,
		.order = c->order,
		.account = &c->account,
		.owner = {.ctx = c, .ended = on_part, .ready = wake},
	};

	return sfs_prefetch_new(&settings, locator, at, &c->prefetch);
}

/* Does a read wait for the next sample?  (Not for a piece of an oversize one, or for its
 * time.) */
static bool is_awaited(const struct sfs_cursor *c)
{
	SFS_EACH (read, &c->waiting, struct sfs_read, link) {
		if (sfs_read_end(read) > c->extents.end)
			return c->is_blocked;
	}
	return false;
}

/* Reads that wait for the table of a shard fail with its scan. */
static void fail_unscanned(struct sfs_cursor *c, struct sfs_deferred *out)
{
	if (c->proof && c->is_blocked && sfs_proof_err(c->proof) < 0 &&
	    sfs_prefetch_waits(c->prefetch))
		sfs_cursor_fail_blocked(c, sfs_proof_err(c->proof), out);
}

static void go_on(struct sfs_cursor *c, struct sfs_deferred *out)
{
	if (!c->prefetch && !c->is_queued && sfs_account_is_open(&c->account))
		start_prefetch(c, NULL, NULL);
	if (!c->prefetch)
		return;
	do {
		sfs_cursor_extend(c);
		sfs_cursor_serve(c, out);
		fail_unscanned(c, out);
		sfs_cursor_trim(c);
		if (c->is_held)
			return;
		sfs_oversize_start(&c->oversize, &c->waiting, c->front, out);
	} while (sfs_prefetch_pump(c->prefetch, is_awaited(c), out));
}

static uint32_t n_in_flight(const struct sfs_cursor *c)
{
	return (c->prefetch ? sfs_prefetch_in_flight(c->prefetch) : 0) +
	       c->oversize.n_pending;
}

static void cursor_free(struct sfs_cursor *c)
{
	if (c->prefetch)
		sfs_prefetch_free(c->prefetch);
	if (!c->is_ahead)
		atomic_fetch_sub(&c->runtime->n_open_lanes, c->order->n_lanes);
	sfs_account_close(&c->account);
	sfs_timer_unset(c->runtime->timers, &c->timer);
	pthread_mutex_destroy(&c->arrived_lock);
	sfs_link_remove(&c->link);
	sfs_extent_map_done(&c->extents);
	sfs_oversize_done(&c->oversize);
	free(c);
}

static void take_all(struct sfs_cursor *c, struct sfs_deferred *out)
{
	struct sfs_part *part;

	while ((part = next_arrived(c)) != NULL)
		take_part(c, part, out);
	sfs_oversize_take(&c->oversize, out);
}

/* Take what arrived, and go on.  If that helped a read, it waited for us
 * since the wake. */
static void cursor_run(struct sfs_cursor *c, struct sfs_deferred *out)
{
	const struct sfs_link *first = c->waiting.next;
	bool has_waiting = !sfs_list_is_empty(&c->waiting);
	uint64_t end = c->extents.end, woken_ns = atomic_exchange(&c->woken_ns, 0);

	if (has_waiting && woken_ns)
		update_waits(c, woken_ns);
	take_all(c, out);
	go_on(c, out);
	if (has_waiting && woken_ns &&
	    (first != c->waiting.next || end != c->extents.end))
		sfs_waits_enter(&c->waits, SFS_WAIT_CPU, woken_ns);
	update_waits(c, sfs_clock_ns());
}

bool sfs_cursor_run(struct sfs_cursor *c, struct sfs_deferred *out)
{
	if (!c->is_closed) {
		cursor_run(c, out);
		return true;
	}
	take_all(c, out);
	if (n_in_flight(c) > 0 || !sfs_list_is_empty(&c->answered))
		return true;
	for (; c->extents.head < c->extents.tail; sfs_extent_map_drop_head(&c->extents))
		sfs_cursor_drop_extent(c,
				       sfs_extent_map_at(&c->extents, c->extents.head));
	cursor_free(c);
	return false;
}

/* ---- reads ---- */

void sfs_cursor_close(struct sfs_cursor *c, int err, struct sfs_deferred *out)
{
	struct sfs_link *link;

	c->is_closed = true;
	while ((link = sfs_list_pop(&c->waiting)) != NULL)
		sfs_cursor_fail(sfs_container(link, struct sfs_read, link), err, out);
	update_waits(c, sfs_clock_ns());
	if (c->prefetch)
		sfs_prefetch_cancel(c->prefetch);
	c->owner.wake(c->owner.ctx);
}

bool sfs_cursor_covers(const struct sfs_cursor *c, uint64_t offset)
{
	uint64_t end = c->extents.end > c->read_end ? c->extents.end : c->read_end;

	return !c->is_closed && !c->is_queued && offset >= c->extents.start &&
	       (offset <= end + FORWARD_BYTES || c->is_complete || c->err < 0);
}

uint64_t sfs_cursor_extents_end(const struct sfs_cursor *c)
{
	return c->extents.end;
}

bool sfs_cursor_is_needless(const struct sfs_cursor *c, const struct sfs_cursor *other)
{
	return !c->is_ahead && !c->is_queued && !sfs_cursor_is_busy(c) &&
	       c->front >= other->extents.start && c->front <= other->extents.end &&
	       sfs_readers_hindmost(c->readers, c->extents.start, other->extents.start,
				    sfs_clock_ns()) == UINT64_MAX;
}

/* The first read of a cursor that was begun ahead: now it is like the others. */
static void meet_reader(struct sfs_cursor *c)
{
	c->is_ahead = c->is_held = false;
	sfs_account_set_guest(&c->account, false);
	atomic_fetch_add(&c->runtime->n_open_lanes, c->order->n_lanes);
}

void sfs_cursor_read(struct sfs_cursor *c, struct sfs_read *read,
		     struct sfs_deferred *out)
{
	int ret;

	if (c->is_ahead)
		meet_reader(c);
	c->last_read_ns = sfs_clock_ns();
	sfs_readers_note(c->readers, read->file, read->offset, sfs_read_end(read),
			 c->last_read_ns);
	read->begun_ns = 0;
	if (sfs_read_end(read) > c->read_end)
		c->read_end = sfs_read_end(read);
	ret = sfs_cursor_check(c, read);
	if (ret > 0 && !sfs_cursor_is_early(c, read)) {
		sfs_cursor_answer(c, read, out);
		update_waits(c, c->last_read_ns);
	} else if (ret < 0) {
		sfs_cursor_fail(read, ret, out);
	} else {
		read->begun_ns = c->last_read_ns;
		sfs_list_push(&c->waiting, &read->link);
		update_waits(c, c->last_read_ns);
		go_on(c, out);
		update_waits(c, sfs_clock_ns());
	}
}

void sfs_cursor_release(struct sfs_cursor *c, struct sfs_read *read,
			struct sfs_deferred *out)
{
	bool has_waiting = !sfs_list_is_empty(&c->waiting);

	sfs_link_remove(&read->link);
	sfs_read_reset(read);
	if (c->is_closed) {
		c->owner.wake(c->owner.ctx);
		return;
	}
	c->patience.answered_ns = sfs_clock_ns();
	update_waits(c, c->patience.answered_ns);
	go_on(c, out);
	if (has_waiting)
		update_waits(c, sfs_clock_ns());
}

bool sfs_cursor_cancel(struct sfs_cursor *c, struct sfs_read *read)
{
	SFS_EACH (waiting, &c->waiting, struct sfs_read, link) {
		if (waiting == read) {
			sfs_link_remove(&read->link);
			update_waits(c, sfs_clock_ns());
			return true;
		}
	}
	return false;
}

struct sfs_read *sfs_cursor_take_back(struct sfs_cursor *c)
{
	struct sfs_link *link = sfs_list_pop(&c->waiting);

	update_waits(c, sfs_clock_ns());
	return link ? sfs_container(link, struct sfs_read, link) : NULL;
}

void sfs_cursor_explain(const struct sfs_cursor *c, const struct sfs_read *read,
			struct sfs_cause *cause)
{
	const struct sfs_oversize_piece *piece = sfs_cursor_missing_piece(c, read);

	if (!c->prefetch)
		sfs_cause_set(cause, NULL, SFS_NO_OFFSET,
			      "memory for %u lanes: other streams use up budget=",
			      c->order->n_lanes);
	else if (piece)
		sfs_oversize_piece_explain(piece, cause);
	else if (sfs_cursor_check(c, read) > 0)
		sfs_cause_set(cause, NULL, SFS_NO_OFFSET, "%s",
			      c->early_cause == SFS_WAIT_READER
				      ? "other readers of the stream, which are behind"
				      : "its turn: bytes come more slowly than they are "
					"read");
	else if (c->is_proving || (c->is_blocked && sfs_prefetch_waits(c->prefetch)))
		sfs_proof_explain(c->proof, cause);
	else if (c->is_blocked)
		sfs_prefetch_explain(c->prefetch, cause);
}

/* ---- life ---- */

static struct sfs_cursor *cursor_alloc(const struct sfs_cursor_settings *settings,
				       uint64_t offset, bool is_ahead)
{
	struct sfs_runtime *runtime = settings->runtime;
	struct sfs_cursor *c = sfs_calloc(1, sizeof *c);
	const struct sfs_oversize_owner oversize_owner = {.ctx = c,
							  .wake = wake,
							  .no_memory =
								  sfs_cursor_on_no_memory,
							  .failed = sfs_cursor_on_failed};

	c->runtime = runtime;
	c->order = settings->order;
	c->stretches = settings->stretches;
	c->proof = settings->proof;
	c->stream_bytes = settings->stream_bytes;
	c->readers = settings->readers;
	c->owner = settings->owner;
	sfs_lock_init(&c->arrived_lock, SFS_LOCK_ARRIVALS);
	sfs_list_init(&c->arrived);
	sfs_list_init(&c->waiting);
	sfs_list_init(&c->answered);
	sfs_extent_map_init(&c->extents, offset);
	sfs_oversize_init(&c->oversize, runtime, &c->account, &c->extents,
			  &oversize_owner);
	c->front = c->read_end = offset;
	c->born_ns = c->last_read_ns = sfs_clock_ns();
	c->is_ahead = is_ahead;
	c->timer.fire = on_timer;
	sfs_shaper_init(&c->shaper, c->born_ns);
	sfs_patience_init(&c->patience, c->born_ns);
	sfs_waits_init(&c->waits, &runtime->counters.waits, c->born_ns);
	if (!is_ahead)
		atomic_fetch_add(&runtime->n_open_lanes, c->order->n_lanes);
	return c;
}

/* What the lanes of a cursor must have. */
static uint64_t floor_bytes(const struct sfs_cursor *c)
{
	return c->order->n_lanes * SFS_BUDGET_LANE_FLOOR;
}

/* Open its account, or have it wait in turn (false). */
static bool open_in_turn(struct sfs_cursor *c)
{
	return sfs_account_open_in_turn(&c->account, &c->runtime->budget, floor_bytes(c),
					true, on_room);
}

struct sfs_cursor *sfs_cursor_new(const struct sfs_cursor_settings *settings)
{
	struct sfs_cursor *c = cursor_alloc(settings, 0, false);

	if (open_in_turn(c))
		start_prefetch(c, NULL, NULL);
	return c;
}

struct sfs_cursor *sfs_cursor_new_queued(const struct sfs_cursor_settings *settings)
{
	struct sfs_cursor *c = cursor_alloc(settings, 0, false);

	c->is_queued = true;
	open_in_turn(c);
	return c;
}

void sfs_cursor_queue(struct sfs_cursor *c)
{
	c->is_queued = true;
}

void sfs_cursor_begin(struct sfs_cursor *c)
{
	c->is_queued = false;
	start_prefetch(c, NULL, NULL);
}

int sfs_cursor_new_ahead(const struct sfs_cursor_settings *settings,
			 struct sfs_cursor **ret_cursor)
{
	struct sfs_cursor *c = cursor_alloc(settings, 0, true);

	if (sfs_account_open(&c->account, &c->runtime->budget, floor_bytes(c), true,
			     on_room) < 0) {
		cursor_free(c);
		return -ENOMEM;
	}
	sfs_account_set_guest(&c->account, true);
	start_prefetch(c, NULL, NULL);
	*ret_cursor = c;
	return 0;
}

int sfs_cursor_new_at(const struct sfs_cursor_settings *settings,
		      struct sfs_cursor *queued, struct sfs_locator *locator,
		      const struct sfs_spot *at, uint64_t key_before,
		      struct sfs_cursor **ret_cursor)
{
	struct sfs_cursor *c = cursor_alloc(settings, at->offset, false);
	int ret = 0;

	c->key_before = key_before;
	if (queued)
		sfs_account_move(&c->account, &queued->account);
	else
		ret = sfs_account_open(&c->account, &c->runtime->budget, floor_bytes(c),
				       true, on_room);
	if (ret == 0)
		ret = start_prefetch(c, locator, at);
	if (ret < 0)
		cursor_free(c);
	else
		*ret_cursor = c;
	return ret;
}

/* ---- what streams ask ---- */

struct sfs_link *sfs_cursor_link(struct sfs_cursor *c)
{
	return &c->link;
}

struct sfs_cursor *sfs_cursor_of(struct sfs_link *link)
{
	return sfs_container(link, struct sfs_cursor, link);
}

uint64_t sfs_cursor_last_read_ns(const struct sfs_cursor *c)
{
	return c->last_read_ns;
}

bool sfs_cursor_is_closed(const struct sfs_cursor *c)
{
	return c->is_closed;
}

uint64_t sfs_cursor_starved_ns(const struct sfs_cursor *c)
{
	if (c->prefetch || c->is_closed || c->is_queued)
		return 0;
	return sfs_clock_ns() - c->born_ns;
}

bool sfs_cursor_is_queued(const struct sfs_cursor *c)
{
	return c->is_queued && !c->is_closed;
}

bool sfs_cursor_has_room(struct sfs_cursor *c)
{
	return sfs_account_is_open(&c->account);
}

void sfs_cursor_touch(struct sfs_cursor *c)
{
	c->last_read_ns = sfs_clock_ns();
}

bool sfs_cursor_is_ahead(const struct sfs_cursor *c)
{
	return c->is_ahead;
}

void sfs_cursor_hold(struct sfs_cursor *c, bool is_held)
{
	c->is_held = c->is_ahead && is_held;
}

bool sfs_cursor_is_sated(struct sfs_cursor *c)
{
	return c->prefetch && sfs_prefetch_is_sated(c->prefetch);
}

bool sfs_cursor_nears_end(struct sfs_cursor *c)
{
	uint64_t left = c->stream_bytes - c->front;

	return c->prefetch && c->err == 0 && left <= c->front &&
	       sfs_prefetch_has_all(c->prefetch) &&
	       left <= sfs_account_share(&c->account);
}

bool sfs_cursor_is_read_out(const struct sfs_cursor *c)
{
	return c->is_complete && c->front >= c->extents.end;
}

bool sfs_cursor_needs_proof(const struct sfs_cursor *c)
{
	return c->is_proving;
}

bool sfs_cursor_is_busy(const struct sfs_cursor *c)
{
	return !sfs_list_is_empty(&c->waiting) || !sfs_list_is_empty(&c->answered);
}

void sfs_cursor_state(struct sfs_cursor *c, struct sfs_cursor_state *ret_state)
{
	uint64_t now_ns = sfs_clock_ns();

	update_waits(c, now_ns);
	*ret_state = (struct sfs_cursor_state){
		.offset = c->front,
		.extents_end = c->extents.end,
		.held_bytes = sfs_account_used(&c->account),
		.live_bytes = c->prefetch ? sfs_prefetch_live_bytes(c->prefetch) +
						    c->oversize.n_bytes + c->flat.n_bytes
					  : 0,
		.n_samples = c->n_samples,
		.n_in_flight = n_in_flight(c),
		.is_complete = c->is_complete,
		.sums = c->waits.sums,
	};
	sfs_waits_add_window(&c->waits, now_ns, &ret_state->window);
	SFS_EACH (read, &c->waiting, struct sfs_read, link)
		ret_state->n_waiting++;
}
