/* SPDX-License-Identifier: MIT */
/* command - `shufflefs forward`: has a mount forward one of its streams. */
#ifndef SFS_FORWARD_COMMAND_H
#define SFS_FORWARD_COMMAND_H

#include "shufflefs/ioctl.h"

#include "base/error.h"

/* Forward the stream in the file `path`, and wait until all of it has arrived.  Shows the
 * progress if standard error is a terminal.  -EINTR: a signal came; the session was
 * stopped.  Others: with an error. */
int sfs_forward_command(const char *path, struct shufflefs_forward *wanted,
			struct sfs_error *err);

#endif
