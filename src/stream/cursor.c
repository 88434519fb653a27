/* SPDX-License-Identifier: MIT */
/* How this works: the log (entries.h) says what the next bytes of the stream are.
 * extend() appends the next sample of the next lane, round after round, until a lane
 * blocks; trim() lets go of what lies behind the readers.  A sample that no lane holds
 * is appended as holes (holes.h).
 *
 * A reader's next request is most often the bytes behind its last, but kernels
 * ask out of order and several readers share a cursor, so a little of the log is
 * kept behind the front (back_bytes).
 *
 * Parts end on other threads; they are queued under `arrived_lock`, and taken by
 * sfs_cursor_run().
 *
 * Who is waited for is judged by one function, judge(), whenever something has changed.
 * What happens between these calls on other threads leaves its time: the first byte of
 * an answer, and the first waking of the task.
 *
 * When all lanes have ended, the log must be exactly as long as the samples of
 * all shards together; if it is not, readers get EIO rather than a short epoch. */
#include "stream/cursor.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/ledger.h"
#include "base/lock.h"
#include "io/header-patch.h"
#include "stream/oversize.h"
#include "stream/prefetch.h"
#include "stream/shaper.h"
#include "tar/rewrite.h"

#include <errno.h>

#define FORWARD_BYTES ((uint64_t)64 << 20) /* a read so far ahead still goes on */
#define MIB	      ((uint64_t)1 << 20)
#define RESERVE_PART  4 /* of its memory a far stream has ready */
#define AHEAD_BYTES   (16 * MIB)

struct sfs_cursor {
	struct sfs_runtime *runtime;
	const struct sfs_order *order;
	uint64_t stream_bytes;
	struct sfs_cursor_owner owner;
	struct sfs_account account;
	struct sfs_prefetch *lanes; /* NULL: the account is not open yet */
	uint64_t born_ns;
	struct sfs_link link; /* in the stream's list */
	bool is_closed;
	bool is_ahead; /* nobody has read it yet; its account is a guest */
	bool is_held;  /* asks for nothing more */

	struct sfs_extent_map log;
	struct sfs_oversize holes;

	/* What comes next. */
	uint32_t lane;
	uint32_t n_ended; /* lanes in a row that had ended */
	uint32_t blocked; /* the lane that extend() stopped at, or UINT32_MAX */
	uint64_t key_before;
	uint64_t n_samples; /* appended */
	bool is_complete;   /* the epoch ends at the log's end; zeros follow */
	int err;	    /* from the log's end on, for good */

	struct sfs_link waiting, answered; /* reads */
	uint64_t read_end;		   /* the highest byte asked for + 1 */
	uint64_t front;			   /* the highest byte answered + 1 */
	uint64_t last_read_ns;

	struct sfs_shaper even;
	struct sfs_timer timer;	 /* when a read that is early may be answered */
	uint64_t early_since_ns; /* the first that waits is; 0: it is not */

	struct sfs_waits_tally blame;
	bool is_apart;		   /* reads that the owner was given are under way */
	_Atomic uint64_t woken_ns; /* the first time since the last run; 0: not yet */

	pthread_mutex_t arrived_lock; /* guards the rest */
	struct sfs_link arrived;      /* parts */
};

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

static void on_alarm(struct sfs_timer *timer)
{
	wake(sfs_container(timer, struct sfs_cursor, timer));
}

/* ---- the log ---- */

static uint64_t end_of(const struct sfs_read *read)
{
	return read->offset + read->n_bytes;
}

static void drop_entry(struct sfs_cursor *c, const struct sfs_mapped_extent *e)
{
	if (e->run)
		sfs_prefetch_release(c->lanes, e->lane, e->run, e->start, e->n_bytes);
	if (e->hole)
		sfs_oversize_drop(&c->holes, e->hole);
}

static uint64_t back_bytes(struct sfs_cursor *c)
{
	uint64_t n = sfs_account_share(&c->account) / 16;

	return n < 2 * MIB ? 2 * MIB : n > 32 * MIB ? 32 * MIB : n;
}

/* Let go of what lies behind the readers. */
static void trim(struct sfs_cursor *c)
{
	uint64_t back = back_bytes(c), keep = c->front > back ? c->front - back : 0;
	uint64_t pin = c->log.tail;
	const struct sfs_mapped_extent *e;

	SFS_EACH (read, &c->waiting, struct sfs_read, link) {
		keep = read->offset < keep ? read->offset : keep;
	}
	SFS_EACH (read, &c->answered, struct sfs_read, link) {
		pin = read->pin < pin ? read->pin : pin;
	}
	while (c->log.head < pin) {
		e = sfs_extent_map_at(&c->log, c->log.head);
		if (e->offset + e->n_bytes > keep)
			break;
		drop_entry(c, e);
		sfs_extent_map_drop_head(&c->log);
	}
	sfs_prefetch_keep(c->lanes,
			  c->front > c->log.start ? c->front - c->log.start : 0);
}

/* A sample that its lane holds. */
static void append_held(struct sfs_cursor *c, const struct sfs_block_sample *s,
			struct sfs_slice_buffer *run, bool is_renamed)
{
	struct sfs_mapped_extent *e =
		sfs_extent_map_append(&c->log, c->lane, s->start, s->n_bytes);
	struct sfs_error why;
	uint64_t at;

	e->run = run;
	if (s->is_told && sfs_slice_buffer_check(run, s, &at, &why) < 0) {
		sfs_shard_note_lie(run->shard, at, why.text);
		e->err = -EIO;
		return;
	}
	if (!is_renamed && !s->has_global)
		return;
	if (sfs_slice_buffer_edit(run, s->start, s->n_bytes,
				  is_renamed ? run->shard->folder : NULL, &at,
				  &why) < 0) {
		sfs_header_patch_note(run->shard, at, why.text);
		e->err = -EIO;
	}
}

static void append(struct sfs_cursor *c, const struct sfs_block_sample *s,
		   struct sfs_slice_buffer *run)
{
	bool is_renamed = sfs_runtime_renames(c->runtime, &c->key_before, s);

	if (is_renamed)
		atomic_fetch_add(&c->runtime->counters.renamed, 1);
	if (run)
		append_held(c, s, run, is_renamed);
	else
		sfs_oversize_append(&c->holes, c->lane, s, is_renamed);
	c->n_samples++;
}

static bool has_long_path(const struct sfs_cursor *c)
{
	struct sfs_netpath path = sfs_runtime_path(c->runtime);

	return sfs_netpath_is_long(&path);
}

/* How far ahead of its reads the log is to end.  Lanes have enough when they have it
 * behind what they gave to the log: were that without bounds, all memory would be filled.
 */
static uint64_t ahead_bytes(const struct sfs_cursor *c)
{
	uint64_t reserve = has_long_path(c) ? sfs_shaper_reserve_bytes(&c->even) : 0;

	return AHEAD_BYTES + reserve + reserve / 4;
}

/* All lanes have ended: are all samples there? */
static void complete(struct sfs_cursor *c)
{
	uint64_t sum = 0;

	c->is_complete = sfs_shards_sum(&c->runtime->shards, c->order, &sum) &&
			 sum == c->log.end && sum <= c->stream_bytes;
	if (c->is_complete)
		return;
	c->err = -EIO;
	sfs_ledger_add(
		SFS_EVENT_LOST, "(the whole epoch)", SFS_NO_OFFSET, "readers get EIO",
		"the epoch ended after %llu bytes of samples, its shards hold %llu: "
		"this is a bug of shufflefs",
		(unsigned long long)c->log.end, (unsigned long long)sum);
}

static void extend(struct sfs_cursor *c)
{
	const uint64_t window = sfs_oversize_window(&c->holes);
	const uint64_t end = c->read_end + ahead_bytes(c);
	const struct sfs_block_sample *s;
	struct sfs_slice_buffer *run;
	int ret;

	c->blocked = UINT32_MAX;
	while (!c->is_complete && c->err == 0 && c->log.end <= end) {
		ret = sfs_prefetch_peek(c->lanes, c->lane, &s, &run);
		if (ret == -EAGAIN) {
			c->blocked = c->lane;
			return;
		}
		if (ret < 0 && ret != -ENODATA) {
			c->err = -EIO;
			return;
		}
		if (ret == 0) {
			if (!run && c->log.end > c->read_end + window)
				return;
			append(c, s, run);
			sfs_prefetch_take(c->lanes, c->lane);
			c->n_ended = 0;
		} else if (++c->n_ended == c->order->n_lanes) {
			complete(c);
			return;
		}
		if (++c->lane == c->order->n_lanes)
			c->lane = 0;
	}
}

/* ---- reads ---- */

/* May the read be answered?  1: yes.  0: not yet.  < 0: it fails. */
static int check(const struct sfs_cursor *c, const struct sfs_read *read)
{
	const struct sfs_mapped_extent *e;
	int ret = 1;
	uint64_t i;

	if (read->offset < c->log.end) {
		for (i = sfs_extent_map_find(&c->log, read->offset); i < c->log.tail;
		     i++) {
			e = sfs_extent_map_at(&c->log, i);
			if (e->offset >= end_of(read))
				break;
			if (e->err < 0)
				return e->err;
			if (e->hole && !sfs_oversize_piece_is_here(e->hole))
				ret = 0;
		}
	}
	if (end_of(read) <= c->log.end || c->is_complete)
		return ret;
	return c->err < 0 ? c->err : 0;
}

static void add_entry(struct sfs_read *read, const struct sfs_mapped_extent *e,
		      uint64_t from, uint64_t n)
{
	unsigned char *p;
	size_t piece;

	for (; n > 0; n -= piece, from += piece) {
		p = e->run ? sfs_slice_buffer_at(e->run, e->start + from, &piece)
			   : sfs_oversize_piece_at(e->hole, from, &piece);
		piece = piece < n ? piece : (size_t)n;
		sfs_read_add(read, p, piece);
	}
}

static void gather_entry(struct sfs_gather *g, const struct sfs_mapped_extent *e,
			 uint64_t from, uint64_t n)
{
	size_t piece;

	if (e->hole) {
		sfs_oversize_piece_gather(e->hole, from, n, g);
		return;
	}
	for (; n > 0; n -= piece, from += piece) {
		const void *p = sfs_slice_buffer_at(e->run, e->start + from, &piece);

		piece = piece < n ? piece : (size_t)n;
		sfs_gather_add_copy(g, p, piece);
	}
}

/* Go through the entries that a read needs: add their bytes to the read, or have them
 * gathered.  What lies behind the last one is zeros.  Returns the first one's number. */
static uint64_t lay_out(struct sfs_cursor *c, struct sfs_read *read, struct sfs_gather *g)
{
	uint64_t at = read->offset, end = end_of(read), from, n;
	uint64_t i = at < c->log.end ? sfs_extent_map_find(&c->log, at) : c->log.tail,
		 first = i;
	const struct sfs_mapped_extent *e;

	for (; at < end && i < c->log.tail; i++, at += n) {
		e = sfs_extent_map_at(&c->log, i);
		from = at - e->offset;
		n = e->n_bytes - from < end - at ? e->n_bytes - from : end - at;
		if (g)
			gather_entry(g, e, from, n);
		else
			add_entry(read, e, from, n);
	}
	if (g)
		sfs_gather_add_zeros(g, end - at);
	else
		sfs_read_add_zeros(read, (size_t)(end - at));
	if (end > c->front)
		c->front = end;
	return first;
}

static void count(struct sfs_cursor *c, const struct sfs_read *read)
{
	struct sfs_counters *n = &c->runtime->counters;
	uint64_t waited_ns = read->begun_ns ? sfs_clock_ns() - read->begun_ns : 0;

	atomic_fetch_add_explicit(&n->delivered_bytes, read->n_bytes,
				  memory_order_relaxed);
	atomic_fetch_add_explicit(&n->reads, 1, memory_order_relaxed);
	if (waited_ns) {
		atomic_fetch_add_explicit(&n->reads_waited, 1, memory_order_relaxed);
		atomic_fetch_add_explicit(&n->waited_ns, waited_ns, memory_order_relaxed);
	}
}

static void answer(struct sfs_cursor *c, struct sfs_read *read, struct sfs_deferred *out)
{
	read->pin = lay_out(c, read, NULL);
	count(c, read);
	sfs_list_push(&c->answered, &read->link);
	sfs_read_tell(read, 0, out);
}

static void fail(struct sfs_read *read, int err, struct sfs_deferred *out)
{
	sfs_link_remove(&read->link);
	read->state = NULL; /* the cursor may go before the reader hears of it */
	sfs_read_tell(read, err, out);
}

/* Should a read whose bytes are here wait a little all the same?  From afar, while the
 * network is what all wait for, the front moves evenly. */
static bool is_early(struct sfs_cursor *c, const struct sfs_read *read)
{
	uint64_t end = end_of(read), now_ns, next_ns;

	if (end <= c->front || !has_long_path(c) || !c->lanes ||
	    !sfs_prefetch_are_busy(c->lanes) || c->holes.n_pending > 0)
		return false;
	now_ns = sfs_clock_ns();
	next_ns = sfs_shaper_ask(&c->even, end - c->front, c->log.end - c->front,
				 sfs_prefetch_came(c->lanes),
				 sfs_account_share(&c->account) / RESERVE_PART, now_ns);
	if (next_ns == 0)
		return false;
	sfs_timer_set(c->runtime->timers, &c->timer, next_ns);
	return true;
}

/* Answer what can be answered, in the order in which it was asked. */
static void serve(struct sfs_cursor *c, struct sfs_deferred *out)
{
	struct sfs_link *link, *following;
	struct sfs_read *read;
	bool has_early = false; /* the first that goes on waiting is */
	int ret;

	for (link = c->waiting.next; link != &c->waiting; link = following) {
		following = link->next;
		read = sfs_container(link, struct sfs_read, link);
		ret = check(c, read);
		if (ret < 0) {
			fail(read, ret, out);
		} else if (ret > 0 && !is_early(c, read)) {
			sfs_link_remove(&read->link);
			answer(c, read, out);
		} else if (c->waiting.next == link) {
			has_early = ret > 0;
		}
	}
	if (!has_early)
		c->early_since_ns = 0;
	else if (c->early_since_ns == 0)
		c->early_since_ns = sfs_clock_ns();
}

/* The lane that all wait for cannot go on now.  The next read tries anew. */
static void fail_blocked(struct sfs_cursor *c, int err, struct sfs_deferred *out)
{
	struct sfs_link *link, *following;
	struct sfs_read *read;

	for (link = c->waiting.next; link != &c->waiting; link = following) {
		following = link->next;
		read = sfs_container(link, struct sfs_read, link);
		if (end_of(read) > c->log.end)
			fail(read, sfs_read_err(err), out);
	}
}

/* ---- for the holes ---- */

/* There is no memory for an entry: the reads that need it, and nothing behind the log,
 * get their bytes apart.  Were they to wait here, what each of them already has could
 * keep the others waiting for ever. */
static bool on_lack(void *ctx, const struct sfs_mapped_extent *e,
		    struct sfs_deferred *out)
{
	struct sfs_cursor *c = ctx;
	struct sfs_link *link, *following;
	struct sfs_read *read;
	bool is_any = false;

	for (link = c->waiting.next; link != &c->waiting; link = following) {
		following = link->next;
		read = sfs_container(link, struct sfs_read, link);
		if (!sfs_mapped_extent_overlaps(e, read) ||
		    (end_of(read) > c->log.end && !c->is_complete))
			continue;
		sfs_link_remove(link);
		lay_out(c, read, c->owner.apart(c->owner.ctx, read, out));
		c->is_apart = is_any = true;
	}
	return is_any;
}

static void on_failed(void *ctx, const struct sfs_mapped_extent *e, int err,
		      struct sfs_deferred *out)
{
	struct sfs_cursor *c = ctx;
	struct sfs_link *link, *following;
	struct sfs_read *read;

	for (link = c->waiting.next; link != &c->waiting; link = following) {
		following = link->next;
		read = sfs_container(link, struct sfs_read, link);
		if (sfs_mapped_extent_overlaps(e, read))
			fail(read, sfs_read_err(err), out);
	}
}

/* ---- whom a read waits for ---- */

/* The first hole that the read needs and that is not here, or NULL. */
static const struct sfs_oversize_piece *missing_hole(const struct sfs_cursor *c,
						     const struct sfs_read *read)
{
	const struct sfs_mapped_extent *e;
	uint64_t i;

	if (read->offset >= c->log.end)
		return NULL;
	for (i = sfs_extent_map_find(&c->log, read->offset); i < c->log.tail; i++) {
		e = sfs_extent_map_at(&c->log, i);
		if (!sfs_mapped_extent_overlaps(e, read))
			break;
		if (e->hole && !sfs_oversize_piece_is_here(e->hole))
			return e->hole;
	}
	return NULL;
}

/* As things stand.  If the NETWORK: since *ret_since_ns. */
static enum sfs_wait judge(const struct sfs_cursor *c, uint64_t *ret_since_ns)
{
	const struct sfs_oversize_piece *hole;
	const struct sfs_read *read;

	if (sfs_list_is_empty(&c->waiting)) {
		if (c->is_closed || c->is_ahead)
			return SFS_WAIT_IDLE;
		if (!sfs_list_is_empty(&c->answered))
			return SFS_WAIT_CPU;
		if (c->is_apart)
			return SFS_WAIT_BUDGET;
		return c->is_complete && c->front >= c->log.end ? SFS_WAIT_IDLE
								: SFS_WAIT_READER;
	}
	if (!c->lanes)
		return SFS_WAIT_BUDGET;
	read = sfs_container(c->waiting.next, struct sfs_read, link);
	hole = missing_hole(c, read);
	if (hole && sfs_prefetch_are_short(c->lanes))
		return SFS_WAIT_BUDGET;
	if (hole)
		return sfs_oversize_piece_wait(hole, ret_since_ns);
	if (c->early_since_ns) {
		*ret_since_ns = c->early_since_ns;
		return SFS_WAIT_NETWORK;
	}
	if (c->blocked == UINT32_MAX)
		return SFS_WAIT_CPU;
	return sfs_prefetch_wait_cause(c->lanes, c->blocked, ret_since_ns);
}

static void tally(struct sfs_cursor *c, uint64_t now_ns)
{
	uint64_t since_ns = 0;
	enum sfs_wait state = judge(c, &since_ns);

	/* Nobody called when the first byte came. */
	if (state == SFS_WAIT_NETWORK && c->blame.state == SFS_WAIT_SOURCE &&
	    since_ns < now_ns)
		sfs_waits_enter(&c->blame, state, since_ns);
	sfs_waits_enter(&c->blame, state, now_ns);
}

void sfs_cursor_apart_ended(struct sfs_cursor *c)
{
	if (!c->is_apart)
		return;
	c->is_apart = false;
	tally(c, sfs_clock_ns());
}

void sfs_cursor_tick(struct sfs_cursor *c)
{
	tally(c, sfs_clock_ns());
}

/* ---- going on ---- */

/* Some of a failed part may be there: those whom that helps are answered first. */
static void take_part(struct sfs_cursor *c, struct sfs_part *part,
		      struct sfs_deferred *out)
{
	uint32_t lane;
	int err = sfs_prefetch_arrive(c->lanes, part, &lane);

	if (err == 0 || c->is_closed)
		return;
	extend(c);
	serve(c, out);
	if (lane == c->blocked)
		fail_blocked(c, err, out);
}

static struct sfs_part *next_arrived(struct sfs_cursor *c)
{
	struct sfs_link *link;

	pthread_mutex_lock(&c->arrived_lock);
	link = sfs_list_pop(&c->arrived);
	pthread_mutex_unlock(&c->arrived_lock);
	return link ? sfs_part_of(link) : NULL;
}

static int make_lanes(struct sfs_cursor *c, struct sfs_locator *map,
		      const struct sfs_spot *at)
{
	const struct sfs_prefetch_owner owner = {.ctx = c,
						 .ended = on_part,
						 .stirred = wake};

	return sfs_prefetch_new(c->runtime, c->order, &c->account, &owner, map, at,
				&c->lanes);
}

/* The lane that a read waits for; UINT32_MAX: none does.  Some wait for holes, and some
 * are early. */
static uint32_t blocking(const struct sfs_cursor *c)
{
	SFS_EACH (read, &c->waiting, struct sfs_read, link) {
		if (end_of(read) > c->log.end)
			return c->blocked;
	}
	return UINT32_MAX;
}

/* Go on as far as possible. */
static void go_on(struct sfs_cursor *c, struct sfs_deferred *out)
{
	if (!c->lanes && sfs_account_is_open(&c->account))
		make_lanes(c, NULL, NULL);
	if (!c->lanes)
		return;
	do {
		extend(c);
		serve(c, out);
		trim(c);
		if (c->is_held)
			return;
		sfs_oversize_start(&c->holes, &c->waiting, c->front, out);
	} while (sfs_prefetch_pump(c->lanes, blocking(c), out));
}

static uint32_t n_on_way(const struct sfs_cursor *c)
{
	return (c->lanes ? sfs_prefetch_on_way(c->lanes) : 0) + c->holes.n_pending;
}

static void cursor_free(struct sfs_cursor *c)
{
	if (c->lanes)
		sfs_prefetch_free(c->lanes);
	if (!c->is_ahead)
		atomic_fetch_sub(&c->runtime->n_open_lanes, c->order->n_lanes);
	sfs_account_close(&c->account);
	sfs_timer_unset(c->runtime->timers, &c->timer);
	pthread_mutex_destroy(&c->arrived_lock);
	sfs_link_remove(&c->link);
	sfs_extent_map_done(&c->log);
	sfs_oversize_done(&c->holes);
	free(c);
}

static void take_all(struct sfs_cursor *c, struct sfs_deferred *out)
{
	struct sfs_part *part;

	while ((part = next_arrived(c)) != NULL)
		take_part(c, part, out);
	sfs_oversize_take(&c->holes, out);
}

/* Take and go on.  If that helped whoever waited, the time since the waking is ours. */
static void run(struct sfs_cursor *c, struct sfs_deferred *out)
{
	const struct sfs_link *first = c->waiting.next;
	bool is_awaited = !sfs_list_is_empty(&c->waiting);
	uint64_t end = c->log.end, woken_ns = atomic_exchange(&c->woken_ns, 0);

	if (is_awaited && woken_ns)
		tally(c, woken_ns);
	take_all(c, out);
	go_on(c, out);
	if (is_awaited && woken_ns && (first != c->waiting.next || end != c->log.end))
		sfs_waits_enter(&c->blame, SFS_WAIT_CPU, woken_ns);
	tally(c, sfs_clock_ns());
}

bool sfs_cursor_run(struct sfs_cursor *c, struct sfs_deferred *out)
{
	if (!c->is_closed) {
		run(c, out);
		return true;
	}
	take_all(c, out);
	if (n_on_way(c) > 0 || !sfs_list_is_empty(&c->answered))
		return true;
	for (; c->log.head < c->log.tail; sfs_extent_map_drop_head(&c->log))
		drop_entry(c, sfs_extent_map_at(&c->log, c->log.head));
	cursor_free(c);
	return false;
}

void sfs_cursor_close(struct sfs_cursor *c, int err, struct sfs_deferred *out)
{
	struct sfs_link *link;

	c->is_closed = true;
	while ((link = sfs_list_pop(&c->waiting)) != NULL)
		fail(sfs_container(link, struct sfs_read, link), err, out);
	tally(c, sfs_clock_ns());
	if (c->lanes)
		sfs_prefetch_cancel(c->lanes);
	c->owner.wake(c->owner.ctx);
}

bool sfs_cursor_covers(const struct sfs_cursor *c, uint64_t offset)
{
	uint64_t end = c->log.end > c->read_end ? c->log.end : c->read_end;

	return !c->is_closed && offset >= c->log.start &&
	       (offset <= end + FORWARD_BYTES || c->is_complete || c->err < 0);
}

/* The first read of a cursor that was ahead: now it is like the others. */
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
	read->begun_ns = 0;
	if (end_of(read) > c->read_end)
		c->read_end = end_of(read);
	ret = check(c, read);
	if (ret > 0 && !is_early(c, read)) {
		answer(c, read, out);
		tally(c, c->last_read_ns);
	} else if (ret < 0) {
		fail(read, ret, out);
	} else {
		read->begun_ns = c->last_read_ns;
		sfs_list_push(&c->waiting, &read->link);
		tally(c, c->last_read_ns);
		go_on(c, out);
		tally(c, sfs_clock_ns());
	}
}

void sfs_cursor_release(struct sfs_cursor *c, struct sfs_read *read,
			struct sfs_deferred *out)
{
	bool is_awaited = !sfs_list_is_empty(&c->waiting);

	sfs_link_remove(&read->link);
	sfs_read_reset(read);
	if (c->is_closed) {
		c->owner.wake(c->owner.ctx);
		return;
	}
	tally(c, sfs_clock_ns());
	go_on(c, out);
	if (is_awaited)
		tally(c, sfs_clock_ns());
}

bool sfs_cursor_cancel(struct sfs_cursor *c, struct sfs_read *read)
{
	SFS_EACH (waiting, &c->waiting, struct sfs_read, link) {
		if (waiting == read) {
			sfs_link_remove(&read->link);
			tally(c, sfs_clock_ns());
			return true;
		}
	}
	return false;
}

void sfs_cursor_explain(const struct sfs_cursor *c, const struct sfs_read *read,
			struct sfs_cause *cause)
{
	const struct sfs_oversize_piece *hole = missing_hole(c, read);

	if (!c->lanes)
		sfs_cause_set(cause, NULL, SFS_NO_OFFSET,
			      "memory for %u lanes: budget= is used up by other streams",
			      c->order->n_lanes);
	else if (hole)
		sfs_hole_explain(hole, cause);
	else if (c->blocked != UINT32_MAX)
		sfs_prefetch_explain(c->lanes, c->blocked, cause);
}

static struct sfs_cursor *cursor_alloc(struct sfs_runtime *runtime,
				       const struct sfs_order *order,
				       uint64_t stream_bytes, uint64_t offset,
				       bool is_ahead,
				       const struct sfs_cursor_owner *owner)
{
	struct sfs_cursor *c = sfs_calloc(1, sizeof *c);
	const struct sfs_oversize_owner holes_owner = {.ctx = c,
						       .wake = wake,
						       .lack = on_lack,
						       .failed = on_failed};

	c->runtime = runtime;
	c->order = order;
	c->stream_bytes = stream_bytes;
	c->owner = *owner;
	sfs_lock_init(&c->arrived_lock, SFS_LOCK_ARRIVALS);
	sfs_list_init(&c->arrived);
	sfs_list_init(&c->waiting);
	sfs_list_init(&c->answered);
	sfs_extent_map_init(&c->log, offset);
	sfs_oversize_init(&c->holes, runtime, &c->account, &c->log, &holes_owner);
	c->front = c->read_end = offset;
	c->blocked = UINT32_MAX;
	c->born_ns = c->last_read_ns = sfs_clock_ns();
	c->is_ahead = is_ahead;
	c->timer.fire = on_alarm;
	sfs_shaper_init(&c->even, c->born_ns);
	sfs_waits_init(&c->blame, &runtime->counters.waits, c->born_ns);
	if (!is_ahead)
		atomic_fetch_add(&runtime->n_open_lanes, order->n_lanes);
	return c;
}

struct sfs_cursor *sfs_cursor_new(struct sfs_runtime *runtime,
				  const struct sfs_order *order, uint64_t stream_bytes,
				  const struct sfs_cursor_owner *owner)
{
	struct sfs_cursor *c =
		cursor_alloc(runtime, order, stream_bytes, 0, false, owner);

	if (sfs_account_open_in_turn(&c->account, &runtime->budget,
				     order->n_lanes * SFS_BUDGET_LANE_FLOOR, true,
				     on_room))
		make_lanes(c, NULL, NULL);
	return c;
}

int sfs_cursor_new_ahead(struct sfs_runtime *runtime, const struct sfs_order *order,
			 uint64_t stream_bytes, const struct sfs_cursor_owner *owner,
			 struct sfs_cursor **ret_cursor)
{
	struct sfs_cursor *c = cursor_alloc(runtime, order, stream_bytes, 0, true, owner);

	if (sfs_account_open(&c->account, &runtime->budget,
			     order->n_lanes * SFS_BUDGET_LANE_FLOOR, true, on_room) < 0) {
		cursor_free(c);
		return -ENOMEM;
	}
	sfs_account_set_guest(&c->account, true);
	make_lanes(c, NULL, NULL);
	*ret_cursor = c;
	return 0;
}

int sfs_cursor_new_at(struct sfs_runtime *runtime, const struct sfs_order *order,
		      uint64_t stream_bytes, const struct sfs_cursor_owner *owner,
		      struct sfs_locator *map, const struct sfs_spot *at,
		      uint64_t key_before, struct sfs_cursor **ret_cursor)
{
	struct sfs_cursor *c =
		cursor_alloc(runtime, order, stream_bytes, at->offset, false, owner);
	int ret;

	c->key_before = key_before;
	c->lane = at->is_end ? 0 : at->lane;
	ret = sfs_account_open(&c->account, &runtime->budget,
			       order->n_lanes * SFS_BUDGET_LANE_FLOOR, true, on_room);
	if (ret == 0)
		ret = make_lanes(c, map, at);
	if (ret < 0)
		cursor_free(c);
	else
		*ret_cursor = c;
	return ret;
}

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
	return c->lanes || c->is_closed ? 0 : sfs_clock_ns() - c->born_ns;
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
	return c->lanes && sfs_prefetch_are_sated(c->lanes);
}

bool sfs_cursor_nears_end(struct sfs_cursor *c)
{
	uint64_t left = c->stream_bytes - c->front;

	return c->lanes && c->err == 0 && left <= c->front &&
	       sfs_prefetch_have_all(c->lanes) && left <= sfs_account_share(&c->account);
}

bool sfs_cursor_is_read_out(const struct sfs_cursor *c)
{
	return c->is_complete && c->front >= c->log.end;
}

bool sfs_cursor_is_busy(const struct sfs_cursor *c)
{
	return !sfs_list_is_empty(&c->waiting) || !sfs_list_is_empty(&c->answered);
}

void sfs_cursor_state(struct sfs_cursor *c, struct sfs_cursor_state *ret_state)
{
	uint64_t now_ns = sfs_clock_ns();

	tally(c, now_ns);
	*ret_state = (struct sfs_cursor_state){
		.offset = c->front,
		.log_end = c->log.end,
		.held_bytes = sfs_account_used(&c->account),
		.live_bytes =
			c->lanes ? sfs_prefetch_live(c->lanes) + c->holes.n_bytes : 0,
		.n_samples = c->n_samples,
		.n_on_way = n_on_way(c),
		.is_complete = c->is_complete,
		.sums = c->blame.sums,
	};
	sfs_waits_add_window(&c->blame, now_ns, &ret_state->window);
	SFS_EACH (read, &c->waiting, struct sfs_read, link)
		ret_state->n_waiting++;
}
