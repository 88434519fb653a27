/* SPDX-License-Identifier: MIT */
/* How this works: read() fills the current chunk from its start, at most 1 MiB at a time,
 * and what is taken stays where it was read.  When that would run over the chunk's end,
 * what was not used yet is copied to the start of another one.  So only what lies across
 * the end of a chunk is copied.
 *
 * Of records, the chunk gets only what was asked for, and what is taken while the chunk
 * has nothing left may stay where it lies: its chunk then holds a record.  What is only
 * peeked at is always copied, for a peer can change its memory.
 *
 * Without a pool, the chunk that came back last is used first: it is still in the CPU's
 * cache.  A pool's chunks go back to it, and cannot grow: they have all their room at
 * once, of which pages are taken as bytes arrive. */
#include "decode/input.h"

#include "base/alloc.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#define READ_BYTES  SFS_INPUT_PEEK_MAX
#define CHUNK_BYTES ((size_t)2 << 20)
#define SHARE_MAX   (CHUNK_BYTES / 2) /* what is larger gets a chunk of its own */
#define ALIGN	    16		      /* malloc's */
#define STEP_BYTES  ((uint64_t)16 << 20)

struct sfs_chunk {
	struct sfs_input *in; /* which it comes back to; NULL: nobody's */
	struct sfs_chunk *next_free;
	atomic_uint n_refs;
	size_t n, capacity;
	unsigned char *bytes;
	struct sfs_pool *pool;	   /* of the bytes; NULL: malloc()'s */
	struct sfs_record *record; /* or it is bytes of this */
};

struct sfs_input {
	int fd;
	struct sfs_records *records; /* NULL: bytes are read */
	struct sfs_pool *pool;	     /* of chunks; NULL: malloc() */
	void (*before_read)(void *arg);
	void *arg;
	atomic_bool is_stopped;
	uint64_t position; /* of the next byte to use */
	size_t begin;	   /* where that is in the chunk */
	struct sfs_chunk *chunk;

	pthread_mutex_t lock; /* guards all below */
	struct sfs_chunk *free_chunks;
	uint32_t n_lent;
};

/* ---- chunks ---- */

/* NULL: the pool has no room; without one it is never NULL. */
static struct sfs_chunk *make_chunk(struct sfs_pool *pool, size_t capacity)
{
	unsigned char *bytes = pool ? sfs_pool_get(pool, capacity) : sfs_malloc(capacity);
	struct sfs_chunk *c;

	if (!bytes)
		return NULL;
	c = sfs_calloc(1, sizeof *c);
	c->capacity = capacity;
	c->bytes = bytes;
	c->pool = pool;
	atomic_store(&c->n_refs, 1);
	return c;
}

static void drop_chunk(struct sfs_chunk *c)
{
	if (c->pool)
		sfs_pool_put(c->pool, c->bytes);
	else
		free(c->bytes);
	free(c);
}

struct sfs_chunk *sfs_chunk_new(struct sfs_input *in, uint64_t n)
{
	if (in->pool)
		return make_chunk(in->pool, n);
	return make_chunk(NULL, n == 0 ? 1 : n < STEP_BYTES ? n : STEP_BYTES);
}

/* Room for n more bytes. */
static void grow(struct sfs_chunk *c, uint64_t n)
{
	if (n <= c->capacity - c->n)
		return;
	assert(!c->pool);
	c->capacity = 2 * c->capacity > c->n + n ? 2 * c->capacity : c->n + n;
	c->bytes = sfs_realloc(c->bytes, c->capacity);
}

void sfs_chunk_append_zeros(struct sfs_chunk *c, uint64_t n)
{
	grow(c, n);
	memset(c->bytes + c->n, 0, n);
	c->n += n;
}

const unsigned char *sfs_chunk_bytes(const struct sfs_chunk *c)
{
	return c->bytes;
}

/* NULL: the pool has no room. */
static struct sfs_chunk *borrow_chunk(struct sfs_input *in)
{
	struct sfs_chunk *c;

	pthread_mutex_lock(&in->lock);
	c = in->free_chunks;
	if (c)
		in->free_chunks = c->next_free;
	pthread_mutex_unlock(&in->lock);
	if (!c)
		c = make_chunk(in->pool, CHUNK_BYTES);
	if (!c)
		return NULL;
	pthread_mutex_lock(&in->lock);
	in->n_lent++;
	pthread_mutex_unlock(&in->lock);
	c->in = in;
	c->n = 0;
	atomic_store(&c->n_refs, 1);
	return c;
}

void sfs_chunk_release(struct sfs_chunk *c)
{
	struct sfs_input *in = c->in;

	if (atomic_fetch_sub(&c->n_refs, 1) > 1)
		return;
	if (!in) {
		if (c->record)
			sfs_record_release(c->record);
		drop_chunk(c);
		return;
	}
	if (c->pool)
		drop_chunk(c);
	pthread_mutex_lock(&in->lock);
	if (!in->pool) {
		c->next_free = in->free_chunks;
		in->free_chunks = c;
	}
	in->n_lent--;
	pthread_mutex_unlock(&in->lock);
}

/* ---- reading ---- */

static void ignore(int signal)
{
}

struct sfs_input *sfs_input_new(int fd, enum sfs_input_kind kind,
				void (*before_read)(void *arg), void *arg)
{
	struct sfs_input *in = sfs_calloc(1, sizeof *in);
	struct sigaction action = {.sa_handler = ignore};

	in->fd = fd;
	in->before_read = before_read;
	in->arg = arg;
	if (kind == SFS_INPUT_PIECES)
		in->records = sfs_records_new(fd, before_read, arg);
	pthread_mutex_init(&in->lock, NULL);
	in->chunk = borrow_chunk(in);
	sigaction(SIGUSR1, &action, NULL);
	return in;
}

void sfs_input_free(struct sfs_input *in)
{
	struct sfs_chunk *c, *next;

	if (!in)
		return;
	sfs_chunk_release(in->chunk);
	assert(in->n_lent == 0);
	for (c = in->free_chunks; c; c = next) {
		next = c->next_free;
		drop_chunk(c);
	}
	sfs_records_free(in->records);
	pthread_mutex_destroy(&in->lock);
	free(in);
}

int sfs_input_use_pool(struct sfs_input *in, struct sfs_pool *pool)
{
	struct sfs_chunk *c, *old = in->chunk;

	in->pool = pool;
	c = make_chunk(pool, CHUNK_BYTES);
	if (!c)
		return -ENOMEM;
	c->in = in;
	in->chunk = c; /* lent, in the place of the old one */
	drop_chunk(old);
	return 0;
}

bool sfs_input_memory(const struct sfs_input *in, struct sfs_records_memory *ret)
{
	return in->records && sfs_records_memory(in->records, ret);
}

void sfs_input_stop(struct sfs_input *in, pthread_t reading)
{
	in->is_stopped = true;
	if (in->records)
		sfs_records_stop(in->records);
	pthread_kill(reading, SIGUSR1);
}

uint64_t sfs_input_position(const struct sfs_input *in)
{
	return in->position;
}

/* At least one byte behind the chunk's: `need` are wanted, and there is room for n. */
static int read_some(struct sfs_input *in, struct sfs_chunk *c, size_t need, size_t n)
{
	ssize_t n_read;
	size_t n_some = 0;
	int ret;

	if (in->records) {
		ret = sfs_records_read(in->records, c->bytes + c->n, need, n, &n_some);
		c->n += n_some;
		return ret;
	}
	in->before_read(in->arg);
	do {
		if (in->is_stopped)
			return -ECANCELED;
		n_read = read(in->fd, c->bytes + c->n, n);
	} while (n_read < 0 && errno == EINTR);
	if (n_read <= 0)
		return n_read < 0 ? -errno : -EPIPE;
	c->n += (size_t)n_read;
	return 0;
}

/* (After bytes that did not pass through the chunk, only the position has gone on.)
 * What was not used goes to the start of a chunk that has room for more. */
static int turn(struct sfs_input *in)
{
	struct sfs_chunk *old = in->chunk, *c = borrow_chunk(in);

	if (!c)
		return -ENOMEM;
	c->n = in->position % ALIGN + old->n - in->begin;
	memcpy(c->bytes + in->position % ALIGN, old->bytes + in->begin,
	       old->n - in->begin);
	in->chunk = c;
	in->begin = in->position % ALIGN;
	sfs_chunk_release(old);
	return 0;
}

/* The chunk is empty: go on in it where alignment is right. */
static void align(struct sfs_input *in)
{
	size_t n = (in->position - in->begin) % ALIGN;

	if (in->begin != in->chunk->n || n > in->chunk->capacity - in->begin)
		return;
	in->begin += n;
	in->chunk->n += n;
}

/* Have n bytes, at most half a chunk, in the chunk. */
static int fill(struct sfs_input *in, size_t n)
{
	struct sfs_chunk *c;
	size_t room;
	int ret = 0;

	align(in);
	if (n > CHUNK_BYTES - in->begin || in->begin % ALIGN != in->position % ALIGN)
		ret = turn(in);
	c = in->chunk;
	while (ret == 0 && c->n - in->begin < n) {
		room = c->capacity - c->n;
		ret = read_some(in, c, n - (c->n - in->begin),
				room < READ_BYTES ? room : READ_BYTES);
	}
	return ret;
}

static void use(struct sfs_input *in, size_t n)
{
	in->begin += n;
	in->position += n;
}

int sfs_input_peek(struct sfs_input *in, size_t n, const unsigned char **ret_bytes)
{
	int ret = fill(in, n);

	*ret_bytes = in->chunk->bytes + in->begin;
	return ret;
}

/* Some of the next n bytes are in the chunk, which is empty otherwise. */
static int have_some(struct sfs_input *in, uint64_t n, size_t *ret_n)
{
	size_t n_have;
	int ret = fill(in, 1);

	n_have = in->chunk->n - in->begin;
	*ret_n = n_have < n ? n_have : (size_t)n;
	return ret;
}

int sfs_input_skip(struct sfs_input *in, uint64_t n)
{
	size_t n_some = in->chunk->n - in->begin;
	int ret = 0;

	if (in->records && n_some < n) {
		ret = sfs_records_skip(in->records, n - n_some);
		in->begin += n_some;
		in->position += n;
		return ret;
	}
	while (n > 0 && (ret = have_some(in, n, &n_some)) == 0) {
		use(in, n_some);
		n -= n_some;
	}
	return ret;
}

/* The next n bytes, for which there is room: what the chunk has, then from the stream. */
static int append_step(struct sfs_input *in, uint64_t n, struct sfs_chunk *c)
{
	size_t n_have = in->chunk->n - in->begin, before;
	size_t direct = in->records ? 1 : READ_BYTES;
	int ret;

	if (n_have > n)
		n_have = (size_t)n;
	memcpy(c->bytes + c->n, in->chunk->bytes + in->begin, n_have);
	c->n += n_have;
	use(in, n_have);
	for (n -= n_have; n >= direct; n -= c->n - before) {
		before = c->n;
		ret = read_some(in, c, (size_t)n, (size_t)n);
		if (ret < 0)
			return ret;
		in->position += c->n - before;
	}
	if (n == 0)
		return 0;
	ret = fill(in, (size_t)n);
	if (ret < 0)
		return ret;
	memcpy(c->bytes + c->n, in->chunk->bytes + in->begin, (size_t)n);
	c->n += (size_t)n;
	use(in, (size_t)n);
	return 0;
}

int sfs_input_append(struct sfs_input *in, uint64_t n, struct sfs_chunk *c)
{
	uint64_t n_step;
	int ret = 0;

	for (; n > 0 && ret == 0; n -= n_step) {
		n_step = n < STEP_BYTES ? n : STEP_BYTES;
		grow(c, n_step);
		ret = append_step(in, n_step, c);
	}
	return ret;
}

static int take_own(struct sfs_input *in, uint64_t n, struct sfs_chunk **ret_chunk)
{
	struct sfs_chunk *c = sfs_chunk_new(in, n);
	int ret;

	if (!c)
		return -ENOMEM;
	ret = sfs_input_append(in, n, c);
	if (ret < 0)
		sfs_chunk_release(c);
	else
		*ret_chunk = c;
	return ret;
}

/* 1: the next n bytes lie together in a record, which the chunk holds now.  0: no. */
static int take_record(struct sfs_input *in, uint64_t n, struct sfs_chunk **ret_chunk,
		       const unsigned char **ret_bytes)
{
	const unsigned char *bytes;
	uint64_t n_have;
	int ret;

	if (n == 0 || in->begin != in->chunk->n)
		return 0;
	ret = sfs_records_look(in->records, &bytes, &n_have);
	if (ret < 0)
		return ret;
	if (!bytes || n_have < n ||
	    (in->position % ALIGN == 0 && (uintptr_t)bytes % ALIGN != 0))
		return 0;
	*ret_bytes = bytes;
	*ret_chunk = make_chunk(NULL, 1);
	(*ret_chunk)->record = sfs_records_hold(in->records, n);
	in->position += n;
	return 1;
}

int sfs_input_take(struct sfs_input *in, uint64_t n, struct sfs_chunk **ret_chunk,
		   const unsigned char **ret_bytes)
{
	int ret;

	if (in->records) {
		ret = take_record(in, n, ret_chunk, ret_bytes);
		if (ret != 0)
			return ret < 0 ? ret : 0;
	}

	if (n > SHARE_MAX) {
		ret = take_own(in, n, ret_chunk);
		if (ret == 0)
			*ret_bytes = (*ret_chunk)->bytes;
		return ret;
	}
	ret = fill(in, (size_t)n);
	if (ret < 0)
		return ret;
	*ret_chunk = in->chunk;
	*ret_bytes = in->chunk->bytes + in->begin;
	atomic_fetch_add(&in->chunk->n_refs, 1);
	use(in, (size_t)n);
	return 0;
}
