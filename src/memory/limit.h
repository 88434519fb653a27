/* SPDX-License-Identifier: MIT */
/* limit - how much memory this process may use: that of the machine or control group. */
#ifndef SFS_LIMIT_H
#define SFS_LIMIT_H

#include <stdint.h>

/* Bytes: the machine's memory, or the lowest limit of the control groups (v1 or
 * v2) that this process is in, and of the groups above. */
uint64_t sfs_memory_limit(void);

/* The same for another /proc/self (for tests). */
uint64_t sfs_memory_limit_of(const char *proc_self);

#endif
