/* SPDX-License-Identifier: MIT */
/* ioctl - the commands of shufflefs/ioctl.h on an open file of the mount.
 *
 * It knows nothing of libfuse, and nothing here waits.
 */
#ifndef SFS_FORWARD_IOCTL_H
#define SFS_FORWARD_IOCTL_H

#include "shufflefs/ioctl.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct sfs_forward;

struct sfs_ioctl {
	unsigned cmd;
	const void *bytes; /* what the caller gave, n of them; borrowed */
	size_t n;
	uid_t caller;
	uid_t owner; /* who may start a session, besides root */
};

union sfs_ioctl_argument {
	struct {
		uint32_t size, flags;
	} head;
	struct shufflefs_version version;
	struct shufflefs_forward forward;
	struct shufflefs_status status;
	struct shufflefs_wait wait;
	struct shufflefs_seek seek;
	struct shufflefs_stop stop;
	struct shufflefs_ring_path ring;
};

/* Run a command, and set *arg to what the caller gets back: *ret_n bytes, even if it
 * failed, because a sentence in them says why; 0: only the errno.  -EINPROGRESS: it is a
 * WAIT, for arg->wait.timeout_ms, after which the caller gets arg->wait. */
int sfs_ioctl_run(struct sfs_forward *forward, const struct sfs_ioctl *ioctl,
		  union sfs_ioctl_argument *arg, size_t *ret_n);

#endif
