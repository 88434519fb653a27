/* SPDX-License-Identifier: MIT */
/* receive-loop - what a receiver does from its first connection to its last, whatever
 * a connection is.
 *
 * The thread that calls it is the one that calls sessions.h.
 */
#ifndef SFS_RECEIVE_LOOP_H
#define SFS_RECEIVE_LOOP_H

#include "transport/sessions.h"

struct sfs_receive_ops {
	/* Wait for something to happen, for half a second at most; serve all connections
	 * and tell senders what was released.  -ECANCELED: settings.stop_fd is readable. */
	int (*poll)(struct sfs_receiver *r);

	/* Drop who was silent for too long.  Called after each poll(). */
	void (*look_at_times)(struct sfs_receiver *r);

	/* Send this message to all senders that are connected. */
	void (*say)(struct sfs_receiver *r, const struct sfs_wire_message *bye);
};

/* A receiver's run(), see receiver.h. */
int sfs_receive_loop_run(struct sfs_sessions *s, const struct sfs_receive_ops *ops,
			 struct sfs_receiver *r, struct sfs_error *err);

/* A receiver's describe(): `source` is the URL that it listens at. */
void sfs_receive_loop_describe(const struct sfs_sessions *s, const char *source,
			       uint64_t n_refused, struct sfs_json_writer *json);

#endif
