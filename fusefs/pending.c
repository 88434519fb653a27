/* SPDX-License-Identifier: MIT */
/* How this works: a request is TRYING while a thread asks the tree for its answer,
 * WAITING when the tree has kept its waiter (or read), TAKEN when somebody is about to
 * reply.  If done() is called while the thread still tries, that thread goes on itself.
 *
 * Interrupts: libfuse 3.14 calls back with the request's lock held, where calling it
 * again would deadlock.  So the callback only sets a flag and wakes our thread.  The
 * callback is registered before another thread can answer the request, and unregistered
 * by whoever has taken it, before the reply frees it.
 *
 * The kernel sends one INTERRUPT for a request, at the caller's first signal, whichever
 * that is, and none when it is killed later.  A caller that goes on after the signal must
 * not see EINTR: it would lose a name or a file, and SA_RESTART does not help.  So from
 * then on our thread looks ten times a second at the caller's signals, and cancels the
 * wait when it is being killed. */
#include "pending.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/cond.h"
#include "base/ledger.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/signals.h"
#include "base/threadpool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CAUSES  16
#define TOGETHER_NS (10 * SFS_NS_PER_MS) /* what falls due so close is one readahead */

/* Looking at callers' signals: so often, if that takes a twentieth of the time at most. */
#define LOOK_NS	   (100 * SFS_NS_PER_MS)
#define LOOK_COSTS 20
/* A caller that we cannot look at may be killed or not: it waits so much longer. */
#define UNSEEN_NS (10 * SFS_NS_PER_S)

/* Have the thread look now.  Any lock may be held. */
static void wake(struct sfs_pending_table *p)
{
	pthread_mutex_lock(&p->wake_lock);
	p->is_woken = true;
	pthread_cond_signal(&p->wake);
	pthread_mutex_unlock(&p->wake_lock);
}

static void wait_for_wake(struct sfs_pending_table *p, uint64_t until_ns)
{
	pthread_mutex_lock(&p->wake_lock);
	while (!p->is_woken && sfs_cond_wait_until(&p->wake, &p->wake_lock, until_ns))
		;
	p->is_woken = false;
	pthread_mutex_unlock(&p->wake_lock);
}

static void on_interrupt(fuse_req_t req, void *data)
{
	struct sfs_pending *pending = data;

	atomic_store(&pending->is_interrupted, true);
	wake(pending->table);
}

/* The request is TAKEN, and not in the table. */
static void free_pending(struct sfs_pending *pending)
{
	struct sfs_pending_table *p = pending->table;

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
	free_pending(pending);
}

static void reply_late(struct sfs_pending *pending)
{
	fuse_req_interrupt_func(pending->req, NULL, NULL);
	pending->late(pending);
	free_pending(pending);
}

static struct sfs_page_range range_of(const struct sfs_pending *pending)
{
	return (struct sfs_page_range){pending->node, pending->cookie, pending->size};
}

/* The kernel may repeat it at once, so call this before the reply. */
static void note_failed(struct sfs_pending *pending)
{
	struct sfs_pending_table *p = pending->table;
	struct sfs_page_range range = range_of(pending);

	if (!pending->is_cached)
		return;
	pthread_mutex_lock(&p->lock);
	sfs_deadlines_fail(&p->deadlines, &range, pending->deadline_ns, pending->is_again,
			   sfs_clock_ns());
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
	free_pending(pending);
}

/* Try until there is an answer, or the waiter was kept. */
static void try(struct sfs_pending *pending)
{
	struct sfs_pending_table *p = pending->table;
	int ret;

	for (;;) {
		ret = pending->attempt(pending);
		if (ret != -EINPROGRESS) {
			if (ret < 0)
				reply_err(pending, ret);
			else
				free_pending(pending);
			return;
		}
		pthread_mutex_lock(&p->lock);
		if (!pending->is_done) {
			pending->state = SFS_PENDING_WAITING;
			sfs_list_push(&p->waiting, &pending->link);
			/* From here on another thread may reply and free it. */
			if (atomic_load(&pending->is_interrupted) || p->is_closed ||
			    pending->is_again || pending->late)
				wake(p);
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

/* What the request waits for has arrived, or failed.  true: the caller
 * goes on with it. */
static bool pending_take(struct sfs_pending *pending, int err)
{
	struct sfs_pending_table *p = pending->table;
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

	if (!pending_take(pending, err))
		return;
	if (err < 0)
		reply_err(pending, err);
	else
		try(pending);
}

static void on_read(struct sfs_read *read, int err)
{
	struct sfs_pending *pending = sfs_container(read, struct sfs_pending, read);

	if (pending_take(pending, err))
		reply_read(pending);
}

struct sfs_pending *sfs_pending_new(struct sfs_pending_table *table, fuse_req_t req)
{
	struct sfs_pending *pending = sfs_calloc(1, sizeof *pending);

	pending->table = table;
	pending->req = req;
	pending->waiter.done = on_waiter;
	pending->read.done = on_read;
	pending->state = SFS_PENDING_TRYING;
	pending->caller = fuse_req_ctx(req)->pid;
	return pending;
}

void sfs_pending_run(struct sfs_pending *pending)
{
	struct sfs_pending_table *p = pending->table;
	struct sfs_page_range range = range_of(pending);

	pthread_mutex_lock(&p->lock);
	p->n++;
	if (pending->is_cached)
		pending->deadline_ns =
			sfs_deadlines_begin(&p->deadlines, &range, p->timeout_ns,
					    sfs_clock_ns(), &pending->is_again);
	else if (!pending->late)
		pending->deadline_ns = sfs_clock_ns() + p->timeout_ns;
	else
		pending->deadline_ns = pending->own_ns == UINT64_MAX
					       ? UINT64_MAX
					       : sfs_clock_ns() + pending->own_ns;
	pthread_mutex_unlock(&p->lock);
	fuse_req_interrupt_func(pending->req, on_interrupt, pending);
	try(pending);
}

/* ---- interrupts ---- */

struct look {
	pid_t caller;
	enum sfs_signals signals;
};

static int by_caller(const void *a, const void *b)
{
	const struct look *x = a, *y = b;

	return (x->caller > y->caller) - (x->caller < y->caller);
}

/* Callers whose signals are due for a look.  Returns how many; the caller frees them. */
static size_t list_callers(struct sfs_pending_table *p, uint64_t now, struct look **ret)
{
	struct look *looks = NULL;
	size_t n = 0;

	pthread_mutex_lock(&p->lock);
	SFS_EACH (pending, &p->waiting, struct sfs_pending, link) {
		if (!atomic_load(&pending->is_interrupted) || pending->look_ns > now)
			continue;
		looks = sfs_reallocarray(looks, n + 1, sizeof *looks);
		looks[n++].caller = pending->caller;
	}
	pthread_mutex_unlock(&p->lock);
	*ret = looks;
	return n;
}

static bool is_the_end(const struct sfs_pending *pending, enum sfs_signals signals,
		       uint64_t now)
{
	switch (signals) {
	case SFS_SIGNALS_KILL:
		return true;
	case SFS_SIGNALS_CAUGHT:
		return pending->ends_by_handler;
	case SFS_SIGNALS_UNKNOWN:
		return pending->ends_by_handler ||
		       now - pending->interrupted_ns >= UNSEEN_NS;
	case SFS_SIGNALS_NONE:
		break;
	}
	return false;
}

/* Which of the interrupted requests end?  /proc is read without the lock: meanwhile
 * requests may go and others come, but a caller has one at a time. */
static void look_at_callers(struct sfs_pending_table *p)
{
	uint64_t begun = sfs_clock_ns(), now, pause;
	struct look *looks, *look;
	size_t n = list_callers(p, begun, &looks), i;

	if (n == 0)
		return;
	for (i = 0; i < n; i++)
		looks[i].signals = sfs_signals_of(looks[i].caller);
	qsort(looks, n, sizeof *looks, by_caller);
	now = sfs_clock_ns();
	pause = LOOK_COSTS * (now - begun);
	pthread_mutex_lock(&p->lock);
	SFS_EACH (pending, &p->waiting, struct sfs_pending, link) {
		if (!atomic_load(&pending->is_interrupted) || pending->look_ns > begun)
			continue;
		look = bsearch(&(struct look){.caller = pending->caller}, looks, n,
			       sizeof *looks, by_caller);
		if (!look)
			continue;
		if (!pending->interrupted_ns)
			pending->interrupted_ns = now;
		pending->is_ended = is_the_end(pending, look->signals, now);
		pending->look_ns = now + (pause > LOOK_NS ? pause : LOOK_NS);
	}
	pthread_mutex_unlock(&p->lock);
	free(looks);
}

/* ---- the end of requests ---- */

/* Cancel what the request waits for; the table is locked.  false: done() is about to be
 * called. */
static bool cancel(struct sfs_pending *pending)
{
	bool is_ours = pending->is_read ? sfs_read_cancel(&pending->read)
					: sfs_waiter_cancel(&pending->waiter);

	if (is_ours) {
		pending->state = SFS_PENDING_TAKEN;
		sfs_link_remove(&pending->link);
	}
	return is_ours;
}

/* Why must this request end?  0: no reason. */
static int reason(const struct sfs_pending_table *p, const struct sfs_pending *pending,
		  uint64_t now)
{
	if (p->is_closed)
		return -ECONNABORTED;
	if (pending->is_ended)
		return -EINTR;
	if (now + TOGETHER_NS < pending->deadline_ns)
		return 0;
	return pending->late ? -ETIMEDOUT : -EIO;
}

/* What late requests waited for: one line per cause, however many wait. */
struct overdue {
	struct {
		struct sfs_cause cause;
		unsigned n;
	} of[MAX_CAUSES];
	int n;
};

static void pending_explain(struct sfs_pending *pending, struct sfs_cause *cause)
{
	sfs_cause_set(cause, NULL, SFS_NO_OFFSET, "%s", "");
	if (pending->is_read)
		sfs_read_explain(&pending->read, cause);
	else
		sfs_waiter_explain(&pending->waiter, cause);
}

/* Count a late request; the table is locked.  A repeated one was reported before. */
static void count_overdue(struct overdue *all, struct sfs_pending *pending)
{
	struct sfs_cause cause = {0};
	int i;

	if (pending->is_again)
		return;
	pending_explain(pending, &cause);
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

static void report_overdue(const struct sfs_pending_table *p, const struct overdue *all)
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

/* When to look at it again. */
static uint64_t due_ns(const struct sfs_pending *pending)
{
	if (atomic_load(&pending->is_interrupted) &&
	    pending->look_ns < pending->deadline_ns)
		return pending->look_ns;
	return pending->deadline_ns;
}

/* End all requests that must end.  Returns when to look again. */
static uint64_t end_requests(struct sfs_pending_table *p)
{
	uint64_t now = sfs_clock_ns(), next = now + SFS_NS_PER_S;
	struct sfs_link ended, *link, *following;
	struct overdue overdue = {.n = 0};
	struct sfs_pending *pending;

	sfs_list_init(&ended);
	pthread_mutex_lock(&p->lock);
	for (link = p->waiting.next; link != &p->waiting; link = following) {
		following = link->next;
		pending = sfs_container(link, struct sfs_pending, link);
		pending->err = reason(p, pending, now);
		if (pending->err == -EIO)
			count_overdue(&overdue, pending);
		if (pending->err < 0 && cancel(pending))
			sfs_list_push(&ended, &pending->link);
		else if (due_ns(pending) < next)
			next = due_ns(pending);
	}
	pthread_mutex_unlock(&p->lock);
	report_overdue(p, &overdue);
	while ((link = sfs_list_pop(&ended)) != NULL) {
		pending = sfs_container(link, struct sfs_pending, link);
		if (pending->err == -EIO)
			note_failed(pending);
		if (pending->err == -ETIMEDOUT)
			reply_late(pending);
		else
			reply_err(pending, pending->err);
	}
	return next;
}

/* The clock skips a time in which the process did not run: nobody has waited then. */
static void tell_of_pause(uint64_t *told_ns)
{
	uint64_t paused_ns = sfs_clock_paused_ns();

	if (paused_ns == *told_ns)
		return;
	sfs_info("the process did not run for %.1f s; they do not count towards time "
		 "limits",
		 (double)(paused_ns - *told_ns) / SFS_NS_PER_S);
	*told_ns = paused_ns;
}

static void *pending_run(void *arg)
{
	struct sfs_pending_table *p = arg;
	uint64_t told_ns = 0;
	bool is_over;

	do {
		tell_of_pause(&told_ns);
		look_at_callers(p);
		wait_for_wake(p, end_requests(p));
		pthread_mutex_lock(&p->lock);
		is_over = p->is_stopping && p->n == 0;
		pthread_mutex_unlock(&p->lock);
	} while (!is_over);
	return NULL;
}

void sfs_pending_table_start(struct sfs_pending_table *p, uint64_t timeout_ms)
{
	*p = (struct sfs_pending_table){.timeout_ns = timeout_ms * SFS_NS_PER_MS};
	pthread_mutex_init(&p->wake_lock, NULL);
	pthread_cond_init(&p->wake, NULL);
	sfs_lock_init(&p->lock, SFS_LOCK_PENDING);
	pthread_cond_init(&p->is_empty, NULL);
	sfs_list_init(&p->waiting);
	p->thread = sfs_thread_start("sfs-deadline", pending_run, p);
}

void sfs_pending_table_close(struct sfs_pending_table *p)
{
	pthread_mutex_lock(&p->lock);
	p->is_closed = true;
	pthread_mutex_unlock(&p->lock);
	wake(p);
}

void sfs_pending_table_stop(struct sfs_pending_table *p)
{
	pthread_mutex_lock(&p->lock);
	p->is_closed = true;
	p->is_stopping = true;
	pthread_mutex_unlock(&p->lock);
	wake(p);
	pthread_mutex_lock(&p->lock);
	while (p->n > 0)
		pthread_cond_wait(&p->is_empty, &p->lock);
	pthread_mutex_unlock(&p->lock);
	wake(p);
	pthread_join(p->thread, NULL);
	pthread_cond_destroy(&p->is_empty);
	pthread_mutex_destroy(&p->lock);
	pthread_cond_destroy(&p->wake);
	pthread_mutex_destroy(&p->wake_lock);
}
