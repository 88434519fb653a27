/* SPDX-License-Identifier: MIT */
/* ioctl - replies to ioctls on an open file; those that wait become pending requests. */
#ifndef SFS_IOCTL_H
#define SFS_IOCTL_H

#include "pending.h"

#include "forward/ioctl.h"

/* `forward` is the file's; it stays until the request was answered. */
void sfs_ioctl_answer(struct sfs_pending_table *table, fuse_req_t req,
		      struct sfs_forward *forward, const struct sfs_ioctl *ioctl);

#endif
