/* SPDX-License-Identifier: MIT */
/* How this works: one queue, one lock, one condition.  A task's state says
 * whether it is queued, so posting twice queues once; a task that is posted
 * while it runs goes back into the queue when it returns.
 *
 * A task that a thread keeps for itself is QUEUED too, in a list that only this thread
 * touches: no post is lost, since whoever posts it meanwhile finds a task that will run
 * from its start; and nobody frees what it belongs to, since only its run does. */
#include "base/threadpool.h"

#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

struct sfs_threadpool {
	pthread_mutex_t lock; /* guards all below and every task's state */
	pthread_cond_t wake;  /* the queue got an item, or is_closed */
	struct sfs_link queue;
	pthread_cond_t idle; /* a task became idle */
	bool is_closed;	     /* threads end when the queue is empty */
	bool is_stopped;     /* they have ended */
	int n_threads;
	pthread_t threads[];
};

pthread_t sfs_thread_start(const char *name, void *(*run)(void *), void *arg)
{
	sigset_t all, old;
	pthread_t thread;
	int ret;

	sigfillset(&all);
	sigdelset(&all, SIGBUS); /* a fault, which may have a handler */
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ret = pthread_create(&thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (ret != 0) {
		sfs_error("cannot start thread '%s': %s", name, strerror(ret));
		abort();
	}
	pthread_setname_np(thread, name);
	return thread;
}

static atomic_bool are_left;

bool sfs_thread_join_until(pthread_t thread, uint64_t until_ns)
{
	bool has_ended = sfs_thread_try_join_until(thread, until_ns);

	if (!has_ended)
		atomic_store(&are_left, true);
	return has_ended;
}

bool sfs_thread_try_join_until(pthread_t thread, uint64_t until_ns)
{
	struct timespec pause = {.tv_nsec = 50000};

	while (pthread_tryjoin_np(thread, NULL) != 0) {
		if (sfs_clock_ns() >= until_ns)
			return false;
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < 20000000)
			pause.tv_nsec *= 2;
	}
	return true;
}

bool sfs_threads_are_left(void)
{
	return atomic_load(&are_left);
}

/* What this thread has posted since sfs_tasks_keep(). */
static _Thread_local struct {
	bool is_on;
	struct sfs_threadpool *pool; /* of all of them; NULL: there are none */
	struct sfs_link tasks;
} kept;

/* With the lock held. */
static void enqueue(struct sfs_threadpool *pool, struct sfs_task *task)
{
	task->state = SFS_TASK_QUEUED;
	if (kept.is_on && (!kept.pool || kept.pool == pool)) {
		kept.pool = pool;
		sfs_list_push(&kept.tasks, &task->link);
	} else {
		sfs_list_push(&pool->queue, &task->link);
		pthread_cond_signal(&pool->wake);
	}
}

static void run_one(struct sfs_threadpool *pool, struct sfs_task *task)
{
	bool is_there;

	task->state = SFS_TASK_RUNNING;
	pthread_mutex_unlock(&pool->lock);
	is_there = task->run(task);
	pthread_mutex_lock(&pool->lock);
	if (!is_there)
		return;
	if (task->state == SFS_TASK_AGAIN) {
		task->state = SFS_TASK_QUEUED;
		sfs_list_push(&pool->queue, &task->link);
		pthread_cond_signal(&pool->wake);
	} else {
		task->state = SFS_TASK_IDLE;
		pthread_cond_broadcast(&pool->idle);
	}
}

static void *work(void *arg)
{
	struct sfs_threadpool *pool = arg;
	struct sfs_link *link;

	pthread_mutex_lock(&pool->lock);
	for (;;) {
		link = sfs_list_pop(&pool->queue);
		if (link)
			run_one(pool, sfs_container(link, struct sfs_task, link));
		else if (pool->is_closed)
			break;
		else
			pthread_cond_wait(&pool->wake, &pool->lock);
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

struct sfs_threadpool *sfs_threadpool_start(const char *name, int n_threads)
{
	struct sfs_threadpool *pool;
	int i;

	pool = sfs_calloc(1, sizeof *pool + (size_t)n_threads * sizeof pool->threads[0]);
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->wake, NULL);
	pthread_cond_init(&pool->idle, NULL);
	sfs_list_init(&pool->queue);
	pool->n_threads = n_threads;
	for (i = 0; i < n_threads; i++)
		pool->threads[i] = sfs_thread_start(name, work, pool);
	return pool;
}

void sfs_threadpool_stop(struct sfs_threadpool *pool)
{
	int i;

	if (!pool)
		return;
	pthread_mutex_lock(&pool->lock);
	pool->is_closed = true;
	pthread_cond_broadcast(&pool->wake);
	pthread_mutex_unlock(&pool->lock);
	for (i = 0; i < pool->n_threads; i++)
		pthread_join(pool->threads[i], NULL);
	pool->is_stopped = true;
}

void sfs_threadpool_free(struct sfs_threadpool *pool)
{
	if (!pool)
		return;
	pthread_cond_destroy(&pool->idle);
	pthread_cond_destroy(&pool->wake);
	pthread_mutex_destroy(&pool->lock);
	free(pool);
}

void sfs_threadpool_post(struct sfs_threadpool *pool, struct sfs_task *task)
{
	pthread_mutex_lock(&pool->lock);
	if (pool->is_stopped) {
		; /* no thread is left to run it */
	} else if (task->state == SFS_TASK_IDLE) {
		enqueue(pool, task);
	} else if (task->state == SFS_TASK_RUNNING) {
		task->state = SFS_TASK_AGAIN;
	}
	pthread_mutex_unlock(&pool->lock);
}

void sfs_threadpool_settle(struct sfs_threadpool *pool, struct sfs_task *task)
{
	pthread_mutex_lock(&pool->lock);
	while (task->state != SFS_TASK_IDLE)
		pthread_cond_wait(&pool->idle, &pool->lock);
	pthread_mutex_unlock(&pool->lock);
}

void sfs_tasks_keep(void)
{
	kept.is_on = true;
	kept.pool = NULL;
	sfs_list_init(&kept.tasks);
}

/* The lock is held before and after.  Unlike a thread of the pool, this one runs a task
 * that was posted meanwhile once more itself: it is awake. */
static void run_kept(struct sfs_threadpool *pool, struct sfs_task *task)
{
	bool is_there;

	do {
		task->state = SFS_TASK_RUNNING;
		pthread_mutex_unlock(&pool->lock);
		is_there = task->run(task);
		pthread_mutex_lock(&pool->lock);
	} while (is_there && task->state == SFS_TASK_AGAIN);
	if (!is_there)
		return;
	task->state = SFS_TASK_IDLE;
	pthread_cond_broadcast(&pool->idle);
}

void sfs_tasks_run_kept(void)
{
	struct sfs_threadpool *pool = kept.pool;
	struct sfs_link *link;

	sfs_lock_check_none("kept tasks run");
	kept.is_on = false;
	if (!pool)
		return;
	pthread_mutex_lock(&pool->lock);
	while ((link = sfs_list_pop(&kept.tasks)) != NULL)
		run_kept(pool, sfs_container(link, struct sfs_task, link));
	pthread_mutex_unlock(&pool->lock);
}
