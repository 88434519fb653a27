/* SPDX-License-Identifier: MIT */
/* threadpool - a few threads that run tasks.
 *
 * A task is a function and its state, embedded in the object that it works on.  Two
 * threads never run it at once: a task that is posted while it runs runs once more
 * afterwards.  Tasks must not wait for the network, a reader or each other; the file
 * source, which waits for disks, has threads of its own.
 */
#ifndef SFS_THREADPOOL_H
#define SFS_THREADPOOL_H

#include "base/list.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct sfs_threadpool;

struct sfs_task {
	bool (*run)(struct sfs_task *task); /* false: the task is gone, freed by run */
	struct sfs_link link;		    /* the pool's from here on */
	enum { SFS_TASK_IDLE, SFS_TASK_QUEUED, SFS_TASK_RUNNING, SFS_TASK_AGAIN } state;
};

/* Start n threads called `name` (at most 15 letters).  Never NULL. */
struct sfs_threadpool *sfs_threadpool_start(const char *name, int n_threads);

/* Run the queued tasks and end the threads.  Waits for running tasks.  NULL is fine for
 * both. */
void sfs_threadpool_stop(struct sfs_threadpool *pool);
void sfs_threadpool_free(struct sfs_threadpool *pool); /* stop it first */

/* Run the task soon, on some thread.  Any thread may call; never waits.  A stopped pool
 * ignores it: until the very end, returned memory wakes those who waited for it. */
void sfs_threadpool_post(struct sfs_threadpool *pool, struct sfs_task *task);

/* A thread that is not a pool's may run by itself what it posts, which saves waking
 * another: between these two calls, the tasks that it posts (of one pool) are kept for
 * it, and the second call runs them, without locks.  They must not wait either, and the
 * pool must not be stopped meanwhile. */
void sfs_tasks_keep(void);
void sfs_tasks_run_kept(void);

/* Wait until the task neither runs nor is queued.  It must not be posted meanwhile, and
 * the task itself must not call this. */
void sfs_threadpool_settle(struct sfs_threadpool *pool, struct sfs_task *task);

/* Start a joinable thread that takes no signals; ends the process if the
 * system has none left.  `name` has at most 15 letters. */
pthread_t sfs_thread_start(const char *name, void *(*run)(void *), void *arg);

/* Join a thread that may be stuck in the system, such as one that reads a disk that does
 * not respond; until `until_ns`.  false: the thread is left running, and may use its
 * memory for as long as the process lives.  With try the caller is to join it yet. */
bool sfs_thread_join_until(pthread_t thread, uint64_t until_ns);
bool sfs_thread_try_join_until(pthread_t thread, uint64_t until_ns);

/* Was a thread left running?  Then nothing that it may use can be freed, and the process
 * ends with _exit(). */
bool sfs_threads_are_left(void);

#endif
