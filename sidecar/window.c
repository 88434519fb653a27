/* SPDX-License-Identifier: MIT */
/* How this works: a ring of items.  What the reader has put, workers have taken and the
 * committer has released are counters that only grow.
 *
 * Of the memory, a sample's own bytes count from put to release, its rows from take to
 * release, and what decoding it takes from take to give.  The next sample to take may
 * always be taken if all before it were released: so whoever waits for memory waits for
 * somebody who has some.
 *
 * To wake a thread costs more than to decode a small sample.  So the reader publishes
 * samples by the group, and when it has waited for space it is woken with the window half
 * empty. */
#include "window.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/cond.h"

#include <errno.h>

#define N_ITEMS	       256
#define GROUP	       32
#define ITEMS_A_WORKER 4
#define WINDOW_BYTES   ((uint64_t)4 << 20)
#define GROUP_BYTES    ((uint64_t)256 << 10)
#define KEPT_SHARE     (8 * N_ITEMS) /* of the limit: rows that are larger are not kept */

struct sfs_window {
	uint32_t n_workers;
	uint64_t n_filled, n_group_bytes; /* the reader's: what it has put */
	struct sfs_window_item items[N_ITEMS];

	pthread_mutex_t lock; /* guards all below, and is_decoded */
	pthread_cond_t space, work, done;
	uint64_t n_put, n_taken, n_released; /* published, by workers, by the committer */
	uint64_t n_bytes, n_row_bytes;
	uint64_t limit, n_held; /* memory, and how much of it is in use */
	uint32_t n_hungry;	/* workers that wait for it */
	uint64_t wake_at; /* n_released that the reader waits for */
	bool is_ended, is_closed, is_stopped;
	int ret; /* once is_ended */
	struct sfs_error err;
};

struct sfs_window *sfs_window_new(uint32_t n_workers)
{
	struct sfs_window *w = sfs_calloc(1, sizeof *w);

	w->n_workers = n_workers;
	w->limit = UINT64_MAX;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->space, NULL);
	pthread_cond_init(&w->work, NULL);
	pthread_cond_init(&w->done, NULL);
	return w;
}

void sfs_window_begin(struct sfs_window *w)
{
	int i;

	for (i = 0; i < N_ITEMS; i++) {
		sfs_sample_free(w->items[i].sample);
		w->items[i].sample = NULL;
	}
	w->n_group_bytes = w->n_held = 0;
	w->n_filled = w->n_put = w->n_taken = w->n_released = w->n_bytes = 0;
	w->is_ended = w->is_closed = false;
}

void sfs_window_free(struct sfs_window *w)
{
	int i;

	if (!w)
		return;
	sfs_window_begin(w);
	for (i = 0; i < N_ITEMS; i++)
		free(w->items[i].rows);
	pthread_cond_destroy(&w->done);
	pthread_cond_destroy(&w->work);
	pthread_cond_destroy(&w->space);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

static struct sfs_window_item *item_at(struct sfs_window *w, uint64_t n)
{
	return &w->items[n % N_ITEMS];
}

/* ---- the reader ---- */

/* Let the others see what was filled.  Locked. */
static void publish(struct sfs_window *w)
{
	uint64_t n_new = w->n_filled - w->n_put;

	for (; w->n_put < w->n_filled; w->n_put++) {
		struct sfs_window_item *item = item_at(w, w->n_put);

		item->is_decoded = false;
		item->n_bytes = item->sample->n_bytes + w->n_row_bytes;
		item->n_held = item->sample->n_bytes;
		w->n_bytes += item->n_bytes;
		w->n_held += item->n_held;
	}
	if (n_new > 1)
		pthread_cond_broadcast(&w->work);
	else if (n_new == 1)
		pthread_cond_signal(&w->work);
	if (n_new > 0)
		pthread_cond_signal(&w->done);
	w->n_group_bytes = 0;
}

void sfs_window_flush(struct sfs_window *w)
{
	if (w->n_filled == w->n_put) /* (only the reader changes these) */
		return;
	pthread_mutex_lock(&w->lock);
	publish(w);
	pthread_mutex_unlock(&w->lock);
}

static bool is_full(const struct sfs_window *w)
{
	uint64_t n = w->n_put - w->n_released;

	return n > N_ITEMS - GROUP || (n > 0 && w->n_held >= w->limit) ||
	       (n >= (uint64_t)ITEMS_A_WORKER * w->n_workers &&
		w->n_bytes >= WINDOW_BYTES);
}

/* Publish, and wait until there is space.  false: closed. */
static bool wait_for_space(struct sfs_window *w)
{
	bool is_closed;

	pthread_mutex_lock(&w->lock);
	publish(w);
	if (is_full(w)) {
		w->wake_at = w->n_released + (w->n_put - w->n_released + 1) / 2;
		while (w->n_released < w->wake_at && !w->is_closed)
			pthread_cond_wait(&w->space, &w->lock);
	}
	is_closed = w->is_closed;
	pthread_mutex_unlock(&w->lock);
	return !is_closed;
}

bool sfs_window_put(struct sfs_window *w, struct sfs_sample *sample, uint64_t n_work)
{
	struct sfs_window_item *item;

	/* A group begins where there is space for a whole one. */
	if (w->n_filled == w->n_put && !wait_for_space(w)) {
		sfs_sample_free(sample);
		return false;
	}
	item = item_at(w, w->n_filled++);
	item->sample = sample;
	item->n_work = n_work;
	w->n_group_bytes += sample->n_bytes;
	if (w->n_filled - w->n_put == GROUP || w->n_group_bytes >= GROUP_BYTES)
		sfs_window_flush(w);
	return true;
}

void sfs_window_end(struct sfs_window *w, int ret, const struct sfs_error *err)
{
	pthread_mutex_lock(&w->lock);
	publish(w);
	w->is_ended = true;
	w->ret = ret;
	w->err = *err;
	pthread_cond_signal(&w->done);
	pthread_mutex_unlock(&w->lock);
}

/* ---- workers ---- */

/* Is there one to take, and memory for it?  Locked. */
static bool can_take(const struct sfs_window *w)
{
	uint64_t n_more;

	if (w->n_taken == w->n_put)
		return false;
	if (w->n_taken == w->n_released || w->limit == UINT64_MAX)
		return true;
	n_more = w->items[w->n_taken % N_ITEMS].n_work + w->n_row_bytes;
	return w->n_held + n_more <= w->limit;
}

/* There is more memory.  Locked. */
static void feed_hungry(struct sfs_window *w)
{
	if (w->n_hungry > 0 && can_take(w))
		pthread_cond_broadcast(&w->work);
}

struct sfs_window_item *sfs_window_take(struct sfs_window *w)
{
	struct sfs_window_item *item = NULL;
	bool is_hungry;

	pthread_mutex_lock(&w->lock);
	while (!can_take(w) && !w->is_closed) {
		is_hungry = w->n_taken < w->n_put;
		w->n_hungry += is_hungry;
		pthread_cond_wait(&w->work, &w->lock);
		w->n_hungry -= is_hungry;
	}
	if (!w->is_closed) {
		item = item_at(w, w->n_taken++);
		item->n_held += w->n_row_bytes;
		w->n_held += w->n_row_bytes + item->n_work;
	}
	pthread_mutex_unlock(&w->lock);
	return item;
}

void sfs_window_give(struct sfs_window *w, struct sfs_window_item *item)
{
	pthread_mutex_lock(&w->lock);
	item->is_decoded = true;
	w->n_held -= item->n_work;
	feed_hungry(w);
	if (item == item_at(w, w->n_released))
		pthread_cond_signal(&w->done);
	pthread_mutex_unlock(&w->lock);
}

/* ---- the committer ---- */

int sfs_window_oldest(struct sfs_window *w, bool is_decoded, int timeout_ms,
		      struct sfs_window_item **ret_item, bool *ret_is_decoding,
		      struct sfs_error *err)
{
	struct sfs_window_item *item = item_at(w, w->n_released);
	uint64_t until_ns = timeout_ms == 0 ? 0 : sfs_clock_deadline(timeout_ms);
	int ret = 1;

	pthread_mutex_lock(&w->lock);
	while (!w->is_stopped) {
		bool is_there = w->n_released < w->n_put;

		if (is_there && (item->is_decoded || !is_decoded))
			break;
		if (!is_there && w->is_ended) {
			ret = 0;
			break;
		}
		*ret_is_decoding = is_there;
		if (until_ns == 0 ||
		    !sfs_cond_wait_until(&w->done, &w->lock, until_ns)) {
			ret = -ETIMEDOUT;
			break;
		}
	}
	if (w->is_stopped)
		ret = sfs_error_set(err, -ECANCELED, "stopped");
	else if (ret == 0 && w->ret < 0)
		ret = sfs_error_set(err, w->ret, "%s", w->err.text);
	pthread_mutex_unlock(&w->lock);
	*ret_item = item;
	return ret;
}

void sfs_window_release(struct sfs_window *w)
{
	struct sfs_window_item *item = item_at(w, w->n_released);

	sfs_sample_free(item->sample);
	if (w->n_row_bytes > w->limit / KEPT_SHARE) { /* (only the committer changes them) */
		free(item->rows);
		item->rows = NULL;
	}
	pthread_mutex_lock(&w->lock);
	item->sample = NULL;
	w->n_bytes -= item->n_bytes;
	w->n_held -= item->n_held;
	w->n_released++;
	if (w->n_taken < w->n_released)
		w->n_taken = w->n_released; /* no worker has had it */
	if (w->n_released == w->wake_at)
		pthread_cond_signal(&w->space);
	feed_hungry(w);
	pthread_mutex_unlock(&w->lock);
}

void sfs_window_limit(struct sfs_window *w, uint64_t n_bytes)
{
	pthread_mutex_lock(&w->lock);
	w->limit = n_bytes;
	pthread_mutex_unlock(&w->lock);
}

void sfs_window_weigh(struct sfs_window *w, uint64_t n_row_bytes)
{
	pthread_mutex_lock(&w->lock);
	w->n_row_bytes = n_row_bytes;
	pthread_mutex_unlock(&w->lock);
}

void sfs_window_close(struct sfs_window *w)
{
	pthread_mutex_lock(&w->lock);
	w->is_closed = true;
	pthread_cond_broadcast(&w->space);
	pthread_cond_broadcast(&w->work);
	pthread_mutex_unlock(&w->lock);
}

bool sfs_window_has_ended(struct sfs_window *w)
{
	uint64_t until_ns = sfs_clock_ns() + 10 * SFS_NS_PER_MS;
	bool has_ended;

	pthread_mutex_lock(&w->lock);
	while (!w->is_ended && sfs_cond_wait_until(&w->done, &w->lock, until_ns))
		;
	has_ended = w->is_ended;
	pthread_mutex_unlock(&w->lock);
	return has_ended;
}

/* ---- any thread ---- */

void sfs_window_stop(struct sfs_window *w)
{
	pthread_mutex_lock(&w->lock);
	w->is_stopped = true;
	pthread_cond_broadcast(&w->done);
	pthread_mutex_unlock(&w->lock);
}

bool sfs_window_is_stopped(struct sfs_window *w)
{
	bool is_stopped;

	pthread_mutex_lock(&w->lock);
	is_stopped = w->is_stopped;
	pthread_mutex_unlock(&w->lock);
	return is_stopped;
}
