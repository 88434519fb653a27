/* SPDX-License-Identifier: MIT */
/* secret - reads the file of --secret-file, and makes random bytes for auth.h. */
#ifndef SFS_SIDECAR_SECRET_H
#define SFS_SIDECAR_SECRET_H

#include "transport/auth.h"

#include "base/error.h"

/* The file is ours or root's, and nobody else may read it, as ssh wants of a key.
 * -EACCES, -EINVAL, ...: with an error that names it. */
int sfs_secret_read(const char *path, struct sfs_secret *ret, struct sfs_error *err);

void sfs_secret_nonce(unsigned char ret[SFS_WIRE_NONCE_BYTES]);

#endif
