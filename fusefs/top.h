/* SPDX-License-Identifier: MIT */
/* top - shows what a mount is doing and who is waited for, again and again.
 *
 * It reads the mount's stats.json like any other program, so it works on every mount
 * whose files may be read. */
#ifndef SFS_TOP_H
#define SFS_TOP_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct sfs_top_options {
	unsigned delay_ms; /* between two pictures */
	uint32_t count;	   /* of pictures; 0: until q, an interrupt or an error */
	bool is_batch;	   /* plain lines, one picture below the other; no keys */
};

/* Show the mount at `where` on standard output; blocks until the end.  If
 * not a batch, it takes SIGINT, SIGTERM, SIGHUP, SIGTSTP and SIGWINCH.  0, or an error
 * with a sentence: no such mount, or not any more, or it cannot write. */
int sfs_top(const char *where, const struct sfs_top_options *options,
	    struct sfs_error *err);

#endif
