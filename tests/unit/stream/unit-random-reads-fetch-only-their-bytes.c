/* SPDX-License-Identifier: MIT */
/* A read at a random place of an epoch whose tables are known fetches the bytes that it
 * asks for, and no others; in whatever order they come, its answer is right.  If one
 * range fails, so does the read, once.  A read that is taken back is answered no more. */
#include "base/lock.h"
#include "base/log.h"
#include "check.h"
#include "stream-world.h"
#include "order/partition.h"
#include "stream/random.h"

#include <errno.h>

#define N_SHARDS 3

static struct naive_shard shards[N_SHARDS];
static struct naive_epoch epoch;
static struct world w;
static struct sfs_order order;
static struct sfs_random_reads reads;
static pthread_mutex_t lock;
static struct sfs_rng rng;
static int err, n_done;

static void on_done(struct sfs_read *read, int result)
{
	err = result;
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

static void begin(struct sfs_read *read, uint64_t offset, size_t n_bytes)
{
	struct sfs_deferred out;

	n_done = 0;
	*read = (struct sfs_read){.offset = offset, .n_bytes = n_bytes, .done = on_done};
	sfs_deferred_init(&out);
	pthread_mutex_lock(&lock);
	sfs_random_read(&reads, read, &out);
	pthread_mutex_unlock(&lock);
	sfs_deferred_run(&out);
	world_settle(&w);
}

static void release(struct sfs_read *read)
{
	CHECK(world_is_right(read, &epoch));
	pthread_mutex_lock(&lock);
	sfs_random_release(&reads, read);
	pthread_mutex_unlock(&lock);
	sfs_read_reset(read);
	CHECK_EQ(reads.n, 0);
}

static uint64_t bytes_in_flight(void)
{
	const struct sfs_request *r;
	uint64_t n = 0;
	size_t i;

	for (i = 0; (r = scripted_nth(w.source, i)) != NULL; i++)
		n += r->n_bytes;
	return n;
}

/* End them in any order; the first one with `first_err`. */
static void end_requests(int first_err)
{
	size_t n;

	for (; (n = scripted_n(w.source)) > 0; first_err = 0) {
		scripted_end(w.source, scripted_nth(w.source, sfs_rng_below(&rng, n)),
			     first_err);
		world_settle(&w);
	}
}

/* In the first and the last sample, headers that must be read to be changed may be
 * outside of the read. */
#define HEADERS_BYTES 4096

static void check_one(uint64_t offset, size_t n_bytes)
{
	struct sfs_read read;

	begin(&read, offset, n_bytes);
	CHECK(bytes_in_flight() <= n_bytes + 2 * HEADERS_BYTES);
	end_requests(0);
	CHECK_EQ(n_done, 1);
	CHECK_EQ(err, 0);
	release(&read);
}

static void check_errors(uint64_t offset, size_t n_bytes)
{
	struct sfs_read read;

	begin(&read, offset, n_bytes);
	end_requests(-ETIMEDOUT);
	CHECK_EQ(n_done, 1);
	CHECK_EQ(err, -EIO);
	CHECK_EQ(reads.n, 0);
	begin(&read, offset, n_bytes);
	end_requests(-ESTALE);
	CHECK_EQ(err, -ESTALE);
}

static void check_cancel(uint64_t offset, size_t n_bytes)
{
	struct sfs_read read;

	begin(&read, offset, n_bytes);
	pthread_mutex_lock(&lock);
	CHECK(sfs_random_cancel(&reads, &read));
	pthread_mutex_unlock(&lock);
	end_requests(0);
	CHECK_EQ(n_done, 0);
	CHECK_EQ(reads.n, 0);
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
	const struct sfs_random_owner owner = {.lock = &lock,
					       .wake = on_wake,
					       .take_over = take_no_cursor};
	const struct sfs_share all = {0, 1, 1};
	struct sfs_sample_tables tables;
	uint32_t i;

	sfs_log_set_level(SFS_LOG_ERROR);
	sfs_rng_init(&rng, (const uint64_t[]){6}, 1);
	for (i = 0; i < N_SHARDS; i++)
		naive_shard_make(&shards[i], i, &rng, 300, 40, 300000);
	naive_epoch_make(&epoch, &settings.epoch, 0, all);
	world_start(&w, &settings);
	sfs_lock_init(&lock, SFS_LOCK_STREAM);
	tables = sfs_shards_tables(&w.runtime.shards);
	sfs_partition(&order, &w.runtime.order, 0, N_SHARDS, &tables, all);
	sfs_random_init(&reads, &w.runtime, &w.scanner, &order, &owner);

	check_one(0, 1);
	check_one(0, 300000);
	check_one(epoch.end - 1, 1);
	check_one(epoch.end - 1000, (size_t)(epoch.n_bytes - epoch.end) + 1000);
	for (i = 0; i < 100; i++)
		check_one(sfs_rng_below(&rng, epoch.end - 300000),
			  (size_t)sfs_rng_below(&rng, 300000) + 1);
	check_errors(epoch.end / 2, 100000);
	check_cancel(epoch.end / 3, 100000);

	sfs_random_done(&reads);
	pthread_mutex_destroy(&lock);
	sfs_order_done(&order);
	world_stop(&w);
	naive_epoch_done(&epoch);
	for (i = 0; i < N_SHARDS; i++)
		naive_shard_done(&shards[i]);
	return 0;
}
