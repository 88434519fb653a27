/* SPDX-License-Identifier: MIT */
/* mapped - the bytes of a local file, read-only, without a copy where that is safe.
 *
 * Files on local disks are mapped.  Small ones are copied, and so are those on file
 * systems of which we do not know that a file stays readable once it is open: on NFS
 * another node's rename() takes the blocks away, and a mapping answers with SIGBUS.
 * Nobody may write to such a file in place; to replace it, rename() another over it.
 *
 * Any thread may call.  Opening waits for the disk, and so may touching what is mapped.
 */
#ifndef SFS_MAPPED_H
#define SFS_MAPPED_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>

#define SFS_MAPPED_MIN	((size_t)64 << 10) /* smaller files are copied */
#define SFS_MAPPED_MAX	((size_t)1 << 40)  /* larger ones are refused */
#define SFS_MAPPED_COPY ((size_t)1 << 30)  /* so much is copied at most */

struct sfs_mapped {
	void *bytes; /* aligned to 16; NULL if n is 0 */
	size_t n;
	bool is_mapped; /* false: a copy, which takes n bytes of memory */
};

/* The bytes of the file as it is now.
 * 0; -ELOOP: a symbolic link; -EINVAL: not a regular file; -EFBIG: too large; -ESTALE:
 * it changed its size meanwhile; others as the system says them.  *err has a sentence
 * that names the file. */
int sfs_mapped_open(const char *path, struct sfs_mapped *ret_mapped,
		    struct sfs_error *err);

void sfs_mapped_done(struct sfs_mapped *mapped); /* empty again; fine if it is */

#endif
