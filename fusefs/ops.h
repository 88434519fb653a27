/* SPDX-License-Identifier: MIT */
/* ops - one function for each FUSE operation, over the tree. */
#ifndef SFS_OPS_H
#define SFS_OPS_H

#include "pending.h"

#include "engine/engine.h"
#include "tree/tree.h"

#include <sys/types.h>

struct sfs_ops {
	struct sfs_engine *engine;
	struct sfs_tree *tree;
	struct sfs_pending_table pending_table;
	uid_t uid;
	gid_t gid;
	mode_t umask;
	bool direct_io;

	pthread_mutex_t lock;	 /* guards handles */
	struct sfs_link handles; /* files that are open */
};

/* Ready to be the user data of a session; starts the parking.  The tree is `engine`'s;
 * both stay borrowed until sfs_ops_done(). */
void sfs_ops_init(struct sfs_ops *ops, struct sfs_engine *engine, struct sfs_tree *tree);

/* The loop has ended: reply to all that is parked, while there still is a session. */
void sfs_ops_stop(struct sfs_ops *ops);

/* After that: close what was left open. */
void sfs_ops_done(struct sfs_ops *ops);

/* For fuse_session_new(). */
const struct fuse_lowlevel_ops *sfs_ops_table(void);

#endif
