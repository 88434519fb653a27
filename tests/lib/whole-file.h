/* SPDX-License-Identifier: MIT */
/* whole-file - reads all of a local file by base/localfile.h. */
#ifndef SFS_TESTS_WHOLE_FILE_H
#define SFS_TESTS_WHOLE_FILE_H

#include "base/alloc.h"
#include "base/localfile.h"

#include <errno.h>
#include <string.h>

/* The caller frees the bytes.  -EFBIG: it has more than `most`; others as localfile.h's,
 * with an error. */
static inline int read_whole_file(const char *path, uint64_t most, void **ret_bytes,
				  size_t *ret_n, struct sfs_error *err)
{
	sfs_autofree void *bytes = NULL;
	struct sfs_localfile file;
	int ret;

	ret = sfs_localfile_open(path, &file, err);
	if (ret < 0)
		return ret;
	if (file.n > most)
		ret = -EFBIG;
	if (ret == 0 && !(bytes = malloc((size_t)file.n + 1))) /* not small: may fail */
		ret = -ENOMEM;
	if (ret == 0)
		ret = sfs_localfile_read(&file, 0, bytes, (size_t)file.n);
	sfs_localfile_close(&file);
	if (ret < 0)
		return sfs_error_set(err, ret, "%s: %s", path, strerror(-ret));
	*ret_bytes = steal(&bytes);
	*ret_n = (size_t)file.n;
	return 0;
}

#endif
