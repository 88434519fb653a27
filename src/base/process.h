/* SPDX-License-Identifier: MIT */
/* process - runs a program of the user's for its output, such as a token.
 *
 * The command is a line for /bin/sh.  It has no standard input, and a process group of
 * its own, which is killed if it takes too long.  Any thread may call; it waits.
 */
#ifndef SFS_PROCESS_H
#define SFS_PROCESS_H

#include "base/error.h"
#include "base/strbuf.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define SFS_PROCESS_MOST_BYTES (64 << 10) /* of its output */

/* Add what it writes to standard output to *text, which may be a secret, and may have
 * NULs in it.  It runs in `folder` (NULL: in ours).  It has limit_ms, and until
 * *is_stopped becomes true (NULL is fine).
 *
 * -EIO: it failed; -ETIMEDOUT: it did not end; -EMSGSIZE: it wrote too much; others: it
 * could not be started.  *err says why, with the last line of its standard error. */
int sfs_process_run(const char *command, const char *folder, uint64_t limit_ms,
		    const atomic_bool *is_stopped, struct sfs_strbuf *text,
		    struct sfs_error *err);

#endif
