/* SPDX-License-Identifier: MIT */
/* How this works: the stream's lock guards its cursors, its map and its far
 * reads.  Whatever ends elsewhere (a part, a survey, a grab) posts the stream's
 * task, which takes account of it.  What must not be done with the lock held
 * (asking a source, telling a reader) is put into an outbox and done after.
 *
 * A far read goes: find its first sample on the map; if the map does not know so
 * far, have shards surveyed, in the order in which the epoch needs them, and try
 * again; then gather the ranges, or, if it continues another far read, start a
 * cursor there.
 *
 * Locks, in order: streams, stream, the shards' drop_lock, cursor arrivals, the
 * pool's and the budget's. */
#include "stream.h"

#include "clock.h"
#include "cursor.h"
#include "edit.h"
#include "gather.h"
#include "ledger.h"
#include "map.h"
#include "mem.h"

#include <errno.h>

#define MAX_CURSORS	  4
#define START_WINDOW	  ((uint64_t)64 << 20) /* nearer the start than a survey is worth */
#define SEQUENTIAL_BYTES  ((uint64_t)2 << 20)  /* far reads in a row that earn a cursor */
#define SEQUENTIAL_GAP	  ((uint64_t)256 << 10)
#define N_TRAILS	  8
#define N_SURVEYS_AHEAD	  8
#define IDLE_NS		  (30 * SFS_NS_PER_S)
#define STARVED_IDLE_NS	  (2 * SFS_NS_PER_S)
#define STARVED_NS	  (60 * SFS_NS_PER_S)

/* A far read, until it is answered and released. */
struct far {
	struct sfs_stream *stream;
	struct sfs_read *read; /* NULL: taken back */
	struct sfs_read inner; /* what the gather answers */
	struct sfs_gather *gather;
	struct sfs_job job; /* to start it */
	struct sfs_waiter waiter;
	struct sfs_link link; /* in stream->far_ready, or starved */
	uint32_t n_surveys;
	bool is_told; /* the read has its answer */
	int err;      /* of the survey that it waited for */
	uint64_t begun_ns;
};

struct sfs_stream {
	struct sfs_streams *streams;
	struct sfs_env *env;
	uint64_t epoch, n_bytes;
	struct sfs_task task;

	pthread_mutex_t lock; /* guards all below */
	struct sfs_link link; /* in streams->list, under its lock */
	uint32_t n_open;      /* likewise */
	bool is_closed;
	struct sfs_order order;
	bool has_order, has_map;
	struct sfs_map map;
	uint32_t next_survey; /* segments before are known, or being surveyed */
	struct sfs_link cursors;
	int n_cursors;	     /* that are not closed */
	uint32_t n_far;	     /* that have not gone */
	struct sfs_link far_ready, starved;
	struct {
		uint64_t end, n_bytes;
	} trails[N_TRAILS]; /* where far reads ended, and how long the row is */
	int next_trail;
};

static bool run(struct sfs_task *task);

uint64_t sfs_stream_bytes(const struct sfs_shards *shards)
{
	uint64_t n = 2 * SFS_TAR_BLOCK;
	uint32_t i;

	for (i = 0; i < shards->n; i++)
		n += sfs_tar_padded(shards->shards[i].object.size);
	return n;
}

/* ---- the streams of a mount ---- */

void sfs_streams_init(struct sfs_streams *streams, struct sfs_env *env,
		      struct sfs_surveyor *surveyor)
{
	*streams = (struct sfs_streams){.env = env, .surveyor = surveyor};
	pthread_mutex_init(&streams->lock, NULL);
	pthread_cond_init(&streams->is_empty, NULL);
	sfs_list_init(&streams->list);
}

void sfs_streams_done(struct sfs_streams *streams)
{
	if (!streams->env)
		return;
	pthread_mutex_lock(&streams->lock);
	while (streams->n > 0)
		pthread_cond_wait(&streams->is_empty, &streams->lock);
	pthread_mutex_unlock(&streams->lock);
	pthread_cond_destroy(&streams->is_empty);
	pthread_mutex_destroy(&streams->lock);
}

struct sfs_stream *sfs_stream_open(struct sfs_streams *streams, uint64_t epoch)
{
	struct sfs_stream *s = NULL;

	pthread_mutex_lock(&streams->lock);
	SFS_EACH(other, &streams->list, struct sfs_stream, link)
	{
		if (other->epoch == epoch)
			s = other;
	}
	if (!s) {
		s = sfs_calloc(1, sizeof *s);
		s->streams = streams;
		s->env = streams->env;
		s->epoch = epoch;
		s->n_bytes = sfs_stream_bytes(&streams->env->shards);
		s->task.run = run;
		pthread_mutex_init(&s->lock, NULL);
		sfs_list_init(&s->cursors);
		sfs_list_init(&s->far_ready);
		sfs_list_init(&s->starved);
		sfs_list_push(&streams->list, &s->link);
		streams->n++;
	}
	s->n_open++;
	pthread_mutex_unlock(&streams->lock);
	return s;
}

void sfs_stream_close(struct sfs_stream *s)
{
	struct sfs_streams *streams = s->streams;
	bool is_last;

	pthread_mutex_lock(&streams->lock);
	is_last = --s->n_open == 0;
	if (is_last)
		sfs_link_remove(&s->link);
	pthread_mutex_unlock(&streams->lock);
	if (!is_last)
		return;
	pthread_mutex_lock(&s->lock);
	s->is_closed = true;
	sfs_pool_post(s->env->pool, &s->task);
	pthread_mutex_unlock(&s->lock);
}

static void stream_free(struct sfs_stream *s)
{
	struct sfs_streams *streams = s->streams;

	if (s->has_map)
		sfs_map_done(&s->map);
	sfs_order_done(&s->order);
	pthread_mutex_destroy(&s->lock);
	free(s);
	pthread_mutex_lock(&streams->lock);
	if (--streams->n == 0)
		pthread_cond_broadcast(&streams->is_empty);
	pthread_mutex_unlock(&streams->lock);
}

uint64_t sfs_stream_end(struct sfs_stream *s)
{
	uint64_t end = 0, n, bytes;
	uint32_t i;

	for (i = 0; i < s->env->shards.n; i++) {
		if (!sfs_shards_totals(&s->env->shards, i, &n, &bytes))
			return UINT64_MAX;
		end += bytes;
	}
	return end;
}

/* ---- cursors ---- */

static void wake(void *ctx)
{
	struct sfs_stream *s = ctx;

	sfs_pool_post(s->env->pool, &s->task);
}

static void have_order(struct sfs_stream *s)
{
	if (s->has_order)
		return;
	sfs_order_init(&s->order, s->env->seed, s->epoch, s->env->shards.n, s->env->lanes,
		       s->env->buffer_bytes);
	s->has_order = true;
}

static void have_map(struct sfs_stream *s)
{
	const struct sfs_tables tables = {.ctx = &s->env->shards, .get = sfs_shards_table};

	if (s->has_map)
		return;
	have_order(s);
	sfs_map_init(&s->map, &s->order, &tables, sfs_shards_totals);
	s->has_map = true;
}

/* The cursor that was unread for longest, of those that nobody waits at. */
static struct sfs_cursor *find_idle(struct sfs_stream *s)
{
	struct sfs_cursor *found = NULL, *c;
	struct sfs_link *link;

	for (link = s->cursors.next; link != &s->cursors; link = link->next) {
		c = sfs_cursor_of(link);
		if (!sfs_cursor_is_closed(c) && !sfs_cursor_is_busy(c) &&
		    (!found || sfs_cursor_last_read_ns(c) < sfs_cursor_last_read_ns(found)))
			found = c;
	}
	return found;
}

static void close_cursor(struct sfs_stream *s, struct sfs_cursor *c, struct sfs_outbox *out)
{
	s->n_cursors--;
	sfs_cursor_close(c, -ECANCELED, out);
}

/* A new cursor at the start or at a spot.  -ENOMEM: not now. */
static int start_cursor(struct sfs_stream *s, const struct sfs_spot *at, uint64_t key_before,
			struct sfs_outbox *out, struct sfs_cursor **ret_cursor)
{
	const struct sfs_cursor_owner owner = {.ctx = s, .wake = wake};
	struct sfs_cursor *idle;
	int ret;

	if (s->n_cursors == MAX_CURSORS) {
		idle = find_idle(s);
		if (!idle)
			return -EBUSY;
		close_cursor(s, idle, out);
	}
	have_order(s);
	ret = sfs_cursor_new(s->env, &s->order, s->n_bytes, &owner, &s->map, at, key_before,
			     ret_cursor);
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

static void read_at(struct sfs_cursor *c, struct sfs_read *read, struct sfs_outbox *out)
{
	read->is_far = false;
	read->state = c;
	sfs_cursor_read(c, read, out);
}

/* ---- far reads ---- */

static void free_far(struct far *far)
{
	far->stream->n_far--;
	free(far);
}

static void end_far(struct far *far, int err, struct sfs_outbox *out)
{
	struct sfs_read *read = far->read;

	free_far(far);
	if (!read)
		return;
	read->state = NULL;
	sfs_read_tell(read, err, out);
}

static void on_survey(struct sfs_waiter *waiter, int err)
{
	struct far *far = sfs_container(waiter, struct far, waiter);
	struct sfs_stream *s = far->stream;

	pthread_mutex_lock(&s->lock);
	far->err = err;
	sfs_list_push(&s->far_ready, &far->link);
	sfs_pool_post(s->env->pool, &s->task);
	pthread_mutex_unlock(&s->lock);
}

static bool is_known(struct sfs_stream *s, uint32_t shard)
{
	uint64_t n, bytes;

	return sfs_shards_totals(&s->env->shards, shard, &n, &bytes);
}

/* Have the shard surveyed that the map asked for, and the next ones with it.
 * Returns as sfs_survey_table(). */
static int survey(struct sfs_stream *s, struct far *far, uint32_t shard)
{
	struct sfs_shard *shards = s->env->shards.shards;
	uint32_t i, n = 0;

	for (i = s->next_survey; i < s->order.n_segments && n < N_SURVEYS_AHEAD; i++) {
		if (is_known(s, s->order.shards[i])) {
			s->next_survey += i == s->next_survey;
			continue;
		}
		sfs_survey_table(s->streams->surveyor, &shards[s->order.shards[i]], NULL);
		n++;
	}
	far->waiter.done = on_survey;
	return sfs_survey_table(s->streams->surveyor, &shards[shard], &far->waiter);
}

/* The key, as the stream has it, of the sample before a spot: sfs_edit_key(). */
static int find_key_before(struct sfs_stream *s, const struct sfs_spot *spot, uint64_t *ret_key,
			   uint32_t *ret_shard)
{
	const struct sfs_shards *shards = &s->env->shards;
	const struct sfs_block_sample *sample;
	struct {
		uint64_t hash;
		uint32_t shard;
	} *chain = NULL;
	struct sfs_spot at = *spot;
	size_t n = 0, capacity = 0;
	bool is_renamed, is_open = true;
	uint64_t longer;
	int ret = 0;

	*ret_key = 0;
	/* Back to a sample whose key cannot have clashed with the one before. */
	while (!s->env->keys_asis && is_open && sfs_map_previous(&s->map, &at)) {
		ret = sfs_map_sample(&s->map, &at, &sample, ret_shard);
		if (ret < 0)
			break;
		if (n > 0) {
			longer = sfs_edit_key(sample->key_hash, sample->key_hash,
					      shards->shards[sample->shard].folder, &is_renamed);
			is_open = chain[n - 1].hash == sample->key_hash ||
				  chain[n - 1].hash == longer;
			if (!is_open)
				break;
		}
		if (n == capacity) {
			capacity = capacity ? 2 * capacity : 4;
			chain = sfs_reallocarray(chain, capacity, sizeof *chain);
		}
		chain[n].hash = sample->key_hash;
		chain[n++].shard = sample->shard;
	}
	while (n > 0 && ret == 0) {
		n--;
		*ret_key = sfs_edit_key(*ret_key, chain[n].hash,
					shards->shards[chain[n].shard].folder, &is_renamed);
	}
	free(chain);
	return ret;
}

/* Collect the pieces of a far read from its first sample on. */
static int collect(struct sfs_stream *s, struct sfs_gather *g, const struct sfs_read *read,
		   struct sfs_spot spot, uint64_t key, uint32_t *ret_shard)
{
	uint64_t at = read->offset, end = read->offset + read->n_bytes, from, n;
	const struct sfs_block_sample *b;
	struct sfs_shard *shard;
	bool is_renamed;
	int ret;

	while (at < end && !spot.is_end) {
		ret = sfs_map_sample(&s->map, &spot, &b, ret_shard);
		if (ret < 0)
			return ret;
		shard = &s->env->shards.shards[b->shard];
		is_renamed = false;
		if (!s->env->keys_asis)
			key = sfs_edit_key(key, b->key_hash, shard->folder, &is_renamed);
		from = at - spot.offset;
		n = b->n_bytes - from < end - at ? b->n_bytes - from : end - at;
		if (is_renamed || b->has_global)
			sfs_gather_add_edited(g, shard, b->start, b->n_bytes, is_renamed, from, n);
		else
			sfs_gather_add(g, shard, b->start + from, n);
		at += n;
		if (at < end) {
			ret = sfs_map_next(&s->map, &spot, ret_shard);
			if (ret < 0)
				return ret;
		}
	}
	sfs_gather_add_zeros(g, end - at);
	return 0;
}

static int map_err(int err)
{
	return err == -ESTALE || err == -ECANCELED ? err : -EIO;
}

/* The gather has ended: so has the far read. */
static void on_gathered(struct sfs_read *inner, int err)
{
	struct far *far = sfs_container(inner, struct far, inner);
	struct sfs_stream *s = far->stream;
	struct sfs_read *read;
	struct sfs_outbox out;

	sfs_outbox_init(&out);
	pthread_mutex_lock(&s->lock);
	read = far->read;
	if (err < 0) {
		end_far(far, map_err(err), &out);
	} else if (!read) {
		sfs_read_release(inner);
		free_far(far);
	} else {
		far->is_told = true;
		read->iov = inner->iov;
		read->n_iov = inner->n_iov;
		read->n_answered = inner->n_answered;
		atomic_fetch_add(&s->env->counters.delivered_bytes, inner->n_answered);
		sfs_read_tell(read, 0, &out);
	}
	sfs_pool_post(s->env->pool, &s->task);
	pthread_mutex_unlock(&s->lock);
	sfs_outbox_flush(&out);
}

static void start_gather(struct sfs_job *job)
{
	struct far *far = sfs_container(job, struct far, job);

	sfs_gather_start(far->gather, NULL);
}

/* Is this far read one of a row?  Notes where it ends. */
static bool is_in_row(struct sfs_stream *s, const struct sfs_read *read)
{
	uint64_t n = read->n_bytes, end = read->offset + n;
	int i;

	for (i = 0; i < N_TRAILS; i++) {
		if (s->trails[i].n_bytes == 0 || read->offset < s->trails[i].end ||
		    read->offset > s->trails[i].end + SEQUENTIAL_GAP)
			continue;
		s->trails[i].end = end;
		s->trails[i].n_bytes += n;
		return s->trails[i].n_bytes >= SEQUENTIAL_BYTES;
	}
	s->trails[s->next_trail].end = end;
	s->trails[s->next_trail].n_bytes = n;
	s->next_trail = (s->next_trail + 1) % N_TRAILS;
	return false;
}

/* A cursor for a far read that is one of a row.  false: it stays a far read. */
static bool become_cursor(struct sfs_stream *s, struct far *far, const struct sfs_spot *spot,
			  uint64_t key, struct sfs_outbox *out)
{
	struct sfs_cursor *c;

	if (!is_in_row(s, far->read) || spot->is_end)
		return false;
	if (start_cursor(s, spot, key, out, &c) < 0)
		return false;
	read_at(c, steal(&far->read), out);
	free_far(far);
	return true;
}

/* What the map says, while no table can be dropped: now the far read has a gather
 * to start, or has become a cursor's (*ret_is_cursors), or it is an error. */
static int far_resolve(struct sfs_stream *s, struct far *far, struct sfs_outbox *out,
		       bool *ret_is_cursors, uint32_t *ret_shard)
{
	struct sfs_spot spot;
	uint64_t key = 0;
	int ret;

	*ret_is_cursors = false;
	ret = sfs_map_find(&s->map, far->read->offset, &spot, ret_shard);
	if (ret == 0)
		ret = find_key_before(s, &spot, &key, ret_shard);
	if (ret < 0)
		return ret;
	if (become_cursor(s, far, &spot, key, out)) {
		*ret_is_cursors = true;
		return 0;
	}
	far->inner.offset = far->read->offset;
	far->inner.n_bytes = far->read->n_bytes;
	far->inner.done = on_gathered;
	far->gather = sfs_gather_new(&s->env->grabber, &far->inner);
	ret = collect(s, far->gather, far->read, spot, key, ret_shard);
	if (ret < 0)
		sfs_gather_free(steal(&far->gather));
	return ret;
}

/* The map does not know that far.  Near the start, a cursor from there is cheaper
 * than surveys of all lanes' first shards. */
static bool start_instead(struct sfs_stream *s, struct far *far, struct sfs_outbox *out)
{
	struct sfs_read *read = far->read;
	struct sfs_cursor *c;

	if (read->offset >= START_WINDOW || start_cursor(s, NULL, 0, out, &c) < 0)
		return false;
	free_far(far);
	read_at(c, read, out);
	return true;
}

static void note_too_many_surveys(struct sfs_stream *s)
{
	sfs_ledger_add(SFS_EVENT_LOST, "(epoch)", SFS_NO_OFFSET,
		       "a read far from the others gets EIO; a larger budget= helps",
		       "the tables of the samples do not fit a quarter of the budget");
}

/* Try to answer a far read; what waits goes on by on_survey() or on_gathered(). */
static void far_begin(struct sfs_stream *s, struct far *far, struct sfs_outbox *out)
{
	bool is_cursors;
	uint32_t shard;
	int ret;

	have_map(s);
	for (;;) {
		pthread_rwlock_rdlock(&s->env->shards.drop_lock);
		ret = far_resolve(s, far, out, &is_cursors, &shard);
		pthread_rwlock_unlock(&s->env->shards.drop_lock);
		if (ret == 0 && !is_cursors)
			sfs_outbox_put(out, &far->job, start_gather);
		if (ret == 0)
			return;
		if (ret != -EAGAIN || start_instead(s, far, out))
			break;
		if (++far->n_surveys > 4 * s->order.n_segments + 100) {
			note_too_many_surveys(s);
			ret = -EIO;
			break;
		}
		ret = survey(s, far, shard);
		if (ret == -EINPROGRESS)
			return;
		if (ret < 0)
			break;
	}
	if (ret != -EAGAIN)
		end_far(far, map_err(ret), out);
}

static struct far *new_far(struct sfs_stream *s, struct sfs_read *read)
{
	struct far *far = sfs_calloc(1, sizeof *far);

	far->stream = s;
	far->read = read;
	far->begun_ns = sfs_clock_ns();
	read->is_far = true;
	read->state = far;
	s->n_far++;
	atomic_fetch_add(&s->env->counters.reads_far, 1);
	return far;
}

/* ---- reads ---- */

/* A read that no cursor covers. */
static void read_afresh(struct sfs_stream *s, struct sfs_read *read, struct sfs_outbox *out)
{
	struct sfs_cursor *c;
	struct far *far;
	int ret = 0;

	if (read->offset == 0) {
		ret = start_cursor(s, NULL, 0, out, &c);
		if (ret == 0) {
			read_at(c, read, out);
			return;
		}
	}
	far = new_far(s, read);
	if (ret == -ENOMEM)
		sfs_list_push(&s->starved, &far->link); /* sfs_streams_tick() */
	else
		far_begin(s, far, out);
}

static bool cancel(struct sfs_read *read)
{
	struct sfs_stream *s = read->owner;
	struct far *far = read->state;
	bool is_ours = false;

	pthread_mutex_lock(&s->lock);
	if (read->is_far && far && !far->is_told) {
		far->read = NULL; /* what it waits for ends by itself */
		is_ours = true;
	} else if (!read->is_far) {
		is_ours = sfs_cursor_cancel(read->state, read);
	}
	pthread_mutex_unlock(&s->lock);
	return is_ours;
}

static void release(struct sfs_read *read)
{
	struct sfs_stream *s = read->owner;
	struct far *far = read->state;
	struct sfs_outbox out;

	sfs_outbox_init(&out);
	pthread_mutex_lock(&s->lock);
	if (read->is_far) {
		read->iov = NULL; /* the gather's */
		sfs_read_release(&far->inner);
		free_far(far);
		sfs_pool_post(s->env->pool, &s->task);
	} else {
		sfs_cursor_release(read->state, read, &out);
	}
	pthread_mutex_unlock(&s->lock);
	sfs_read_reset(read);
	sfs_outbox_flush(&out);
}

void sfs_stream_read(struct sfs_stream *s, struct sfs_read *read)
{
	struct sfs_cursor *c;
	struct sfs_outbox out;

	read->owner = s;
	read->state = NULL;
	read->is_far = true;
	read->cancel = cancel;
	read->release = release;
	if (read->offset >= s->n_bytes)
		read->n_bytes = 0;
	else if (read->n_bytes > s->n_bytes - read->offset)
		read->n_bytes = (size_t)(s->n_bytes - read->offset);
	if (read->n_bytes == 0) {
		read->release = NULL;
		read->done(read, 0);
		return;
	}
	sfs_outbox_init(&out);
	pthread_mutex_lock(&s->lock);
	c = find_cursor(s, read->offset);
	if (c)
		read_at(c, read, &out);
	else
		read_afresh(s, read, &out);
	pthread_mutex_unlock(&s->lock);
	sfs_outbox_flush(&out);
}

/* ---- the task ---- */

static void close_all(struct sfs_stream *s, struct sfs_outbox *out)
{
	struct sfs_link *link;
	struct far *far;

	for (link = s->cursors.next; link != &s->cursors; link = link->next)
		if (!sfs_cursor_is_closed(sfs_cursor_of(link)))
			close_cursor(s, sfs_cursor_of(link), out);
	while ((link = sfs_list_pop(&s->starved)) != NULL) {
		far = sfs_container(link, struct far, link);
		end_far(far, -ECANCELED, out);
	}
}

static void take_far_ready(struct sfs_stream *s, struct sfs_outbox *out)
{
	struct sfs_link *link;
	struct far *far;

	while ((link = sfs_list_pop(&s->far_ready)) != NULL) {
		far = sfs_container(link, struct far, link);
		if (!far->read || far->err < 0 || s->is_closed)
			end_far(far, far->err < 0 ? map_err(far->err) : -ECANCELED, out);
		else
			far_begin(s, far, out);
	}
}

static bool run(struct sfs_task *task)
{
	struct sfs_stream *s = sfs_container(task, struct sfs_stream, task);
	struct sfs_link *link, *following;
	struct sfs_outbox out;
	bool is_gone;

	sfs_outbox_init(&out);
	pthread_mutex_lock(&s->lock);
	if (s->is_closed)
		close_all(s, &out);
	for (link = s->cursors.next; link != &s->cursors; link = following) {
		following = link->next;
		sfs_cursor_run(sfs_cursor_of(link), &out);
	}
	take_far_ready(s, &out);
	is_gone = s->is_closed && sfs_list_is_empty(&s->cursors) && s->n_far == 0;
	pthread_mutex_unlock(&s->lock);
	sfs_outbox_flush(&out);
	if (is_gone)
		stream_free(s);
	return !is_gone;
}

/* ---- every second ---- */

static void close_idle(struct sfs_stream *s, uint64_t idle_ns, struct sfs_outbox *out)
{
	uint64_t now = sfs_clock_ns();
	struct sfs_cursor *c;

	while ((c = find_idle(s)) != NULL && now - sfs_cursor_last_read_ns(c) > idle_ns)
		close_cursor(s, c, out);
}

/* Reads that wait for the memory of a first cursor. */
static void retry_starved(struct sfs_stream *s, struct sfs_outbox *out)
{
	struct sfs_link tried, *link;
	struct sfs_cursor *c;
	struct far *far;

	sfs_list_init(&tried);
	sfs_list_move(&tried, &s->starved);
	while ((link = sfs_list_pop(&tried)) != NULL) {
		struct sfs_read *read;

		far = sfs_container(link, struct far, link);
		read = far->read;
		c = read ? find_cursor(s, read->offset) : NULL;
		if (read && (c || start_cursor(s, NULL, 0, out, &c) == 0)) {
			free_far(far);
			read_at(c, read, out);
		} else if (!read || sfs_clock_ns() - far->begun_ns > STARVED_NS) {
			if (read)
				sfs_ledger_add(SFS_EVENT_LOST, "(epoch)", SFS_NO_OFFSET,
					       "the reader gets EIO",
					       "no budget for the lanes of one more stream: "
					       "raise budget=, lower lanes=, or read fewer "
					       "streams at once");
			end_far(far, -EIO, out);
		} else {
			sfs_list_push(&s->starved, link);
		}
	}
}

void sfs_streams_tick(struct sfs_streams *streams)
{
	bool is_short = sfs_budget_is_short(&streams->env->budget), is_starved = false;
	struct sfs_outbox out;

	sfs_outbox_init(&out);
	pthread_mutex_lock(&streams->lock);
	SFS_EACH(s, &streams->list, struct sfs_stream, link)
	{
		pthread_mutex_lock(&s->lock);
		retry_starved(s, &out);
		is_starved |= !sfs_list_is_empty(&s->starved);
		pthread_mutex_unlock(&s->lock);
	}
	SFS_EACH(s, &streams->list, struct sfs_stream, link)
	{
		pthread_mutex_lock(&s->lock);
		if (is_starved || is_short)
			close_idle(s, is_starved ? STARVED_IDLE_NS : IDLE_NS, &out);
		pthread_mutex_unlock(&s->lock);
	}
	pthread_mutex_unlock(&streams->lock);
	sfs_outbox_flush(&out);
}

/* ---- stats ---- */

static void print_cursors(struct sfs_stream *s, struct sfs_text *text)
{
	struct sfs_cursor_state state;
	struct sfs_link *link;
	const char *comma = "";

	for (link = s->cursors.next; link != &s->cursors; link = link->next) {
		if (sfs_cursor_is_closed(sfs_cursor_of(link)))
			continue;
		sfs_cursor_state(sfs_cursor_of(link), &state);
		sfs_text_printf(text,
				"%s{\"offset\":%llu,\"ready_bytes\":%llu,\"held_bytes\":%llu,"
				"\"samples\":%llu,\"requests\":%u,\"waiting_reads\":%u,"
				"\"complete\":%s}",
				comma, (unsigned long long)state.offset,
				(unsigned long long)(state.log_end > state.offset ?
						     state.log_end - state.offset : 0),
				(unsigned long long)state.held_bytes,
				(unsigned long long)state.n_samples, state.n_on_way,
				state.n_waiting, state.is_complete ? "true" : "false");
		comma = ",";
	}
}

void sfs_streams_print(struct sfs_streams *streams, struct sfs_text *text)
{
	const char *comma = "";

	pthread_mutex_lock(&streams->lock);
	SFS_EACH(s, &streams->list, struct sfs_stream, link)
	{
		pthread_mutex_lock(&s->lock);
		sfs_text_printf(text, "%s{\"epoch\":%llu,\"bytes\":%llu,\"open\":%u,\"far_reads\":%u,"
				"\"cursors\":[", comma, (unsigned long long)s->epoch,
				(unsigned long long)s->n_bytes, s->n_open, s->n_far);
		print_cursors(s, text);
		sfs_text_puts(text, "]}");
		comma = ",";
		pthread_mutex_unlock(&s->lock);
	}
	pthread_mutex_unlock(&streams->lock);
}
