/* SPDX-License-Identifier: MIT */
/* reconnect - the connections of a sender, one after the other: until all has arrived, or
 * the sender is stopped, or there was no receiver of use for too long (patience.h).  The
 * thread of tcp:// and rdma://.
 */
#ifndef SFS_RECONNECT_H
#define SFS_RECONNECT_H

#include "transport/outbox.h"
#include "transport/patience.h"

/* What one connection does; all of it blocks, and ends soon after sfs_outbox_stop().
 * -ECANCELED: the sender is stopped; -ECONNABORTED: no further attempt; with an error. */
struct sfs_reconnect {
	int (*connect)(struct sfs_transport *t, struct sfs_error *err);
	int (*stream)(struct sfs_transport *t, struct sfs_error *err);
	void (*disconnect)(struct sfs_transport *t); /* whatever of it there is */
};

/* Returns when there is nothing more to do; a final error is the outbox's then.
 * *heard_ns: when the receiver was heard last, which stream() keeps. */
void sfs_reconnect_run(const struct sfs_reconnect *how, struct sfs_transport *t,
		       struct sfs_outbox *box, struct sfs_patience *patience,
		       uint64_t *heard_ns);

#endif
