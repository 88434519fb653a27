/* SPDX-License-Identifier: MIT */
#include "io/range.h"

#include "base/alloc.h"
#include "base/lock.h"
#include "tar/header.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

/* Up to this, a slab would be mostly waste. */
#define SMALL_BYTES SFS_SLAB_BYTES

static void on_room(struct sfs_account *account)
{
	struct sfs_range_reader *g =
		sfs_container(account, struct sfs_range_reader, account);

	sfs_threadpool_post(g->pool, &g->task);
}

static bool run(struct sfs_task *task);

int sfs_range_reader_init(struct sfs_range_reader *g, struct sfs_slabs *slabs,
			  struct sfs_threadpool *pool, struct sfs_budget *budget,
			  uint64_t floor_bytes)
{
	*g = (struct sfs_range_reader){.slabs = slabs, .pool = pool, .task.run = run};
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

/* Grant, if there is room; with the lock held. */
static bool grant_now(struct sfs_range_reader *g, const struct sfs_grant *grant)
{
	return sfs_account_take(&g->account, grant->n_bytes) == 0;
}

void sfs_range_reader_request(struct sfs_range_reader *g, struct sfs_grant *grant)
{
	bool is_granted;

	/* Who comes later must not overtake who waits. */
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

/* The first in the row, if there is room for it now; else NULL. */
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

static bool run(struct sfs_task *task)
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

/* An index says that a sample begins here: does it? */
static int check_told(const struct sfs_range *grab)
{
	unsigned char block[SFS_TAR_BLOCK];
	enum sfs_tar_kind kind;

	if (grab->n_bytes < sizeof block)
		return 0;
	sfs_range_read(grab, 0, block, sizeof block);
	kind = sfs_tar_look(block).kind;
	if (kind != SFS_TAR_ZERO && kind != SFS_TAR_BAD)
		return 0;
	sfs_shard_note_lie(grab->shard, grab->offset, "no header");
	return -EBADMSG;
}

static void on_read(struct sfs_request *request, int err)
{
	struct sfs_range *grab = sfs_container(request, struct sfs_range, request);

	if (err == 0 && grab->is_told)
		err = check_told(grab);
	grab->done(grab, err);
}

/* The memory is granted: take it and ask the source. */
static void begin(struct sfs_range *grab, struct sfs_account *account)
{
	uint64_t left = grab->n_bytes;
	int i;

	grab->account = account;
	grab->charged_bytes = sfs_range_cost(grab->n_bytes);
	grab->n_iov =
		grab->n_bytes <= SMALL_BYTES ? 1 : (int)sfs_slab_count(grab->n_bytes);
	grab->iov = sfs_calloc((size_t)grab->n_iov, sizeof *grab->iov);
	if (grab->n_bytes <= SMALL_BYTES) {
		grab->iov[0].iov_base = sfs_malloc(grab->n_bytes);
		grab->iov[0].iov_len = grab->n_bytes;
	} else {
		grab->slabs = sfs_calloc((size_t)grab->n_iov, sizeof *grab->slabs);
		sfs_slabs_get(grab->range_reader->slabs, grab->slabs,
			      (size_t)grab->n_iov);
		for (i = 0; i < grab->n_iov; i++) {
			grab->iov[i].iov_base = grab->slabs[i];
			grab->iov[i].iov_len =
				left < SFS_SLAB_BYTES ? left : SFS_SLAB_BYTES;
			left -= grab->iov[i].iov_len;
		}
	}
	grab->request.iov = grab->iov;
	grab->request.n_iov = grab->n_iov;
	sfs_request_submit(&grab->request);
}

static void begin_alone(struct sfs_grant *grant)
{
	struct sfs_range *grab = sfs_container(grant, struct sfs_range, grant);

	begin(grab, &grab->range_reader->account);
}

void sfs_range_start(struct sfs_range_reader *g, struct sfs_range *grab,
		     struct sfs_account *account)
{
	assert(grab->n_bytes > 0 && grab->n_bytes <= SFS_RANGE_MAX);
	grab->range_reader = g;
	grab->request = (struct sfs_request){
		.kind = SFS_REQUEST_READ,
		.object = &grab->shard->object,
		.is_urgent = grab->is_urgent,
		.offset = grab->offset,
		.n_bytes = grab->n_bytes,
		.done = on_read,
		.begun_ns = grab->begun_ns,
	};
	if (account) {
		begin(grab, account);
		return;
	}
	grab->grant.n_bytes = sfs_range_cost(grab->n_bytes);
	grab->grant.granted = begin_alone;
	sfs_range_reader_request(g, &grab->grant);
}

void sfs_range_drop(struct sfs_range *grab)
{
	if (!grab->account)
		return;
	if (grab->slabs)
		sfs_slabs_put(grab->range_reader->slabs, grab->slabs,
			      (size_t)grab->n_iov);
	else
		free(grab->iov[0].iov_base);
	free(steal(&grab->slabs));
	free(steal(&grab->iov));
	sfs_account_give(steal(&grab->account), grab->charged_bytes);
}

unsigned char *sfs_range_at(const struct sfs_range *grab, uint64_t at, size_t *ret_n)
{
	const struct iovec *iov = grab->iov;

	while (at >= iov->iov_len)
		at -= (iov++)->iov_len;
	*ret_n = iov->iov_len - at;
	return (unsigned char *)iov->iov_base + at;
}

void sfs_range_read(const struct sfs_range *grab, uint64_t at, void *to, size_t n)
{
	unsigned char *p;
	size_t piece;

	for (; n > 0; n -= piece, at += piece, to = (char *)to + piece) {
		p = sfs_range_at(grab, at, &piece);
		piece = piece < n ? piece : n;
		memcpy(to, p, piece);
	}
}

void sfs_range_write(const struct sfs_range *grab, uint64_t at, const void *from,
		     size_t n)
{
	unsigned char *p;
	size_t piece;

	for (; n > 0; n -= piece, at += piece, from = (const char *)from + piece) {
		p = sfs_range_at(grab, at, &piece);
		piece = piece < n ? piece : n;
		memcpy(p, from, piece);
	}
}
