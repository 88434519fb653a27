/* SPDX-License-Identifier: MIT */
#include "io/range.h"

#include "base/alloc.h"
#include "base/lock.h"
#include "tar/header.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

/* Ranges up to this size get memory of just their size: a slab would be mostly waste. */
#define SMALL_BYTES SFS_SLAB_BYTES

static void on_room(struct sfs_account *account)
{
	struct sfs_range_reader *g =
		sfs_container(account, struct sfs_range_reader, account);

	sfs_threadpool_post(g->pool, &g->task);
}

static bool range_run(struct sfs_task *task);

int sfs_range_reader_init(struct sfs_range_reader *g, struct sfs_slabs *slabs,
			  struct sfs_threadpool *pool, struct sfs_budget *budget,
			  uint64_t floor_bytes)
{
	*g = (struct sfs_range_reader){.slabs = slabs,
				       .pool = pool,
				       .task.run = range_run};
	sfs_lock_init(&g->lock, SFS_LOCK_RANGE_READER);
	sfs_list_init(&g->waiting);
	return sfs_account_open(&g->account, budget, floor_bytes, false, on_room);
}

void sfs_range_reader_done(struct sfs_range_reader *g)
{
	if (!g->pool)
		return;
	sfs_account_close(&g->account);
	pthread_mutex_destroy(&g->lock);
}

/* Grant, if there is room.  Locked. */
static bool grant_now(struct sfs_range_reader *g, const struct sfs_grant *grant)
{
	return sfs_account_take(&g->account, grant->n_bytes) == 0;
}

void sfs_range_reader_request(struct sfs_range_reader *g, struct sfs_grant *grant)
{
	bool is_granted;

	/* First come, first served. */
	pthread_mutex_lock(&g->lock);
	is_granted = sfs_list_is_empty(&g->waiting) && grant_now(g, grant);
	if (!is_granted)
		sfs_list_push(&g->waiting, &grant->link);
	pthread_mutex_unlock(&g->lock);
	if (is_granted)
		grant->granted(grant);
}

bool sfs_range_reader_take_back(struct sfs_range_reader *g, struct sfs_grant *grant)
{
	bool was_waiting;

	pthread_mutex_lock(&g->lock);
	was_waiting = sfs_link_is_in(&grant->link);
	sfs_link_remove(&grant->link);
	pthread_mutex_unlock(&g->lock);
	if (was_waiting)
		sfs_threadpool_post(g->pool, &g->task); /* the next one may need less */
	return was_waiting;
}

/* Take the first request from the queue, if there is room for it now; else NULL. */
static struct sfs_grant *take_first(struct sfs_range_reader *g)
{
	struct sfs_grant *grant = NULL;

	pthread_mutex_lock(&g->lock);
	if (!sfs_list_is_empty(&g->waiting)) {
		grant = sfs_container(g->waiting.next, struct sfs_grant, link);
		if (grant_now(g, grant))
			sfs_link_remove(&grant->link);
		else
			grant = NULL;
	}
	pthread_mutex_unlock(&g->lock);
	return grant;
}

static bool range_run(struct sfs_task *task)
{
	struct sfs_range_reader *g = sfs_container(task, struct sfs_range_reader, task);
	struct sfs_grant *grant;

	while ((grant = take_first(g)) != NULL)
		grant->granted(grant);
	return true;
}

uint64_t sfs_range_cost(uint64_t n_bytes)
{
	return n_bytes <= SMALL_BYTES ? n_bytes
				      : sfs_slab_count(n_bytes) * SFS_SLAB_BYTES;
}

/* An index says that a sample begins here: is there a header? */
static int check_header(const struct sfs_range *range)
{
	unsigned char block[SFS_TAR_BLOCK];
	enum sfs_tar_kind kind;

	if (range->n_bytes < sizeof block)
		return 0;
	sfs_range_read(range, 0, block, sizeof block);
	kind = sfs_tar_look(block).kind;
	if (kind != SFS_TAR_ZERO && kind != SFS_TAR_BAD)
		return 0;
	sfs_shard_note_lie(range->shard, range->offset, "no header");
	return -EBADMSG;
}

static void on_read(struct sfs_request *request, int err)
{
	struct sfs_range *range = sfs_container(request, struct sfs_range, request);

	if (err == 0 && range->is_unverified)
		err = check_header(range);
	range->done(range, err);
}

/* The memory is charged: allocate it and submit the request. */
static void begin(struct sfs_range *range, struct sfs_account *account)
{
	uint64_t left = range->n_bytes;
	int i;

	range->account = account;
	range->charged_bytes = sfs_range_cost(range->n_bytes);
	range->n_iov =
		range->n_bytes <= SMALL_BYTES ? 1 : (int)sfs_slab_count(range->n_bytes);
	range->iov = sfs_calloc((size_t)range->n_iov, sizeof *range->iov);
	if (range->n_bytes <= SMALL_BYTES) {
		range->iov[0].iov_base = sfs_malloc(range->n_bytes);
		range->iov[0].iov_len = range->n_bytes;
	} else {
		range->slabs = sfs_calloc((size_t)range->n_iov, sizeof *range->slabs);
		sfs_slabs_get(range->range_reader->slabs, range->slabs,
			      (size_t)range->n_iov);
		for (i = 0; i < range->n_iov; i++) {
			range->iov[i].iov_base = range->slabs[i];
			range->iov[i].iov_len =
				left < SFS_SLAB_BYTES ? left : SFS_SLAB_BYTES;
			left -= range->iov[i].iov_len;
		}
	}
	range->request.iov = range->iov;
	range->request.n_iov = range->n_iov;
	sfs_request_submit(&range->request);
}

static void on_granted(struct sfs_grant *grant)
{
	struct sfs_range *range = sfs_container(grant, struct sfs_range, grant);

	begin(range, &range->range_reader->account);
}

void sfs_range_start(struct sfs_range_reader *g, struct sfs_range *range,
		     struct sfs_account *account)
{
	assert(range->n_bytes > 0 && range->n_bytes <= SFS_RANGE_MAX);
	range->range_reader = g;
	range->request = (struct sfs_request){
		.kind = SFS_REQUEST_READ,
		.object = range->shard->object,
		.is_urgent = range->is_urgent,
		.offset = range->offset,
		.n_bytes = range->n_bytes,
		.done = on_read,
		.begun_ns = range->begun_ns,
	};
	if (account) {
		begin(range, account);
		return;
	}
	range->grant.n_bytes = sfs_range_cost(range->n_bytes);
	range->grant.granted = on_granted;
	sfs_range_reader_request(g, &range->grant);
}

void sfs_range_drop(struct sfs_range *range)
{
	if (!range->account)
		return;
	if (range->slabs)
		sfs_slabs_put(range->range_reader->slabs, range->slabs,
			      (size_t)range->n_iov);
	else
		free(range->iov[0].iov_base);
	free(steal(&range->slabs));
	free(steal(&range->iov));
	sfs_account_give(steal(&range->account), range->charged_bytes);
}

unsigned char *sfs_range_at(const struct sfs_range *range, uint64_t at, size_t *ret_n)
{
	const struct iovec *iov = range->iov;

	while (at >= iov->iov_len)
		at -= (iov++)->iov_len;
	*ret_n = iov->iov_len - at;
	return (unsigned char *)iov->iov_base + at;
}

void sfs_range_read(const struct sfs_range *range, uint64_t at, void *to, size_t n)
{
	unsigned char *p;
	size_t piece;

	for (; n > 0; n -= piece, at += piece, to = (char *)to + piece) {
		p = sfs_range_at(range, at, &piece);
		piece = piece < n ? piece : n;
		memcpy(to, p, piece);
	}
}

void sfs_range_write(const struct sfs_range *range, uint64_t at, const void *from,
		     size_t n)
{
	unsigned char *p;
	size_t piece;

	for (; n > 0; n -= piece, at += piece, from = (const char *)from + piece) {
		p = sfs_range_at(range, at, &piece);
		piece = piece < n ? piece : n;
		memcpy(p, from, piece);
	}
}
