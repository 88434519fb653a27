/* SPDX-License-Identifier: MIT */
#include "random-world.h"

#include "base/lock.h"

/* Whose reads end; a test has one. */
static struct random_world *current;

static void on_done(struct sfs_read *read, int result)
{
	current->err = result;
	current->n_done++;
}

static void on_wake(void *ctx)
{
}

static bool take_no_cursor(void *ctx, struct sfs_read *read, const struct sfs_spot *at,
			   uint64_t key_before, struct sfs_deferred *out)
{
	return false;
}

void random_world_start(struct random_world *r, const struct world_settings *settings)
{
	const struct sfs_random_owner owner = {.lock = &r->lock,
					       .wake = on_wake,
					       .take_over = take_no_cursor};
	const struct sfs_share all = {0, 1, 1};
	struct sfs_sample_tables tables;

	current = r;
	naive_epoch_make(&r->epoch, &settings->epoch, 0, all);
	world_start(&r->w, settings);
	sfs_lock_init(&r->lock, SFS_LOCK_STREAM);
	tables = sfs_shards_tables(&r->w.runtime.shards);
	sfs_partition(&r->order, &r->w.runtime.order, 0, settings->epoch.n_shards, &tables,
		      all);
	sfs_random_init(&r->reads, &r->w.runtime, &r->w.scanner, &r->order, &owner);
}

void random_world_stop(struct random_world *r)
{
	sfs_random_done(&r->reads);
	pthread_mutex_destroy(&r->lock);
	sfs_order_done(&r->order);
	world_stop(&r->w);
	naive_epoch_done(&r->epoch);
}

void random_world_begin(struct random_world *r, struct sfs_read *read, uint64_t offset,
			size_t n_bytes)
{
	struct sfs_deferred out;

	r->n_done = 0;
	*read = (struct sfs_read){.offset = offset, .n_bytes = n_bytes, .done = on_done};
	sfs_deferred_init(&out);
	pthread_mutex_lock(&r->lock);
	sfs_random_read(&r->reads, read, &out);
	pthread_mutex_unlock(&r->lock);
	sfs_deferred_run(&out);
	world_settle(&r->w);
}
