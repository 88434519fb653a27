/* SPDX-License-Identifier: MIT */
/* How this works: the log is a ring of entries, each a range of one shard: a
 * sample that lies in its lane's slabs, or a piece of one that does not (a hole)
 * and is fetched by a grab as the reader comes near.  extend() appends the next
 * sample of the next lane, round after round, until a lane blocks; trim() lets go
 * of what lies behind the readers.
 *
 * A reader's next request is most often the bytes behind its last, but kernels
 * ask out of order and several readers share a cursor, so a little of the log is
 * kept behind the front (back_bytes).
 *
 * Ends of parts, grabs and walks come on other threads; they are queued under
 * `arrived_lock`, and taken by sfs_cursor_run().
 *
 * When all lanes have ended, the log must be exactly as long as the samples of
 * all shards together; if it is not, readers get EIO rather than a short epoch. */
#include "cursor.h"

#include "clock.h"
#include "edit.h"
#include "lanes.h"
#include "ledger.h"
#include "mem.h"
#include "walk.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define FORWARD_BYTES ((uint64_t)64 << 20) /* a read so far ahead still goes on */
#define HOLE_BYTES    SFS_GRAB_MAX

enum hole_state { HOLE_WAITING, HOLE_FETCHING, HOLE_READY };

/* The edits of a sample that is fetched in pieces; shared by its holes. */
struct edits {
	struct sfs_walk walk;
	struct sfs_cursor *cursor;
	int n_users; /* holes, and 1 while it walks */
	enum hole_state state;
	int err;
	struct sfs_job job;   /* to begin */
	struct sfs_link link; /* in arrived */
};

struct hole {
	struct sfs_grab grab;
	struct sfs_cursor *cursor;
	struct edits *edits;	     /* NULL: none */
	uint64_t at;		     /* of the piece, from the sample's start */
	enum hole_state state;
	bool is_fetched; /* the grab has ended; perhaps the edits have not */
	bool has_failed; /* only a waiting reader asks anew */
	bool is_orphan;	 /* its entry is gone */
	int err;
	struct sfs_job job;   /* to begin */
	struct sfs_link link; /* in arrived */
};

struct entry {
	uint64_t offset; /* in the stream */
	uint64_t start, n_bytes;
	struct sfs_run *run; /* holds it; or NULL and: */
	struct hole *hole;
	uint32_t lane;
	int err; /* for readers: this sample cannot be delivered */
};

struct sfs_cursor {
	struct sfs_env *env;
	const struct sfs_order *order;
	uint64_t stream_bytes;
	struct sfs_cursor_owner owner;
	struct sfs_account account;
	struct sfs_lanes *lanes;
	struct sfs_link link; /* in the stream's list */
	bool is_closed;

	/* The log: entries head to tail - 1, at their number modulo capacity. */
	struct entry *ring;
	uint64_t head, tail;
	uint64_t capacity;
	uint64_t log_start, log_end;

	/* What comes next. */
	uint32_t lane;
	uint32_t n_ended;  /* lanes in a row that had ended */
	uint32_t blocked;  /* the lane that extend() stopped at, or UINT32_MAX */
	uint64_t key_before;
	uint64_t n_samples; /* appended */
	bool is_complete;   /* the epoch ends at log_end; zeros follow */
	int err;	    /* from log_end on, for good */

	struct sfs_link waiting, answered; /* reads */
	uint64_t read_end;  /* the highest byte asked for + 1 */
	uint64_t front;	    /* the highest byte answered + 1 */
	uint64_t last_read_ns;
	uint64_t next_hole; /* no entry before waits to be fetched */
	uint64_t hole_bytes; /* of holes that are fetched or here */
	uint32_t n_pending; /* grabs and walks of holes that have not ended */

	pthread_mutex_t arrived_lock; /* guards the rest */
	struct sfs_link arrived_parts, arrived_holes, arrived_edits;
};

/* ---- arrivals, on other threads ---- */

static void arrive(struct sfs_cursor *c, struct sfs_link *list, struct sfs_link *link)
{
	/* With the lock held: once it is taken from the list, all may go away. */
	pthread_mutex_lock(&c->arrived_lock);
	sfs_list_push(list, link);
	c->owner.wake(c->owner.ctx);
	pthread_mutex_unlock(&c->arrived_lock);
}

static void on_part(void *ctx, struct sfs_part *part)
{
	struct sfs_cursor *c = ctx;

	arrive(c, &c->arrived_parts, sfs_part_link(part));
}

static void on_grab(struct sfs_grab *grab, int err)
{
	struct hole *h = sfs_container(grab, struct hole, grab);

	h->err = err;
	arrive(h->cursor, &h->cursor->arrived_holes, &h->link);
}

static void on_walk(struct sfs_walk *walk, int err)
{
	struct edits *e = sfs_container(walk, struct edits, walk);

	e->err = err;
	arrive(e->cursor, &e->cursor->arrived_edits, &e->link);
}

static void on_room(struct sfs_account *account)
{
	struct sfs_cursor *c = sfs_container(account, struct sfs_cursor, account);

	c->owner.wake(c->owner.ctx);
}

/* ---- entries ---- */

static struct entry *entry_at(const struct sfs_cursor *c, uint64_t number)
{
	return &c->ring[number & (c->capacity - 1)];
}

static struct entry *append(struct sfs_cursor *c, uint64_t start, uint64_t n_bytes)
{
	struct entry *ring;
	uint64_t i;

	if (c->tail - c->head == c->capacity) {
		ring = sfs_calloc(2 * c->capacity, sizeof *ring);
		for (i = c->head; i < c->tail; i++)
			ring[i & (2 * c->capacity - 1)] = *entry_at(c, i);
		free(c->ring);
		c->ring = ring;
		c->capacity *= 2;
	}
	*entry_at(c, c->tail) = (struct entry){
		.offset = c->log_end, .start = start, .n_bytes = n_bytes, .lane = c->lane};
	c->log_end += n_bytes;
	return entry_at(c, c->tail++);
}

static void drop_edits(struct edits *e)
{
	if (!e || --e->n_users > 0)
		return;
	sfs_walk_done(&e->walk);
	free(e);
}

static void free_hole(struct hole *h)
{
	sfs_grab_drop(&h->grab);
	drop_edits(h->edits);
	free(h);
}

static void drop_hole(struct sfs_cursor *c, struct hole *h)
{
	if (h->state != HOLE_WAITING)
		c->hole_bytes -= h->grab.n_bytes;
	if (h->state == HOLE_FETCHING && !h->is_fetched) {
		h->is_orphan = true; /* freed when the grab has ended */
		return;
	}
	free_hole(h);
}

static void drop_entry(struct sfs_cursor *c, struct entry *e)
{
	if (e->run)
		sfs_lanes_release(c->lanes, e->lane, e->run, e->start, e->n_bytes);
	if (e->hole)
		drop_hole(c, e->hole);
}

static uint64_t back_bytes(struct sfs_cursor *c)
{
	uint64_t n = sfs_account_share(&c->account) / 16;

	return n < (2 << 20) ? 2 << 20 : n > (32 << 20) ? 32 << 20 : n;
}

/* Let go of what lies behind the readers. */
static void trim(struct sfs_cursor *c)
{
	uint64_t back = back_bytes(c), keep = c->front > back ? c->front - back : 0;
	uint64_t pin = c->tail;
	struct entry *e;

	SFS_EACH(read, &c->waiting, struct sfs_read, link)
		keep = read->offset < keep ? read->offset : keep;
	SFS_EACH(read, &c->answered, struct sfs_read, link)
		pin = read->pin < pin ? read->pin : pin;
	while (c->head < pin) {
		e = entry_at(c, c->head);
		if (e->offset + e->n_bytes > keep)
			break;
		drop_entry(c, e);
		c->head++;
	}
	c->log_start = c->head < c->tail ? entry_at(c, c->head)->offset : c->log_end;
	if (c->next_hole < c->head)
		c->next_hole = c->head;
}

/* The number of the entry that holds the byte, which is in the log. */
static uint64_t find_entry(const struct sfs_cursor *c, uint64_t offset)
{
	uint64_t low = c->head, high = c->tail - 1, middle;

	while (low < high) {
		middle = high - (high - low) / 2;
		if (entry_at(c, middle)->offset <= offset)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

static uint64_t end_of(const struct sfs_read *read)
{
	return read->offset + read->n_bytes;
}

/* ---- making the log longer ---- */

/* Copy n bytes between a buffer and the slabs of a run. */
static void copy_run(struct sfs_run *run, uint64_t at, unsigned char *buf, size_t n,
		     bool is_write)
{
	unsigned char *p;
	size_t piece;

	for (; n > 0; n -= piece, at += piece, buf += piece) {
		p = sfs_run_at(run, at, &piece);
		piece = piece < n ? piece : n;
		memcpy(is_write ? p : buf, is_write ? buf : p, piece);
	}
}

/* Edit the headers of a sample where they lie. */
static int edit_in_place(struct sfs_run *run, uint64_t start, uint64_t n_bytes,
			 const char *folder)
{
	sfs_autofree unsigned char *group = sfs_malloc(SFS_TAR_BLOCK);
	uint64_t pos = 0, next;
	size_t n, n_group;
	struct sfs_error why;
	int ret;

	for (; pos < n_bytes; pos += next) {
		for (n = SFS_TAR_BLOCK;; n = n_group) {
			n = n < n_bytes - pos ? n : (size_t)(n_bytes - pos);
			group = sfs_realloc(group, n);
			copy_run(run, start + pos, group, n, false);
			ret = sfs_edit_group(group, n, n_bytes - pos, folder, &n_group, &next,
					     &why);
			if (ret != -EAGAIN)
				break;
		}
		if (ret < 0) {
			sfs_walk_note(run->shard, start + pos, why.text);
			return -EIO;
		}
		copy_run(run, start + pos, group, n_group, true);
	}
	return 0;
}

/* Append a sample that its lane does not hold, in pieces to be fetched. */
static void append_holes(struct sfs_cursor *c, const struct sfs_block_sample *s,
			 bool is_renamed)
{
	struct sfs_shard *shard = &c->env->shards.shards[s->shard];
	struct edits *edits = NULL;
	uint64_t at, n;
	struct hole *h;

	if (is_renamed || s->has_global) {
		edits = sfs_calloc(1, sizeof *edits);
		edits->cursor = c;
		edits->walk = (struct sfs_walk){.shard = shard, .start = s->start,
						.n_bytes = s->n_bytes,
						.is_renamed = is_renamed, .done = on_walk};
	}
	for (at = 0; at < s->n_bytes; at += n) {
		n = s->n_bytes - at < HOLE_BYTES ? s->n_bytes - at : HOLE_BYTES;
		h = sfs_calloc(1, sizeof *h);
		h->cursor = c;
		h->at = at;
		h->edits = edits;
		if (edits)
			edits->n_users++;
		h->grab = (struct sfs_grab){.shard = shard, .offset = s->start + at,
					    .n_bytes = n, .done = on_grab};
		append(c, s->start + at, n)->hole = h;
	}
}

static void append_sample(struct sfs_cursor *c, const struct sfs_block_sample *s,
			  struct sfs_run *run)
{
	const char *folder = c->env->shards.shards[s->shard].folder;
	bool is_renamed = false;
	struct entry *e;

	if (!c->env->keys_asis)
		c->key_before = sfs_edit_key(c->key_before, s->key_hash, folder, &is_renamed);
	if (is_renamed)
		atomic_fetch_add(&c->env->counters.renamed, 1);
	if (!run) {
		append_holes(c, s, is_renamed);
		return;
	}
	e = append(c, s->start, s->n_bytes);
	e->run = run;
	if (is_renamed || s->has_global)
		e->err = edit_in_place(run, s->start, s->n_bytes, is_renamed ? folder : NULL);
}

/* All lanes have ended: are all samples there? */
static void complete(struct sfs_cursor *c)
{
	uint64_t n, bytes, sum = 0;
	bool is_known = true;
	uint32_t i;

	for (i = 0; i < c->env->shards.n; i++) {
		is_known &= sfs_shard_totals(&c->env->shards.shards[i], &n, &bytes);
		sum += bytes;
	}
	c->is_complete = is_known && sum == c->log_end && sum <= c->stream_bytes;
	if (c->is_complete)
		return;
	c->err = -EIO;
	sfs_ledger_add(SFS_EVENT_LOST, "(the whole epoch)", SFS_NO_OFFSET, "readers get EIO",
		       "the epoch ended after %llu bytes of samples, its shards hold %llu: "
		       "this is a bug of shufflefs",
		       (unsigned long long)c->log_end, (unsigned long long)sum);
}

/* How far ahead of the readers samples that no lane holds are fetched. */
static uint64_t hole_window(struct sfs_cursor *c)
{
	uint64_t n = sfs_account_share(&c->account) / 4;

	return n < 2 * HOLE_BYTES ? 2 * HOLE_BYTES : n;
}

static void extend(struct sfs_cursor *c)
{
	const uint64_t window = hole_window(c);
	const struct sfs_block_sample *s;
	struct sfs_run *run;
	int ret;

	c->blocked = UINT32_MAX;
	while (!c->is_complete && c->err == 0) {
		ret = sfs_lanes_peek(c->lanes, c->lane, &s, &run);
		if (ret == -EAGAIN) {
			c->blocked = c->lane;
			return;
		}
		if (ret < 0 && ret != -ENODATA) {
			c->err = -EIO;
			return;
		}
		if (ret == 0) {
			if (!run && c->log_end > c->read_end + window)
				return;
			append_sample(c, s, run);
			sfs_lanes_take(c->lanes, c->lane);
			c->n_samples++;
			c->n_ended = 0;
		} else if (++c->n_ended == c->order->n_lanes) {
			complete(c);
			return;
		}
		if (++c->lane == c->order->n_lanes)
			c->lane = 0;
	}
}

/* ---- holes ---- */

static bool overlaps(const struct sfs_read *read, const struct entry *e)
{
	return read->offset < e->offset + e->n_bytes && e->offset < end_of(read);
}

static bool is_waited_for(const struct sfs_cursor *c, const struct entry *e)
{
	SFS_EACH(read, &c->waiting, struct sfs_read, link)
		if (overlaps(read, e))
			return true;
	return false;
}

static void begin_walk(struct sfs_job *job)
{
	struct edits *e = sfs_container(job, struct edits, job);

	sfs_walk_start(&e->cursor->env->grabber, &e->walk);
}

static void begin_grab(struct sfs_job *job)
{
	struct hole *h = sfs_container(job, struct hole, job);

	sfs_grab_start(&h->cursor->env->grabber, &h->grab, &h->cursor->account);
}

static void start_edits(struct sfs_cursor *c, struct edits *e, struct sfs_outbox *out)
{
	if (!e || e->state != HOLE_WAITING)
		return;
	e->state = HOLE_FETCHING;
	e->n_users++;
	c->n_pending++;
	sfs_outbox_put(out, &e->job, begin_walk);
}

/* Begin to fetch the hole of an entry.  false: no memory. */
static bool start_hole(struct sfs_cursor *c, struct entry *e, bool is_needed,
		       struct sfs_outbox *out)
{
	struct hole *h = e->hole;

	if (sfs_account_take(&c->account, sfs_grab_cost(h->grab.n_bytes)) < 0)
		return false;
	h->state = HOLE_FETCHING;
	h->is_fetched = false;
	h->has_failed = false;
	h->err = 0;
	h->grab.is_urgent = is_needed;
	c->hole_bytes += h->grab.n_bytes;
	c->n_pending++;
	sfs_outbox_put(out, &h->job, begin_grab);
	start_edits(c, h->edits, out);
	return true;
}

/* Add the entry's bytes [from, from + n) to a gather. */
static void gather_entry(struct sfs_gather *g, const struct entry *e, uint64_t from, uint64_t n)
{
	const struct hole *h = e->hole;
	const unsigned char *p;
	size_t piece;

	if (h && h->state != HOLE_READY && h->edits) {
		sfs_gather_add_edited(g, h->grab.shard, e->start - h->at,
				      h->edits->walk.n_bytes, h->edits->walk.is_renamed,
				      h->at + from, n);
		return;
	}
	if (h && h->state != HOLE_READY) {
		sfs_gather_add(g, h->grab.shard, e->start + from, n);
		return;
	}
	for (; n > 0; n -= piece, from += piece) {
		p = h ? sfs_grab_at(&h->grab, from, &piece) :
			sfs_run_at(e->run, e->start + from, &piece);
		piece = piece < n ? piece : (size_t)n;
		sfs_gather_add_copy(g, p, piece);
	}
}

static void gather_read(struct sfs_cursor *c, const struct sfs_read *read, struct sfs_gather *g)
{
	uint64_t at = read->offset, end = end_of(read), i, from, n;
	const struct entry *e;

	for (i = find_entry(c, at); at < end && i < c->tail; i++) {
		e = entry_at(c, i);
		from = at - e->offset;
		n = e->n_bytes - from < end - at ? e->n_bytes - from : end - at;
		gather_entry(g, e, from, n);
		at += n;
	}
	sfs_gather_add_zeros(g, end - at);
}

/* There is no memory for an entry's hole: the reads that need it, and nothing behind
 * the log, get their bytes apart.  Were they to wait here, what each of them already
 * has could keep the others waiting for ever.  false: there is no such read. */
static bool set_apart(struct sfs_cursor *c, const struct entry *e, struct sfs_outbox *out)
{
	struct sfs_link *link, *following;
	struct sfs_read *read;
	bool is_any = false;

	for (link = c->waiting.next; link != &c->waiting; link = following) {
		following = link->next;
		read = sfs_container(link, struct sfs_read, link);
		if (!overlaps(read, e) || (end_of(read) > c->log_end && !c->is_complete))
			continue;
		sfs_link_remove(link);
		gather_read(c, read, c->owner.apart(c->owner.ctx, read, out));
		if (end_of(read) > c->front)
			c->front = end_of(read);
		is_any = true;
	}
	return is_any;
}

static void start_holes(struct sfs_cursor *c, struct sfs_outbox *out)
{
	const uint64_t window = hole_window(c);
	struct entry *e;
	bool is_needed;
	uint64_t i;

	for (i = c->next_hole; i < c->tail; i++) {
		e = entry_at(c, i);
		if (!e->hole || e->hole->state != HOLE_WAITING) {
			c->next_hole += i == c->next_hole;
			continue;
		}
		is_needed = is_waited_for(c, e);
		if (!is_needed && e->offset + e->n_bytes <= c->front)
			continue; /* jumped over */
		if (!is_needed && (e->hole->has_failed || c->hole_bytes >= window))
			return;
		if (start_hole(c, e, is_needed, out))
			continue;
		if (!is_needed || !set_apart(c, e, out))
			return;
	}
}

/* ---- reads ---- */

/* May the read be answered?  1: yes.  0: not yet.  < 0: it fails. */
static int check(const struct sfs_cursor *c, const struct sfs_read *read)
{
	const struct entry *e;
	int ret = 1;
	uint64_t i;

	if (read->offset < c->log_end) {
		for (i = find_entry(c, read->offset); i < c->tail; i++) {
			e = entry_at(c, i);
			if (e->offset >= end_of(read))
				break;
			if (e->err < 0)
				return e->err;
			if (e->hole && e->hole->state != HOLE_READY)
				ret = 0;
		}
	}
	if (end_of(read) <= c->log_end || c->is_complete)
		return ret;
	return c->err < 0 ? c->err : 0;
}

static void add_entry(struct sfs_read *read, const struct entry *e, uint64_t from, uint64_t n)
{
	unsigned char *p;
	size_t piece;

	for (; n > 0; n -= piece, from += piece) {
		if (e->run)
			p = sfs_run_at(e->run, e->start + from, &piece);
		else
			p = sfs_grab_at(&e->hole->grab, from, &piece);
		piece = piece < n ? piece : (size_t)n;
		sfs_read_add(read, p, piece);
	}
}

static void count(struct sfs_cursor *c, const struct sfs_read *read)
{
	struct sfs_counters *n = &c->env->counters;
	uint64_t waited_ns = read->begun_ns ? sfs_clock_ns() - read->begun_ns : 0;

	atomic_fetch_add_explicit(&n->delivered_bytes, read->n_bytes, memory_order_relaxed);
	atomic_fetch_add_explicit(&n->reads, 1, memory_order_relaxed);
	if (waited_ns) {
		atomic_fetch_add_explicit(&n->reads_waited, 1, memory_order_relaxed);
		atomic_fetch_add_explicit(&n->waited_ns, waited_ns, memory_order_relaxed);
	}
}

static void answer(struct sfs_cursor *c, struct sfs_read *read, struct sfs_outbox *out)
{
	uint64_t at = read->offset, end = end_of(read), i = c->tail, from, n;
	const struct entry *e;

	if (at < c->log_end)
		i = find_entry(c, at);
	read->pin = i;
	for (; at < end && i < c->tail; i++) {
		e = entry_at(c, i);
		from = at - e->offset;
		n = e->n_bytes - from < end - at ? e->n_bytes - from : end - at;
		add_entry(read, e, from, n);
		at += n;
	}
	sfs_read_add_zeros(read, (size_t)(end - at));
	if (end > c->front)
		c->front = end;
	count(c, read);
	sfs_list_push(&c->answered, &read->link);
	sfs_read_tell(read, 0, out);
}

static void fail(struct sfs_read *read, int err, struct sfs_outbox *out)
{
	sfs_link_remove(&read->link);
	read->state = NULL; /* the cursor may go before the reader hears of it */
	sfs_read_tell(read, err, out);
}

/* Answer what can be answered, in the order in which it was asked. */
static void serve(struct sfs_cursor *c, struct sfs_outbox *out)
{
	struct sfs_link *link, *following;
	struct sfs_read *read;
	int ret;

	for (link = c->waiting.next; link != &c->waiting; link = following) {
		following = link->next;
		read = sfs_container(link, struct sfs_read, link);
		ret = check(c, read);
		if (ret < 0) {
			fail(read, ret, out);
		} else if (ret > 0) {
			sfs_link_remove(&read->link);
			answer(c, read, out);
		}
	}
}

/* The lane that all wait for cannot go on now.  The next read tries anew. */
static void fail_blocked(struct sfs_cursor *c, int err, struct sfs_outbox *out)
{
	struct sfs_link *link, *following;
	struct sfs_read *read;

	for (link = c->waiting.next; link != &c->waiting; link = following) {
		following = link->next;
		read = sfs_container(link, struct sfs_read, link);
		if (end_of(read) > c->log_end)
			fail(read, sfs_read_err(err), out);
	}
}

static void fail_entry(struct sfs_cursor *c, const struct hole *h, int err,
		       struct sfs_outbox *out)
{
	struct sfs_link *link, *following;
	struct sfs_read *read;
	uint64_t i;

	for (i = c->head; i < c->tail && entry_at(c, i)->hole != h; i++)
		;
	if (i == c->tail)
		return;
	for (link = c->waiting.next; link != &c->waiting; link = following) {
		const struct entry *e = entry_at(c, i);

		following = link->next;
		read = sfs_container(link, struct sfs_read, link);
		if (overlaps(read, e))
			fail(read, sfs_read_err(err), out);
	}
	if (i < c->next_hole)
		c->next_hole = i;
}

/* ---- taking what arrived ---- */

/* Both the bytes and the edits are there, or one of them failed. */
static void settle_hole(struct sfs_cursor *c, struct hole *h, struct sfs_outbox *out)
{
	int err = h->err;

	if (err == 0 && h->edits && h->edits->err < 0)
		err = h->edits->err;
	if (err == 0 && h->edits && h->edits->state != HOLE_READY)
		return; /* the walk's end settles it */
	if (err == 0) {
		if (h->edits)
			sfs_walk_apply(&h->edits->walk, &h->grab, h->at);
		h->state = HOLE_READY;
		return;
	}
	sfs_grab_drop(&h->grab);
	c->hole_bytes -= h->grab.n_bytes;
	h->state = HOLE_WAITING;
	h->has_failed = true;
	if (h->edits && h->edits->state == HOLE_READY && h->edits->err < 0) {
		h->edits->state = HOLE_WAITING; /* walk again with the next try */
		sfs_walk_done(&h->edits->walk);
		h->edits->walk.pos = 0;
		h->edits->err = 0;
	}
	fail_entry(c, h, err, out);
}

static void take_hole(struct sfs_cursor *c, struct hole *h, struct sfs_outbox *out)
{
	c->n_pending--;
	if (h->is_orphan) {
		free_hole(h);
		return;
	}
	h->is_fetched = true;
	settle_hole(c, h, out);
}

static void take_edits(struct sfs_cursor *c, struct edits *e, struct sfs_outbox *out)
{
	uint64_t i;
	struct hole *h;

	c->n_pending--;
	e->state = HOLE_READY;
	for (i = c->head; i < c->tail; i++) {
		h = entry_at(c, i)->hole;
		if (h && h->edits == e && h->state == HOLE_FETCHING && h->is_fetched)
			settle_hole(c, h, out);
	}
	drop_edits(e);
}

static void take_part(struct sfs_cursor *c, struct sfs_part *part, struct sfs_outbox *out)
{
	uint32_t lane;
	int err = sfs_lanes_arrive(c->lanes, part, &lane);

	if (err < 0 && !c->is_closed && lane == c->blocked)
		fail_blocked(c, err, out);
}

static struct sfs_link *take_arrived(struct sfs_cursor *c, struct sfs_link *list)
{
	struct sfs_link *link;

	pthread_mutex_lock(&c->arrived_lock);
	link = sfs_list_pop(list);
	pthread_mutex_unlock(&c->arrived_lock);
	return link;
}

/* Go on as far as possible. */
static void go_on(struct sfs_cursor *c, struct sfs_outbox *out)
{
	uint32_t blocking;

	do {
		extend(c);
		serve(c, out);
		trim(c);
		start_holes(c, out);
		blocking = sfs_list_is_empty(&c->waiting) ? UINT32_MAX : c->blocked;
	} while (sfs_lanes_pump(c->lanes, blocking, out));
}

static void cursor_free(struct sfs_cursor *c)
{
	sfs_lanes_free(c->lanes);
	atomic_fetch_sub(&c->env->n_open_lanes, c->order->n_lanes);
	sfs_account_close(&c->account);
	pthread_mutex_destroy(&c->arrived_lock);
	sfs_link_remove(&c->link);
	free(c->ring);
	free(c);
}

bool sfs_cursor_run(struct sfs_cursor *c, struct sfs_outbox *out)
{
	struct sfs_link *link;

	while ((link = take_arrived(c, &c->arrived_parts)) != NULL)
		take_part(c, sfs_part_of(link), out);
	while ((link = take_arrived(c, &c->arrived_edits)) != NULL)
		take_edits(c, sfs_container(link, struct edits, link), out);
	while ((link = take_arrived(c, &c->arrived_holes)) != NULL)
		take_hole(c, sfs_container(link, struct hole, link), out);
	if (!c->is_closed) {
		go_on(c, out);
		return true;
	}
	if (sfs_lanes_on_way(c->lanes) > 0 || c->n_pending > 0 ||
	    !sfs_list_is_empty(&c->answered))
		return true;
	while (c->head < c->tail)
		drop_entry(c, entry_at(c, c->head++));
	cursor_free(c);
	return false;
}

void sfs_cursor_close(struct sfs_cursor *c, int err, struct sfs_outbox *out)
{
	struct sfs_link *link;

	c->is_closed = true;
	while ((link = sfs_list_pop(&c->waiting)) != NULL)
		fail(sfs_container(link, struct sfs_read, link), err, out);
	sfs_lanes_cancel(c->lanes);
	c->owner.wake(c->owner.ctx);
}

bool sfs_cursor_covers(const struct sfs_cursor *c, uint64_t offset)
{
	uint64_t end = c->log_end > c->read_end ? c->log_end : c->read_end;

	return !c->is_closed && offset >= c->log_start &&
	       (offset <= end + FORWARD_BYTES || c->is_complete || c->err < 0);
}

void sfs_cursor_read(struct sfs_cursor *c, struct sfs_read *read, struct sfs_outbox *out)
{
	int ret;

	c->last_read_ns = sfs_clock_ns();
	read->begun_ns = 0;
	if (end_of(read) > c->read_end)
		c->read_end = end_of(read);
	ret = check(c, read);
	if (ret > 0) {
		answer(c, read, out);
	} else if (ret < 0) {
		fail(read, ret, out);
	} else {
		read->begun_ns = c->last_read_ns;
		sfs_list_push(&c->waiting, &read->link);
		go_on(c, out);
	}
}

void sfs_cursor_release(struct sfs_cursor *c, struct sfs_read *read, struct sfs_outbox *out)
{
	sfs_link_remove(&read->link);
	sfs_read_reset(read);
	if (!c->is_closed)
		go_on(c, out);
	else
		c->owner.wake(c->owner.ctx);
}

bool sfs_cursor_cancel(struct sfs_cursor *c, struct sfs_read *read)
{
	SFS_EACH(waiting, &c->waiting, struct sfs_read, link)
	{
		if (waiting == read) {
			sfs_link_remove(&read->link);
			return true;
		}
	}
	return false;
}

int sfs_cursor_new(struct sfs_env *env, const struct sfs_order *order, uint64_t stream_bytes,
		   const struct sfs_cursor_owner *owner, struct sfs_map *map,
		   const struct sfs_spot *at, uint64_t key_before,
		   struct sfs_cursor **ret_cursor)
{
	struct sfs_cursor *c = sfs_calloc(1, sizeof *c);
	const struct sfs_lanes_owner lanes_owner = {.ctx = c, .ended = on_part};
	int ret;

	c->env = env;
	c->order = order;
	c->stream_bytes = stream_bytes;
	c->owner = *owner;
	pthread_mutex_init(&c->arrived_lock, NULL);
	sfs_list_init(&c->arrived_parts);
	sfs_list_init(&c->arrived_holes);
	sfs_list_init(&c->arrived_edits);
	sfs_list_init(&c->waiting);
	sfs_list_init(&c->answered);
	c->capacity = 64;
	c->ring = sfs_calloc(c->capacity, sizeof *c->ring);
	c->blocked = UINT32_MAX;
	c->key_before = key_before;
	c->last_read_ns = sfs_clock_ns();
	if (at) {
		c->log_start = c->log_end = c->front = c->read_end = at->offset;
		c->lane = at->is_end ? 0 : at->lane;
	}
	ret = sfs_account_open(&c->account, &env->budget, order->n_lanes * SFS_LANE_FLOOR, true,
			       on_room);
	if (ret == 0) {
		atomic_fetch_add(&env->n_open_lanes, order->n_lanes);
		ret = sfs_lanes_new(env, order, &c->account, &lanes_owner, map, at, &c->lanes);
	}
	if (ret < 0) {
		if (c->account.budget) {
			cursor_free(c);
		} else {
			pthread_mutex_destroy(&c->arrived_lock);
			free(c->ring);
			free(c);
		}
		return ret;
	}
	*ret_cursor = c;
	return 0;
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

bool sfs_cursor_is_busy(const struct sfs_cursor *c)
{
	return !sfs_list_is_empty(&c->waiting) || !sfs_list_is_empty(&c->answered);
}

void sfs_cursor_state(struct sfs_cursor *c, struct sfs_cursor_state *ret_state)
{
	*ret_state = (struct sfs_cursor_state){
		.offset = c->front,
		.log_end = c->log_end,
		.held_bytes = sfs_account_used(&c->account),
		.n_samples = c->n_samples,
		.n_on_way = sfs_lanes_on_way(c->lanes) + c->n_pending,
		.is_complete = c->is_complete,
	};
	SFS_EACH(read, &c->waiting, struct sfs_read, link)
		ret_state->n_waiting++;
}
