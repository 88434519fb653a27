/* SPDX-License-Identifier: MIT */
/* A read at a random place of an epoch whose tables are known fetches the bytes that it
 * asks for, and no others; in whatever order they come, its answer is right.  If one
 * range fails, so does the read, once.  A read that is taken back is answered no more. */
#include "base/log.h"
#include "check.h"
#include "random-world.h"

#include <errno.h>

#define N_SHARDS 3

static struct naive_shard shards[N_SHARDS];
static struct random_world rw;
static struct sfs_rng rng;

static void release(struct sfs_read *read)
{
	CHECK(world_is_right(read, &rw.epoch));
	pthread_mutex_lock(&rw.lock);
	sfs_random_release(&rw.reads, read);
	pthread_mutex_unlock(&rw.lock);
	sfs_read_reset(read);
	CHECK_EQ(rw.reads.n, 0);
}

static uint64_t bytes_in_flight(void)
{
	const struct sfs_request *r;
	uint64_t n = 0;
	size_t i;

	for (i = 0; (r = scripted_nth(rw.w.source, i)) != NULL; i++)
		n += r->n_bytes;
	return n;
}

/* End them in any order; the first one with `first_err`. */
static void end_requests(int first_err)
{
	size_t n;

	for (; (n = scripted_n(rw.w.source)) > 0; first_err = 0) {
		scripted_end(rw.w.source, scripted_nth(rw.w.source, sfs_rng_below(&rng, n)),
			     first_err);
		world_settle(&rw.w);
	}
}

/* In the first and the last sample, headers that must be read to be changed may be
 * outside of the read. */
#define HEADERS_BYTES 4096

static void check_one(uint64_t offset, size_t n_bytes)
{
	struct sfs_read read;

	random_world_begin(&rw, &read, offset, n_bytes);
	CHECK(bytes_in_flight() <= n_bytes + 2 * HEADERS_BYTES);
	end_requests(0);
	CHECK_EQ(rw.n_done, 1);
	CHECK_EQ(rw.err, 0);
	release(&read);
}

static void check_errors(uint64_t offset, size_t n_bytes)
{
	struct sfs_read read;

	random_world_begin(&rw, &read, offset, n_bytes);
	end_requests(-ETIMEDOUT);
	CHECK_EQ(rw.n_done, 1);
	CHECK_EQ(rw.err, -EIO);
	CHECK_EQ(rw.reads.n, 0);
	random_world_begin(&rw, &read, offset, n_bytes);
	end_requests(-ESTALE);
	CHECK_EQ(rw.err, -ESTALE);
}

static void check_cancel(uint64_t offset, size_t n_bytes)
{
	struct sfs_read read;

	random_world_begin(&rw, &read, offset, n_bytes);
	pthread_mutex_lock(&rw.lock);
	CHECK(sfs_random_cancel(&rw.reads, &read));
	pthread_mutex_unlock(&rw.lock);
	end_requests(0);
	CHECK_EQ(rw.n_done, 0);
	CHECK_EQ(rw.reads.n, 0);
}

int main(void)
{
	struct world_settings settings = {
		.epoch = {.order = {.lanes = 4,
				    .buffer_bytes = 65536,
				    .segment = SFS_SEGMENT_SAMPLE},
			  .keys = SFS_KEYS_ASIS,
			  .shards = shards,
			  .n_shards = N_SHARDS},
		.stream_bytes = 8 << 20,
	};
	uint32_t i;

	sfs_log_set_level(SFS_LOG_ERROR);
	sfs_rng_init(&rng, (const uint64_t[]){6}, 1);
	for (i = 0; i < N_SHARDS; i++)
		naive_shard_make(&shards[i], i, &rng, 300, 40, 300000);
	random_world_start(&rw, &settings);

	check_one(0, 1);
	check_one(0, 300000);
	check_one(rw.epoch.end - 1, 1);
	check_one(rw.epoch.end - 1000, (size_t)(rw.epoch.n_bytes - rw.epoch.end) + 1000);
	for (i = 0; i < 100; i++)
		check_one(sfs_rng_below(&rng, rw.epoch.end - 300000),
			  (size_t)sfs_rng_below(&rng, 300000) + 1);
	check_errors(rw.epoch.end / 2, 100000);
	check_cancel(rw.epoch.end / 3, 100000);

	random_world_stop(&rw);
	for (i = 0; i < N_SHARDS; i++)
		naive_shard_done(&shards[i]);
	return 0;
}
