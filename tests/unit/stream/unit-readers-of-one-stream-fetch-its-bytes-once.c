/* SPDX-License-Identifier: MIT */
/* Readers of one stream share its bytes, also when one falls behind by as much as memory
 * holds.  One that begins late has a cursor of its own, until it meets the others. */
#include "base/log.h"
#include "check.h"
#include "stream-world.h"

#include <unistd.h>

#define MIB	 ((uint64_t)1 << 20)
#define STEP	 (256 * 1024)
#define N_SHARDS 4

static struct naive_shard shards[N_SHARDS];
static struct world w;
static struct sfs_stream *stream;
static struct naive_epoch epoch;
static const char first, second; /* files */

/* Answered at once, or when the front has waited for the others. */
static void read_as(const void *file, uint64_t at)
{
	struct world_read r;
	uint64_t n = epoch.n_bytes - at < STEP ? epoch.n_bytes - at : STEP;

	w.file = file;
	world_read(&w, &r, stream, at, (size_t)n);
	for (world_end_all(&w, 0); !world_is_answered(&r); world_end_all(&w, 0))
		usleep(1000);
	CHECK_EQ(world_result(&r, &epoch), 0);
}

static uint64_t read_on(const void *file, uint64_t from, uint64_t to)
{
	for (; from < to && from < epoch.n_bytes; from += STEP)
		read_as(file, from);
	return from;
}

/* The first one gets ahead of the second, who reads half as fast, until it is `lag` bytes
 * ahead. */
static void read_both(uint64_t lag)
{
	uint64_t a = 0, b = 0;

	for (; b < epoch.n_bytes; b = read_on(&second, b, b + MIB))
		a = read_on(&first, a, 2 * b < b + lag ? 2 * b + MIB : b + lag + MIB);
}

static void open_stream(const struct world_settings *settings)
{
	world_start(&w, settings);
	stream = sfs_stream_open(&w.streams, 0, (struct sfs_share){0, 1, 1});
}

static void close_stream(void)
{
	sfs_stream_close(stream);
	world_stop(&w);
}

int main(void)
{
	struct world_settings settings = {
		.epoch = {.order = {.lanes = 2, .buffer_bytes = 1 << 20},
			  .shards = shards,
			  .n_shards = N_SHARDS},
		.stream_bytes = 128 * MIB,
	};
	struct sfs_rng rng;
	uint64_t a, b;
	int i;

	sfs_log_set_level(SFS_LOG_ERROR);
	sfs_rng_init(&rng, (const uint64_t[]){6}, 1);
	for (i = 0; i < N_SHARDS; i++)
		naive_shard_make(&shards[i], (uint32_t)i, &rng, 50, 1, 1000000);
	naive_epoch_make(&epoch, &settings.epoch, 0, (struct sfs_share){0, 1, 1});
	CHECK(epoch.end > 80 * MIB);

	/* Memory holds 32 MiB for the second, and keeps 8 for nobody. */
	open_stream(&settings);
	read_both(24 * MIB);
	CHECK_EQ(world_n_cursors(&w, stream), 1);
	CHECK(w.source->n_bytes < epoch.end + MIB);
	close_stream();

	/* It begins late, and they meet. */
	open_stream(&settings);
	a = read_on(&first, 0, 24 * MIB);
	b = read_on(&second, 0, MIB);
	CHECK_EQ(world_n_cursors(&w, stream), 2);
	b = read_on(&second, b, a);
	CHECK_EQ(world_n_cursors(&w, stream), 1);
	for (; b < epoch.n_bytes; b = read_on(&second, b, b + MIB))
		a = read_on(&first, a, b + 2 * MIB);
	CHECK_EQ(world_n_cursors(&w, stream), 1);
	close_stream();

	/* Further behind than memory holds, it is served by itself. */
	open_stream(&settings);
	read_both(44 * MIB);
	close_stream();

	naive_epoch_done(&epoch);
	for (i = 0; i < N_SHARDS; i++)
		naive_shard_done(&shards[i]);
	return 0;
}
