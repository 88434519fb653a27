/* SPDX-License-Identifier: MIT */
/* How this works: the stream's lock guards its cursors and its random reads.  Whatever
 * ends elsewhere (a part, a header scan, a range) posts the stream's task, which takes
 * it.  What must not be done with the lock held (to submit a request, to answer a read)
 * is deferred.
 *
 * A read belongs to one cursor, or to the random reads.
 *
 * A stream that next-epoch.h keeps has a cursor at its start before its first read.
 * notify_observer() writes what next-epoch.h needs to know into `status`, after whatever
 * may have changed it. */
#include "stream/stream.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/ledger.h"
#include "base/lock.h"
#include "stream/cursor/cursor.h"
#include "stream/random.h"
#include "stream/stream-internal.h"

#include <errno.h>

#define IDLE_NS		(30 * SFS_NS_PER_S)
#define STARVED_IDLE_NS (2 * SFS_NS_PER_S)

static bool stream_run(struct sfs_task *task);

struct sfs_stream *sfs_stream_new(struct sfs_streams *streams, uint64_t epoch,
				  struct sfs_share share)
{
	struct sfs_stream *s = sfs_calloc(1, sizeof *s);
	const struct sfs_random_owner owner = {.ctx = s,
					       .lock = &s->lock,
					       .wake = sfs_stream_wake,
					       .take_over = sfs_stream_take_over};

	s->streams = streams;
	s->runtime = streams->runtime;
	s->epoch = epoch;
	s->share = share;
	s->task.run = stream_run;
	sfs_lock_init(&s->lock, SFS_LOCK_STREAM);
	sfs_list_init(&s->cursors);
	sfs_random_init(&s->random, s->runtime, streams->scanner, &s->order, &owner);
	return s;
}

static void stream_free(struct sfs_stream *s)
{
	struct sfs_streams *streams = s->streams;

	sfs_proof_free(s->proof);
	sfs_random_done(&s->random);
	sfs_order_done(&s->order);
	if (s->stretches)
		sfs_stretches_release(&s->runtime->shards, s->stretches);
	pthread_mutex_destroy(&s->lock);
	free(s);
	pthread_mutex_lock(&streams->lock);
	if (--streams->n == 0)
		pthread_cond_broadcast(&streams->is_empty);
	pthread_mutex_unlock(&streams->lock);
}

/* ---- its order ---- */

void sfs_stream_wake(void *ctx)
{
	struct sfs_stream *s = ctx;

	sfs_threadpool_post(s->runtime->pool, &s->task);
}

/* Only so many sets of stretches can be in use.  A whole epoch that is open, and not read
 * yet, needs none; a share has its size from its own. */
static void let_stretches_go(struct sfs_stream *s)
{
	if (!s->stretches || s->was_read || s->share.step > 1 || s->random.has_locator ||
	    !sfs_list_is_empty(&s->cursors) || !sfs_proof_is_idle(s->proof))
		return;
	s->random.proof = NULL;
	sfs_proof_free(steal(&s->proof));
	sfs_order_done(&s->order);
	s->has_order = false;
	s->random.stretches = NULL;
	sfs_stretches_release(&s->runtime->shards, steal(&s->stretches));
}

int sfs_stream_size(struct sfs_stream *s, struct sfs_waiter *waiter, uint64_t *ret_bytes,
		    bool *ret_is_sure)
{
	int ret;

	pthread_mutex_lock(&s->lock);
	ret = sfs_stream_know_size(s, waiter);
	if (ret == 0) {
		*ret_bytes = s->n_bytes;
		*ret_is_sure = sfs_stream_has_sure_size(s);
		let_stretches_go(s);
	}
	pthread_mutex_unlock(&s->lock);
	return ret;
}

bool sfs_stream_is_wrong(struct sfs_stream *s)
{
	bool is_wrong;

	pthread_mutex_lock(&s->lock);
	is_wrong = s->stretches && atomic_load(&s->stretches->is_wrong);
	pthread_mutex_unlock(&s->lock);
	return is_wrong;
}

void sfs_stream_know_end(struct sfs_stream *s, uint64_t end)
{
	pthread_mutex_lock(&s->lock);
	s->known_end = end;
	pthread_mutex_unlock(&s->lock);
}

uint64_t sfs_stream_end(struct sfs_stream *s)
{
	uint64_t end;

	pthread_mutex_lock(&s->lock);
	if (sfs_stream_have_order(s) < 0 ||
	    !sfs_shards_sum(&s->runtime->shards, &s->order, &end) ||
	    (s->proof && sfs_proof_state(s->proof) < 0))
		end = UINT64_MAX;
	let_stretches_go(s);
	pthread_mutex_unlock(&s->lock);
	return end;
}

int sfs_stream_locate(struct sfs_stream *s, uint64_t number, struct sfs_waiter *waiter,
		      struct sfs_place *ret_place)
{
	int ret;

	pthread_mutex_lock(&s->lock);
	ret = sfs_stream_have_order(s);
	if (ret == 0)
		ret = sfs_random_locate(&s->random, number, waiter, ret_place);
	pthread_mutex_unlock(&s->lock);
	return ret;
}

int sfs_stream_number(struct sfs_stream *s, uint64_t offset, struct sfs_waiter *waiter,
		      uint64_t *ret_number)
{
	int ret;

	pthread_mutex_lock(&s->lock);
	ret = sfs_stream_have_order(s);
	if (ret == 0)
		ret = sfs_random_number(&s->random, offset, waiter, ret_number);
	pthread_mutex_unlock(&s->lock);
	return ret;
}

/* ---- the next epoch ---- */

static unsigned status_of(struct sfs_cursor *c)
{
	if (sfs_cursor_is_closed(c) || sfs_cursor_is_ahead(c))
		return 0;
	return (sfs_cursor_is_sated(c) ? 0 : SFS_STREAM_HUNGRY) |
	       (sfs_cursor_nears_end(c) ? SFS_STREAM_NEARS_END : 0) |
	       (sfs_cursor_is_read_out(c) ? SFS_STREAM_READ_OUT : 0);
}

/* Something was read, has arrived or was closed: tell the observer what that changed. */
static void notify_observer(struct sfs_stream *s)
{
	const struct sfs_stream_observer *o = &s->streams->observer;
	unsigned status = s->was_read ? SFS_STREAM_WAS_READ : 0, is_new;
	struct sfs_link *link;

	if (!o->ctx)
		return;
	for (link = s->cursors.next; link != &s->cursors; link = link->next)
		status |= status_of(sfs_cursor_of(link));
	if (status == s->status)
		return;
	is_new = status & ~s->status;
	s->status = status;
	if (is_new & SFS_STREAM_NEARS_END)
		o->nears_end(o->ctx, s->epoch, s->share);
	if (is_new & SFS_STREAM_READ_OUT)
		o->read_out(o->ctx, s->epoch, s->share);
	o->changed(o->ctx);
}

static void on_measured(struct sfs_waiter *waiter, int err)
{
	struct sfs_stream *s = sfs_container(waiter, struct sfs_stream, measured);

	(void)err; /* who opens the stream sees it */
	pthread_mutex_lock(&s->lock);
	s->is_measuring = false;
	sfs_stream_wake(s);
	pthread_mutex_unlock(&s->lock);
}

/* Know the size of a stream that nobody has open; the task goes on when it is found. */
static bool know_size_ahead(struct sfs_stream *s)
{
	int ret;

	if (s->is_measuring)
		return false;
	s->measured = (struct sfs_waiter){.done = on_measured};
	ret = sfs_stream_know_size(s, &s->measured);
	s->is_measuring = ret == -EINPROGRESS;
	return ret == 0;
}

/* Do what sfs_stream_prefetch() asked for. */
static void prefetch_ahead(struct sfs_stream *s)
{
	struct sfs_cursor_settings settings;
	struct sfs_cursor *c;
	struct sfs_link *link;

	if (!s->has_begun && !s->is_held) {
		if (!know_size_ahead(s))
			return;
		settings = sfs_stream_cursor_settings(s);
		if (s->order.n_lanes == 0 || sfs_cursor_new_ahead(&settings, &c) < 0)
			return;
		s->has_begun = true;
		sfs_stream_add_cursor(s, c);
	}
	for (link = s->cursors.next; link != &s->cursors; link = link->next)
		sfs_cursor_hold(sfs_cursor_of(link), s->is_held);
}

/* End the cursor that was begun ahead and never read. */
static void end_ahead(struct sfs_stream *s, struct sfs_deferred *out)
{
	struct sfs_link *link;
	struct sfs_cursor *c;

	for (link = s->cursors.next; link != &s->cursors; link = link->next) {
		c = sfs_cursor_of(link);
		if (sfs_cursor_is_ahead(c) && !sfs_cursor_is_closed(c))
			sfs_stream_close_cursor(s, c, -ECANCELED, out);
	}
}

/* The first read.  A cursor that was begun ahead serves it, or is ended soon. */
static void meet_reader(struct sfs_stream *s)
{
	s->was_read = true;
	s->is_ahead = false;
	if (s->has_begun)
		sfs_threadpool_post(s->runtime->pool, &s->task);
}

void sfs_stream_prefetch(struct sfs_stream *s, bool is_on)
{
	pthread_mutex_lock(&s->lock);
	s->is_ahead = !s->was_read;
	if (s->is_held == is_on || !s->has_begun)
		sfs_threadpool_post(s->runtime->pool, &s->task);
	s->is_held = !is_on;
	pthread_mutex_unlock(&s->lock);
}

bool sfs_stream_was_read(struct sfs_stream *s)
{
	return atomic_load(&s->status) & SFS_STREAM_WAS_READ;
}

/* ---- readers ---- */

void sfs_stream_expect(struct sfs_stream *s, const void *file, uint64_t at)
{
	pthread_mutex_lock(&s->lock);
	sfs_readers_expect(&s->readers, file, at, sfs_clock_ns());
	pthread_mutex_unlock(&s->lock);
}

void sfs_stream_forget(struct sfs_stream *s, const void *file)
{
	pthread_mutex_lock(&s->lock);
	sfs_readers_forget(&s->readers, file);
	pthread_mutex_unlock(&s->lock);
}

/* ---- reads ---- */

/* A read that no cursor covers. */
static void read_elsewhere(struct sfs_stream *s, struct sfs_read *read,
			   struct sfs_deferred *out)
{
	struct sfs_cursor *c;

	if (read->offset == 0 && sfs_stream_start_cursor(s, NULL, 0, out, &c) == 0) {
		sfs_stream_read_at(c, read, out);
		return;
	}
	read->place = SFS_STREAM_AT_RANDOM;
	sfs_random_read(&s->random, read, out);
}

/* No read goes beyond the end. */
static void clip(const struct sfs_stream *s, struct sfs_read *read)
{
	if (read->offset >= s->n_bytes)
		read->n_bytes = 0;
	else if (read->n_bytes > s->n_bytes - read->offset)
		read->n_bytes = (size_t)(s->n_bytes - read->offset);
}

/* A share without a lane is all zeros.  Or the read begins after the end. */
static void read_nothing(struct sfs_read *read, struct sfs_deferred *out)
{
	read->release = sfs_read_reset;
	sfs_read_add_zeros(read, read->n_bytes);
	sfs_read_tell(read, 0, out);
}

static bool cancel(struct sfs_read *read)
{
	struct sfs_stream *s = read->owner;
	bool is_ours = false;

	pthread_mutex_lock(&s->lock);
	if (!read->state) {
		; /* it has its answer */
	} else if (read->place == SFS_STREAM_AT_CURSOR) {
		is_ours = sfs_cursor_cancel(read->state, read);
	} else {
		is_ours = sfs_random_cancel(&s->random, read);
	}
	pthread_mutex_unlock(&s->lock);
	return is_ours;
}

static void stream_explain(struct sfs_read *read, struct sfs_cause *cause)
{
	struct sfs_stream *s = read->owner;

	pthread_mutex_lock(&s->lock);
	if (!read->state)
		; /* it has its answer */
	else if (read->place == SFS_STREAM_AT_CURSOR)
		sfs_cursor_explain(read->state, read, cause);
	else
		sfs_random_explain(read, cause);
	pthread_mutex_unlock(&s->lock);
}

static void release(struct sfs_read *read)
{
	struct sfs_stream *s = read->owner;
	struct sfs_deferred out;

	sfs_deferred_init(&out);
	pthread_mutex_lock(&s->lock);
	if (read->place == SFS_STREAM_AT_RANDOM)
		sfs_random_release(&s->random, read);
	else
		sfs_cursor_release(read->state, read, &out);
	notify_observer(s);
	pthread_mutex_unlock(&s->lock);
	sfs_read_reset(read);
	sfs_deferred_run(&out);
}

void sfs_stream_read(struct sfs_stream *s, struct sfs_read *read)
{
	struct sfs_cursor *c;
	struct sfs_deferred out;
	int ret;

	read->owner = s;
	read->state = NULL;
	read->cancel = cancel;
	read->explain = stream_explain;
	read->release = release;
	sfs_deferred_init(&out);
	pthread_mutex_lock(&s->lock);
	ret = sfs_stream_know_size(s, NULL);
	if (ret < 0) { /* nobody asked for it; or it is wrong; or there is no room */
		if (ret == -ENFILE)
			sfs_ledger_add(SFS_EVENT_REFUSED, "(epoch)", SFS_NO_OFFSET,
				       "the reader gets ENFILE: close the files of some",
				       "too many epochs are read at a time");
		sfs_read_tell(read, ret == -ENFILE ? ret : -EIO, &out);
		pthread_mutex_unlock(&s->lock);
		sfs_deferred_run(&out);
		return;
	}
	clip(s, read);
	c = sfs_stream_find_cursor(s, read->offset);
	if (c && s->n_cursors > 1)
		sfs_stream_merge_cursors(s, c, &out);
	if (!s->was_read)
		meet_reader(s);
	if (s->order.n_lanes == 0 || read->n_bytes == 0)
		read_nothing(read, &out);
	else if (c)
		sfs_stream_read_at(c, read, &out);
	else
		read_elsewhere(s, read, &out);
	notify_observer(s);
	pthread_mutex_unlock(&s->lock);
	sfs_deferred_run(&out);
}

/* ---- the task ---- */

static void notify_gathers_ended(struct sfs_stream *s)
{
	struct sfs_link *link;

	for (link = s->cursors.next; link != &s->cursors; link = link->next)
		sfs_cursor_gathers_ended(sfs_cursor_of(link));
}

/* A cursor that has begun to copy small samples together. */
static struct sfs_cursor *begin_flatten(struct sfs_stream *s)
{
	struct sfs_link *link;

	for (link = s->cursors.next; link != &s->cursors; link = link->next)
		if (sfs_cursor_flatten_begin(sfs_cursor_of(link)))
			return sfs_cursor_of(link);
	return NULL;
}

/* Without the lock.  The cursor stays meanwhile: only this task frees cursors. */
static void flatten(struct sfs_stream *s, struct sfs_cursor *c)
{
	sfs_cursor_flatten_copy(c);
	pthread_mutex_lock(&s->lock);
	sfs_cursor_flatten_end(c);
	pthread_mutex_unlock(&s->lock);
	sfs_threadpool_post(s->runtime->pool, &s->task);
}

/* Headers of near shards cost little.  From afar they have to wait until the stream has
 * enough; and if a reader has come to its end, all that is left is due now. */
static enum sfs_proof_effort proof_effort(struct sfs_stream *s)
{
	struct sfs_netpath path = sfs_runtime_path(s->runtime);
	bool is_near = !sfs_netpath_is_far(&path), is_sated = true;
	struct sfs_cursor *c;
	struct sfs_link *link;

	if (sfs_proof_left(s->proof) == 0)
		return SFS_PROOF_NONE;
	if (sfs_random_needs_proof(&s->random))
		return SFS_PROOF_ALL;
	if (s->share.step == 1 || !s->was_read)
		return SFS_PROOF_NONE; /* (a whole epoch proves itself as it is read) */
	for (link = s->cursors.next; link != &s->cursors; link = link->next) {
		c = sfs_cursor_of(link);
		if (sfs_cursor_is_closed(c))
			continue;
		if (sfs_cursor_needs_proof(c))
			return SFS_PROOF_ALL;
		is_sated = is_near || (is_sated && sfs_cursor_is_sated(c));
	}
	return is_sated ? SFS_PROOF_QUIET : SFS_PROOF_NONE;
}

static void end_all(struct sfs_stream *s, struct sfs_deferred *out)
{
	sfs_stream_close_cursors(s, out);
	if (s->proof)
		sfs_proof_close(s->proof);
}

static bool stream_run(struct sfs_task *task)
{
	struct sfs_stream *s = sfs_container(task, struct sfs_stream, task);
	struct sfs_link *link, *following;
	struct sfs_deferred out;
	struct sfs_cursor *flat;
	bool is_gone;

	sfs_deferred_init(&out);
	pthread_mutex_lock(&s->lock);
	if (s->is_closed)
		end_all(s, &out);
	else if (s->is_ahead)
		prefetch_ahead(s);
	else
		end_ahead(s, &out);
	for (link = s->cursors.next; link != &s->cursors; link = following) {
		following = link->next;
		sfs_cursor_run(sfs_cursor_of(link), &out);
	}
	if (s->proof && sfs_proof_run(s->proof, proof_effort(s)) && !s->is_closed)
		sfs_stream_wake(s); /* lanes have waited for that */
	flat = begin_flatten(s);
	sfs_random_run(&s->random, s->is_closed, &out);
	notify_observer(s);
	if (s->random.n == 0)
		notify_gathers_ended(s);
	is_gone = s->is_closed && sfs_list_is_empty(&s->cursors) && s->random.n == 0 &&
		  !s->is_measuring && (!s->proof || sfs_proof_is_idle(s->proof));
	pthread_mutex_unlock(&s->lock);
	sfs_deferred_run(&out);
	if (is_gone)
		stream_free(s);
	if (flat)
		flatten(s, flat);
	return !is_gone;
}

/* ---- every second ---- */

void sfs_stream_tick(struct sfs_stream *s, bool is_short, bool is_starved,
		     struct sfs_deferred *out)
{
	pthread_mutex_lock(&s->lock);
	sfs_stream_tick_cursors(s);
	sfs_stream_relieve_starved(s, out);
	if (s->proof && sfs_proof_needs_tick(s->proof))
		sfs_stream_wake(s);
	if (is_short)
		sfs_stream_close_idle(s, is_starved ? STARVED_IDLE_NS : IDLE_NS, out);
	pthread_mutex_unlock(&s->lock);
}
