/* SPDX-License-Identifier: MIT */
/* fetch-internal - what fetch.c (queues, and the loop) and fetch-times.c (what stalls, or
 * is late) share.  All for the fetch thread. */
#ifndef SFS_FETCH_INTERNAL_H
#define SFS_FETCH_INTERNAL_H

#include "base/rng.h"
#include "source/http/fetch.h"
#include "source/http/origin.h"

#include <errno.h>
#include <pthread.h>

struct sfs_fetch {
	struct sfs_fetch_options options; /* its strings are copies */
	pthread_t thread;
	atomic_bool is_closed, has_cancelled;

	pthread_mutex_t lock; /* guards the next two */
	struct sfs_link incoming;
	bool has_ended; /* the thread */

	/* The thread's own. */
	struct sfs_curl *curl;
	struct sfs_http1_gets *http1;
	struct sfs_origins origins;
	struct sfs_link delayed; /* until their time comes */
	struct sfs_link active;
	struct sfs_netpath reported; /* to the owner */
	struct sfs_rng rng;
	struct sfs_user_headers *headers;
};

/* The GET is over: its end() is called.  `fetch` is a struct sfs_fetch. */
void sfs_fetch_finish(void *fetch, struct sfs_get *get, int err,
		      enum sfs_fetch_outcome outcome, const char *why);

static inline void sfs_fetch_cancel(struct sfs_fetch *f, struct sfs_get *get)
{
	sfs_fetch_finish(f, get, -ECANCELED, SFS_FETCH_FINAL, "cancelled");
}

/* End what was cancelled, and what has stalled; returns how many. */
int sfs_fetch_end_some(struct sfs_fetch *f, uint64_t now);

/* Call late() of those that are late; they may drop each other. */
void sfs_fetch_handle_late(struct sfs_fetch *f, uint64_t now);

/* The moment at which the first active GET will have stalled, or is late. */
uint64_t sfs_fetch_next_deadline(struct sfs_fetch *f);

#endif
