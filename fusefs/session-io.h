/* SPDX-License-Identifier: MIT */
/* session-io - how a session reads and writes its FUSE descriptor.
 *
 * Like libfuse, except for the reply to INIT: it asks the kernel for parallel lookups,
 * which the low-level libfuse before 3.17 does not.  Without them, one waiting lookup
 * blocks all others in its folder, and SIGKILL does not end those.
 */
#ifndef SFS_SESSION_IO_H
#define SFS_SESSION_IO_H

#define FUSE_USE_VERSION FUSE_MAKE_VERSION(3, 12)
#include <fuse_lowlevel.h>

/* Call it after mounting, before the loop.  Returns 0 or -errno. */
int sfs_session_io_use(struct fuse_session *session);

#endif
