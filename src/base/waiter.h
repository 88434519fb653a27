/* SPDX-License-Identifier: MIT */
/* waiter - how a call that cannot finish yet is resumed.
 *
 * Such a call takes a waiter, and returns -EINPROGRESS if it has kept it.  Then done() is
 * called once, on any thread and without locks: err = 0: make the call again; < 0: it has
 * failed.  If the waiter is NULL, the call returns -EINPROGRESS and keeps nothing. */
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

	/* Set by the call that keeps it. */
	int (*translate)(int err); /* changes an error before done(); or NULL */
	/* What it waits for; called with the lock held, while it is in a list. */
	void (*explain)(struct sfs_waiter *waiter, struct sfs_cause *cause);
	void *owner;
	struct sfs_link link;
	pthread_mutex_t *lock; /* guards the link */
	struct sfs_link ended; /* see sfs_waiters_end() */
	uint32_t shard;
	uint32_t n_again;  /* how often it had to look again at what was known */
	uint64_t asked_ns; /* sfs_clock_ns(), where the wait is bounded */
};

/* Cancel the wait.  true: done() will not be called.  false: it was, or
 * is about to be. */
static inline bool sfs_waiter_cancel(struct sfs_waiter *waiter)
{
	bool was_in;

	pthread_mutex_lock(waiter->lock);
	was_in = sfs_link_is_in(&waiter->link);
	sfs_link_remove(&waiter->link);
	pthread_mutex_unlock(waiter->lock);
	return was_in;
}

/* What does it wait for?  *cause stays unchanged if it has ended, or if
 * that has no name. */
static inline void sfs_waiter_explain(struct sfs_waiter *waiter, struct sfs_cause *cause)
{
	pthread_mutex_lock(waiter->lock);
	if (sfs_link_is_in(&waiter->link) && waiter->explain)
		waiter->explain(waiter, cause);
	pthread_mutex_unlock(waiter->lock);
}

/* For calls that keep waiters, with the lock held: end the wait of this one, or of all of
 * a list.  They can no longer be cancelled, and are collected in `ended`; after the lock,
 * sfs_waiters_end() calls their done(). */
static inline void sfs_waiter_tell(struct sfs_waiter *waiter, struct sfs_link *ended)
{
	sfs_link_remove(&waiter->link);
	sfs_list_push(ended, &waiter->ended);
}

static inline void sfs_waiters_tell(struct sfs_link *waiters, struct sfs_link *ended)
{
	while (!sfs_list_is_empty(waiters))
		sfs_waiter_tell(sfs_container(waiters->next, struct sfs_waiter, link),
				ended);
}

/* Call done(err) of all; without the lock. */
static inline void sfs_waiters_end(struct sfs_link *ended, int err)
{
	struct sfs_link *link;

	sfs_lock_check_none("waiters are resumed");
	while ((link = sfs_list_pop(ended)) != NULL) {
		struct sfs_waiter *w = sfs_container(link, struct sfs_waiter, ended);

		w->done(w, err < 0 && w->translate ? w->translate(err) : err);
	}
}

/* For callers that can block:
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

/* Wait until the call can be made again.  -ETIMEDOUT: no source has responded for too
 * long (stall.h); the ledger says what it waited for.  Others: the call has failed. */
int sfs_sync_wait(struct sfs_sync *sync);

/* The same; calls show(ctx) every tenth of a second, unless `show` is NULL. */
int sfs_sync_wait_showing(struct sfs_sync *sync, void (*show)(void *ctx), void *ctx);

#endif
