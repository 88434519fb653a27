/* SPDX-License-Identifier: MIT */
/* forward-ioctl - the commands of shufflefs/ioctl.h on an open file of the mount. */
#ifndef SFS_FORWARD_IOCTL_H
#define SFS_FORWARD_IOCTL_H

#include "pending.h"

#include <sys/types.h>

struct sfs_forward;

struct sfs_ioctl {
	unsigned cmd;
	const void *bytes; /* what the caller gave, n of them; borrowed */
	size_t n;
	uid_t owner; /* who may start a session, besides root */
};

/* Reply.  `forward` is the file's; it stays until the request was answered. */
void sfs_forward_ioctl(struct sfs_pending_table *table, fuse_req_t req,
		       struct sfs_forward *forward, const struct sfs_ioctl *ioctl);

#endif
