/* SPDX-License-Identifier: MIT */
/* How this works: a window is a row of chunks of one shard, each a range.  A read within
 * it, or a little ahead of it, waits until its chunks are there; chunks before the front
 * are dropped when no answer uses them.  Windows may hold an eighth of the budget.  A
 * window that gets no more memory, or whose fetches fail, is closed: reads of chunks that
 * were asked for still get them; the others are answered apart, by gathers.
 *
 * Ranges end on other threads: they go into `ended`, and the task serves the reads. */
#include "io/shard-reader.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/lock.h"
#include "io/gather.h"
#include "io/sequential.h"

#include <errno.h>

#define CHUNK_BYTES	 ((uint64_t)1 << 20)
#define CHUNK_MAX	 SFS_RANGE_MAX
#define AHEAD_MIN	 ((uint64_t)2 << 20)
#define AHEAD_MAX	 ((uint64_t)32 << 20)
#define BACK_BYTES	 ((uint64_t)1 << 20)
#define SEQUENTIAL_GAP	 ((uint64_t)256 << 10)
#define SEQUENTIAL_BYTES ((uint64_t)512 << 10)
#define MAX_WINDOWS	 32
#define IDLE_NS		 (10 * SFS_NS_PER_S)

struct chunk {
	struct sfs_range range;
	struct window *window;
	struct sfs_deferred_call job; /* begin_chunk() */
	struct sfs_link link;	      /* in window->chunks, in order */
	struct sfs_link ended;	      /* in windows->ended */
	bool is_here;
	int err;
	int n_users; /* answers that use its memory */
};

struct window {
	struct sfs_shard_readers *all;
	struct sfs_shard *shard;
	struct sfs_link link;
	struct sfs_link chunks,
		waiting; /* waiting: reads, read->pin is the absolute offset */
	uint64_t start, asked, front;
	uint64_t ahead;
	uint32_t n_pending, n_answered;
	uint64_t last_read_ns;
	bool is_closed;
};

struct sfs_shard_readers {
	struct sfs_runtime *runtime;
	struct sfs_task task;
	struct sfs_account account;

	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t is_empty;
	struct sfs_link list, ended;
	int n;
	struct sfs_sequential sequential;
};

/* Who answers a read: read->place. */
enum place { IN_WINDOW, APART };

int sfs_shard_read_err(int err)
{
	return err == -ENOENT || err == -EACCES || err == -ESTALE || err == -ECANCELED
		       ? err
		       : -EIO;
}

/* ---- chunks ---- */

static void on_fetched(struct sfs_range *range, int err)
{
	struct chunk *c = sfs_container(range, struct chunk, range);
	struct sfs_shard_readers *all = c->window->all;

	pthread_mutex_lock(&all->lock);
	c->err = err;
	sfs_list_push(&all->ended, &c->ended);
	sfs_threadpool_post(all->runtime->pool, &all->task);
	pthread_mutex_unlock(&all->lock);
}

static void begin_chunk(struct sfs_deferred_call *job)
{
	struct chunk *c = sfs_container(job, struct chunk, job);

	sfs_range_start(&c->window->all->runtime->range_reader, &c->range,
			&c->window->all->account);
}

static void free_chunk(struct chunk *c)
{
	sfs_link_remove(&c->link);
	sfs_range_drop(&c->range);
	free(c);
}

/* Ask for the next chunk.  false: no memory. */
static bool ask(struct window *w, bool is_needed, struct sfs_deferred *out)
{
	uint64_t left = w->shard->object->size - w->asked;
	uint64_t n = w->ahead > 8 * CHUNK_BYTES ? CHUNK_MAX : CHUNK_BYTES;
	struct sfs_account *account = &w->all->account;
	struct chunk *c;

	n = n < left ? n : left;
	if (sfs_account_used(account) > account->budget->total_bytes / 8 ||
	    sfs_account_take(account, sfs_range_cost(n)) < 0)
		return false;
	c = sfs_calloc(1, sizeof *c);
	c->window = w;
	c->range = (struct sfs_range){.shard = w->shard,
				      .offset = w->asked,
				      .n_bytes = n,
				      .is_urgent = is_needed,
				      .done = on_fetched};
	sfs_list_push(&w->chunks, &c->link);
	w->asked += n;
	w->n_pending++;
	sfs_deferred_add(out, &c->job, begin_chunk);
	return true;
}

static uint64_t end_of(const struct sfs_read *read)
{
	return read->pin + read->n_bytes;
}

/* Answer apart the reads of chunks that the window will not fetch any more. */
static void set_apart(struct window *w, struct sfs_deferred *out)
{
	struct sfs_link *link, *following;
	struct sfs_gather *gather;
	struct sfs_read *read;

	for (link = w->waiting.next; link != &w->waiting; link = following) {
		following = link->next;
		read = sfs_container(link, struct sfs_read, link);
		if (end_of(read) <= w->asked)
			continue;
		sfs_link_remove(link);
		gather = sfs_gather_new(&w->all->runtime->range_reader, read);
		sfs_gather_add(gather, w->shard, read->pin, read->n_bytes);
		read->place = APART;
		read->state = gather;
		sfs_gather_post(gather, sfs_shard_read_err, out);
	}
}

/* Ask for what the waiting reads need, and fetch ahead. */
static void ask_ahead(struct window *w, struct sfs_deferred *out)
{
	uint64_t needed = 0, size = w->shard->object->size;

	SFS_EACH (read, &w->waiting, struct sfs_read, link)
		needed = end_of(read) > needed ? end_of(read) : needed;
	while (!w->is_closed && w->asked < size &&
	       (w->asked < needed || w->asked < w->front + w->ahead)) {
		if (ask(w, w->asked < needed, out))
			continue;
		if (w->asked >= needed)
			return;
		w->is_closed = true;
	}
	if (w->is_closed)
		set_apart(w, out);
}

/* Drop chunks before the front; all, if the window is closed and no read waits. */
static void trim(struct window *w)
{
	struct sfs_link *link, *following;
	uint64_t keep = w->front > BACK_BYTES ? w->front - BACK_BYTES : 0;
	struct chunk *c;

	if (w->is_closed && !sfs_list_is_empty(&w->waiting))
		return;
	SFS_EACH (read, &w->waiting, struct sfs_read, link)
		keep = read->pin < keep ? read->pin : keep;
	for (link = w->chunks.next; link != &w->chunks; link = following) {
		following = link->next;
		c = sfs_container(link, struct chunk, link);
		if (!w->is_closed && c->range.offset + c->range.n_bytes > keep)
			break;
		if (!c->is_here || c->n_users > 0) {
			if (w->is_closed)
				continue;
			break;
		}
		w->start = c->range.offset + c->range.n_bytes;
		free_chunk(c);
	}
}

/* ---- reads ---- */

static struct chunk *chunk_at(const struct window *w, uint64_t at)
{
	SFS_EACH (c, &w->chunks, struct chunk, link) {
		if (at >= c->range.offset && at < c->range.offset + c->range.n_bytes)
			return c;
	}
	return NULL;
}

/* 1: all chunks of the read are here.  0: not yet.  < 0: one failed. */
static int check(const struct window *w, const struct sfs_read *read)
{
	uint64_t at = read->pin;
	const struct chunk *c;

	for (; at < end_of(read); at = c->range.offset + c->range.n_bytes) {
		c = chunk_at(w, at);
		if (!c || (!c->is_here && c->err == 0))
			return 0;
		if (c->err < 0)
			return sfs_shard_read_err(c->err);
	}
	return 1;
}

/* For each chunk of the read: add `count` to its users and, for an answer, add pieces. */
static void use(struct window *w, struct sfs_read *read, int count, bool is_answer)
{
	uint64_t at = read->pin, end = end_of(read), n;
	struct chunk *c;
	size_t piece;
	unsigned char *p;

	while (at < end) {
		c = chunk_at(w, at);
		c->n_users += count;
		n = c->range.offset + c->range.n_bytes;
		n = n < end ? n : end;
		for (; is_answer && at < n; at += piece) {
			p = sfs_range_at(&c->range, at - c->range.offset, &piece);
			piece = piece < n - at ? piece : (size_t)(n - at);
			sfs_read_add(read, p, piece);
		}
		at = n;
	}
}

static void answer(struct window *w, struct sfs_read *read, struct sfs_deferred *out)
{
	use(w, read, +1, true);
	w->n_answered++;
	if (end_of(read) > w->front)
		w->front = end_of(read);
	if (w->ahead < AHEAD_MAX)
		w->ahead += read->n_bytes;
	sfs_read_tell(read, 0, out);
}

static void serve(struct window *w, struct sfs_deferred *out)
{
	struct sfs_link *link, *following;
	struct sfs_read *read;
	int ret;

	for (link = w->waiting.next; link != &w->waiting; link = following) {
		following = link->next;
		read = sfs_container(link, struct sfs_read, link);
		ret = check(w, read);
		if (ret == 0)
			continue;
		sfs_link_remove(&read->link);
		if (ret > 0) {
			answer(w, read, out);
		} else {
			read->state = NULL;
			sfs_read_tell(read, ret, out);
		}
	}
}

/* Serve reads and fetch on; free a closed window when nothing needs it. */
static void go_on(struct window *w, struct sfs_deferred *out)
{
	struct sfs_shard_readers *all = w->all;

	serve(w, out);
	ask_ahead(w, out);
	trim(w);
	if (!w->is_closed || w->n_pending > 0 || w->n_answered > 0 ||
	    !sfs_list_is_empty(&w->waiting))
		return;
	sfs_link_remove(&w->link);
	free(w);
	if (--all->n == 0)
		pthread_cond_broadcast(&all->is_empty);
}

static bool shard_reader_run(struct sfs_task *task)
{
	struct sfs_shard_readers *all =
		sfs_container(task, struct sfs_shard_readers, task);
	struct sfs_link *link;
	struct sfs_deferred out;
	struct chunk *c;

	sfs_deferred_init(&out);
	pthread_mutex_lock(&all->lock);
	while ((link = sfs_list_pop(&all->ended)) != NULL) {
		c = sfs_container(link, struct chunk, ended);
		c->is_here = true;
		c->window->n_pending--;
		/* Reads that wait for it get the error; later ones fetch it again. */
		c->window->is_closed |= c->err < 0;
		go_on(c->window, &out);
	}
	pthread_mutex_unlock(&all->lock);
	sfs_deferred_run(&out);
	return true;
}

static bool cancel(struct sfs_read *read)
{
	struct sfs_shard_readers *all = read->owner;
	bool is_ours;

	pthread_mutex_lock(&all->lock);
	if (read->place == APART) {
		is_ours = sfs_gather_cancel(read->state, read);
	} else {
		is_ours = sfs_link_is_in(&read->link);
		sfs_link_remove(&read->link);
	}
	pthread_mutex_unlock(&all->lock);
	return is_ours;
}

/* Explain the first chunk that is missing. */
static void explain_chunk(const struct window *w, const struct sfs_read *read,
			  struct sfs_cause *cause)
{
	SFS_EACH (c, &w->chunks, struct chunk, link) {
		if (c->is_here || c->range.offset + c->range.n_bytes <= read->pin)
			continue;
		sfs_object_explain(w->shard->object, c->range.offset, "bytes", cause);
		return;
	}
}

static void shard_reader_explain(struct sfs_read *read, struct sfs_cause *cause)
{
	struct sfs_shard_readers *all = read->owner;

	pthread_mutex_lock(&all->lock);
	if (read->place == APART)
		sfs_gather_explain(read->state, cause);
	else if (sfs_link_is_in(&read->link))
		explain_chunk(read->state, read, cause);
	pthread_mutex_unlock(&all->lock);
}

static void release(struct sfs_read *read)
{
	struct sfs_shard_readers *all = read->owner;
	struct window *w = read->state;
	struct sfs_deferred out;

	if (read->place == APART) {
		sfs_gather_release(read->state, read);
		return;
	}
	sfs_deferred_init(&out);
	pthread_mutex_lock(&all->lock);
	use(w, read, -1, false);
	w->n_answered--;
	go_on(w, &out);
	pthread_mutex_unlock(&all->lock);
	sfs_read_reset(read);
	sfs_deferred_run(&out);
}

static struct window *find_window(struct sfs_shard_readers *all, struct sfs_shard *shard,
				  uint64_t at)
{
	SFS_EACH (w, &all->list, struct window, link) {
		if (w->shard == shard && !w->is_closed && at >= w->start &&
		    at <= w->asked + SEQUENTIAL_GAP)
			return w;
	}
	return NULL;
}

static struct window *new_window(struct sfs_shard_readers *all, struct sfs_shard *shard,
				 uint64_t at)
{
	struct window *w;

	if (all->n >= MAX_WINDOWS)
		return NULL;
	w = sfs_calloc(1, sizeof *w);
	w->all = all;
	w->shard = shard;
	w->start = w->asked = w->front = at;
	w->ahead = AHEAD_MIN;
	sfs_list_init(&w->chunks);
	sfs_list_init(&w->waiting);
	sfs_list_push(&all->list, &w->link);
	all->n++;
	return w;
}

void sfs_shard_readers_read(struct sfs_shard_readers *all, struct sfs_shard *shard,
			    uint64_t base, uint64_t size, struct sfs_read *read)
{
	struct sfs_gather *gather;
	struct sfs_deferred out;
	struct window *w;
	uint64_t at, run_bytes;

	if (read->offset >= size)
		read->n_bytes = 0;
	else if (read->n_bytes > size - read->offset)
		read->n_bytes = (size_t)(size - read->offset);
	if (read->n_bytes == 0) {
		read->release = NULL;
		read->done(read, 0);
		return;
	}
	at = base + read->offset;
	sfs_deferred_init(&out);
	pthread_mutex_lock(&all->lock);
	run_bytes = sfs_sequential_note(&all->sequential, shard, at, read->n_bytes);
	w = find_window(all, shard, at);
	if (!w && run_bytes > read->n_bytes && run_bytes >= SEQUENTIAL_BYTES)
		w = new_window(all, shard, at);
	if (w) {
		read->pin = at;
		read->owner = all;
		read->state = w;
		read->place = IN_WINDOW;
		read->cancel = cancel;
		read->explain = shard_reader_explain;
		read->release = release;
		w->last_read_ns = sfs_clock_ns();
		sfs_list_push(&w->waiting, &read->link);
		go_on(w, &out);
	}
	pthread_mutex_unlock(&all->lock);
	sfs_deferred_run(&out);
	if (w)
		return;
	gather = sfs_gather_new(&all->runtime->range_reader, read);
	sfs_gather_add(gather, shard, at, read->n_bytes);
	sfs_gather_start(gather, sfs_shard_read_err);
}

/* ---- life ---- */

struct sfs_shard_readers *sfs_shard_readers_new(struct sfs_runtime *runtime)
{
	struct sfs_shard_readers *all = sfs_calloc(1, sizeof *all);

	all->runtime = runtime;
	all->task.run = shard_reader_run;
	sfs_lock_init(&all->lock, SFS_LOCK_SHARD_READERS);
	pthread_cond_init(&all->is_empty, NULL);
	sfs_list_init(&all->list);
	sfs_list_init(&all->ended);
	sfs_account_open(&all->account, &runtime->budget, 0, false, NULL);
	return all;
}

static void close_some(struct sfs_shard_readers *all, uint64_t idle_ns)
{
	struct sfs_link *link, *following;
	uint64_t now = sfs_clock_ns();
	struct sfs_deferred out;
	struct window *w;

	sfs_deferred_init(&out);
	pthread_mutex_lock(&all->lock);
	for (link = all->list.next; link != &all->list; link = following) {
		following = link->next;
		w = sfs_container(link, struct window, link);
		if (now - w->last_read_ns >= idle_ns && sfs_list_is_empty(&w->waiting)) {
			w->is_closed = true;
			go_on(w, &out);
		}
	}
	pthread_mutex_unlock(&all->lock);
	sfs_deferred_run(&out);
}

void sfs_shard_readers_tick(struct sfs_shard_readers *all)
{
	close_some(all, IDLE_NS);
}

void sfs_shard_readers_free(struct sfs_shard_readers *all)
{
	if (!all)
		return;
	close_some(all, 0);
	pthread_mutex_lock(&all->lock);
	while (all->n > 0)
		pthread_cond_wait(&all->is_empty, &all->lock);
	pthread_mutex_unlock(&all->lock);
	sfs_threadpool_settle(all->runtime->pool, &all->task);
	sfs_account_close(&all->account);
	pthread_cond_destroy(&all->is_empty);
	pthread_mutex_destroy(&all->lock);
	free(all);
}
