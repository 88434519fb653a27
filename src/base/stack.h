/* SPDX-License-Identifier: MIT */
/* stack - room for the stacks of all threads, also where the shell has lowered the
 * limit (ulimit -s), which the C library takes for the size of each thread's. */
#ifndef SFS_STACK_H
#define SFS_STACK_H

#include "base/error.h"

#include <stdint.h>

/* The least that the first thread must have, in bytes. */
#define SFS_STACK_LEAST ((uint64_t)128 << 10)

/* Call it first, with one thread.  -EPERM: the limit is below the least, and may not be
 * raised; *error says so. */
int sfs_stack_ensure(struct sfs_error *error);

#endif
