/* SPDX-License-Identifier: MIT */
/* How this works: until it is made, an index is a task of the thread pool.  The task
 * waits for the size and members of the shard, pins the shard while it reads them, and
 * adds a few thousand members at a time, so that other tasks get their turn.  Callers
 * that open it meanwhile wait in its list.
 *
 * A failure goes to those who wait and is then forgotten: the next open tries again. */
#include "io/idx-file.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/ledger.h"
#include "base/lock.h"
#include "catalog/index-export.h"
#include "io/shard-reader.h"
#include "memory/charge.h"
#include "tar/key.h"

#include <assert.h>
#include <errno.h>

#define N_AT_A_TIME 4000	       /* members */
#define KEPT_NS	    (2 * SFS_NS_PER_S) /* after the last close */

struct sfs_idx_files {
	struct sfs_runtime *runtime;
	struct sfs_sizes *sizes;
	struct sfs_header_scanner *scanner;

	pthread_mutex_t lock; /* guards all below, and what an index has of it */
	struct sfs_link list;
	uint64_t *n_bytes; /* of each shard's; 0: not known.  NULL: none is */
};

struct sfs_idx_file {
	struct sfs_idx_files *all;
	struct sfs_shard *shard;

	/* Locked. */
	struct sfs_link link, waiters;
	bool is_made;
	uint32_t n_users;
	uint64_t closed_ns;
	int wait_err; /* the error that the task's waiter got */

	/* The task's, until it is made; then nobody changes it. */
	struct sfs_task task;
	struct sfs_waiter waiter;
	bool is_pinned;
	uint64_t next; /* member */
	struct sfs_index_export export;
	struct sfs_strbuf text;
	struct sfs_charge held; /* counts them */
};

static void free_idx(struct sfs_idx_file *idx)
{
	sfs_index_export_done(&idx->export);
	sfs_strbuf_done(&idx->text);
	sfs_charge_done(&idx->held);
	free(idx);
}

/* ---- making one: the task ---- */

static void on_waiter(struct sfs_waiter *waiter, int err)
{
	struct sfs_idx_file *idx = sfs_container(waiter, struct sfs_idx_file, waiter);

	/* Posted with the lock held: once the task sees the error it may free all. */
	pthread_mutex_lock(&idx->all->lock);
	idx->wait_err = err;
	sfs_threadpool_post(idx->all->runtime->pool, &idx->task);
	pthread_mutex_unlock(&idx->all->lock);
}

static void drop_unused(struct sfs_idx_files *all, uint64_t closed_before_ns);

static int count(struct sfs_idx_file *idx)
{
	struct sfs_runtime *runtime = idx->all->runtime;
	size_t n = idx->export.lines.capacity + idx->text.capacity;
	char size[32];

	if (sfs_charge_count(&idx->held, &runtime->texts, n,
			     sfs_runtime_texts_most(runtime)) == 0)
		return 0;
	drop_unused(idx->all, UINT64_MAX); /* those that are kept for a moment */
	if (sfs_charge_count(&idx->held, &runtime->texts, n,
			     sfs_runtime_texts_most(runtime)) == 0)
		return 0;
	sfs_ledger_add(SFS_EVENT_REFUSED, idx->shard->name, SFS_NO_OFFSET,
		       "close other files, or raise budget=",
		       "its .idx takes %s or more, which do not fit the budget",
		       sfs_format_size(n, size));
	return -ENOMEM;
}

/* Add some of the members.  -EINPROGRESS: there are more. */
static int add_members(struct sfs_idx_file *idx, struct sfs_error *why)
{
	const struct sfs_members *members = sfs_shard_members(idx->shard);
	uint64_t end = idx->next + N_AT_A_TIME;
	struct sfs_member m;
	int ret = 0;

	for (; idx->next < members->n && idx->next < end && ret == 0; idx->next++) {
		m = sfs_members_get(members, idx->next);
		if (sfs_key_length(m.name, m.n_name) == 0)
			continue;
		ret = m.is_sparse ? sfs_error_set(why, -EILSEQ, "sparse members")
				  : sfs_index_export_add(&idx->export, m.name, m.n_name,
							 m.data, m.size, why);
	}
	if (ret < 0)
		return ret;
	if (idx->next < members->n)
		return -EINPROGRESS;
	return sfs_index_export_print(&idx->export, &idx->text, why);
}

static int print(struct sfs_idx_file *idx)
{
	struct sfs_error why = {0};
	int ret = add_members(idx, &why);

	if (ret == 0)
		sfs_index_export_done(&idx->export);
	if (ret == -EILSEQ || ret == -ENODATA)
		sfs_ledger_add(SFS_EVENT_REFUSED, idx->shard->name, SFS_NO_OFFSET, "",
			       "cannot make its .idx: %s", why.text);
	if (ret < 0 && ret != -EINPROGRESS)
		return ret;
	if (count(idx) < 0)
		return -ENOMEM;
	if (ret == -EINPROGRESS)
		sfs_threadpool_post(idx->all->runtime->pool, &idx->task);
	return ret;
}

/* -EINPROGRESS: the task will run again. */
static int make(struct sfs_idx_file *idx)
{
	struct sfs_idx_files *all = idx->all;
	int ret;

	pthread_mutex_lock(&all->lock);
	ret = idx->wait_err;
	pthread_mutex_unlock(&all->lock);
	if (ret == 0)
		ret = sfs_sizes_shard(all->sizes, idx->shard, &idx->waiter);
	if (ret == 0 && !idx->is_pinned) {
		sfs_shard_pin(&all->runtime->shards, idx->shard);
		idx->is_pinned = true;
	}
	if (ret == 0)
		ret = sfs_header_scan_members(all->scanner, idx->shard, &idx->waiter);
	if (ret == 0 && sfs_shard_is_damaged(idx->shard))
		return -EIO; /* the ledger has it */
	if (ret == 0)
		return print(idx);
	return ret == -EINPROGRESS || ret == -ENOMEM ? ret : sfs_shard_read_err(ret);
}

/* Locked. */
static void keep_size(struct sfs_idx_file *idx)
{
	struct sfs_idx_files *all = idx->all;

	if (!all->n_bytes)
		all->n_bytes = sfs_calloc(all->runtime->shards.n, sizeof *all->n_bytes);
	all->n_bytes[idx->shard->index] = idx->text.n;
}

static bool idx_file_run(struct sfs_task *task)
{
	struct sfs_idx_file *idx = sfs_container(task, struct sfs_idx_file, task);
	struct sfs_idx_files *all = idx->all;
	struct sfs_link ended;
	int ret = make(idx);

	if (ret == -EINPROGRESS)
		return true;
	if (idx->is_pinned)
		sfs_shard_unpin(&all->runtime->shards, idx->shard);
	sfs_list_init(&ended);
	pthread_mutex_lock(&all->lock);
	sfs_waiters_tell(&idx->waiters, &ended);
	idx->is_made = ret == 0;
	idx->closed_ns = sfs_clock_ns();
	if (ret == 0)
		keep_size(idx);
	if (ret < 0)
		sfs_link_remove(&idx->link);
	pthread_mutex_unlock(&all->lock);
	sfs_waiters_end(&ended, ret);
	if (ret < 0)
		free_idx(idx);
	return ret == 0;
}

/* ---- open and close ---- */

/* Locked. */
static struct sfs_idx_file *find(struct sfs_idx_files *all, const struct sfs_shard *shard)
{
	SFS_EACH (idx, &all->list, struct sfs_idx_file, link) {
		if (idx->shard == shard)
			return idx;
	}
	return NULL;
}

/* Locked. */
static struct sfs_idx_file *begin(struct sfs_idx_files *all, struct sfs_shard *shard)
{
	struct sfs_idx_file *idx = sfs_calloc(1, sizeof *idx);

	idx->all = all;
	idx->shard = shard;
	idx->task.run = idx_file_run;
	idx->waiter.done = on_waiter;
	sfs_list_init(&idx->waiters);
	sfs_list_push(&all->list, &idx->link);
	sfs_threadpool_post(all->runtime->pool, &idx->task);
	return idx;
}

/* Locked. */
static void idx_file_explain(struct sfs_waiter *waiter, struct sfs_cause *cause)
{
	const struct sfs_shard *shard = waiter->owner;

	sfs_object_explain(shard->object, SFS_NO_OFFSET, "the headers", cause);
}

int sfs_idx_file_open(struct sfs_idx_files *all, struct sfs_shard *shard,
		      struct sfs_waiter *waiter, struct sfs_idx_file **ret_idx)
{
	struct sfs_idx_file *idx;
	int ret = 0;

	pthread_mutex_lock(&all->lock);
	idx = find(all, shard);
	if (!idx && waiter)
		idx = begin(all, shard);
	if (idx && idx->is_made) {
		idx->n_users++;
		*ret_idx = idx;
	} else {
		ret = -EINPROGRESS;
		if (waiter) {
			waiter->lock = &all->lock;
			waiter->explain = idx_file_explain;
			waiter->owner = shard;
			sfs_list_push(&idx->waiters, &waiter->link);
		}
	}
	pthread_mutex_unlock(&all->lock);
	return ret;
}

void sfs_idx_file_close(struct sfs_idx_file *idx)
{
	struct sfs_idx_files *all = idx->all;

	pthread_mutex_lock(&all->lock);
	idx->n_users--;
	idx->closed_ns = sfs_clock_ns();
	pthread_mutex_unlock(&all->lock);
}

int sfs_idx_file_size(struct sfs_idx_files *all, struct sfs_shard *shard,
		      struct sfs_waiter *waiter, uint64_t *ret_size)
{
	struct sfs_idx_file *idx;
	int ret;

	pthread_mutex_lock(&all->lock);
	*ret_size = all->n_bytes ? all->n_bytes[shard->index] : 0;
	pthread_mutex_unlock(&all->lock);
	if (*ret_size > 0)
		return 0;
	ret = sfs_idx_file_open(all, shard, waiter, &idx);
	if (ret == 0) {
		*ret_size = idx->text.n;
		sfs_idx_file_close(idx);
	}
	return ret;
}

const struct sfs_strbuf *sfs_idx_file_text(const struct sfs_idx_file *idx)
{
	return &idx->text;
}

/* ---- life ---- */

static void drop_unused(struct sfs_idx_files *all, uint64_t closed_before_ns)
{
	struct sfs_link dropped, *link, *next;
	struct sfs_idx_file *idx;

	sfs_list_init(&dropped);
	pthread_mutex_lock(&all->lock);
	for (link = all->list.next; link != &all->list; link = next) {
		next = link->next;
		idx = sfs_container(link, struct sfs_idx_file, link);
		if (!idx->is_made || idx->n_users > 0 ||
		    idx->closed_ns > closed_before_ns)
			continue;
		sfs_link_remove(&idx->link);
		sfs_list_push(&dropped, &idx->link);
	}
	pthread_mutex_unlock(&all->lock);
	while ((link = sfs_list_pop(&dropped)) != NULL) {
		idx = sfs_container(link, struct sfs_idx_file, link);
		sfs_threadpool_settle(all->runtime->pool,
				      &idx->task); /* it may be returning */
		free_idx(idx);
	}
}

void sfs_idx_files_tick(struct sfs_idx_files *all)
{
	drop_unused(all, sfs_clock_ns() - KEPT_NS);
}

struct sfs_idx_files *sfs_idx_files_new(struct sfs_runtime *runtime,
					struct sfs_sizes *sizes,
					struct sfs_header_scanner *scanner)
{
	struct sfs_idx_files *all = sfs_calloc(1, sizeof *all);

	*all = (struct sfs_idx_files){.runtime = runtime,
				      .sizes = sizes,
				      .scanner = scanner};
	sfs_lock_init(&all->lock, SFS_LOCK_IDX_FILES);
	sfs_list_init(&all->list);
	return all;
}

void sfs_idx_files_free(struct sfs_idx_files *all)
{
	if (!all)
		return;
	drop_unused(all, UINT64_MAX);
	assert(sfs_list_is_empty(&all->list));
	pthread_mutex_destroy(&all->lock);
	free(all->n_bytes);
	free(all);
}
