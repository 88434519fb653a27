/* SPDX-License-Identifier: MIT */
/* fingerprint - a number that is the same on all machines that read the same epochs.
 *
 * A hash of the names and sizes of the shards, and of the settings of the order: see
 * docs/ORDER.md.
 */
#ifndef SFS_FINGERPRINT_H
#define SFS_FINGERPRINT_H

#include "io/runtime.h"

#include <stdint.h>

/* All sizes must be known. */
uint64_t sfs_fingerprint(const struct sfs_runtime *runtime);

/* What version 0.1.0 showed, for the same shards and settings. */
uint64_t sfs_fingerprint_of_first_edition(const struct sfs_runtime *runtime);

#endif
