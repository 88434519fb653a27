/* SPDX-License-Identifier: MIT */
/* pool - a few threads that run tasks.
 *
 * A task is a function and its state, embedded in the object that it works on.
 * It is never run by two threads at once: posting a task that runs makes it
 * run once more afterwards.  Tasks must not wait for the network, a reader or
 * each other; the file source, whose whole business is to wait for a disk, has
 * a pool of its own.
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

/* Run the queued tasks, and end the threads: waits for the tasks that run.  NULL is
 * fine, here and there. */
void sfs_threadpool_stop(struct sfs_threadpool *pool);
void sfs_threadpool_free(struct sfs_threadpool *pool); /* a stopped one */

/* Run the task soon, on some thread.  Any thread may call; never waits.  A pool that
 * was stopped ignores it: memory that is given back wakes whoever waited for it, to
 * the very end. */
void sfs_threadpool_post(struct sfs_threadpool *pool, struct sfs_task *task);

/* Wait until the task neither runs nor is queued; nobody may post it meanwhile.
 * Must not be called by the task itself. */
void sfs_threadpool_settle(struct sfs_threadpool *pool, struct sfs_task *task);

/* Start a joinable thread that takes no signals; ends the process if the
 * system has none left.  `name` has at most 15 letters. */
pthread_t sfs_thread_start(const char *name, void *(*run)(void *), void *arg);

/* Join a thread that may be stuck in the system, such as one that reads a disk which does
 * not answer; until `until_ns` at most.  false: it is left behind, and may use whatever
 * it has for as long as the process lives. */
bool sfs_thread_join_until(pthread_t thread, uint64_t until_ns);

/* Was one left behind?  Then nothing that threads use may be freed any more, and the
 * process ends by _exit(). */
bool sfs_threads_are_left(void);

#endif
