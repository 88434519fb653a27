/* SPDX-License-Identifier: MIT */
/* Where locks are checked, whoever takes one out of order is stopped, with both names; so
 * is who waits, or calls others, with a lock held.  What is in order goes on. */
#include "base/lock.h"
#include "check.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef SFS_CHECK_LOCKS

static pthread_mutex_t stream, budget, leaf = PTHREAD_MUTEX_INITIALIZER,
				       other_leaf = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t tables;

static void in_order(void)
{
	pthread_mutex_lock(&stream);
	pthread_rwlock_rdlock(&tables);
	pthread_rwlock_rdlock(&tables);
	CHECK(pthread_rwlock_trywrlock(&tables) != 0);
	pthread_mutex_lock(&budget);
	pthread_mutex_lock(&leaf);
	pthread_mutex_unlock(&stream); /* in any order */
	pthread_mutex_unlock(&leaf);
	pthread_mutex_unlock(&budget);
	pthread_rwlock_unlock(&tables);
	pthread_rwlock_unlock(&tables);
	CHECK_EQ(pthread_rwlock_trywrlock(&tables), 0);
	pthread_rwlock_unlock(&tables);
	sfs_lock_check_none("here");
}

static void out_of_order(void)
{
	pthread_mutex_lock(&budget);
	pthread_mutex_lock(&stream);
}

static void inside_of_a_leaf(void)
{
	pthread_mutex_lock(&leaf);
	pthread_mutex_lock(&budget);
}

static void leaf_in_leaf(void)
{
	pthread_mutex_lock(&leaf);
	pthread_mutex_lock(&other_leaf);
}

static void tables_too_late(void)
{
	pthread_mutex_lock(&budget);
	pthread_rwlock_rdlock(&tables);
}

static void waiting(void)
{
	pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

	pthread_mutex_lock(&stream);
	pthread_mutex_lock(&leaf);
	pthread_cond_wait(&cond, &leaf);
}

static void calling(void)
{
	pthread_mutex_lock(&stream);
	sfs_lock_check_none("a test is called");
}

/* It is forgotten with its lock. */
static void destroyed(void)
{
	pthread_mutex_destroy(&stream);
	pthread_mutex_init(&stream, NULL);
	pthread_mutex_lock(&budget);
	pthread_mutex_lock(&stream);
	pthread_mutex_unlock(&stream);
	pthread_mutex_unlock(&budget);
}

/* What a child of ours says that does this; its status in *ret_status. */
static const char *run(void (*what)(void), int *ret_status)
{
	static char said[4096];
	size_t n = 0;
	int fds[2];
	ssize_t got;
	pid_t child;

	CHECK_EQ(pipe(fds), 0);
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		signal(SIGABRT, SIG_DFL);
		dup2(fds[1], STDERR_FILENO);
		what();
		_exit(0);
	}
	close(fds[1]);
	while ((got = read(fds[0], said + n, sizeof said - 1 - n)) > 0)
		n += (size_t)got;
	said[n] = 0;
	close(fds[0]);
	CHECK_EQ(waitpid(child, ret_status, 0), child);
	return said;
}

static void passes(void (*what)(void))
{
	int status;

	CHECK_STR(run(what, &status), "");
	CHECK_EQ(status, 0);
}

static void is_stopped(void (*what)(void), const char *words)
{
	int status;

	CHECK_HAS(run(what, &status), words);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

int main(void)
{
	sfs_lock_init(&stream, SFS_LOCK_STREAM);
	sfs_lock_init(&budget, SFS_LOCK_BUDGET);
	sfs_rwlock_init(&tables, SFS_LOCK_DROP);
	passes(in_order);
	passes(destroyed);
	is_stopped(out_of_order, "stream is locked, while this thread holds: budget");
	is_stopped(inside_of_a_leaf,
		   "budget is locked, while this thread holds: a lock that");
	is_stopped(leaf_in_leaf, "is locked, while this thread holds: a lock that");
	is_stopped(tables_too_late,
		   "drop_lock is locked, while this thread holds: budget");
	is_stopped(waiting,
		   "the thread waits for a condition, while this thread holds: stream");
	is_stopped(calling, "a test is called, while this thread holds: stream");
	return 0;
}

#else

int main(void)
{
	printf("SKIP: this build does not check locks\n");
	return 77;
}

#endif
