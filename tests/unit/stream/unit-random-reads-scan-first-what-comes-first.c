/* SPDX-License-Identifier: MIT */
/* A read at a random place of an epoch of whole shards, whose tables are not known, has
 * several shards scanned at a time: those that the epoch begins with, by the time at which
 * their first sample is due. */
#include "base/lock.h"
#include "base/log.h"
#include "check.h"
#include "order/partition.h"
#include "stream-world.h"
#include "stream/random.h"

#include <errno.h>

#define N_SHARDS 12

static struct naive_shard shards[N_SHARDS];
static struct naive_epoch epoch;
static struct world w;
static struct sfs_order order;
static struct sfs_random_reads reads;
static pthread_mutex_t lock;
static int n_done;

static void on_done(struct sfs_read *read, int result)
{
	n_done++;
}

static void on_wake(void *ctx)
{
}

static bool take_no_cursor(void *ctx, struct sfs_read *read, const struct sfs_spot *at,
			   uint64_t key_before, struct sfs_deferred *out)
{
	return false;
}

static void begin(struct sfs_read *read, uint64_t offset)
{
	struct sfs_deferred out;

	*read = (struct sfs_read){.offset = offset, .n_bytes = 1, .done = on_done};
	sfs_deferred_init(&out);
	pthread_mutex_lock(&lock);
	sfs_random_read(&reads, read, &out);
	pthread_mutex_unlock(&lock);
	sfs_deferred_run(&out);
	world_settle(&w);
}

static uint32_t number_of(const struct sfs_object *object)
{
	const struct sfs_shard *all = w.runtime.shards.shards;
	uint32_t s = 0;

	while (&all[s].object != object)
		s++;
	CHECK(s < N_SHARDS);
	return s;
}

/* No other shard is due before the last one that is scanned. */
static void check_scans(void)
{
	bool is_scanned[N_SHARDS] = {false};
	const struct sfs_request *r;
	uint64_t last = 0;
	uint32_t s, n = 0;
	size_t i;

	for (i = 0; (r = scripted_nth(w.source, i)) != NULL; i++) {
		s = number_of(r->object);
		n += !is_scanned[s];
		is_scanned[s] = true;
		if (epoch.dues[s][0] > last)
			last = epoch.dues[s][0];
	}
	CHECK(n > 4);
	for (s = 0; s < N_SHARDS; s++)
		CHECK(is_scanned[s] || epoch.dues[s][0] >= last);
}

int main(void)
{
	struct world_settings settings = {
		.epoch = {.order = {.lanes = 3, .buffer_bytes = 65536},
			  .keys = SFS_KEYS_ASIS,
			  .shards = shards,
			  .n_shards = N_SHARDS},
		.stream_bytes = 8 << 20,
	};
	const struct sfs_random_owner owner = {.lock = &lock,
					       .wake = on_wake,
					       .take_over = take_no_cursor};
	const struct sfs_share all = {0, 1, 1};
	struct sfs_sample_tables tables;
	struct sfs_read read;
	struct sfs_rng rng;
	uint32_t i;

	sfs_log_set_level(SFS_LOG_ERROR);
	sfs_rng_init(&rng, (const uint64_t[]){6}, 1);
	for (i = 0; i < N_SHARDS; i++)
		naive_shard_make(&shards[i], i, &rng, 20, 1000, 3000);
	naive_epoch_make(&epoch, &settings.epoch, 0, all);
	world_start(&w, &settings);
	sfs_lock_init(&lock, SFS_LOCK_STREAM);
	tables = sfs_shards_tables(&w.runtime.shards);
	sfs_partition(&order, &w.runtime.order, 0, N_SHARDS, &tables, all);
	sfs_random_init(&reads, &w.runtime, &w.scanner, &order, &owner);

	begin(&read, epoch.end - 1);
	CHECK_EQ(n_done, 0);
	check_scans();
	pthread_mutex_lock(&lock);
	CHECK(sfs_random_cancel(&reads, &read));
	pthread_mutex_unlock(&lock);
	world_end_all(&w, 0);

	sfs_random_done(&reads);
	pthread_mutex_destroy(&lock);
	sfs_order_done(&order);
	world_stop(&w);
	naive_epoch_done(&epoch);
	for (i = 0; i < N_SHARDS; i++)
		naive_shard_done(&shards[i]);
	return 0;
}
