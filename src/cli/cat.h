/* SPDX-License-Identifier: MIT */
/* cat - writes a file of a dataset to standard output, without a mount. */
#ifndef SFS_CAT_H
#define SFS_CAT_H

#include "base/error.h"
#include "config/options.h"

/* Write the file `path` ("epochs/0.tar") of the dataset to the descriptor.  -EPIPE: the
 * reader closed the pipe before it had all samples.  Others: with an error. */
int sfs_cat(struct sfs_options *options, const struct sfs_strings *specs,
	    const char *path, int fd, struct sfs_error *err);

#endif
