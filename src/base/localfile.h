/* SPDX-License-Identifier: MIT */
/* localfile - a file of this system that somebody else may change while it is read.
 *
 * It is read, never mapped: the pages of a mapping change with the file, and go away when
 * it is cut off or its disk fails, which ends the process by SIGBUS.  What was read stays
 * as it was, and can be checked once for good.
 *
 * Any thread may call.  All of it waits for the disk.
 */
#ifndef SFS_LOCALFILE_H
#define SFS_LOCALFILE_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct sfs_localfile {
	int fd;
	uint64_t n; /* its size when it was opened */
};

/* 0, close it; -ELOOP: a symbolic link; -EINVAL: not a regular file; others as the system
 * says them.  *err has a sentence that names the file. */
int sfs_localfile_open(const char *path, struct sfs_localfile *ret,
		       struct sfs_error *err);
void sfs_localfile_close(struct sfs_localfile *file);

/* Read its n bytes from `from` on.  -ESTALE: it is shorter than that by now. */
int sfs_localfile_read(const struct sfs_localfile *file, uint64_t from, void *ret_bytes,
		       size_t n);

/* All bytes of a file; the caller frees them.  -EFBIG: it has more than `most`; others as
 * above, with a sentence. */
int sfs_localfile_all(const char *path, uint64_t most, void **ret_bytes, size_t *ret_n,
		      struct sfs_error *err);

#endif
