/* SPDX-License-Identifier: MIT */
/* outbox - what is to be done when the lock is free.
 *
 * No lock is held over a source, a reader or a reply.  Who has decided, with a
 * lock held, that one of them must be called puts a job here, and runs the jobs
 * when the lock is free.  A job is embedded in what it is about. */
#ifndef SFS_OUTBOX_H
#define SFS_OUTBOX_H

#include "list.h"
#include "lock.h"

struct sfs_job {
	void (*run)(struct sfs_job *job); /* may free what the job is embedded in */
	struct sfs_link link;
};

struct sfs_outbox {
	struct sfs_link jobs;
};

static inline void sfs_outbox_init(struct sfs_outbox *out)
{
	sfs_list_init(&out->jobs);
}

static inline void sfs_outbox_put(struct sfs_outbox *out, struct sfs_job *job,
				  void (*run)(struct sfs_job *job))
{
	job->run = run;
	sfs_list_push(&out->jobs, &job->link);
}

/* Run the jobs, in the order in which they were put. */
static inline void sfs_outbox_flush(struct sfs_outbox *out)
{
	struct sfs_link *link;

	sfs_lock_check_none("an outbox is flushed");
	while ((link = sfs_list_pop(&out->jobs)) != NULL) {
		struct sfs_job *job = sfs_container(link, struct sfs_job, link);

		job->run(job);
	}
}

#endif
