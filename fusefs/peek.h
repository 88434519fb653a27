/* SPDX-License-Identifier: MIT */
/* peek - reads the stats of a mount that may hang or belong to anybody.
 *
 * A read of its files may never end, and cannot even be killed while the daemon of the
 * mount has the request.  So a child process reads, and the caller polls.
 */
#ifndef SFS_PEEK_H
#define SFS_PEEK_H

#include "base/strbuf.h"

#include <stdbool.h>
#include <sys/types.h>

struct sfs_peek {
	int fd; /* poll it for POLLIN, then call sfs_peek_take() */
	pid_t child;
	int err; /* what the child reports first */
	size_t n_err;
	struct sfs_strbuf text;
};

/* The file, in the mount's folder. */
#define SFS_PEEK_FILE ".shufflefs/stats.json"

/* Start to read that of the mount on `where`.  No other thread may run.  < 0: cannot start
 * a child. */
int sfs_peek_start(struct sfs_peek *peek, const char *where);

/* Take what has arrived.  0: peek->text is the file.  -EAGAIN: not yet.  -EINVAL: not a
 * regular file.  -EFBIG: too large.  Others: from the system. */
int sfs_peek_take(struct sfs_peek *peek);

/* Wait for the whole file.  -ETIMEDOUT: not within `timeout_ms`. */
int sfs_peek_wait(struct sfs_peek *peek, int timeout_ms);

void sfs_peek_end(struct sfs_peek *peek);

#endif
