/* SPDX-License-Identifier: MIT */
/* limit - how much memory this process may use, and how much of it is only cache: of the
 * machine, or of the control group that leaves least.
 *
 * Reads files of /proc and of control groups (v1 or v2). */
#ifndef SFS_LIMIT_H
#define SFS_LIMIT_H

#include <stdint.h>

/* Bytes: the machine's memory, or the lowest limit of the control groups (v1 or
 * v2) that this process is in, and of the groups above. */
uint64_t sfs_memory_limit(void);

/* Bytes of whatever has that limit that are clean pages of files: the kernel can take
 * them for other use at once.  0: not known. */
uint64_t sfs_memory_clean(void);

/* The same for another /proc (for tests). */
uint64_t sfs_memory_limit_of(const char *proc);
uint64_t sfs_memory_clean_of(const char *proc);

#endif
