/* SPDX-License-Identifier: MIT */
/* libarchive - reads the header group of one member with libarchive, except for its name.
 *
 * For all that header.h calls ODD or EXTENSION: pax records, sparse files of every
 * dialect, base-256 numbers, old v7 headers.  It says what is stored and where.  entry.h
 * reads the names, because libarchive converts them to the character set of the locale,
 * which changes their bytes.  libarchive blocks in its callbacks, so it gets the complete
 * group from memory.  libarchive.c is the only file that includes libarchive.  Pure.
 */
#ifndef SFS_LIBARCHIVE_H
#define SFS_LIBARCHIVE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SFS_LIBARCHIVE_MAX ((size_t)1 << 20) /* bytes of a header group */

/* Data of a sparse file: `n_bytes` at `offset` of the file.  The runs are stored one
 * after another; the rest of the file reads as zeros. */
struct sfs_sparse_run {
	uint64_t offset, n_bytes;
};

struct sfs_libarchive {
	bool is_regular; /* a regular file, sparse ones included */
	bool is_sparse;
	uint64_t data; /* start of the stored data, from the start of the group */
	uint64_t end;  /* start of the next header, from the start of the group */
	uint64_t size; /* of the file; more than is stored if it is sparse */
	int64_t mtime; /* seconds since 1970 */
	uint32_t mode; /* permission bits */
	struct sfs_sparse_run *runs; /* if is_sparse */
	size_t n_runs;
};

/* Read the group at `group`: `n` bytes are in memory, and `n_left` remain up to the end
 * of the shard.
 *
 * 0: *ret_member is filled; free it with sfs_libarchive_done().
 * -EAGAIN: the group is longer than n; try with more.
 * -EBADMSG: it is damaged; -ERANGE: the shard ends before it does; *err says how.
 * -EOVERFLOW: longer than SFS_LIBARCHIVE_MAX. */
int sfs_libarchive_parse(const unsigned char *group, size_t n, uint64_t n_left,
			 struct sfs_libarchive *ret_member, struct sfs_error *err);
void sfs_libarchive_done(struct sfs_libarchive *member);

/* Which libarchive this runs with: "3.6.2". */
const char *sfs_libarchive_version(void);

#endif
