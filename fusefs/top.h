/* SPDX-License-Identifier: MIT */
/* top - `shufflefs top`: shows what a mount is doing, and what limits it, until it is
 * ended.
 *
 * It reads stats.json like any other program, so it works on every mount whose files may
 * be read. */
#ifndef SFS_TOP_H
#define SFS_TOP_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct sfs_top_options {
	unsigned delay_ms; /* between two screens */
	uint32_t count;	   /* of screens; 0: until q, an interrupt or an error */
	bool is_batch;	   /* plain lines, one screen below the other; no keys */
};

/* Show the mount at `where` on standard output; waits until the end.  Unless it is a
 * batch, this handles SIGINT, SIGTERM, SIGHUP, SIGTSTP and SIGWINCH.  < 0, with an error:
 * there is no such mount, or no longer, or standard output cannot be written. */
int sfs_top(const char *where, const struct sfs_top_options *options,
	    struct sfs_error *err);

#endif
