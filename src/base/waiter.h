/* SPDX-License-Identifier: MIT */
/* waiter - what a call registers when it cannot answer yet.
 *
 * Such a call takes a waiter and returns -EINPROGRESS if it has kept it; then
 * done() is called once, on any thread and without locks, and the call is to be
 * made again (err = 0) or has failed.  Calls that take a waiter may be given
 * NULL: then they return -EINPROGRESS and keep nothing. */
#ifndef SFS_WAITER_H
#define SFS_WAITER_H

#include "base/cause.h"
#include "base/list.h"
#include "base/lock.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct sfs_waiter {
	void (*done)(struct sfs_waiter *waiter, int err);

	/* Of whom it was given to. */
	int (*translate)(int err); /* an error, before it is told; or NULL */
	/* What it waits for; called with the lock held, while it is in a list. */
	void (*explain)(struct sfs_waiter *waiter, struct sfs_cause *cause);
	void *owner;
	struct sfs_link link;
	pthread_mutex_t *lock; /* guards the link */
	struct sfs_link told;
	uint32_t shard;
	uint32_t n_again;  /* what was known already had to be looked at again */
	uint64_t asked_ns; /* sfs_clock_ns(), where the wait is bounded */
};

/* Take the waiter back.  true: done() will not be called.  false: it was, or is
 * about to be. */
static inline bool sfs_waiter_cancel(struct sfs_waiter *waiter)
{
	bool was_in;

	pthread_mutex_lock(waiter->lock);
	was_in = sfs_link_is_in(&waiter->link);
	sfs_link_remove(&waiter->link);
	pthread_mutex_unlock(waiter->lock);
	return was_in;
}

/* What does it wait for?  *cause stays as it is if it has been told, or that has no name.
 */
static inline void sfs_waiter_explain(struct sfs_waiter *waiter, struct sfs_cause *cause)
{
	pthread_mutex_lock(waiter->lock);
	if (sfs_link_is_in(&waiter->link) && waiter->explain)
		waiter->explain(waiter, cause);
	pthread_mutex_unlock(waiter->lock);
}

/* For those who were given waiters, with the lock held: this one, or all of a list,
 * cannot be taken back any more; sfs_waiters_end() is to tell them. */
static inline void sfs_waiter_tell(struct sfs_waiter *waiter, struct sfs_link *told)
{
	sfs_link_remove(&waiter->link);
	sfs_list_push(told, &waiter->told);
}

static inline void sfs_waiters_tell(struct sfs_link *waiters, struct sfs_link *told)
{
	while (!sfs_list_is_empty(waiters))
		sfs_waiter_tell(sfs_container(waiters->next, struct sfs_waiter, link),
				told);
}

/* Call their done(err); without the lock. */
static inline void sfs_waiters_end(struct sfs_link *told, int err)
{
	struct sfs_link *link;

	sfs_lock_check_none("waiters are told");
	while ((link = sfs_list_pop(told)) != NULL) {
		struct sfs_waiter *w = sfs_container(link, struct sfs_waiter, told);

		w->done(w, err < 0 && w->translate ? w->translate(err) : err);
	}
}

/* For callers that may wait:
 *
 *	struct sfs_sync sync;
 *	sfs_sync_init(&sync);
 *	while ((ret = sfs_...(..., &sync.waiter, ...)) == -EINPROGRESS &&
 *	       (ret = sfs_sync_wait(&sync)) == 0)
 *		;
 *	sfs_sync_done(&sync);
 */
struct sfs_sync {
	struct sfs_waiter waiter;
	pthread_mutex_t lock; /* guards is_done */
	pthread_cond_t wake;
	bool is_done;
	int err;
};

void sfs_sync_init(struct sfs_sync *sync);
void sfs_sync_done(struct sfs_sync *sync);

/* What the waiter was told.  -ETIMEDOUT: the sources have answered nothing for too long
 * (stall.h); the ledger says what was waited for. */
int sfs_sync_wait(struct sfs_sync *sync);

/* The same; calls show(ctx) every tenth of a second. */
int sfs_sync_wait_showing(struct sfs_sync *sync, void (*show)(void *ctx), void *ctx);

#endif
