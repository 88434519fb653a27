/* SPDX-License-Identifier: MIT */
/* How this works: a list, and a thread that sleeps until the first timer is due. */
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

/* Fire all that are due.  Returns the time of the next one. */
static uint64_t fire_due(struct sfs_timers *t)
{
	uint64_t now = sfs_clock_ns(), next_ns = UINT64_MAX;
	struct sfs_link *link, *following;
	struct sfs_timer *timer;

	for (link = t->list.next; link != &t->list; link = following) {
		following = link->next;
		timer = sfs_container(link, struct sfs_timer, link);
		if (timer->at_ns > now) {
			next_ns = timer->at_ns < next_ns ? timer->at_ns : next_ns;
			continue;
		}
		sfs_link_remove(link);
		timer->fire(timer);
	}
	return next_ns;
}

static void *timer_run(void *arg)
{
	struct sfs_timers *t = arg;

	pthread_mutex_lock(&t->lock);
	while (!t->is_stopping) {
		t->next_ns = fire_due(t);
		sfs_cond_wait_until(&t->earlier, &t->lock, t->next_ns);
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

struct sfs_timers *sfs_timers_start(void)
{
	struct sfs_timers *t = sfs_calloc(1, sizeof *t);

	sfs_lock_init(&t->lock, SFS_LOCK_TIMERS);
	pthread_cond_init(&t->earlier, NULL);
	sfs_list_init(&t->list);
	t->next_ns = UINT64_MAX;
	t->thread = sfs_thread_start("sfs-timer", timer_run, t);
	return t;
}

void sfs_timers_stop(struct sfs_timers *t)
{
	if (!t)
		return;
	pthread_mutex_lock(&t->lock);
	assert(sfs_list_is_empty(&t->list));
	t->is_stopping = true;
	pthread_cond_signal(&t->earlier);
	pthread_mutex_unlock(&t->lock);
	pthread_join(t->thread, NULL);
	pthread_cond_destroy(&t->earlier);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

void sfs_timer_set(struct sfs_timers *t, struct sfs_timer *timer, uint64_t at_ns)
{
	pthread_mutex_lock(&t->lock);
	sfs_link_remove(&timer->link);
	timer->at_ns = at_ns;
	sfs_list_push(&t->list, &timer->link);
	if (at_ns < t->next_ns)
		pthread_cond_signal(&t->earlier);
	pthread_mutex_unlock(&t->lock);
}

void sfs_timer_unset(struct sfs_timers *t, struct sfs_timer *timer)
{
	pthread_mutex_lock(&t->lock);
	sfs_link_remove(&timer->link);
	pthread_mutex_unlock(&t->lock);
}
