/* SPDX-License-Identifier: MIT */
/* How this works: without checks, the functions only initialize locks.  With them, the
 * linker (-Wl,--wrap, see configure.ac) redirects our calls of pthread_mutex_lock() and
 * the like to the functions below; calls in libraries stay as they are.  A table maps the
 * address of a lock to its rank, and each thread has a list of the locks it holds. */
#include "base/lock.h"

#ifndef SFS_CHECK_LOCKS

void sfs_lock_init(pthread_mutex_t *lock, enum sfs_lock_rank rank)
{
	pthread_mutex_init(lock, NULL);
}

void sfs_rwlock_init(pthread_rwlock_t *lock, enum sfs_lock_rank rank)
{
	pthread_rwlock_init(lock, NULL);
}

#else

#include <execinfo.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LEAF			 SFS_N_LOCK_RANKS
#define N_SLOTS			 (1U << 17)
#define MAX_HELD		 16

int __real_pthread_mutex_lock(pthread_mutex_t *lock);
int __real_pthread_mutex_unlock(pthread_mutex_t *lock);
int __real_pthread_mutex_destroy(pthread_mutex_t *lock);
int __real_pthread_rwlock_rdlock(pthread_rwlock_t *lock);
int __real_pthread_rwlock_trywrlock(pthread_rwlock_t *lock);
int __real_pthread_rwlock_unlock(pthread_rwlock_t *lock);
int __real_pthread_rwlock_destroy(pthread_rwlock_t *lock);
int __real_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock);
int __real_pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *lock,
				  clockid_t clock, const struct timespec *until);

int __wrap_pthread_mutex_lock(pthread_mutex_t *lock);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *lock);
int __wrap_pthread_mutex_destroy(pthread_mutex_t *lock);
int __wrap_pthread_rwlock_rdlock(pthread_rwlock_t *lock);
int __wrap_pthread_rwlock_trywrlock(pthread_rwlock_t *lock);
int __wrap_pthread_rwlock_unlock(pthread_rwlock_t *lock);
int __wrap_pthread_rwlock_destroy(pthread_rwlock_t *lock);
int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock);
int __wrap_pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *lock,
				  clockid_t clock, const struct timespec *until);

/* ---- the ranks ---- */

/* A hash table with open addressing.  Lookups pass over a slot that was given up; the
 * next lock that is added may reuse it. */
static struct {
	_Atomic uintptr_t address; /* 0: never used */
	_Atomic unsigned rank;
} slots[N_SLOTS];
static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER; /* of slots */

enum { NEVER = 0, GIVEN_UP = 1 };

static unsigned first_slot(const void *lock)
{
	return (unsigned)(((uintptr_t)lock >> 3) * 0x9e3779b97f4a7c15ULL >> 40) % N_SLOTS;
}

static void set_rank(const void *lock, unsigned rank)
{
	unsigned i = first_slot(lock), n = 0;

	__real_pthread_mutex_lock(&writing);
	while (slots[i].address > GIVEN_UP && slots[i].address != (uintptr_t)lock) {
		if (++n == N_SLOTS) {
			fprintf(stderr, "lock checks: too many locks\n");
			abort();
		}
		i = (i + 1) % N_SLOTS;
	}
	slots[i].rank = rank;
	slots[i].address = (uintptr_t)lock;
	__real_pthread_mutex_unlock(&writing);
}

/* The slot of a lock, or N_SLOTS. */
static unsigned find_slot(const void *lock)
{
	unsigned i = first_slot(lock), n;
	uintptr_t address;

	for (n = 0; n < N_SLOTS; n++, i = (i + 1) % N_SLOTS) {
		address = slots[i].address;
		if (address == (uintptr_t)lock)
			return i;
		if (address == NEVER)
			break;
	}
	return N_SLOTS;
}

static unsigned rank_of(const void *lock)
{
	unsigned i = find_slot(lock);

	return i < N_SLOTS ? slots[i].rank : LEAF;
}

static void forget(const void *lock)
{
	unsigned i = find_slot(lock);

	if (i < N_SLOTS)
		slots[i].address = GIVEN_UP;
}

static const char *name_of(unsigned rank)
{
	static const char *names[] = {
#define SFS_LOCK(id, name, what) name,
#include "base/locks.def"
#undef SFS_LOCK
	};

	return rank < LEAF ? names[rank] : "a lock that is not in the table";
}

/* ---- what this thread holds ---- */

static _Thread_local struct {
	const void *lock;
	unsigned rank;
} held[MAX_HELD];
static _Thread_local unsigned n_held;

static void hold(const void *lock, unsigned rank)
{
	if (n_held == MAX_HELD) {
		fprintf(stderr, "lock checks: a thread holds too many locks\n");
		abort();
	}
	held[n_held].lock = lock;
	held[n_held++].rank = rank;
}

static void drop(const void *lock)
{
	unsigned i = n_held;

	while (i > 0 && held[i - 1].lock != lock)
		i--;
	if (i == 0) {
		fprintf(stderr,
			"lock checks: %s is unlocked, but this thread does not hold it\n",
			name_of(rank_of(lock)));
		abort();
	}
	for (n_held--; i <= n_held; i++)
		held[i - 1] = held[i];
}

/* ---- violations ---- */

/* Print the error, the locks that the thread holds and the stack; then abort. */
static void stop(const char *what)
{
	void *frames[64];
	unsigned i;

	fprintf(stderr, "lock checks: %s, while this thread holds:", what);
	for (i = 0; i < n_held; i++)
		fprintf(stderr, " %s", name_of(held[i].rank));
	fprintf(stderr, " (src/base/locks.def)\n");
	backtrace_symbols_fd(frames, backtrace(frames, 64), STDERR_FILENO);
	abort();
}

/* This thread is about to wait for a lock of this rank. */
static void check_order(unsigned rank)
{
	char what[100];
	unsigned i;

	for (i = 0; i < n_held; i++) {
		if (held[i].rank < rank)
			continue;
		snprintf(what, sizeof what, "%s is locked", name_of(rank));
		stop(what);
	}
}

/* This thread is about to wait for a condition: it may hold only the condition's lock. */
static void check_wait(const pthread_mutex_t *lock)
{
	if (n_held != 1 || held[0].lock != lock)
		stop("the thread waits for a condition");
}

void sfs_lock_check_none(const char *where)
{
	if (n_held > 0)
		stop(where);
}

static bool is_held(const void *lock)
{
	unsigned i;

	for (i = 0; i < n_held; i++)
		if (held[i].lock == lock)
			return true;
	return false;
}

void sfs_lock_init(pthread_mutex_t *lock, enum sfs_lock_rank rank)
{
	pthread_mutex_init(lock, NULL);
	set_rank(lock, rank);
}

void sfs_rwlock_init(pthread_rwlock_t *lock, enum sfs_lock_rank rank)
{
	pthread_rwlock_init(lock, NULL);
	set_rank(lock, rank);
}

/* ---- replacements of the system's functions ---- */

int __wrap_pthread_mutex_lock(pthread_mutex_t *lock)
{
	unsigned rank = rank_of(lock);
	int ret;

	check_order(rank);
	ret = __real_pthread_mutex_lock(lock);
	hold(lock, rank);
	return ret;
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *lock)
{
	drop(lock);
	return __real_pthread_mutex_unlock(lock);
}

int __wrap_pthread_mutex_destroy(pthread_mutex_t *lock)
{
	forget(lock);
	return __real_pthread_mutex_destroy(lock);
}

/* A reader may lock again: writers never wait, so none can block the second lock. */
int __wrap_pthread_rwlock_rdlock(pthread_rwlock_t *lock)
{
	unsigned rank = rank_of(lock);
	int ret;

	if (!is_held(lock))
		check_order(rank);
	ret = __real_pthread_rwlock_rdlock(lock);
	hold(lock, rank);
	return ret;
}

/* The order does not matter here: trying never waits. */
int __wrap_pthread_rwlock_trywrlock(pthread_rwlock_t *lock)
{
	int ret = __real_pthread_rwlock_trywrlock(lock);

	if (ret == 0)
		hold(lock, rank_of(lock));
	return ret;
}

int __wrap_pthread_rwlock_unlock(pthread_rwlock_t *lock)
{
	drop(lock);
	return __real_pthread_rwlock_unlock(lock);
}

int __wrap_pthread_rwlock_destroy(pthread_rwlock_t *lock)
{
	forget(lock);
	return __real_pthread_rwlock_destroy(lock);
}

int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock)
{
	check_wait(lock);
	return __real_pthread_cond_wait(cond, lock);
}

int __wrap_pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *lock,
				  clockid_t clock, const struct timespec *until)
{
	check_wait(lock);
	return __real_pthread_cond_clockwait(cond, lock, clock, until);
}

#endif
