/* SPDX-License-Identifier: MIT */
/* ring-dead - is the process of a consumer dead?
 *
 * So is one that is being killed: on a busy machine the kernel takes its time to end it, but it
 * runs nothing of its own again.
 */
#ifndef SFS_RING_DEAD_H
#define SFS_RING_DEAD_H

#include <stdbool.h>
#include <stdint.h>

/* 0, a process of a namespace that we do not see, is not. */
bool sfs_ring_is_dead(uint32_t pid);

#endif
