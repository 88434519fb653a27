/* SPDX-License-Identifier: MIT */
/* outbox - what is to be done when the lock is free.
 *
 * No lock is held over a source, a reader or a reply.  Who has decided, with a
 * lock held, that one of them must be called puts a job here, and runs the jobs
 * when the lock is free.  A job is embedded in what it is about. */
#ifndef SFS_DEFERRED_H
#define SFS_DEFERRED_H

#include "base/list.h"
#include "base/lock.h"

struct sfs_deferred_call {
	void (*run)(
		struct sfs_deferred_call *job); /* may free what the job is embedded in */
	struct sfs_link link;
};

struct sfs_deferred {
	struct sfs_link jobs;
};

static inline void sfs_deferred_init(struct sfs_deferred *out)
{
	sfs_list_init(&out->jobs);
}

static inline void sfs_deferred_add(struct sfs_deferred *out,
				    struct sfs_deferred_call *job,
				    void (*run)(struct sfs_deferred_call *job))
{
	job->run = run;
	sfs_list_push(&out->jobs, &job->link);
}

/* Run the jobs, in the order in which they were put. */
static inline void sfs_deferred_run(struct sfs_deferred *out)
{
	struct sfs_link *link;

	sfs_lock_check_none("an outbox is flushed");
	while ((link = sfs_list_pop(&out->jobs)) != NULL) {
		struct sfs_deferred_call *job =
			sfs_container(link, struct sfs_deferred_call, link);

		job->run(job);
	}
}

#endif
