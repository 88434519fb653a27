/* SPDX-License-Identifier: MIT */
/* magic - identifies a file that is not a tar by its first bytes, as file(1) does.
 *
 * For error messages only: compressed shards, other archives, and web pages that servers
 * send instead of a file.  Pure.
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

/* What the n bytes are; NULL: unknown. */
const struct sfs_magic *sfs_magic_find(const void *bytes, size_t n);

/* What a file that begins with these n bytes is instead of a tar.  NULL: it may be a tar,
 * also a damaged one, or is unknown. */
const struct sfs_magic *sfs_magic_instead_of_tar(const void *bytes, size_t n);

#endif
