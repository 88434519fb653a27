/* SPDX-License-Identifier: MIT */
/* A task is never run by two threads at once, and no post is lost; also if the thread
 * that posts it keeps it for itself. */
#include "base/alloc.h"
#include "base/threadpool.h"
#include "check.h"

#include <stdatomic.h>
#include <stdint.h>

#define N_TASKS	  8
#define N_POSTERS 4
#define N_POSTS	  20000

struct counter {
	struct sfs_task task;
	atomic_int n_inside;
	_Atomic uint64_t posted; /* raised before each post */
	uint64_t seen;		 /* what the last run found; only the task touches it */
	uint64_t n_runs;
};

static struct sfs_threadpool *pool;

static bool count(struct sfs_task *task)
{
	struct counter *c = sfs_container(task, struct counter, task);

	CHECK_EQ(atomic_fetch_add(&c->n_inside, 1), 0);
	c->seen = atomic_load(&c->posted);
	c->n_runs++;
	CHECK_EQ(atomic_fetch_sub(&c->n_inside, 1), 1);
	return true;
}

static struct counter counters[N_TASKS];

static void post_one(size_t i)
{
	struct counter *c = &counters[i % N_TASKS];

	atomic_fetch_add(&c->posted, 1);
	sfs_threadpool_post(pool, &c->task);
}

/* Every other poster runs some of what it posts itself. */
static void *post_many(void *arg)
{
	size_t k = (size_t)(uintptr_t)arg, i, n;

	for (i = 0; i < N_POSTS;) {
		if (k % 2)
			sfs_tasks_keep();
		for (n = 1 + i % 3; n > 0 && i < N_POSTS; n--, i++)
			post_one(i * 7 + k);
		if (k % 2)
			sfs_tasks_run_kept();
	}
	return NULL;
}

static void many_posts(int n_threads)
{
	pthread_t posters[N_POSTERS];
	uint64_t posted = 0;
	size_t i;

	memset(counters, 0, sizeof counters);
	for (i = 0; i < N_TASKS; i++)
		counters[i].task.run = count;
	pool = sfs_threadpool_start("test", n_threads);
	for (i = 0; i < N_POSTERS; i++)
		posters[i] = sfs_thread_start("posts", post_many, (void *)(uintptr_t)i);
	for (i = 0; i < N_POSTERS; i++)
		pthread_join(posters[i], NULL);
	for (i = 0; i < N_TASKS; i++) {
		sfs_threadpool_settle(pool, &counters[i].task);
		/* The run that began behind the last post has seen it. */
		CHECK_EQ(counters[i].seen, counters[i].posted);
		CHECK(counters[i].n_runs > 0 && counters[i].n_runs <= counters[i].posted);
		posted += counters[i].posted;
	}
	CHECK_EQ(posted, N_POSTERS * N_POSTS);
	sfs_threadpool_stop(pool);
	sfs_threadpool_free(pool);
}

/* ---- posting while it runs ---- */

static struct {
	struct sfs_task task;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool is_inside, may_go_on;
	int n_runs;
} slow = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

static bool run_slowly(struct sfs_task *task)
{
	pthread_mutex_lock(&slow.lock);
	slow.n_runs++;
	slow.is_inside = true;
	pthread_cond_broadcast(&slow.wake);
	while (!slow.may_go_on)
		pthread_cond_wait(&slow.wake, &slow.lock);
	pthread_mutex_unlock(&slow.lock);
	return true;
}

static void posted_while_it_runs(void)
{
	int i;

	slow.task.run = run_slowly;
	pool = sfs_threadpool_start("test", 3);
	sfs_threadpool_post(pool, &slow.task);
	pthread_mutex_lock(&slow.lock);
	while (!slow.is_inside)
		pthread_cond_wait(&slow.wake, &slow.lock);
	pthread_mutex_unlock(&slow.lock);
	for (i = 0; i < 5; i++)
		sfs_threadpool_post(pool, &slow.task);
	pthread_mutex_lock(&slow.lock);
	CHECK_EQ(slow.n_runs, 1);
	slow.may_go_on = true;
	pthread_cond_broadcast(&slow.wake);
	pthread_mutex_unlock(&slow.lock);
	sfs_threadpool_settle(pool, &slow.task);
	CHECK_EQ(slow.n_runs, 2); /* once more, not five times */
	sfs_threadpool_stop(pool);
	sfs_threadpool_free(pool);
	CHECK_EQ(slow.n_runs, 2);
}

/* ---- tasks that post themselves, and tasks that go away ---- */

static struct sfs_task again;
static int n_again;

static bool run_again(struct sfs_task *task)
{
	if (++n_again < 1000)
		sfs_threadpool_post(pool, task);
	return true;
}

static atomic_int n_freed;

static bool free_itself(struct sfs_task *task)
{
	free(task);
	atomic_fetch_add(&n_freed, 1);
	return false;
}

static void stop_runs_what_is_queued(void)
{
	struct sfs_task *task;
	int i;

	again.run = run_again;
	pool = sfs_threadpool_start("a-name-of-15-by", 2);
	sfs_threadpool_post(pool, &again);
	sfs_threadpool_settle(pool, &again);
	CHECK_EQ(n_again, 1000);
	for (i = 0; i < 1000; i++) {
		task = sfs_calloc(1, sizeof *task);
		task->run = free_itself;
		sfs_threadpool_post(pool, task);
	}
	sfs_threadpool_stop(pool);
	sfs_threadpool_free(pool);
	CHECK_EQ(n_freed, 1000);
	sfs_threadpool_stop(NULL);
	sfs_threadpool_free(NULL);
}

/* ---- tasks that are kept ---- */

struct noted {
	struct sfs_task task;
	pthread_t by;
	atomic_int n_runs;
};

static bool note(struct sfs_task *task)
{
	struct noted *n = sfs_container(task, struct noted, task);

	n->by = pthread_self();
	atomic_fetch_add(&n->n_runs, 1);
	return true;
}

static struct noted kept = {.task.run = note}, other = {.task.run = note},
		    posted_by_it = {.task.run = note};
static bool was_posted_again;

static void *post_kept(void *arg)
{
	sfs_threadpool_post(pool, &kept.task);
	return NULL;
}

/* The first time, another thread posts it, and it posts another task. */
static bool note_posted_again(struct sfs_task *task)
{
	pthread_t poster;

	note(task);
	if (!was_posted_again) {
		was_posted_again = true;
		poster = sfs_thread_start("posts", post_kept, NULL);
		pthread_join(poster, NULL);
		sfs_threadpool_post(pool, &posted_by_it.task);
	}
	return true;
}

static void kept_are_run_by_their_poster(void)
{
	struct sfs_threadpool *second = sfs_threadpool_start("second", 1);
	struct sfs_task *gone = sfs_calloc(1, sizeof *gone);
	pthread_t poster;

	pool = sfs_threadpool_start("test", 2);
	gone->run = free_itself;
	n_freed = 0;

	sfs_tasks_keep();
	sfs_threadpool_post(pool, &kept.task);
	sfs_threadpool_post(pool, &kept.task);
	sfs_threadpool_post(pool, gone);
	/* That of another pool goes there. */
	sfs_threadpool_post(second, &other.task);
	sfs_threadpool_settle(second, &other.task);
	CHECK_EQ(other.n_runs, 1);
	/* A kept one that somebody else posts is still ours, and runs once. */
	poster = sfs_thread_start("posts", post_kept, NULL);
	pthread_join(poster, NULL);
	CHECK_EQ(kept.n_runs, 0);
	sfs_tasks_run_kept();
	CHECK_EQ(kept.n_runs, 1);
	CHECK(pthread_equal(kept.by, pthread_self()));
	CHECK_EQ(n_freed, 1);
	sfs_threadpool_settle(pool, &kept.task);

	/* One that is posted while we run it runs once more, and here; what it posts is
	 * the pool's. */
	kept.task.run = note_posted_again;
	sfs_tasks_keep();
	sfs_threadpool_post(pool, &kept.task);
	sfs_tasks_run_kept();
	CHECK_EQ(kept.n_runs, 3);
	CHECK(pthread_equal(kept.by, pthread_self()));
	sfs_threadpool_settle(pool, &posted_by_it.task);
	CHECK_EQ(posted_by_it.n_runs, 1);
	CHECK(!pthread_equal(posted_by_it.by, pthread_self()));

	/* Nothing is kept any more, and keeping nothing is fine. */
	sfs_threadpool_post(pool, &other.task);
	sfs_threadpool_settle(pool, &other.task);
	CHECK(!pthread_equal(other.by, pthread_self()));
	sfs_tasks_keep();
	sfs_tasks_run_kept();
	sfs_threadpool_stop(pool);
	sfs_threadpool_free(pool);
	sfs_threadpool_stop(second);
	sfs_threadpool_free(second);
}

int main(void)
{
	many_posts(1);
	many_posts(4);
	posted_while_it_runs();
	stop_runs_what_is_queued();
	kept_are_run_by_their_poster();
	return 0;
}
