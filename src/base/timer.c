/* SPDX-License-Identifier: MIT */
/* How this works: a list, and a thread that sleeps until the first of it is due. */
#include "base/timer.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/cond.h"
#include "base/lock.h"
#include "base/threadpool.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>

struct sfs_timers {
	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t earlier;
	struct sfs_link list;
	uint64_t next_ns; /* when the thread wakes by itself; UINT64_MAX: never */
	bool is_stopping;
	pthread_t thread;
};

/* Ring all that are due.  Returns when the next one is. */
static uint64_t ring(struct sfs_timers *a)
{
	uint64_t now = sfs_clock_ns(), next_ns = UINT64_MAX;
	struct sfs_link *link, *following;
	struct sfs_timer *timer;

	for (link = a->list.next; link != &a->list; link = following) {
		following = link->next;
		timer = sfs_container(link, struct sfs_timer, link);
		if (timer->at_ns > now) {
			next_ns = timer->at_ns < next_ns ? timer->at_ns : next_ns;
			continue;
		}
		sfs_link_remove(link);
		timer->ring(timer);
	}
	return next_ns;
}

static void *run(void *arg)
{
	struct sfs_timers *a = arg;

	pthread_mutex_lock(&a->lock);
	while (!a->is_stopping) {
		a->next_ns = ring(a);
		sfs_cond_wait_until(&a->earlier, &a->lock, a->next_ns);
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

struct sfs_timers *sfs_timers_start(void)
{
	struct sfs_timers *a = sfs_calloc(1, sizeof *a);

	sfs_lock_init(&a->lock, SFS_LOCK_TIMERS);
	pthread_cond_init(&a->earlier, NULL);
	sfs_list_init(&a->list);
	a->next_ns = UINT64_MAX;
	a->thread = sfs_thread_start("sfs-alarm", run, a);
	return a;
}

void sfs_timers_stop(struct sfs_timers *a)
{
	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	assert(sfs_list_is_empty(&a->list));
	a->is_stopping = true;
	pthread_cond_signal(&a->earlier);
	pthread_mutex_unlock(&a->lock);
	pthread_join(a->thread, NULL);
	pthread_cond_destroy(&a->earlier);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

void sfs_timer_set(struct sfs_timers *a, struct sfs_timer *timer, uint64_t at_ns)
{
	pthread_mutex_lock(&a->lock);
	sfs_link_remove(&timer->link);
	timer->at_ns = at_ns;
	sfs_list_push(&a->list, &timer->link);
	if (at_ns < a->next_ns)
		pthread_cond_signal(&a->earlier);
	pthread_mutex_unlock(&a->lock);
}

void sfs_timer_unset(struct sfs_timers *a, struct sfs_timer *timer)
{
	pthread_mutex_lock(&a->lock);
	sfs_link_remove(&timer->link);
	pthread_mutex_unlock(&a->lock);
}
