/* SPDX-License-Identifier: MIT */
/* lock - locks have one order, and builds with a sanitizer check it.
 *
 * A thread that holds a lock may take only those that are after it in locks.def.  A lock
 * that is not in that table is a leaf: any other may be held when it is taken, and none
 * is taken while it is held.  A thread that waits for a condition holds only the lock of
 * the condition.
 *
 * `configure --enable-lock-checks` (the default with a sanitizer) makes all that abort
 * the process with both names.  Other builds check nothing, and a lock is a plain mutex.
 */
#ifndef SFS_LOCK_H
#define SFS_LOCK_H

#include <pthread.h>

enum sfs_lock_rank {
#define SFS_LOCK(rank, name, what) SFS_LOCK_##rank,
#include "base/locks.def"
#undef SFS_LOCK
	SFS_N_LOCK_RANKS
};

/* Initialize a lock of locks.def; destroy it as any other. */
void sfs_lock_init(pthread_mutex_t *lock, enum sfs_lock_rank rank);
void sfs_rwlock_init(pthread_rwlock_t *lock, enum sfs_lock_rank rank);

/* The caller is about to call code that may take any lock: it must hold none. */
#ifdef SFS_CHECK_LOCKS
void sfs_lock_check_none(const char *where);
#else
static inline void sfs_lock_check_none(const char *where)
{
}
#endif

#endif
