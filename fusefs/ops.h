/* SPDX-License-Identifier: MIT */
/* ops - one function for each FUSE operation, over the tree. */
#ifndef SFS_OPS_H
#define SFS_OPS_H

#include "park.h"

#include "core.h"

#include <sys/types.h>

struct sfs_ops {
	struct sfs_core *core;
	struct sfs_parking parking;
	uid_t uid;
	gid_t gid;
	mode_t umask;
	bool direct_io;

	pthread_mutex_t lock;	 /* guards handles */
	struct sfs_link handles; /* files that are open */
};

/* Ready to be the user data of a session; starts the parking. */
void sfs_ops_init(struct sfs_ops *ops, struct sfs_core *core);

/* The loop has ended: reply to all that is parked, while there still is a session. */
void sfs_ops_stop(struct sfs_ops *ops);

/* After that: close what was left open. */
void sfs_ops_done(struct sfs_ops *ops);

/* For fuse_session_new(). */
const struct fuse_lowlevel_ops *sfs_ops_table(void);

#endif
