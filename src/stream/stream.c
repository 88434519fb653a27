/* SPDX-License-Identifier: MIT */
/* How this works: the stream's lock guards its cursors and its far reads.  Whatever
 * ends elsewhere (a part, a survey, a grab) posts the stream's task, which takes
 * account of it.  What must not be done with the lock held (asking a source, telling
 * a reader) is put into an outbox and done after.
 *
 * A read belongs to one cursor, or to the far reads.
 *
 * A stream that next.h keeps has a cursor at its start before anybody reads it.  What
 * next.h is to know of a stream is written into `status` by notice(), after whatever may
 * have changed it.
 */
#include "stream/stream.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/ledger.h"
#include "base/lock.h"
#include "order/partition.h"
#include "stream/cursor.h"
#include "stream/prefetch.h"
#include "stream/random.h"

#include <errno.h>

#define MAX_CURSORS	4
#define IDLE_NS		(30 * SFS_NS_PER_S)
#define STARVED_IDLE_NS (2 * SFS_NS_PER_S)
#define STARVED_NS	(60 * SFS_NS_PER_S)

struct sfs_stream {
	struct sfs_streams *streams;
	struct sfs_runtime *runtime;
	uint64_t epoch;
	struct sfs_share share;
	struct sfs_task task;

	pthread_mutex_t lock; /* guards all below */
	struct sfs_link link; /* in streams->list, under its lock */
	uint32_t n_open;      /* likewise */
	bool is_kept;	      /* likewise: by next.h */
	bool is_closed;
	struct sfs_order order;
	bool has_order;
	uint64_t n_bytes; /* if has_order: of the file */
	struct sfs_link cursors;
	int n_cursors; /* that are not closed */
	struct sfs_random_reads far;
	bool was_read;
	bool is_ahead, has_begun; /* prefetches before it is read */
	bool is_held;		  /* but not now */

	_Atomic unsigned status; /* written with the lock held */
};

/* Of a stream's cursors that are read. */
enum status {
	HUNGRY = 1,    /* one has not enough */
	NEARS_END = 2, /* one has asked for all up to the end */
	READ_OUT = 4,  /* one has given the last sample to its reader */
	WAS_READ = 8,
};

/* Whose a read is, while read->state is not NULL. */
enum place { AT_CURSOR, FAR };

static bool run(struct sfs_task *task);
static void wake(void *ctx);
static bool take_over(void *ctx, struct sfs_read *read, const struct sfs_spot *at,
		      uint64_t key_before, struct sfs_deferred *out);
static struct sfs_gather *apart(void *ctx, struct sfs_read *read,
				struct sfs_deferred *out);

static void init_order(struct sfs_order *order, struct sfs_runtime *runtime,
		       uint64_t epoch, struct sfs_share share)
{
	const struct sfs_sample_tables tables = sfs_shards_tables(&runtime->shards);

	sfs_partition(order, &runtime->order, epoch, runtime->shards.n, &tables, share);
}

/* The size of the file of an order. */
static uint64_t count_bytes(const struct sfs_runtime *runtime,
			    const struct sfs_order *order)
{
	uint64_t n = 2 * SFS_TAR_BLOCK, i;

	if (order->has_equal_lanes)
		return n + order->n_bytes;
	for (i = 0; i < sfs_order_slices(order); i++)
		n += sfs_tar_padded(
			runtime->shards.shards[order->slices[i].shard].object.size);
	return n;
}

uint64_t sfs_stream_bytes(struct sfs_runtime *runtime, uint64_t epoch,
			  struct sfs_share share)
{
	struct sfs_order order;
	uint64_t n;

	init_order(&order, runtime, epoch, share);
	n = count_bytes(runtime, &order);
	sfs_order_done(&order);
	return n;
}

/* ---- the streams of a mount ---- */

void sfs_streams_init(struct sfs_streams *streams, struct sfs_runtime *runtime,
		      struct sfs_header_scanner *scanner)
{
	*streams = (struct sfs_streams){.runtime = runtime, .scanner = scanner};
	sfs_lock_init(&streams->lock, SFS_LOCK_STREAMS);
	pthread_cond_init(&streams->is_empty, NULL);
	sfs_list_init(&streams->list);
}

void sfs_streams_observe(struct sfs_streams *streams,
			 const struct sfs_stream_observer *observer)
{
	streams->observer = *observer;
}

void sfs_streams_done(struct sfs_streams *streams)
{
	if (!streams->runtime)
		return;
	pthread_mutex_lock(&streams->lock);
	while (streams->n > 0)
		pthread_cond_wait(&streams->is_empty, &streams->lock);
	pthread_mutex_unlock(&streams->lock);
	pthread_cond_destroy(&streams->is_empty);
	pthread_mutex_destroy(&streams->lock);
}

static struct sfs_stream *stream_new(struct sfs_streams *streams, uint64_t epoch,
				     struct sfs_share share)
{
	struct sfs_stream *s = sfs_calloc(1, sizeof *s);
	const struct sfs_random_owner owner = {.ctx = s,
					       .lock = &s->lock,
					       .wake = wake,
					       .take_over = take_over};

	s->streams = streams;
	s->runtime = streams->runtime;
	s->epoch = epoch;
	s->share = share;
	s->task.run = run;
	sfs_lock_init(&s->lock, SFS_LOCK_STREAM);
	sfs_list_init(&s->cursors);
	sfs_random_init(&s->far, s->runtime, streams->scanner, &s->order, &owner);
	return s;
}

/* The next two: streams->lock is held. */
static struct sfs_stream *find_stream(struct sfs_streams *streams, uint64_t epoch,
				      struct sfs_share share)
{
	SFS_EACH (s, &streams->list, struct sfs_stream, link) {
		if (s->epoch == epoch && sfs_share_equal(s->share, share))
			return s;
	}
	return NULL;
}

static struct sfs_stream *add_stream(struct sfs_streams *streams, uint64_t epoch,
				     struct sfs_share share)
{
	struct sfs_stream *s = stream_new(streams, epoch, share);

	sfs_list_push(&streams->list, &s->link);
	streams->n++;
	return s;
}

struct sfs_stream *sfs_stream_open(struct sfs_streams *streams, uint64_t epoch,
				   struct sfs_share share)
{
	struct sfs_stream *s;

	pthread_mutex_lock(&streams->lock);
	s = find_stream(streams, epoch, share);
	if (!s)
		s = add_stream(streams, epoch, share);
	s->n_open++;
	pthread_mutex_unlock(&streams->lock);
	return s;
}

/* One has let go of the stream; streams->lock is held, and let go of.  Who was the last
 * closes the stream. */
static void leave(struct sfs_stream *s)
{
	bool is_last = s->n_open == 0 && !s->is_kept;

	if (is_last)
		sfs_link_remove(&s->link);
	pthread_mutex_unlock(&s->streams->lock);
	if (!is_last)
		return;
	pthread_mutex_lock(&s->lock);
	s->is_closed = true;
	sfs_threadpool_post(s->runtime->pool, &s->task);
	pthread_mutex_unlock(&s->lock);
}

void sfs_stream_close(struct sfs_stream *s)
{
	pthread_mutex_lock(&s->streams->lock);
	s->n_open--;
	leave(s);
}

static void stream_free(struct sfs_stream *s)
{
	struct sfs_streams *streams = s->streams;

	sfs_random_done(&s->far);
	sfs_order_done(&s->order);
	pthread_mutex_destroy(&s->lock);
	free(s);
	pthread_mutex_lock(&streams->lock);
	if (--streams->n == 0)
		pthread_cond_broadcast(&streams->is_empty);
	pthread_mutex_unlock(&streams->lock);
}

/* ---- cursors ---- */

static void wake(void *ctx)
{
	struct sfs_stream *s = ctx;

	sfs_threadpool_post(s->runtime->pool, &s->task);
}

static void have_order(struct sfs_stream *s)
{
	if (s->has_order)
		return;
	init_order(&s->order, s->runtime, s->epoch, s->share);
	s->n_bytes = count_bytes(s->runtime, &s->order);
	s->has_order = true;
}

uint64_t sfs_stream_end(struct sfs_stream *s)
{
	uint64_t end;

	pthread_mutex_lock(&s->lock);
	have_order(s);
	if (!sfs_shards_sum(&s->runtime->shards, &s->order, &end))
		end = UINT64_MAX;
	pthread_mutex_unlock(&s->lock);
	return end;
}

int sfs_stream_locate(struct sfs_stream *s, uint64_t number, struct sfs_waiter *waiter,
		      struct sfs_place *ret_place)
{
	int ret;

	pthread_mutex_lock(&s->lock);
	have_order(s);
	ret = sfs_random_locate(&s->far, number, waiter, ret_place);
	pthread_mutex_unlock(&s->lock);
	return ret;
}

int sfs_stream_number(struct sfs_stream *s, uint64_t offset, struct sfs_waiter *waiter,
		      uint64_t *ret_number)
{
	int ret;

	pthread_mutex_lock(&s->lock);
	have_order(s);
	ret = sfs_random_number(&s->far, offset, waiter, ret_number);
	pthread_mutex_unlock(&s->lock);
	return ret;
}

/* The cursor that was unread for longest, of those that nobody waits at. */
static struct sfs_cursor *find_idle(struct sfs_stream *s)
{
	struct sfs_cursor *found = NULL, *c;
	struct sfs_link *link;

	for (link = s->cursors.next; link != &s->cursors; link = link->next) {
		c = sfs_cursor_of(link);
		if (!sfs_cursor_is_closed(c) && !sfs_cursor_is_busy(c) &&
		    (!found ||
		     sfs_cursor_last_read_ns(c) < sfs_cursor_last_read_ns(found)))
			found = c;
	}
	return found;
}

/* Reads that wait there get `err`. */
static void close_cursor(struct sfs_stream *s, struct sfs_cursor *c, int err,
			 struct sfs_deferred *out)
{
	s->n_cursors--;
	sfs_cursor_close(c, err, out);
}

/* A new cursor at the start (`at` is NULL) or at a spot.  < 0: not now. */
static int start_cursor(struct sfs_stream *s, const struct sfs_spot *at,
			uint64_t key_before, struct sfs_deferred *out,
			struct sfs_cursor **ret_cursor)
{
	const struct sfs_cursor_owner owner = {.ctx = s, .wake = wake, .apart = apart};
	struct sfs_cursor *idle;
	int ret = 0;

	if (s->n_cursors == MAX_CURSORS) {
		idle = find_idle(s);
		if (!idle)
			return -EBUSY;
		close_cursor(s, idle, -ECANCELED, out);
	}
	have_order(s);
	if (at)
		ret = sfs_cursor_new_at(s->runtime, &s->order, s->n_bytes, &owner,
					&s->far.map, at, key_before, ret_cursor);
	else
		*ret_cursor = sfs_cursor_new(s->runtime, &s->order, s->n_bytes, &owner);
	if (ret < 0)
		return ret;
	s->n_cursors++;
	sfs_list_push(&s->cursors, sfs_cursor_link(*ret_cursor));
	return 0;
}

static struct sfs_cursor *find_cursor(struct sfs_stream *s, uint64_t offset)
{
	struct sfs_link *link;

	for (link = s->cursors.next; link != &s->cursors; link = link->next)
		if (sfs_cursor_covers(sfs_cursor_of(link), offset))
			return sfs_cursor_of(link);
	return NULL;
}

static void read_at(struct sfs_cursor *c, struct sfs_read *read, struct sfs_deferred *out)
{
	read->place = AT_CURSOR;
	read->state = c;
	sfs_cursor_read(c, read, out);
}

/* A read that its cursor has no memory for, see cursor.h. */
static struct sfs_gather *apart(void *ctx, struct sfs_read *read,
				struct sfs_deferred *out)
{
	struct sfs_stream *s = ctx;

	read->place = FAR;
	return sfs_random_apart(&s->far, read, out);
}

/* A cursor for a far read, see far.h. */
static bool take_over(void *ctx, struct sfs_read *read, const struct sfs_spot *at,
		      uint64_t key_before, struct sfs_deferred *out)
{
	struct sfs_cursor *c;

	if (start_cursor(ctx, at, key_before, out, &c) < 0)
		return false;
	read_at(c, read, out);
	return true;
}

/* ---- the next epoch ---- */

static unsigned status_of(struct sfs_cursor *c)
{
	if (sfs_cursor_is_closed(c) || sfs_cursor_is_ahead(c))
		return 0;
	return (sfs_cursor_is_sated(c) ? 0 : HUNGRY) |
	       (sfs_cursor_nears_end(c) ? NEARS_END : 0) |
	       (sfs_cursor_is_read_out(c) ? READ_OUT : 0);
}

/* Something was read, has arrived or was closed: does that matter to the observer? */
static void notice(struct sfs_stream *s)
{
	const struct sfs_stream_observer *o = &s->streams->observer;
	unsigned status = s->was_read ? WAS_READ : 0, is_new;
	struct sfs_link *link;

	if (!o->ctx)
		return;
	for (link = s->cursors.next; link != &s->cursors; link = link->next)
		status |= status_of(sfs_cursor_of(link));
	if (status == s->status)
		return;
	is_new = status & ~s->status;
	s->status = status;
	if (is_new & NEARS_END)
		o->nears_end(o->ctx, s->epoch, s->share);
	if (is_new & READ_OUT)
		o->read_out(o->ctx, s->epoch, s->share);
	o->changed(o->ctx);
}

/* Do what sfs_stream_prefetch() said. */
static void go_ahead(struct sfs_stream *s)
{
	const struct sfs_cursor_owner owner = {.ctx = s, .wake = wake, .apart = apart};
	struct sfs_cursor *c;
	struct sfs_link *link;

	if (!s->has_begun && !s->is_held) {
		have_order(s);
		if (s->order.n_lanes == 0 ||
		    sfs_cursor_new_ahead(s->runtime, &s->order, s->n_bytes, &owner, &c) <
			    0)
			return;
		s->has_begun = true;
		s->n_cursors++;
		sfs_list_push(&s->cursors, sfs_cursor_link(c));
	}
	for (link = s->cursors.next; link != &s->cursors; link = link->next)
		sfs_cursor_hold(sfs_cursor_of(link), s->is_held);
}

/* A cursor that nobody has come for goes. */
static void end_ahead(struct sfs_stream *s, struct sfs_deferred *out)
{
	struct sfs_link *link;
	struct sfs_cursor *c;

	for (link = s->cursors.next; link != &s->cursors; link = link->next) {
		c = sfs_cursor_of(link);
		if (sfs_cursor_is_ahead(c) && !sfs_cursor_is_closed(c))
			close_cursor(s, c, -ECANCELED, out);
	}
}

/* The first read has come.  If it is of the cursor that is ahead, that is ahead no more;
 * else that is ended soon. */
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
	return atomic_load(&s->status) & WAS_READ;
}

bool sfs_streams_have(struct sfs_streams *streams, uint64_t epoch, struct sfs_share share)
{
	struct sfs_stream *s;
	bool is_open;

	pthread_mutex_lock(&streams->lock);
	s = find_stream(streams, epoch, share);
	is_open = s && s->n_open > 0;
	pthread_mutex_unlock(&streams->lock);
	return is_open;
}

bool sfs_streams_are_sated(struct sfs_streams *streams)
{
	bool are_sated = true;

	pthread_mutex_lock(&streams->lock);
	SFS_EACH (s, &streams->list, struct sfs_stream, link)
		are_sated &= !(atomic_load(&s->status) & HUNGRY);
	pthread_mutex_unlock(&streams->lock);
	return are_sated;
}

struct sfs_stream *sfs_stream_keep(struct sfs_streams *streams, uint64_t epoch,
				   struct sfs_share share)
{
	struct sfs_stream *s = NULL;

	pthread_mutex_lock(&streams->lock);
	if (!find_stream(streams, epoch, share)) {
		s = add_stream(streams, epoch, share);
		s->is_kept = true;
	}
	pthread_mutex_unlock(&streams->lock);
	return s;
}

void sfs_stream_let_go(struct sfs_stream *s)
{
	pthread_mutex_lock(&s->lock);
	s->is_ahead = false;
	sfs_threadpool_post(s->runtime->pool, &s->task);
	pthread_mutex_unlock(&s->lock);
	pthread_mutex_lock(&s->streams->lock);
	s->is_kept = false;
	leave(s);
}

/* ---- reads ---- */

/* A read that no cursor covers. */
static void read_afresh(struct sfs_stream *s, struct sfs_read *read,
			struct sfs_deferred *out)
{
	struct sfs_cursor *c;

	if (read->offset == 0 && start_cursor(s, NULL, 0, out, &c) == 0) {
		read_at(c, read, out);
		return;
	}
	read->place = FAR;
	sfs_random_read(&s->far, read, out);
}

/* No read goes beyond the end. */
static void clip(const struct sfs_stream *s, struct sfs_read *read)
{
	if (read->offset >= s->n_bytes)
		read->n_bytes = 0;
	else if (read->n_bytes > s->n_bytes - read->offset)
		read->n_bytes = (size_t)(s->n_bytes - read->offset);
}

/* A part of the epoch without a single lane, or a read behind the end: zeros. */
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
	} else if (read->place == AT_CURSOR) {
		is_ours = sfs_cursor_cancel(read->state, read);
	} else {
		is_ours = sfs_random_cancel(&s->far, read);
	}
	pthread_mutex_unlock(&s->lock);
	return is_ours;
}

static void explain(struct sfs_read *read, struct sfs_cause *cause)
{
	struct sfs_stream *s = read->owner;

	pthread_mutex_lock(&s->lock);
	if (!read->state)
		; /* it has its answer */
	else if (read->place == AT_CURSOR)
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
	if (read->place == FAR)
		sfs_random_release(&s->far, read);
	else
		sfs_cursor_release(read->state, read, &out);
	notice(s);
	pthread_mutex_unlock(&s->lock);
	sfs_read_reset(read);
	sfs_deferred_run(&out);
}

void sfs_stream_read(struct sfs_stream *s, struct sfs_read *read)
{
	struct sfs_cursor *c;
	struct sfs_deferred out;

	read->owner = s;
	read->state = NULL;
	read->cancel = cancel;
	read->explain = explain;
	read->release = release;
	sfs_deferred_init(&out);
	pthread_mutex_lock(&s->lock);
	have_order(s);
	clip(s, read);
	c = find_cursor(s, read->offset);
	if (!s->was_read)
		meet_reader(s);
	if (s->order.n_lanes == 0 || read->n_bytes == 0)
		read_nothing(read, &out);
	else if (c)
		read_at(c, read, &out);
	else
		read_afresh(s, read, &out);
	notice(s);
	pthread_mutex_unlock(&s->lock);
	sfs_deferred_run(&out);
}

/* ---- the task ---- */

static void close_all(struct sfs_stream *s, struct sfs_deferred *out)
{
	struct sfs_link *link;

	for (link = s->cursors.next; link != &s->cursors; link = link->next)
		if (!sfs_cursor_is_closed(sfs_cursor_of(link)))
			close_cursor(s, sfs_cursor_of(link), -ECANCELED, out);
}

static void tell_apart_ended(struct sfs_stream *s)
{
	struct sfs_link *link;

	for (link = s->cursors.next; link != &s->cursors; link = link->next)
		sfs_cursor_apart_ended(sfs_cursor_of(link));
}

static bool run(struct sfs_task *task)
{
	struct sfs_stream *s = sfs_container(task, struct sfs_stream, task);
	struct sfs_link *link, *following;
	struct sfs_deferred out;
	bool is_gone;

	sfs_deferred_init(&out);
	pthread_mutex_lock(&s->lock);
	if (s->is_closed)
		close_all(s, &out);
	else if (s->is_ahead)
		go_ahead(s);
	else
		end_ahead(s, &out);
	for (link = s->cursors.next; link != &s->cursors; link = following) {
		following = link->next;
		sfs_cursor_run(sfs_cursor_of(link), &out);
	}
	sfs_random_run(&s->far, s->is_closed, &out);
	notice(s);
	if (s->far.n == 0)
		tell_apart_ended(s);
	is_gone = s->is_closed && sfs_list_is_empty(&s->cursors) && s->far.n == 0;
	pthread_mutex_unlock(&s->lock);
	sfs_deferred_run(&out);
	if (is_gone)
		stream_free(s);
	return !is_gone;
}

/* ---- every second ---- */

static void close_idle(struct sfs_stream *s, uint64_t idle_ns, struct sfs_deferred *out)
{
	uint64_t now = sfs_clock_ns();
	struct sfs_cursor *c;

	while ((c = find_idle(s)) != NULL && now - sfs_cursor_last_read_ns(c) > idle_ns)
		close_cursor(s, c, -ECANCELED, out);
}

/* Those whom the budget will not have soon. */
static void close_starved(struct sfs_stream *s, struct sfs_deferred *out)
{
	struct sfs_link *link;

	for (link = s->cursors.next; link != &s->cursors; link = link->next) {
		if (sfs_cursor_starved_ns(sfs_cursor_of(link)) < STARVED_NS)
			continue;
		sfs_ledger_add(
			SFS_EVENT_LOST, "(epoch)", SFS_NO_OFFSET, "the reader gets EIO",
			"no budget for the lanes of one more stream: raise budget=, "
			"lower lanes=, or read fewer streams at once");
		close_cursor(s, sfs_cursor_of(link), -EIO, out);
	}
}

static void tick_cursors(struct sfs_stream *s)
{
	struct sfs_link *link;

	for (link = s->cursors.next; link != &s->cursors; link = link->next)
		sfs_cursor_tick(sfs_cursor_of(link));
}

void sfs_streams_tick(struct sfs_streams *streams)
{
	bool is_short = sfs_budget_is_short(&streams->runtime->budget);
	bool is_starved = sfs_budget_is_starved(&streams->runtime->budget);
	struct sfs_deferred out;

	/* A quarter of the budget may be tables; a stream's floor comes first. */
	if (is_starved)
		sfs_shards_drop_unused(&streams->runtime->shards);
	sfs_deferred_init(&out);
	pthread_mutex_lock(&streams->lock);
	SFS_EACH (s, &streams->list, struct sfs_stream, link) {
		pthread_mutex_lock(&s->lock);
		tick_cursors(s);
		close_starved(s, &out);
		if (is_short)
			close_idle(s, is_starved ? STARVED_IDLE_NS : IDLE_NS, &out);
		pthread_mutex_unlock(&s->lock);
	}
	pthread_mutex_unlock(&streams->lock);
	sfs_deferred_run(&out);
	if (streams->observer.ctx)
		streams->observer.changed(streams->observer.ctx);
}

/* ---- stats ---- */

static struct sfs_waits_facts facts_of(const struct sfs_stream *s)
{
	const struct sfs_runtime *runtime = s->runtime;

	return (struct sfs_waits_facts){
		.n_connections = (uint32_t)runtime->n_connections,
		.budget_bytes = runtime->budget.total_bytes,
		.is_local =
			runtime->shards.shards[0].object.uri.scheme == SFS_SCHEME_FILE,
		.n_far = s->far.n,
	};
}

/* Who is waited for: in per cent of the last seconds, in ms since the start, and in
 * words. */
static void print_waits(const struct sfs_waits_sums *window,
			const struct sfs_waits_sums *sums,
			const struct sfs_waits_facts *facts, struct sfs_json_writer *w)
{
	struct sfs_strbuf verdict = {0};
	int k;

	sfs_json_open(w, "waits", '{');
	for (k = SFS_WAIT_IDLE + 1; k < SFS_N_WAITS; k++)
		sfs_json_put_uint(w, sfs_waits_name((enum sfs_wait)k),
				  sfs_waits_share(window, (enum sfs_wait)k));
	sfs_json_close(w, '}');
	sfs_json_open(w, "waits_ms", '{');
	for (k = SFS_WAIT_IDLE + 1; k < SFS_N_WAITS; k++)
		sfs_json_put_uint(w, sfs_waits_name((enum sfs_wait)k),
				  sums->ns[k] / SFS_NS_PER_MS);
	sfs_json_close(w, '}');
	sfs_waits_explain(window, facts, &verdict);
	sfs_json_put_string(w, "verdict", verdict.s);
	sfs_strbuf_done(&verdict);
}

static void add_sums(struct sfs_waits_sums *to, const struct sfs_waits_sums *sums)
{
	int k;

	for (k = 0; k < SFS_N_WAITS; k++)
		to->ns[k] += sums->ns[k];
}

static uint64_t ready_bytes(const struct sfs_cursor_state *state)
{
	return state->log_end > state->offset ? state->log_end - state->offset : 0;
}

static void add_facts(struct sfs_waits_facts *facts, struct sfs_runtime *runtime,
		      const struct sfs_cursor_state *state)
{
	uint64_t part_bytes = sfs_prefetch_part_bytes(runtime);

	facts->n_ready += (ready_bytes(state) + part_bytes - 1) / part_bytes;
	facts->n_in_flight += state->n_on_way;
}

/* The stream's own: of all its cursors. */
static void print_all_waits(struct sfs_stream *s, struct sfs_json_writer *w)
{
	struct sfs_waits_sums window = {0}, sums = {0};
	struct sfs_waits_facts facts = facts_of(s);
	struct sfs_cursor_state state;
	struct sfs_link *link;

	for (link = s->cursors.next; link != &s->cursors; link = link->next) {
		if (sfs_cursor_is_closed(sfs_cursor_of(link)))
			continue;
		sfs_cursor_state(sfs_cursor_of(link), &state);
		add_sums(&window, &state.window);
		add_sums(&sums, &state.sums);
		add_facts(&facts, s->runtime, &state);
	}
	print_waits(&window, &sums, &facts, w);
}

static void print_cursors(struct sfs_stream *s, struct sfs_json_writer *w)
{
	struct sfs_waits_facts facts;
	struct sfs_cursor_state state;
	struct sfs_link *link;

	for (link = s->cursors.next; link != &s->cursors; link = link->next) {
		if (sfs_cursor_is_closed(sfs_cursor_of(link)))
			continue;
		sfs_cursor_state(sfs_cursor_of(link), &state);
		sfs_json_open(w, NULL, '{');
		sfs_json_put_uint(w, "offset", state.offset);
		sfs_json_put_uint(w, "ready_bytes", ready_bytes(&state));
		sfs_json_put_uint(w, "held_bytes", state.held_bytes);
		sfs_json_put_uint(w, "live_bytes", state.live_bytes);
		sfs_json_put_uint(w, "samples", state.n_samples);
		sfs_json_put_uint(w, "requests", state.n_on_way);
		sfs_json_put_uint(w, "waiting_reads", state.n_waiting);
		sfs_json_put_bool(w, "complete", state.is_complete);
		facts = facts_of(s);
		add_facts(&facts, s->runtime, &state);
		print_waits(&state.window, &state.sums, &facts, w);
		sfs_json_close(w, '}');
	}
}

/* With equal lanes, what is known of the stream's samples: exactly. */
static void print_counts(const struct sfs_stream *s, struct sfs_json_writer *w)
{
	if (!s->has_order || !s->order.has_equal_lanes)
		return;
	sfs_json_put_uint(w, "samples", s->order.n_samples);
	sfs_json_put_uint(w, "repeated", s->order.repeating != SFS_NO_LANE);
	sfs_json_put_uint(w, "dropped", s->order.shortened != SFS_NO_LANE);
}

/* The order, and the sums by which far reads find a byte: not of the budget. */
static uint64_t order_bytes(const struct sfs_stream *s)
{
	uint64_t each = sizeof(struct sfs_slice) +
			(s->far.map.n_before ? 2 * sizeof(uint64_t) : 0);

	return s->has_order ? sfs_order_slices(&s->order) * each : 0;
}

void sfs_streams_print(struct sfs_streams *streams, struct sfs_json_writer *w)
{
	pthread_mutex_lock(&streams->lock);
	SFS_EACH (s, &streams->list, struct sfs_stream, link) {
		pthread_mutex_lock(&s->lock);
		sfs_json_open(w, NULL, '{');
		sfs_json_put_uint(w, "epoch", s->epoch);
		sfs_json_put_uint(w, "first_lane", s->share.first);
		sfs_json_put_uint(w, "lane_step", s->share.step);
		sfs_json_put_uint(w, "bytes", s->n_bytes);
		sfs_json_put_uint(w, "order_bytes", order_bytes(s));
		sfs_json_put_uint(w, "open", s->n_open);
		sfs_json_put_bool(w, "prefetched", s->is_kept);
		sfs_json_put_uint(w, "far_reads", s->far.n);
		print_counts(s, w);
		print_all_waits(s, w);
		sfs_json_open(w, "cursors", '[');
		print_cursors(s, w);
		sfs_json_close(w, ']');
		sfs_json_close(w, '}');
		pthread_mutex_unlock(&s->lock);
	}
	pthread_mutex_unlock(&streams->lock);
}
