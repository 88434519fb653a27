/* SPDX-License-Identifier: MIT */
/* identity - one number by which nodes see that they read the same epochs.
 *
 * Of the shards' names and sizes, and of what makes the order: see docs/ORDER.md.
 */
#ifndef SFS_IDENTITY_H
#define SFS_IDENTITY_H

#include "env.h"

#include <stdint.h>

/* All sizes must be known. */
uint64_t sfs_identity(const struct sfs_env *env);

#endif
