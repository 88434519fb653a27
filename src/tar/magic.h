/* SPDX-License-Identifier: MIT */
/* magic - what a file is that is not a tar, by its first bytes, as file(1) tells it.
 *
 * For error messages only: compressed shards, other archives, and the web pages that
 * servers send instead of a file.  Pure.
 */
#ifndef SFS_MAGIC_H
#define SFS_MAGIC_H

#include <stddef.h>

struct sfs_magic {
	const char *bytes;
	size_t n_bytes;
	const char *what;   /* "gzip data" */
	const char *advice; /* "unpack it first (gunzip)" */
};

/* NULL: nothing that is known here. */
const struct sfs_magic *sfs_magic_find(const void *bytes, size_t n);

#endif
