/* SPDX-License-Identifier: MIT */
/* cond - waits for a condition variable, but not longer than until some moment.
 *
 * The moment is one of sfs_clock_ns(), so setting the system's clock moves no deadline.
 * pthread_cond_timedwait() and sem_timedwait() go by the wall clock; nothing but this
 * module waits with a deadline. */
#ifndef SFS_COND_H
#define SFS_COND_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* As pthread_cond_wait(), until `until_ns` at most (UINT64_MAX: without end).  false:
 * that moment has come. */
bool sfs_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t until_ns);

#endif
