/* SPDX-License-Identifier: MIT */
/* How this works: streams report, with their locks held, that they near their ends or
 * were read out; that is only noted.  The task does the rest.  It looks at all streams:
 * whenever one changes while there is anything to do, and every second.
 *
 * The stream of the next epoch is *kept*: it stays although nobody has it open, until its
 * first read (then its reader has it open), or until it is given up.
 *
 * Of the epochs of a share that were read out one after another, the last is remembered:
 * E + 1 takes the place of E.  There is no better evidence.  Processes are no evidence: a
 * loader may have new workers in each epoch, each `cat` of a shell's loop is a new
 * process, and a reader of epoch 0 looks the same whether or not it will go on
 * (docs/decisions/0014-the-next-epoch.md). */
#include "stream/next-epoch.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/lock.h"
#include "order/name.h"

#define PATIENCE_NS (30 * SFS_NS_PER_S)

/* An epoch that will be read next. */
struct record {
	struct sfs_epoch_share of;
	struct sfs_stream *stream; /* NULL: not begun yet */
	uint64_t seen_ns;	   /* when the epoch before was last seen open */
	struct sfs_link link;
};

static bool is_same(const struct sfs_epoch_share *a, const struct sfs_epoch_share *b)
{
	return a->epoch == b->epoch && sfs_share_equal(a->share, b->share);
}

/* ---- what was read out ---- */

/* The lock is held. */
static struct sfs_epoch_share *find_read_out(struct sfs_next_epoch *next, uint64_t epoch,
					     struct sfs_share share)
{
	const struct sfs_epoch_share of = {.epoch = epoch, .share = share};
	int i;

	for (i = 0; i < SFS_N_READ_OUT; i++)
		if (is_same(&next->read_out[i], &of))
			return &next->read_out[i];
	return NULL;
}

void sfs_next_epoch_note(struct sfs_next_epoch *next, uint64_t epoch,
			 struct sfs_share share)
{
	struct sfs_epoch_share *slot = NULL;

	pthread_mutex_lock(&next->lock);
	if (!find_read_out(next, epoch, share)) {
		if (epoch > 0)
			slot = find_read_out(next, epoch - 1, share);
		if (!slot) {
			slot = &next->read_out[next->next_slot];
			next->next_slot = (next->next_slot + 1) % SFS_N_READ_OUT;
		}
		*slot = (struct sfs_epoch_share){.epoch = epoch, .share = share};
	}
	pthread_mutex_unlock(&next->lock);
}

bool sfs_next_epoch_is_likely(struct sfs_next_epoch *next, uint64_t epoch,
			      struct sfs_share share)
{
	bool is_likely;

	if (next->choice != SFS_NEXT_AUTO || epoch == 0)
		return next->choice == SFS_NEXT_YES;
	pthread_mutex_lock(&next->lock);
	is_likely = find_read_out(next, epoch - 1, share) != NULL;
	pthread_mutex_unlock(&next->lock);
	return is_likely;
}

/* ---- what is wanted ---- */

void sfs_next_epoch_look(struct sfs_next_epoch *next)
{
	if (atomic_load(&next->is_watching))
		sfs_threadpool_post(next->pool, &next->task);
}

void sfs_next_epoch_want(struct sfs_next_epoch *next, uint64_t epoch,
			 struct sfs_share share)
{
	struct record *r;

	if (epoch == SFS_EPOCH_MAX || !sfs_next_epoch_is_likely(next, epoch, share))
		return;
	r = sfs_calloc(1, sizeof *r);
	r->of = (struct sfs_epoch_share){.epoch = epoch + 1, .share = share};
	r->seen_ns = sfs_clock_ns();
	pthread_mutex_lock(&next->lock);
	sfs_list_push(&next->wanted, &r->link);
	atomic_store(&next->is_watching, true);
	pthread_mutex_unlock(&next->lock);
	sfs_next_epoch_look(next);
}

static void drop(struct record *r)
{
	sfs_link_remove(&r->link);
	if (r->stream)
		sfs_stream_let_go(r->stream);
	free(r);
}

static void drop_all(struct sfs_link *records)
{
	while (!sfs_list_is_empty(records))
		drop(sfs_container(records->next, struct record, link));
}

/* ---- the task; look_lock is held ---- */

static bool is_begun(const struct sfs_next_epoch *next, const struct record *r)
{
	SFS_EACH (other, &next->begun, struct record, link) {
		if (is_same(&other->of, &r->of))
			return true;
	}
	return false;
}

static void take_wanted(struct sfs_next_epoch *next)
{
	struct sfs_link wanted, *link;
	struct record *r;

	sfs_list_init(&wanted);
	pthread_mutex_lock(&next->lock);
	sfs_list_move(&wanted, &next->wanted);
	pthread_mutex_unlock(&next->lock);
	while ((link = sfs_list_pop(&wanted)) != NULL) {
		r = sfs_container(link, struct record, link);
		if (is_begun(next, r))
			free(r);
		else
			sfs_list_push(&next->begun, &r->link);
	}
}

/* Begin, continue or pause a prefetch.  false: it is of no use any more, or somebody else
 * needs its memory. */
static bool attend(struct sfs_next_epoch *next, struct record *r, bool is_free,
		   bool is_short)
{
	uint64_t now = sfs_clock_ns();

	if (sfs_streams_have(next->streams, r->of.epoch - 1, r->of.share))
		r->seen_ns = now;
	if (now - r->seen_ns > PATIENCE_NS)
		return false;
	if (!r->stream && is_free) {
		r->stream = sfs_stream_keep(next->streams, r->of.epoch, r->of.share);
		if (!r->stream)
			return false; /* somebody reads it already */
	}
	if (!r->stream)
		return true;
	if (is_short || sfs_stream_was_read(r->stream))
		return false;
	sfs_stream_prefetch(r->stream, is_free);
	return true;
}

static bool look(struct sfs_task *task)
{
	struct sfs_next_epoch *next = sfs_container(task, struct sfs_next_epoch, task);
	struct sfs_link *link, *following;
	bool is_short, is_free;

	pthread_mutex_lock(&next->look_lock);
	if (next->is_stopped) {
		pthread_mutex_unlock(&next->look_lock);
		return true;
	}
	is_short = sfs_budget_is_short(&next->streams->runtime->budget);
	is_free = !is_short && sfs_streams_are_sated(next->streams);
	take_wanted(next);
	for (link = next->begun.next; link != &next->begun; link = following) {
		struct record *r = sfs_container(link, struct record, link);

		following = link->next;
		if (!attend(next, r, is_free, is_short))
			drop(r);
	}
	pthread_mutex_lock(&next->lock);
	atomic_store(&next->is_watching, !sfs_list_is_empty(&next->begun) ||
						 !sfs_list_is_empty(&next->wanted));
	pthread_mutex_unlock(&next->lock);
	pthread_mutex_unlock(&next->look_lock);
	return true;
}

/* ---- as an observer of streams ---- */

static void on_near_end(void *ctx, uint64_t epoch, struct sfs_share share)
{
	sfs_next_epoch_want(ctx, epoch, share);
}

static void on_read_out(void *ctx, uint64_t epoch, struct sfs_share share)
{
	sfs_next_epoch_note(ctx, epoch, share);
}

static void on_change(void *ctx)
{
	sfs_next_epoch_look(ctx);
}

/* ---- life ---- */

void sfs_next_epoch_init(struct sfs_next_epoch *next, struct sfs_streams *streams,
			 struct sfs_threadpool *pool, enum sfs_choice_next_epoch choice)
{
	const struct sfs_stream_observer observer = {.ctx = next,
						     .nears_end = on_near_end,
						     .read_out = on_read_out,
						     .changed = on_change};

	*next = (struct sfs_next_epoch){.streams = streams,
					.pool = pool,
					.choice = choice,
					.task.run = look};
	sfs_lock_init(&next->look_lock, SFS_LOCK_NEXT_EPOCH);
	pthread_mutex_init(&next->lock, NULL);
	sfs_list_init(&next->begun);
	sfs_list_init(&next->wanted);
	if (choice != SFS_NEXT_NO)
		sfs_streams_observe(streams, &observer);
}

void sfs_next_epoch_stop(struct sfs_next_epoch *next)
{
	pthread_mutex_lock(&next->look_lock);
	next->is_stopped = true;
	drop_all(&next->begun);
	pthread_mutex_unlock(&next->look_lock);
}

void sfs_next_epoch_done(struct sfs_next_epoch *next)
{
	sfs_threadpool_settle(next->pool, &next->task);
	drop_all(&next->wanted);
	pthread_mutex_destroy(&next->lock);
	pthread_mutex_destroy(&next->look_lock);
}
