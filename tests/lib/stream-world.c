/* SPDX-License-Identifier: MIT */
#include "stream-world.h"

#include "base/alloc.h"
#include "base/lock.h"
#include "check.h"
#include "stream/stream-internal.h"

#define N_ROUNDS 12 /* tasks that post each other are done after so many */

/* ---- life ---- */

/* Equal lanes need all tables, and they must stay; shares of random segments find their
 * sizes in them. */
static void pin_shards(struct world *w, const struct naive_settings *epoch)
{
	struct sfs_shards *shards = &w->runtime.shards;
	uint32_t i;

	for (i = 0; i < shards->n; i++) {
		sfs_shard_pin(shards, &shards->shards[i]);
		sfs_shard_feed(shards, &shards->shards[i], 0, epoch->shards[i].tar.bytes,
			       epoch->shards[i].tar.n);
	}
	w->has_pins = true;
}

void world_start(struct world *w, const struct world_settings *settings)
{
	struct sfs_runtime *runtime = &w->runtime;
	uint64_t budget = WORLD_BASE_BYTES + settings->stream_bytes;
	const struct sfs_netpath near = {.n_parallel = 8};
	sfs_autofree struct scripted_shard *shards = NULL;
	uint32_t i;

	memset(w, 0, sizeof *w);
	sfs_lock_init(&w->lock, SFS_LOCK_READER);
	w->source = scripted_start();
	sfs_netpath_store(&w->source->base.path,
			  settings->path.n_parallel ? &settings->path : &near);
	runtime->order = settings->epoch.order;
	runtime->keys = settings->epoch.keys;
	runtime->source = &w->source->base;
	runtime->n_connections = 8;
	shards = sfs_calloc(settings->epoch.n_shards, sizeof *shards);
	for (i = 0; i < settings->epoch.n_shards; i++)
		shards[i] = (struct scripted_shard){settings->epoch.shards[i].name,
						    settings->epoch.shards[i].tar.bytes,
						    settings->epoch.shards[i].tar.n};
	scripted_runtime_start(runtime, w->source,
			       &(struct scripted_runtime_settings){
				       .shards = shards,
				       .n_shards = settings->epoch.n_shards,
				       .budget_bytes = budget,
				       .slab_bytes = budget + ((uint64_t)64 << 20),
				       .n_threads = settings->n_threads});
	runtime->timers = sfs_timers_start();
	if (!sfs_order_deals_shards(&runtime->order) && !settings->has_no_tables)
		pin_shards(w, &settings->epoch);
	sfs_header_scanner_init(&w->scanner, runtime);
	sfs_streams_init(&w->streams, runtime, &w->scanner);
	sfs_next_epoch_init(&w->next_epoch, &w->streams, runtime->pool,
			    settings->next_epoch);
}

void world_stop(struct world *w)
{
	struct sfs_runtime *runtime = &w->runtime;
	uint32_t i;

	sfs_next_epoch_stop(&w->next_epoch);
	sfs_header_scanner_stop(&w->scanner);
	sfs_source_stop(&w->source->base);
	sfs_streams_done(&w->streams);
	sfs_next_epoch_done(&w->next_epoch);
	sfs_timers_stop(runtime->timers);
	sfs_threadpool_stop(runtime->pool);
	for (i = 0; w->has_pins && i < runtime->shards.n; i++)
		sfs_shard_unpin(&runtime->shards, &runtime->shards.shards[i]);
	sfs_header_scanner_done(&w->scanner);
	scripted_runtime_free(runtime, w->source);
	pthread_mutex_destroy(&w->lock);
}

static bool on_barrier(struct sfs_task *task)
{
	struct world *w = sfs_container(task, struct world, barrier);

	if (w->n_rounds-- > 0)
		sfs_threadpool_post(w->runtime.pool, task); /* behind all that is there */
	return true;
}

struct sfs_stream *world_open(struct world *w, const struct world_settings *settings,
			      struct naive_epoch *ret_epoch)
{
	const struct sfs_share all = {0, 1, 1};

	naive_epoch_make(ret_epoch, &settings->epoch, 0, all);
	world_start(w, settings);
	return sfs_stream_open(&w->streams, 0, all);
}

void world_close(struct world *w, struct sfs_stream *stream, struct naive_epoch *epoch)
{
	sfs_stream_close(stream);
	world_stop(w);
	naive_epoch_done(epoch);
}

void world_settle(struct world *w)
{
	w->barrier.run = on_barrier;
	w->n_rounds = N_ROUNDS;
	sfs_threadpool_post(w->runtime.pool, &w->barrier);
	sfs_threadpool_settle(w->runtime.pool, &w->barrier);
}

/* ---- reads ---- */

static void on_done(struct sfs_read *read, int err)
{
	struct world_read *r = sfs_container(read, struct world_read, read);

	struct scripted_source *source = r->world->source;

	pthread_mutex_lock(&r->world->lock);
	r->err = err;
	r->n_done++;
	pthread_mutex_unlock(&r->world->lock);
	pthread_mutex_lock(&source->lock);
	pthread_cond_broadcast(&source->changed); /* for who waits for anything */
	pthread_mutex_unlock(&source->lock);
}

bool world_is_answered(struct world_read *r)
{
	bool is_answered;

	pthread_mutex_lock(&r->world->lock);
	is_answered = r->n_done > 0;
	pthread_mutex_unlock(&r->world->lock);
	return is_answered;
}

bool world_cancel(struct world_read *r)
{
	bool is_cancelled;

	pthread_mutex_lock(&r->world->lock);
	is_cancelled = r->n_done == 0 && sfs_read_cancel(&r->read);
	pthread_mutex_unlock(&r->world->lock);
	return is_cancelled;
}

void world_read(struct world *w, struct world_read *r, struct sfs_stream *stream,
		uint64_t offset, size_t n_bytes)
{
	*r = (struct world_read){.world = w,
				 .read.offset = offset,
				 .read.n_bytes = n_bytes,
				 .read.file = w->file,
				 .read.done = on_done};
	sfs_stream_read(stream, &r->read);
}

/* Say what is wrong with the piece at byte `at` of the stream. */
static void say_difference(const struct naive_epoch *e, uint64_t at,
			   const unsigned char *got, size_t n)
{
	const struct naive_place *p = NULL;
	size_t i;

	for (i = 0; i < n && at + i < e->n_bytes && got[i] == e->bytes[at + i]; i++)
		;
	fprintf(stderr, "got  '%.40s'\nwant '%.40s'\n", got + i, e->bytes + at + i);
	at += i;
	for (i = 0; i < e->n && e->places[i].offset <= at; i++)
		p = &e->places[i];
	fprintf(stderr, "byte %llu is wrong\n", (unsigned long long)at);
	if (p)
		fprintf(stderr,
			"it is byte %llu of sample %s of shard %u at %llu, %s, lane %u\n",
			(unsigned long long)(at - p->offset), p->sample->key,
			(unsigned)p->sample->shard, (unsigned long long)p->sample->begin,
			p->is_renamed ? "renamed" : "not renamed", (unsigned)p->lane);
}

bool world_is_right(const struct sfs_read *read, const struct naive_epoch *epoch)
{
	uint64_t at = read->offset;
	int i;

	for (i = 0; i < read->n_iov; i++) {
		if (at + read->iov[i].iov_len > epoch->n_bytes ||
		    memcmp(epoch->bytes + at, read->iov[i].iov_base,
			   read->iov[i].iov_len) != 0) {
			say_difference(epoch, at, read->iov[i].iov_base,
				       read->iov[i].iov_len);
			return false;
		}
		at += read->iov[i].iov_len;
	}
	return at == read->offset + read->n_bytes && read->n_answered == read->n_bytes;
}

int world_result(struct world_read *r, const struct naive_epoch *epoch)
{
	CHECK_EQ(r->n_done, 1);
	if (r->err == 0) {
		CHECK(world_is_right(&r->read, epoch));
		sfs_read_release(&r->read);
	}
	return r->err;
}

struct sfs_request *world_other_than(struct world *w, const struct sfs_object *late)
{
	struct sfs_request *r;
	size_t i = 0;

	while ((r = scripted_nth(w->source, i)) != NULL && r->object == late)
		i++;
	return r;
}

void world_end_all(struct world *w, int err)
{
	for (world_settle(w); scripted_n(w->source) > 0; world_settle(w))
		scripted_end(w->source, scripted_nth(w->source, 0), err);
}

int world_n_cursors(struct world *w, struct sfs_stream *stream)
{
	int n;

	world_settle(w);
	pthread_mutex_lock(&stream->lock);
	n = stream->n_cursors;
	pthread_mutex_unlock(&stream->lock);
	return n;
}

void world_read_all(struct world *w, struct sfs_stream *stream,
		    const struct naive_epoch *epoch, uint64_t step)
{
	struct world_read read;
	uint64_t offset, n;

	for (offset = 0; offset < epoch->n_bytes; offset += n) {
		n = epoch->n_bytes - offset < step ? epoch->n_bytes - offset : step;
		world_read(w, &read, stream, offset, (size_t)n);
		world_settle(w);
		world_end_all(w, 0);
		CHECK_EQ(world_result(&read, epoch), 0);
	}
}
