/* SPDX-License-Identifier: MIT */
/* channel - how a session reads and writes its FUSE descriptor.
 *
 * As libfuse does by itself, but for the reply to INIT: there we ask the kernel for
 * parallel look-ups, which the low-level libfuse before 3.17 does not pass on.  Without
 * them one look-up that is parked blocks all others in its folder, and SIGKILL does not
 * end those.
 */
#ifndef SFS_SESSION_IO_H
#define SFS_SESSION_IO_H

#define FUSE_USE_VERSION FUSE_MAKE_VERSION(3, 12)
#include <fuse_lowlevel.h>

/* For a session that is mounted and has not begun to loop.  0 or -errno. */
int sfs_session_io_use(struct fuse_session *session);

#endif
