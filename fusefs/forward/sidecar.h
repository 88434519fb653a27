/* SPDX-License-Identifier: MIT */
/* sidecar - starts `shufflefs-sidecar send` as a child. */
#ifndef SFS_SIDECAR_H
#define SFS_SIDECAR_H

#include "shufflefs/ioctl.h"

#include "base/error.h"

#include <stdbool.h>
#include <sys/types.h>

/* Our ends; all are close-on-exec. */
struct sfs_sidecar {
	pid_t pid; /* the leader of a process group of its own */
	int pid_fd;
	int stream_fd; /* a socket: it gets the stream at the other end */
	int report_fd; /* its reports come here, not blocking */
	int log_fd;    /* and what it writes to standard error, here */
};

/* What to say where there is no sidecar: configure --without-sidecar. */
#define SFS_NO_SIDECAR "this shufflefs was built without the sidecar"

/* Start it, to forward the stream that is called `name`, as `wanted` says.  It
 * gets the stream as bytes, or as records of base/pieces.h.  -EPERM, -ENOENT, ...:
 * with an error. */
int sfs_sidecar_start(const struct shufflefs_forward *wanted, const char *name,
		      bool with_pieces, struct sfs_sidecar *ret, struct sfs_error *err);

/* samples:PATH, which gives samples as they are, and takes no options for batches. */
bool sfs_sidecar_gives_samples(const char *target);

/* Close our ends.  The child was waited for. */
void sfs_sidecar_close(struct sfs_sidecar *sidecar);

#endif
