/* SPDX-License-Identifier: MIT */
/* identity - one number by which nodes see that they read the same epochs.
 *
 * Of the shards' names and sizes, and of what makes the order: see docs/ORDER.md.
 */
#ifndef SFS_FINGERPRINT_H
#define SFS_FINGERPRINT_H

#include "io/runtime.h"

#include <stdint.h>

/* All sizes must be known. */
uint64_t sfs_fingerprint(const struct sfs_runtime *runtime);

#endif
