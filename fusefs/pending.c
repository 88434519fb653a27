/* SPDX-License-Identifier: MIT */
/* How this works: a park is TRYING while a thread asks the engine on its behalf,
 * WAITING when the engine has kept its waiter (or read), TAKEN when somebody is about
 * to reply.  The engine's done() may come while the thread still tries: then that
 * thread goes on itself.
 *
 * Interrupts: libfuse 3.14 calls back with the request's lock held, where calling
 * it again would deadlock.  So the callback only flags and wakes the warden, which
 * takes the wait back from the engine and replies EINTR.  The callback is registered
 * before a request can be answered by another thread, and unregistered by whoever
 * has taken it, before the reply frees it. */
#include "pending.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/cond.h"
#include "base/ledger.h"
#include "base/lock.h"
#include "base/threadpool.h"

#include <errno.h>
#include <string.h>

#define MAX_CAUSES  16
#define TOGETHER_NS (10 * SFS_NS_PER_MS) /* what falls due so close is one readahead */

/* Have the warden look now.  Any lock may be held. */
static void ring(struct sfs_pending_table *p)
{
	pthread_mutex_lock(&p->bell_lock);
	p->is_rung = true;
	pthread_cond_signal(&p->bell);
	pthread_mutex_unlock(&p->bell_lock);
}

static void wait_for_bell(struct sfs_pending_table *p, uint64_t until_ns)
{
	pthread_mutex_lock(&p->bell_lock);
	while (!p->is_rung && sfs_cond_wait_until(&p->bell, &p->bell_lock, until_ns))
		;
	p->is_rung = false;
	pthread_mutex_unlock(&p->bell_lock);
}

static void on_interrupt(fuse_req_t req, void *data)
{
	struct sfs_pending *pending = data;

	atomic_store(&pending->is_interrupted, true);
	ring(pending->pending_table);
}

/* The park is TAKEN, and out of the table. */
static void forget(struct sfs_pending *pending)
{
	struct sfs_pending_table *p = pending->pending_table;

	free(pending->name);
	sfs_read_reset(&pending->read);
	free(pending);
	pthread_mutex_lock(&p->lock);
	if (--p->n == 0)
		pthread_cond_broadcast(&p->is_empty);
	pthread_mutex_unlock(&p->lock);
}

static void reply_err(struct sfs_pending *pending, int err)
{
	sfs_lock_check_none("the kernel gets a reply");
	if (pending->is_list && err == -ENOENT)
		err = -EIO;
	fuse_req_interrupt_func(pending->req, NULL, NULL);
	fuse_reply_err(pending->req, -err);
	forget(pending);
}

/* The kernel may ask for it again at once.  Call this before the reply. */
static void note_failed(struct sfs_pending *pending)
{
	struct sfs_pending_table *p = pending->pending_table;

	if (!pending->is_cached)
		return;
	pthread_mutex_lock(&p->lock);
	sfs_deadlines_fail(&p->deadlines, pending->node, pending->cookie, pending->size,
			   pending->deadline_ns, pending->is_again, sfs_clock_ns());
	pthread_mutex_unlock(&p->lock);
}

static void reply_read(struct sfs_pending *pending)
{
	if (pending->err < 0) {
		note_failed(pending);
		reply_err(pending, pending->err);
		return;
	}
	fuse_req_interrupt_func(pending->req, NULL, NULL);
	pending->answer(pending);
	forget(pending);
}

/* Ask the engine, until it answers or keeps the waiter. */
static void try(struct sfs_pending *pending)
{
	struct sfs_pending_table *p = pending->pending_table;
	int ret;

	for (;;) {
		ret = pending->attempt(pending);
		if (ret != -EINPROGRESS) {
			if (ret < 0)
				reply_err(pending, ret);
			else
				forget(pending);
			return;
		}
		pthread_mutex_lock(&p->lock);
		if (!pending->is_done) {
			pending->state = SFS_PENDING_WAITING;
			sfs_list_push(&p->parks, &pending->link);
			/* From here on another thread may reply and free it. */
			if (atomic_load(&pending->is_interrupted) || p->is_closed ||
			    pending->is_again)
				ring(p);
			pthread_mutex_unlock(&p->lock);
			return;
		}
		pending->is_done = false;
		ret = pending->err;
		pthread_mutex_unlock(&p->lock);
		if (pending->is_read) {
			reply_read(pending);
			return;
		}
		if (ret < 0) {
			reply_err(pending, ret);
			return;
		}
	}
}

/* What the park waits for has come, or failed.  true: the caller goes on with it. */
static bool take(struct sfs_pending *pending, int err)
{
	struct sfs_pending_table *p = pending->pending_table;
	bool was_waiting;

	pthread_mutex_lock(&p->lock);
	pending->err = err;
	was_waiting = pending->state == SFS_PENDING_WAITING;
	if (was_waiting) {
		pending->state = SFS_PENDING_TRYING;
		sfs_link_remove(&pending->link);
	} else {
		pending->is_done = true;
	}
	pthread_mutex_unlock(&p->lock);
	return was_waiting;
}

static void on_waiter(struct sfs_waiter *waiter, int err)
{
	struct sfs_pending *pending = sfs_container(waiter, struct sfs_pending, waiter);

	if (!take(pending, err))
		return;
	if (err < 0)
		reply_err(pending, err);
	else
		try(pending);
}

static void on_read(struct sfs_read *read, int err)
{
	struct sfs_pending *pending = sfs_container(read, struct sfs_pending, read);

	if (take(pending, err))
		reply_read(pending);
}

struct sfs_pending *sfs_pending_new(struct sfs_pending_table *pending_table,
				    fuse_req_t req)
{
	struct sfs_pending *pending = sfs_calloc(1, sizeof *pending);

	pending->pending_table = pending_table;
	pending->req = req;
	pending->waiter.done = on_waiter;
	pending->read.done = on_read;
	pending->state = SFS_PENDING_TRYING;
	return pending;
}

void sfs_pending_run(struct sfs_pending *pending)
{
	struct sfs_pending_table *p = pending->pending_table;

	pthread_mutex_lock(&p->lock);
	p->n++;
	if (pending->is_cached)
		pending->deadline_ns =
			sfs_deadlines_begin(&p->deadlines, pending->node, pending->cookie,
					    pending->size, p->timeout_ns, sfs_clock_ns(),
					    &pending->is_again);
	else
		pending->deadline_ns = sfs_clock_ns() + p->timeout_ns;
	pthread_mutex_unlock(&p->lock);
	fuse_req_interrupt_func(pending->req, on_interrupt, pending);
	try(pending);
}

/* ---- the warden ---- */

/* Take back from the engine what the park waits for; the parking is locked.
 * false: the engine is about to call done(). */
static bool take_back(struct sfs_pending *pending)
{
	bool is_ours = pending->is_read ? sfs_read_cancel(&pending->read)
					: sfs_waiter_cancel(&pending->waiter);

	if (is_ours) {
		pending->state = SFS_PENDING_TAKEN;
		sfs_link_remove(&pending->link);
	}
	return is_ours;
}

/* Why should this park be ended?  0: no reason. */
static int reason(const struct sfs_pending_table *p, const struct sfs_pending *pending,
		  uint64_t now)
{
	if (p->is_closed)
		return -ECONNABORTED;
	if (atomic_load(&pending->is_interrupted))
		return -EINTR;
	return now + TOGETHER_NS >= pending->deadline_ns ? -EIO : 0;
}

/* What those waited for whose time is up: a line for each cause, however many wait. */
struct overdue {
	struct {
		struct sfs_cause cause;
		unsigned n;
	} of[MAX_CAUSES];
	int n;
};

static void explain(struct sfs_pending *pending, struct sfs_cause *cause)
{
	sfs_cause_set(cause, NULL, SFS_NO_OFFSET, "%s", "");
	if (pending->is_read)
		sfs_read_explain(&pending->read, cause);
	else
		sfs_waiter_explain(&pending->waiter, cause);
}

/* Count a request in; the parking is locked.  What the kernel asks again was told. */
static void count_overdue(struct overdue *all, struct sfs_pending *pending)
{
	struct sfs_cause cause = {0};
	int i;

	if (pending->is_again)
		return;
	explain(pending, &cause);
	for (i = 0; i < all->n; i++)
		if (all->of[i].cause.shard == cause.shard &&
		    strcmp(all->of[i].cause.text, cause.text) == 0)
			break;
	if (i == MAX_CAUSES)
		i--;
	if (i == all->n)
		all->of[all->n++].cause = cause;
	all->of[i].n++;
}

static void tell_overdue(const struct sfs_pending_table *p, const struct overdue *all)
{
	sfs_autofree char *then = NULL;
	int i;

	for (i = 0; i < all->n; i++) {
		then = all->of[i].n == 1
			       ? sfs_strdup("the reader gets EIO")
			       : sfs_asprintf("%u readers get EIO", all->of[i].n);
		sfs_cause_note(&all->of[i].cause, p->timeout_ns, then);
		free(steal(&then));
	}
}

/* End what must be ended.  Returns when to look again. */
static uint64_t patrol(struct sfs_pending_table *p)
{
	uint64_t now = sfs_clock_ns(), next = now + SFS_NS_PER_S;
	struct sfs_link ended, *link, *following;
	struct overdue overdue = {.n = 0};
	struct sfs_pending *pending;

	sfs_list_init(&ended);
	pthread_mutex_lock(&p->lock);
	for (link = p->parks.next; link != &p->parks; link = following) {
		following = link->next;
		pending = sfs_container(link, struct sfs_pending, link);
		pending->err = reason(p, pending, now);
		if (pending->err == -EIO)
			count_overdue(&overdue, pending);
		if (pending->err < 0 && take_back(pending))
			sfs_list_push(&ended, &pending->link);
		else if (pending->deadline_ns < next)
			next = pending->deadline_ns;
	}
	pthread_mutex_unlock(&p->lock);
	tell_overdue(p, &overdue);
	while ((link = sfs_list_pop(&ended)) != NULL) {
		pending = sfs_container(link, struct sfs_pending, link);
		if (pending->err == -EIO)
			note_failed(pending);
		reply_err(pending, pending->err);
	}
	return next;
}

static void *guard(void *arg)
{
	struct sfs_pending_table *p = arg;
	bool is_closed;

	do {
		wait_for_bell(p, patrol(p));
		pthread_mutex_lock(&p->lock);
		is_closed = p->is_closed && p->n == 0;
		pthread_mutex_unlock(&p->lock);
	} while (!is_closed);
	return NULL;
}

void sfs_pending_table_start(struct sfs_pending_table *p, uint64_t timeout_ms)
{
	*p = (struct sfs_pending_table){.timeout_ns = timeout_ms * SFS_NS_PER_MS};
	pthread_mutex_init(&p->bell_lock, NULL);
	pthread_cond_init(&p->bell, NULL);
	sfs_lock_init(&p->lock, SFS_LOCK_PENDING);
	pthread_cond_init(&p->is_empty, NULL);
	sfs_list_init(&p->parks);
	p->warden = sfs_thread_start("sfs-warden", guard, p);
}

void sfs_pending_table_stop(struct sfs_pending_table *p)
{
	pthread_mutex_lock(&p->lock);
	p->is_closed = true;
	pthread_mutex_unlock(&p->lock);
	ring(p);
	pthread_mutex_lock(&p->lock);
	while (p->n > 0)
		pthread_cond_wait(&p->is_empty, &p->lock);
	pthread_mutex_unlock(&p->lock);
	ring(p);
	pthread_join(p->warden, NULL);
	pthread_cond_destroy(&p->is_empty);
	pthread_mutex_destroy(&p->lock);
	pthread_cond_destroy(&p->bell);
	pthread_mutex_destroy(&p->bell_lock);
}
