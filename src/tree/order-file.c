/* SPDX-License-Identifier: MIT */
/* How this works: a file is a task that makes text (order-maker.h) for the first of the
 * reads that wait, or, if none does, for those who want its size. */
#include "tree/order-file.h"

#include "base/alloc.h"
#include "base/ledger.h"
#include "base/lock.h"
#include "tree/order-maker.h"

#include <assert.h>
#include <errno.h>

struct sfs_order_files {
	struct sfs_runtime *runtime;
	struct sfs_names *names;
	struct sfs_account account;

	pthread_mutex_t lock; /* guards all below, and what files say is under it */
	struct sfs_link list;
};

struct sfs_order_file {
	struct sfs_order_files *all;
	uint32_t number; /* of its name in `names` */
	struct sfs_task task;

	/* Locked. */
	struct sfs_link link, reads;
	struct sfs_link waiters; /* for its size */
	bool is_measured;	 /* now: that is one of the users */
	uint32_t n_users;
	bool is_closed;
	uint64_t n_lines;

	struct sfs_order_maker maker; /* the task's */
};

/* Bring the text nearer to the n bytes at `at`: see sfs_order_maker_work(). */
static int work(struct sfs_order_file *s, uint64_t at, size_t n)
{
	uint64_t n_lines;
	int ret = sfs_order_maker_work(&s->maker, at, n, &n_lines);

	pthread_mutex_lock(&s->all->lock);
	s->n_lines += n_lines;
	pthread_mutex_unlock(&s->all->lock);
	return ret;
}

static void fill(const struct sfs_order_file *s, struct sfs_read *read)
{
	const struct sfs_order_maker *m = &s->maker;
	uint64_t from = read->offset - m->start;

	read->release = sfs_read_reset;
	if (read->offset < m->start || from >= m->text.n)
		read->n_bytes = 0;
	else if (read->n_bytes > m->text.n - from)
		read->n_bytes = (size_t)(m->text.n - from);
	if (read->n_bytes > 0)
		sfs_read_add_copy(read, m->text.s + from, read->n_bytes);
}

/* Locked. */
static struct sfs_read *first_read(struct sfs_order_file *s)
{
	return sfs_list_is_empty(&s->reads)
		       ? NULL
		       : sfs_container(s->reads.next, struct sfs_read, link);
}

/* The bytes are there, or never will be.  The read may have been cancelled meanwhile. */
static void answer(struct sfs_order_file *s, uint64_t at, size_t n, int err)
{
	struct sfs_read *read;

	pthread_mutex_lock(&s->all->lock);
	read = first_read(s);
	if (read && (read->offset != at || read->n_bytes != n))
		read = NULL;
	if (read)
		sfs_link_remove(&read->link);
	if (read && err == 0)
		fill(s, read);
	pthread_mutex_unlock(&s->all->lock);
	if (read)
		read->done(read, err);
}

static void free_file(struct sfs_order_file *s)
{
	sfs_order_maker_done(&s->maker);
	free(s);
}

/* Locked. */
static void remove_user(struct sfs_order_file *s)
{
	if (--s->n_users > 0)
		return;
	assert(sfs_list_is_empty(&s->reads) && sfs_list_is_empty(&s->waiters));
	sfs_link_remove(&s->link);
	s->is_closed = true;
	/* Posted with the lock held: the task sees that it is closed, and frees it. */
	sfs_threadpool_post(s->all->runtime->pool, &s->task);
}

/* All lines were made: keep the size. */
static int keep_size(struct sfs_order_file *s)
{
	int ret = sfs_order_maker_measure(&s->maker);

	if (ret == 0)
		sfs_names_set_text(s->all->names, s->number, s->maker.size);
	return ret;
}

/* Go on with finding the size, as long as somebody waits for it. */
static void measure(struct sfs_order_file *s)
{
	struct sfs_link ended;
	bool is_wanted;
	int ret = 0;

	pthread_mutex_lock(&s->all->lock);
	is_wanted = !sfs_list_is_empty(&s->waiters) && !s->maker.has_size;
	pthread_mutex_unlock(&s->all->lock);
	if (is_wanted)
		ret = work(s, UINT64_MAX, 0);
	if (is_wanted && ret == 0)
		ret = keep_size(s);
	sfs_list_init(&ended);
	pthread_mutex_lock(&s->all->lock);
	if (ret != -EINPROGRESS) {
		sfs_waiters_tell(&s->waiters, &ended);
		s->is_measured = false;
		remove_user(s);
	}
	pthread_mutex_unlock(&s->all->lock);
	sfs_waiters_end(&ended, ret);
}

static bool order_file_run(struct sfs_task *task)
{
	struct sfs_order_file *s = sfs_container(task, struct sfs_order_file, task);
	struct sfs_order_files *all = s->all;
	bool is_closed, is_measured;
	struct sfs_read *read;
	uint64_t at = 0;
	size_t n = 0;
	int ret;

	pthread_mutex_lock(&all->lock);
	is_closed = s->is_closed;
	is_measured = s->is_measured;
	read = first_read(s);
	if (read) {
		at = read->offset;
		n = read->n_bytes;
	}
	pthread_mutex_unlock(&all->lock);
	if (is_closed)
		free_file(s);
	if (is_closed || (!read && !is_measured))
		return !is_closed;

	ret = read ? work(s, at, n) : -EINPROGRESS;
	if (ret != -EINPROGRESS)
		answer(s, at, n, ret);
	if (!read)
		measure(s);
	/* Give others a turn.  (After the last answer the file may be closed: then only
	 * this task frees it, when it runs once more.) */
	sfs_threadpool_post(all->runtime->pool, task);
	return true;
}

/* ---- readers ---- */

static bool cancel(struct sfs_read *read)
{
	struct sfs_order_file *s = read->owner;
	bool was_in;

	pthread_mutex_lock(&s->all->lock);
	was_in = sfs_link_is_in(&read->link);
	sfs_link_remove(&read->link);
	pthread_mutex_unlock(&s->all->lock);
	return was_in;
}

static void order_file_explain(struct sfs_read *read, struct sfs_cause *cause)
{
	sfs_cause_set(cause, NULL, SFS_NO_OFFSET, "the text of an .order file");
}

void sfs_order_file_read(struct sfs_order_file *s, struct sfs_read *read)
{
	read->owner = s;
	read->cancel = cancel;
	read->explain = order_file_explain;
	read->release = sfs_read_reset;
	pthread_mutex_lock(&s->all->lock);
	sfs_list_push(&s->reads, &read->link);
	sfs_threadpool_post(s->all->runtime->pool, &s->task);
	pthread_mutex_unlock(&s->all->lock);
}

uint64_t sfs_order_file_lines(struct sfs_order_file *s)
{
	uint64_t n;

	pthread_mutex_lock(&s->all->lock);
	n = s->n_lines;
	pthread_mutex_unlock(&s->all->lock);
	return n;
}

/* The file of a text, which has one user more.  Locked. */
static struct sfs_order_file *add_user(struct sfs_order_files *all,
				       const struct sfs_order_text *what)
{
	struct sfs_order_file *s;

	SFS_EACH (known, &all->list, struct sfs_order_file, link) {
		if (known->number == what->number) {
			known->n_users++;
			return known;
		}
	}
	s = sfs_calloc(1, sizeof *s);
	s->all = all;
	s->number = what->number;
	sfs_order_maker_init(&s->maker, all->runtime, &all->account, what);
	s->maker.has_size = sfs_names_text(all->names, what->number, &s->maker.size);
	s->task.run = order_file_run;
	sfs_list_init(&s->reads);
	sfs_list_init(&s->waiters);
	sfs_list_push(&all->list, &s->link);
	s->n_users = 1;
	return s;
}

struct sfs_order_file *sfs_order_file_open(struct sfs_order_files *all,
					   const struct sfs_order_text *what)
{
	struct sfs_order_file *s;

	pthread_mutex_lock(&all->lock);
	s = add_user(all, what);
	pthread_mutex_unlock(&all->lock);
	return s;
}

/* Locked. */
static void explain_size(struct sfs_waiter *waiter, struct sfs_cause *cause)
{
	sfs_cause_set(cause, NULL, SFS_NO_OFFSET, "the size of an .order or .idx file");
}

int sfs_order_file_measure(struct sfs_order_files *all, const struct sfs_order_text *what,
			   struct sfs_waiter *waiter, struct sfs_text_size *ret_size)
{
	struct sfs_order_file *s;

	if (sfs_names_text(all->names, what->number, ret_size))
		return 0;
	if (!waiter)
		return -EINPROGRESS;
	pthread_mutex_lock(&all->lock);
	s = add_user(all, what);
	if (s->is_measured)
		s->n_users--;
	s->is_measured = true;
	waiter->lock = &all->lock;
	waiter->explain = explain_size;
	waiter->owner = s;
	sfs_list_push(&s->waiters, &waiter->link);
	sfs_threadpool_post(all->runtime->pool, &s->task);
	pthread_mutex_unlock(&all->lock);
	return -EINPROGRESS;
}

void sfs_order_file_close(struct sfs_order_file *s)
{
	struct sfs_order_files *all;

	if (!s)
		return;
	all = s->all;
	pthread_mutex_lock(&all->lock);
	remove_user(s);
	pthread_mutex_unlock(&all->lock);
}

/* ---- life ---- */

struct sfs_order_files *sfs_order_files_new(struct sfs_runtime *runtime,
					    struct sfs_names *names)
{
	struct sfs_order_files *all = sfs_calloc(1, sizeof *all);

	all->runtime = runtime;
	all->names = names;
	sfs_lock_init(&all->lock, SFS_LOCK_ORDER_FILES);
	sfs_list_init(&all->list);
	sfs_account_open(&all->account, &runtime->budget, 0, false, NULL);
	return all;
}

void sfs_order_files_free(struct sfs_order_files *all)
{
	if (!all)
		return;
	assert(sfs_list_is_empty(&all->list));
	sfs_account_close(&all->account);
	pthread_mutex_destroy(&all->lock);
	free(all);
}
