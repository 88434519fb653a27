/* SPDX-License-Identifier: MIT */
/* ops - one function for each FUSE operation, over the tree. */
#ifndef SFS_OPS_H
#define SFS_OPS_H

#include "pages.h"
#include "pending.h"

#include "tree/tree.h"

#include <sys/types.h>

struct sfs_ops {
	struct sfs_tree *tree;
	struct sfs_pending_table pending_table;
	struct sfs_pages pages;
	struct sfs_forwards *forwards;
	char device[32]; /* of the mount; set once, for `forwards` */
	uid_t uid; /* that files show */
	gid_t gid;
	mode_t umask;
	bool direct_io;

	pthread_mutex_t lock;	 /* guards handles, and forward of each */
	struct sfs_link handles; /* open files */
};

/* Make it the user data of a session, and start its table of pending requests.  The
 * tree stays borrowed until sfs_ops_done(). */
void sfs_ops_init(struct sfs_ops *ops, struct sfs_tree *tree);

/* After the loop, while the session exists: reply to all pending requests, and end what
 * is forwarded. */
void sfs_ops_stop(struct sfs_ops *ops);

/* After that: close files that are still open. */
void sfs_ops_done(struct sfs_ops *ops);

/* For fuse_session_new(). */
const struct fuse_lowlevel_ops *sfs_ops_table(void);

#endif
