/* SPDX-License-Identifier: MIT */
/* How this works: a queue of slots, in the order of add(), which is that of the device's
 * copies.  The thread waits for the copy of the oldest, or flushes what a network card
 * has written: so batches keep their order, whichever way they came. */
#include "ring/ring-copies.h"

#include "ring/ring-memory.h"

#include "base/alloc.h"
#include "base/threadpool.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

struct copy {
	uint32_t slot;
	bool is_direct;
	struct shufflefs_batch batch;
};

struct sfs_ring_copies {
	struct sfs_ring_copies_settings settings;
	pthread_t thread;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t changed;
	struct copy queue[SFS_RING_SLOTS_MAX];
	uint64_t n_added, n_ended;
	bool has_failed, is_stopping;
};

/* The oldest that has not ended.  false: there will be none. */
static bool wait_for_one(struct sfs_ring_copies *c, struct copy *ret,
			 bool *ret_has_failed)
{
	bool is_there;

	pthread_mutex_lock(&c->lock);
	while (c->n_ended == c->n_added && !c->is_stopping)
		pthread_cond_wait(&c->changed, &c->lock);
	is_there = c->n_ended < c->n_added;
	*ret = c->queue[c->n_ended % SFS_RING_SLOTS_MAX];
	*ret_has_failed = c->has_failed;
	pthread_mutex_unlock(&c->lock);
	return is_there;
}

static void fail(struct sfs_ring_copies *c, const char *why)
{
	bool is_first;

	pthread_mutex_lock(&c->lock);
	is_first = !c->has_failed;
	c->has_failed = true;
	pthread_mutex_unlock(&c->lock);
	if (is_first)
		c->settings.failed(c->settings.arg, why);
}

static int finish(const struct sfs_ring_copies_settings *s, const struct copy *copy,
		  struct sfs_error *err)
{
	return copy->is_direct ? s->ops->flush(s->device, copy->slot, err)
			       : s->ops->wait(s->device, copy->slot, err);
}

static void *copies_run(void *arg)
{
	struct sfs_ring_copies *c = arg;
	const struct sfs_ring_copies_settings *s = &c->settings;
	struct sfs_error err = {""};
	bool has_failed;
	struct copy copy;

	while (wait_for_one(c, &copy, &has_failed)) {
		if (!has_failed && finish(s, &copy, &err) < 0)
			fail(c, err.text);
		else if (!has_failed)
			s->arrived(s->arg, copy.slot, &copy.batch);
		pthread_mutex_lock(&c->lock);
		c->n_ended++;
		pthread_cond_broadcast(&c->changed);
		pthread_mutex_unlock(&c->lock);
	}
	return NULL;
}

struct sfs_ring_copies *sfs_ring_copies_new(
	const struct sfs_ring_copies_settings *settings)
{
	struct sfs_ring_copies *c = sfs_calloc(1, sizeof *c);

	c->settings = *settings;
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->changed, NULL);
	c->thread = sfs_thread_start("ring-copies", copies_run, c);
	return c;
}

void sfs_ring_copies_add(struct sfs_ring_copies *c, uint32_t slot,
			 const struct shufflefs_batch *batch, bool is_direct)
{
	const struct sfs_ring_copies_settings *s = &c->settings;
	struct sfs_error err = {""};

	if (!is_direct && s->ops->copy(s->device, slot, s->n_bytes, &err) < 0) {
		sfs_ring_copies_drain(c); /* those before it come out first */
		fail(c, err.text);
		return;
	}
	pthread_mutex_lock(&c->lock);
	c->queue[c->n_added++ % SFS_RING_SLOTS_MAX] =
		(struct copy){.slot = slot, .is_direct = is_direct, .batch = *batch};
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
}

void sfs_ring_copies_drain(struct sfs_ring_copies *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	while (c->n_ended < c->n_added)
		pthread_cond_wait(&c->changed, &c->lock);
	pthread_mutex_unlock(&c->lock);
}

void sfs_ring_copies_free(struct sfs_ring_copies *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	c->is_stopping = true; /* (the thread ends what is in the queue) */
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
	pthread_join(c->thread, NULL);
	pthread_mutex_destroy(&c->lock);
	pthread_cond_destroy(&c->changed);
	free(c);
}
