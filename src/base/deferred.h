/* SPDX-License-Identifier: MIT */
/* deferred - calls to make after a lock has been released.
 *
 * A source, a reader or FUSE is never called with a lock held.  Code that decides with a
 * lock held to call one of them adds the call here, and runs all calls after it has
 * released the lock.  A call is embedded in the object that it is about. */
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

/* Run the calls, in the order in which they were added. */
static inline void sfs_deferred_run(struct sfs_deferred *out)
{
	struct sfs_link *link;

	sfs_lock_check_none("deferred calls run");
	while ((link = sfs_list_pop(&out->jobs)) != NULL) {
		struct sfs_deferred_call *job =
			sfs_container(link, struct sfs_deferred_call, link);

		job->run(job);
	}
}

#endif
