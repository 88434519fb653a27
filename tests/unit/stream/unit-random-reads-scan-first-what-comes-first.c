/* SPDX-License-Identifier: MIT */
/* A read at a random place of an epoch of whole shards, whose tables are not known, has
 * several shards scanned at a time: those that the epoch begins with, by the time at which
 * their first sample is due. */
#include "base/log.h"
#include "check.h"
#include "random-world.h"

#include <errno.h>

#define N_SHARDS 12

static struct naive_shard shards[N_SHARDS];
static struct random_world rw;

static uint32_t number_of(const struct sfs_object *object)
{
	uint32_t s = sfs_shards_number(&rw.w.runtime.shards, object);

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

	for (i = 0; (r = scripted_nth(rw.w.source, i)) != NULL; i++) {
		s = number_of(r->object);
		n += !is_scanned[s];
		is_scanned[s] = true;
		if (rw.epoch.dues[s][0] > last)
			last = rw.epoch.dues[s][0];
	}
	CHECK(n > 4);
	for (s = 0; s < N_SHARDS; s++)
		CHECK(is_scanned[s] || rw.epoch.dues[s][0] >= last);
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
	struct sfs_read read;
	struct sfs_rng rng;
	uint32_t i;

	sfs_log_set_level(SFS_LOG_ERROR);
	sfs_rng_init(&rng, (const uint64_t[]){6}, 1);
	for (i = 0; i < N_SHARDS; i++)
		naive_shard_make(&shards[i], i, &rng, 20, 1000, 3000);
	random_world_start(&rw, &settings);

	random_world_begin(&rw, &read, rw.epoch.end - 1, 1);
	CHECK_EQ(rw.n_done, 0);
	check_scans();
	pthread_mutex_lock(&rw.lock);
	CHECK(sfs_random_cancel(&rw.reads, &read));
	pthread_mutex_unlock(&rw.lock);
	world_end_all(&rw.w, 0);

	random_world_stop(&rw);
	for (i = 0; i < N_SHARDS; i++)
		naive_shard_done(&shards[i]);
	return 0;
}
