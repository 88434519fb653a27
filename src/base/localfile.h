/* SPDX-License-Identifier: MIT */
/* localfile - a local file that may change while it is read.
 *
 * It is read, never mapped: the pages of a mapping change with the file, and are lost
 * when the file is truncated or its disk fails, which kills the process with SIGBUS.
 * Bytes that were read do not change, and need to be verified only once.
 *
 * Any thread may call.  All functions wait for the disk.
 */
#ifndef SFS_LOCALFILE_H
#define SFS_LOCALFILE_H

#include "base/error.h"
#include "base/strbuf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sfs_localfile {
	int fd;
	uint64_t n; /* its size when it was opened */
};

/* 0: close it.  -ELOOP: a symbolic link.  -EINVAL: not a regular file.  Others: from the
 * system.  *err names the file. */
int sfs_localfile_open(const char *path, struct sfs_localfile *ret,
		       struct sfs_error *err);
void sfs_localfile_close(struct sfs_localfile *file);

/* Read n bytes from `from` on.  -ESTALE: the file is shorter now. */
int sfs_localfile_read(const struct sfs_localfile *file, uint64_t from, void *ret_bytes,
		       size_t n);

/* Append the whole of any file to *text: of a pipe, what comes until it ends; "-" is
 * standard input.  *ret_is_pipe: it is no regular file, or is "-".  -EFBIG: it has more
 * than `n_most` bytes.  Others: from the system.  *err names the file.
 *
 * Standard input then is a copy of what came, which can be read again by this call, also
 * in a child that inherits it. */
int sfs_localfile_append(const char *path, size_t n_most, struct sfs_strbuf *text,
			 bool *ret_is_pipe, struct sfs_error *err);

/* Is standard input such a copy?  May be called between fork and exec. */
bool sfs_localfile_stdin_is_kept(void);

#endif
