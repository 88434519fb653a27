/* SPDX-License-Identifier: MIT */
/* park - requests of the kernel that cannot be answered yet.
 *
 * FUSE's threads never wait: a request that must wait is parked, and answered from
 * whichever thread brings what it waits for.  There is one table of parked
 * requests, one path for interrupts and one for deadlines, for every kind alike.
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
	pthread_t warden;

	pthread_mutex_t bell_lock; /* guards is_rung; taken inside of all others */
	pthread_cond_t bell;
	bool is_rung; /* the warden is to look */

	pthread_mutex_t lock; /* guards all below, and every park's state */
	pthread_cond_t is_empty;
	struct sfs_link parks;
	uint32_t n;
	bool is_closed;
	struct sfs_deadlines deadlines; /* of reads of the page cache that have failed */
};

struct sfs_pending {
	/* Set by the user before sfs_pending_run(). */
	struct sfs_pending_table *pending_table;
	fuse_req_t req;
	/* Try to answer: reply and return 0; or return -EINPROGRESS after `waiter` (or
	 * `read`, if is_read) was given away; or an errno to reply. */
	int (*attempt)(struct sfs_pending *pending);
	/* Is_read: the read has ended without an error: reply, and release it. */
	void (*answer)(struct sfs_pending *pending);
	bool is_read;
	bool is_cached;	       /* a read for the page cache: see deadlines.h */
	uint64_t node, cookie; /* whatever the attempt needs */
	size_t size;
	bool is_plus;
	bool is_list; /* in which ENOENT would read as its end */
	char *name;
	struct fuse_file_info fi;

	/* Given away by the attempt. */
	struct sfs_waiter waiter;
	struct sfs_read read;

	/* The parking's. */
	struct sfs_link link;
	enum { SFS_PENDING_TRYING, SFS_PENDING_WAITING, SFS_PENDING_TAKEN } state;
	bool is_done; /* while TRYING: what it waited for is there already */
	int err;
	atomic_bool is_interrupted;
	uint64_t deadline_ns;
	bool is_again; /* the deadline is that of a read that failed before */
};

/* Start the warden.  A request may be parked for `timeout_ms`, then it gets EIO. */
void sfs_pending_table_start(struct sfs_pending_table *pending_table,
			     uint64_t timeout_ms);

/* Reply ECONNABORTED to all that wait and end the warden.  Waits until every park is
 * gone, which takes no longer than a reply. */
void sfs_pending_table_stop(struct sfs_pending_table *pending_table);

/* A park for the request; the caller fills it in. */
struct sfs_pending *sfs_pending_new(struct sfs_pending_table *pending_table,
				    fuse_req_t req);

/* Answer the request now, or park it.  The park is not the caller's any more. */
void sfs_pending_run(struct sfs_pending *pending);

#endif
