/* SPDX-License-Identifier: MIT */
#include "io/header-fetch.h"

#include "base/clock.h"

#define LARGE_BYTES ((uint64_t)512 << 10)
#define SMALL_BYTES ((uint64_t)16 << 10)
#define N_AHEAD	    2 /* chunks in flight where nothing says where the next header is */
#define N_CLOSE	    8 /* chunks without such a jump, after which it reads on, too */
#define QUIET_BYTES ((uint64_t)64 << 10) /* that a quiet scan jumps over in any case */

/* A chunk has come: keep the mean of the last few.  Locked. */
static void note_time(const struct sfs_header_fetch_chunk *c)
{
	struct sfs_header_fetch_times *times = c->fetch->times;
	uint64_t ns = sfs_clock_ns() - c->begun_ns;
	uint64_t *mean = c->range.n_bytes == LARGE_BYTES   ? &times->large_ns
			 : c->range.n_bytes == SMALL_BYTES ? &times->small_ns
							   : NULL;

	if (mean)
		*mean = *mean ? *mean - *mean / 4 + ns / 4 : ns;
}

static bool is_quiet(const struct sfs_header_fetch *f)
{
	return f->is_quiet && atomic_load(f->is_quiet);
}

static bool is_far(const struct sfs_header_fetch *f)
{
	struct sfs_netpath path = sfs_object_netpath(f->shard->object);

	return sfs_netpath_is_far(&path);
}

/* How much longer may a jump take, as bytes that nobody needs are worth fetching only for
 * a large gain?  Near shards whose stretches are proven are many, and no one waits long.
 */
static uint64_t patience(const struct sfs_header_fetch *f)
{
	return f->is_proof && !is_far(f) ? 8 : 2;
}

/* Is it quicker to jump over n bytes than to read on?  Yes, as long as one of the two has
 * not been tried (but a reader may wait for a proof from afar: then no).  Large chunks
 * come N_AHEAD at a time. */
static bool is_worth_jumping(struct sfs_header_fetch *f, uint64_t n)
{
	uint64_t small_ns, large_ns;

	if (f->is_for_first || (is_quiet(f) && n >= QUIET_BYTES))
		return true;
	pthread_mutex_lock(f->lock);
	small_ns = f->times->small_ns;
	large_ns = f->times->large_ns;
	pthread_mutex_unlock(f->lock);
	if (f->is_proof && large_ns == 0 && is_far(f))
		return false;
	return small_ns == 0 || large_ns == 0 || f->hints ||
	       small_ns < patience(f) * (n / SFS_TAR_BLOCK) * large_ns /
				  (N_AHEAD * LARGE_BYTES / SFS_TAR_BLOCK);
}

static void on_fetched(struct sfs_range *range, int err)
{
	struct sfs_header_fetch_chunk *c =
		sfs_container(range, struct sfs_header_fetch_chunk, range);
	struct sfs_header_fetch *f = c->fetch;
	pthread_mutex_t *lock = f->lock;

	/* Posted with the lock held: once the task sees has_ended it may free all. */
	pthread_mutex_lock(lock);
	if (err == 0)
		note_time(c);
	c->err = err;
	c->has_ended = true;
	sfs_threadpool_post(f->runtime->pool, f->task);
	pthread_mutex_unlock(lock);
}

static bool has_ended(const struct sfs_header_fetch_chunk *c)
{
	bool has_ended;

	pthread_mutex_lock(c->fetch->lock);
	has_ended = c->has_ended;
	pthread_mutex_unlock(c->fetch->lock);
	return has_ended;
}

/* The first bytes of a shard say where the search for a stretch begins: no more than
 * these is fetched there. */
static bool is_looking(const struct sfs_header_fetch *f)
{
	const struct sfs_shard_part *part = &f->shard->part;

	return part->whole && part->begin > 0 && f->next <= SMALL_BYTES &&
	       !atomic_load(&part->whole->was_looked_at);
}

/* Little lies behind the end of a stretch that it needs: the rest of its last sample. */
static uint64_t chunk_most(const struct sfs_header_fetch *f)
{
	const struct sfs_shard_part *part = &f->shard->part;

	if (!part->whole)
		return SFS_RANGE_MAX;
	if (is_looking(f))
		return SMALL_BYTES;
	if (f->next < part->end && part->end - f->next < SFS_RANGE_MAX - SMALL_BYTES)
		return part->end - f->next + SMALL_BYTES;
	return f->next == f->target ? SMALL_BYTES : SFS_RANGE_MAX;
}

/* For a first sample: the bytes before the cut, where it is searched, and some behind;
 * then headers.  At the start of the shard it only looks. */
static uint64_t first_size(const struct sfs_header_fetch *f)
{
	uint64_t cut = f->shard->part.begin;
	uint64_t n = f->next > 0 && f->next < cut ? cut - f->next : 0;

	return n < SFS_RANGE_MAX - SMALL_BYTES ? n + SMALL_BYTES : SFS_RANGE_MAX;
}

static uint64_t chunk_size(const struct sfs_header_fetch *f)
{
	uint64_t n = f->is_jumping ? SMALL_BYTES : LARGE_BYTES, most = chunk_most(f);

	if (f->is_for_first)
		return first_size(f);
	return n < most ? n : most;
}

static void start_chunk(struct sfs_header_fetch *f, struct sfs_header_fetch_chunk *c)
{
	uint64_t n = chunk_size(f);
	uint64_t left = f->shard->object->size - f->next;

	c->fetch = f;
	c->is_used = true;
	f->n_chunks++;
	c->begun_ns = sfs_clock_ns();
	c->has_ended = false;
	c->range = (struct sfs_range){.shard = f->shard,
				      .offset = f->next,
				      .n_bytes = n < left ? n : left,
				      .is_urgent = !is_quiet(f),
				      .done = on_fetched};
	f->next += c->range.n_bytes;
	sfs_range_start(&f->runtime->range_reader, &c->range, NULL);
}

/* The used chunk with the lowest offset; NULL: none is used. */
static struct sfs_header_fetch_chunk *first_chunk(struct sfs_header_fetch *f)
{
	struct sfs_header_fetch_chunk *found = NULL;
	int i;

	for (i = 0; i < SFS_HEADER_FETCH_CHUNKS; i++)
		if (f->chunks[i].is_used &&
		    (!found || f->chunks[i].range.offset < found->range.offset))
			found = &f->chunks[i];
	return found;
}

int sfs_header_fetch_take(struct sfs_header_fetch *f, sfs_header_fetch_feed *feed,
			  void *ctx)
{
	struct sfs_header_fetch_chunk *c;
	const struct iovec *iov;
	uint64_t at;
	int ret = 0, i;

	while ((c = first_chunk(f)) != NULL && has_ended(c)) {
		ret = ret < 0 ? ret : c->err;
		at = c->range.offset;
		for (i = 0; c->err == 0 && i < c->range.n_iov; i++) {
			iov = &c->range.iov[i];
			feed(ctx, at, iov->iov_base, iov->iov_len);
			at += iov->iov_len;
		}
		sfs_range_drop(&c->range);
		c->is_used = false;
		f->n_chunks--;
	}
	return ret;
}

/* The byte at which the i-th header may be. */
static uint64_t hint_at(const struct sfs_index_import *hints, uint64_t i)
{
	return hints->members ? hints->members[i].data - SFS_TAR_BLOCK : hints->starts[i];
}

/* The first byte at or after `from` at which a header may be.  false:
 * there is no hint. */
static bool next_hint(const struct sfs_header_fetch *f, uint64_t from, uint64_t *ret)
{
	const struct sfs_index_import *hints = f->hints;
	uint64_t low = 0, high, middle, n;

	if (!hints)
		return false;
	n = hints->members ? hints->n_members : hints->n_samples;
	for (high = n; low < high;) {
		middle = low + (high - low) / 2;
		if (hint_at(hints, middle) < from)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < n)
		*ret = hint_at(hints, low);
	return low < n && *ret < f->shard->object->size;
}

/* May another chunk be asked for?  f->next is where.  After a jump only the header itself
 * says where the next one is, unless there are hints. */
static bool may_start(struct sfs_header_fetch *f)
{
	if (f->next >= f->shard->object->size || (f->is_for_first && f->n_chunks > 0))
		return false;
	if (f->is_jumping && f->n_chunks > 0)
		return next_hint(f, f->next, &f->next);
	if (is_looking(f) && f->n_chunks > 0)
		return false;
	if (f->shard->part.whole && f->next >= f->shard->part.end && f->n_chunks > 0)
		return false;
	return f->is_jumping || f->n_chunks < N_AHEAD;
}

/* Headers lie close together.  A proof that is quiet, or near, jumps on all the same for
 * some chunks, as the next member may be large again. */
static bool jumps_on(struct sfs_header_fetch *f)
{
	return f->is_proof && f->is_jumping && (is_quiet(f) || !is_far(f)) &&
	       ++f->n_close < N_CLOSE;
}

/* Where to fetch next, and in small chunks or large ones. */
static void choose(struct sfs_header_fetch *f, uint64_t want)
{
	if (want > f->next) {
		if (f->next > 0 && is_worth_jumping(f, want - f->next)) {
			f->is_jumping = true;
			f->n_close = 0;
		} else {
			f->is_jumping = jumps_on(f);
		}
		if (f->is_jumping || f->n_chunks == 0)
			f->next = f->target = want;
	} else if (want == f->next && want != f->target) {
		f->is_jumping = jumps_on(f);
	} else if (want < f->next && f->n_chunks == 0) {
		f->hints = NULL; /* here is a header of which they say nothing */
		f->next = want;
	}
}

/* Does the byte lie before all chunks in flight?  They must end before it is asked for. */
static bool is_behind(struct sfs_header_fetch *f, uint64_t want)
{
	const struct sfs_header_fetch_chunk *first = first_chunk(f);

	return first && want < first->range.offset;
}

bool sfs_header_fetch_ask(struct sfs_header_fetch *f, uint64_t want)
{
	int i;

	if (want == UINT64_MAX || is_behind(f, want))
		return f->n_chunks > 0;
	choose(f, want);
	for (i = 0; i < SFS_HEADER_FETCH_CHUNKS; i++)
		if (!f->chunks[i].is_used && may_start(f))
			start_chunk(f, &f->chunks[i]);
	return f->n_chunks > 0;
}
