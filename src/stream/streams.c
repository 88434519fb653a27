/* SPDX-License-Identifier: MIT */
/* The streams of a mount: who has which one open, and what happens to
 * them every second. */
#include "stream/stream.h"

#include "base/lock.h"
#include "stream/stream-internal.h"

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

/* streams->lock is held in the next two.  One whose samples were guessed wrongly stays
 * for those who have it open: they get errors, and others another stream. */
static struct sfs_stream *find_stream(struct sfs_streams *streams, uint64_t epoch,
				      struct sfs_share share)
{
	SFS_EACH (s, &streams->list, struct sfs_stream, link) {
		if (s->epoch == epoch && sfs_share_equal(s->share, share) &&
		    !sfs_stream_is_wrong(s))
			return s;
	}
	return NULL;
}

static struct sfs_stream *add_stream(struct sfs_streams *streams, uint64_t epoch,
				     struct sfs_share share)
{
	struct sfs_stream *s = sfs_stream_new(streams, epoch, share);

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

/* Somebody closed or let go of the stream: the last one ends it.  streams->lock is held
 * before, and not after. */
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
		are_sated &= !(atomic_load(&s->status) & SFS_STREAM_HUNGRY);
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

void sfs_streams_tick(struct sfs_streams *streams)
{
	bool is_short = sfs_budget_is_short(&streams->runtime->budget);
	bool is_starved = sfs_budget_is_starved(&streams->runtime->budget);
	struct sfs_deferred out;

	/* A quarter of the budget may be tables; the floors of streams come first. */
	while (sfs_budget_is_held_back(&streams->runtime->budget) &&
	       sfs_shards_drop_oldest(&streams->runtime->shards))
		;
	sfs_deferred_init(&out);
	pthread_mutex_lock(&streams->lock);
	SFS_EACH (s, &streams->list, struct sfs_stream, link)
		sfs_stream_tick(s, is_short, is_starved, &out);
	pthread_mutex_unlock(&streams->lock);
	sfs_deferred_run(&out);
	if (streams->observer.ctx)
		streams->observer.changed(streams->observer.ctx);
}
