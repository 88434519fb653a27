/* SPDX-License-Identifier: MIT */
/* target - where a stream can be forwarded to: checks the text, and opens nothing. */
#ifndef SFS_TARGET_H
#define SFS_TARGET_H

#include "base/error.h"

/* Can there be such a target?  Paths are absolute: the mount that starts the sidecar has
 * another working directory than who asks.  -EINVAL, with an error. */
int sfs_target_check(const char *target, struct sfs_error *err);

/* The same target with a path of this working directory made absolute; the caller frees
 * it. */
char *sfs_target_absolute(const char *target, const char *folder);

#endif
