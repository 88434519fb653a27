/* SPDX-License-Identifier: MIT */
/* pending - requests of the kernel that cannot be answered yet.
 *
 * The threads of FUSE never wait: a request that must wait is kept in a table, and the
 * thread that brings what it waits for answers it.  There is one table, one way to
 * interrupt and one way to time out for requests of every kind.
 */
#ifndef SFS_PENDING_H
#define SFS_PENDING_H

#define FUSE_USE_VERSION FUSE_MAKE_VERSION(3, 12)
#include <fuse_lowlevel.h>

#include "base/deadlines.h"
#include "base/list.h"
#include "base/waiter.h"
#include "io/request.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct sfs_pending_table {
	uint64_t timeout_ns;
	pthread_t thread; /* ends requests that are interrupted or late */

	pthread_mutex_t wake_lock; /* guards is_woken; taken inside of all others */
	pthread_cond_t wake;
	bool is_woken; /* the thread is to look at the table now */

	pthread_mutex_t lock; /* guards all below, and the state of every request */
	pthread_cond_t is_empty;
	struct sfs_link waiting;
	uint32_t n; /* waiting or not */
	bool is_closed, is_stopping;
	struct sfs_deadlines deadlines; /* of reads of the page cache that have failed */
};

struct sfs_pending {
	/* Set by the user before sfs_pending_run(). */
	struct sfs_pending_table *table;
	fuse_req_t req;
	/* Try to answer: reply and return 0; or return -EINPROGRESS after `waiter` (or
	 * `read`, if is_read) was given away; or an errno to reply. */
	int (*attempt)(struct sfs_pending *pending);
	/* If is_read: the read has ended without an error: reply, and release it. */
	void (*answer)(struct sfs_pending *pending);
	/* It has a time-out of its own, own_ns, at which this replies; or NULL. */
	void (*late)(struct sfs_pending *pending);
	uint64_t own_ns; /* UINT64_MAX: none */
	bool is_read;
	bool is_cached;	       /* a read for the page cache: see deadlines.h */
	uint64_t node, cookie; /* whatever the attempt needs; of a read, its offset */
	size_t size;
	bool is_plus;
	bool is_list; /* in which ENOENT would read as its end */
	bool ends_by_handler; /* EINTR also if a handler of the caller's is to run */
	char *name;
	struct fuse_file_info fi;

	/* Given away by the attempt. */
	struct sfs_waiter waiter;
	struct sfs_read read;

	/* Private to pending.c. */
	struct sfs_link link; /* in `waiting` */
	enum { SFS_PENDING_TRYING, SFS_PENDING_WAITING, SFS_PENDING_TAKEN } state;
	bool is_done; /* while TRYING: what it waited for is there already */
	int err;
	atomic_bool is_interrupted; /* the caller got some signal */
	pid_t caller;		    /* its thread; 0: in no PID namespace that we see */
	uint64_t interrupted_ns;    /* when we saw that; 0: not yet */
	uint64_t look_ns;	    /* when to look at the caller's signals again */
	bool is_ended;		    /* EINTR: the caller is being killed */
	uint64_t deadline_ns;
	bool is_again; /* it repeats a read that has failed, and has its deadline */
};

/* Start the thread.  A request may wait for `timeout_ms`, then it gets EIO. */
void sfs_pending_table_start(struct sfs_pending_table *table, uint64_t timeout_ms);

/* From now on, reply ECONNABORTED to all that wait or would. */
void sfs_pending_table_close(struct sfs_pending_table *table);

/* Close it, and end the thread.  Waits until every request is gone, which takes no longer
 * than a reply. */
void sfs_pending_table_stop(struct sfs_pending_table *table);

/* A pending request; the caller fills it in. */
struct sfs_pending *sfs_pending_new(struct sfs_pending_table *table, fuse_req_t req);

/* Answer the request now, or keep it in the table.  Takes the request. */
void sfs_pending_run(struct sfs_pending *pending);

#endif
