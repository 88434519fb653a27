/* SPDX-License-Identifier: MIT */
/* peek - reads a file of a mount that may hang, or be anybody's.
 *
 * A read of such a file may never end, and cannot even be killed while the mount's daemon
 * has it in hand.  So a child reads, and its caller waits in a poll() of its own.
 */
#ifndef SFS_PEEK_H
#define SFS_PEEK_H

#include "base/strbuf.h"

#include <stdbool.h>
#include <sys/types.h>

struct sfs_peek {
	int fd; /* poll it for POLLIN, then call sfs_peek_take() */
	pid_t child;
	int err; /* what the child said first */
	size_t n_err;
	struct sfs_strbuf text;
};

/* Begin to read the regular file, of at most `most` bytes.  No thread may run.  < 0: no
 * child could be started. */
int sfs_peek_start(struct sfs_peek *peek, const char *path, size_t most);

/* Take what has come.  -EAGAIN: there is more to come.  0: peek->text is the file.
 * Others: why not; -EINVAL: it is not a regular file, -EFBIG: it is larger. */
int sfs_peek_take(struct sfs_peek *peek);

/* All of it, for who has nothing else to do: -ETIMEDOUT after `timeout_ms`. */
int sfs_peek_wait(struct sfs_peek *peek, int timeout_ms);

void sfs_peek_end(struct sfs_peek *peek);

#endif
