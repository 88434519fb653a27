/* SPDX-License-Identifier: MIT */
/* forward - sessions: streams of the mount that a sidecar forwards (shufflefs/ioctl.h).
 *
 * A session is the child, the thread that feeds it, and what it has reported.  One thread
 * watches all children.  Any thread may call; nothing here waits, but for stop.
 */
#ifndef SFS_FORWARD_H
#define SFS_FORWARD_H

#include "shufflefs/ioctl.h"

#include "base/error.h"
#include "base/waiter.h"

#include <stdint.h>

struct sfs_forward;
struct sfs_forwards;
struct sfs_tree;

/* All sessions of a mount.  The tree stays borrowed until free.  `is_mounted` tells whether
 * the mount is still in the table of mounts; it is called when the first session begins,
 * and if it is there then, whenever the table has changed, by one thread at a time. */
struct sfs_forwards *sfs_forwards_new(struct sfs_tree *tree,
				      bool (*is_mounted)(void *arg), void *arg);

/* End all sessions, and wait for them: 5 s at most, then they are killed.  None can be
 * started from here on. */
void sfs_forwards_stop(struct sfs_forwards *all);
void sfs_forwards_free(struct sfs_forwards *all); /* stop them first */

/* The sessions of one open file, of a stream; one at a time. */
struct sfs_forward *sfs_forward_new(struct sfs_forwards *all, uint64_t node);

/* Its session is ended, which may take until after this. */
void sfs_forward_free(struct sfs_forward *forward); /* NULL is fine */

/* Start a session; sets wanted->ret_session.  -EBUSY: there is one; -EINVAL, -ENOENT,
 * ...: with an error. */
int sfs_forward_start(struct sfs_forward *forward, struct shufflefs_forward *wanted,
		      struct sfs_error *err);

void sfs_forward_status(struct sfs_forward *forward, struct shufflefs_status *ret);

/* The state of a session that has ended; -EINPROGRESS: the waiter is called when it has.
 * -ENODATA: none was started. */
int sfs_forward_wait(struct sfs_forward *forward, struct sfs_waiter *waiter,
		     uint32_t *ret_state);

/* -EBUSY: there is a session. */
int sfs_forward_seek(struct sfs_forward *forward, uint64_t first);

/* End the session: in 5 s at most, or at once. */
void sfs_forward_end(struct sfs_forward *forward, bool at_once);

/* The path in the target "local:PATH".  -ENODATA: there is none. */
int sfs_forward_ring(struct sfs_forward *forward, char *ret, size_t room);

#endif
