/* SPDX-License-Identifier: MIT */
/* cond - waits for a condition variable, with a deadline.
 *
 * The deadline is a time of sfs_clock_ns(), so setting the system clock does not move it.
 * pthread_cond_timedwait() and sem_timedwait() use the wall clock; only this module waits
 * with a deadline. */
#ifndef SFS_COND_H
#define SFS_COND_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Like pthread_cond_wait(), until `until_ns` (UINT64_MAX: no deadline).  false: it has
 * passed. */
bool sfs_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t until_ns);

#endif
