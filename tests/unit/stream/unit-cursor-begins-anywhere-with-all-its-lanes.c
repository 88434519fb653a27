/* SPDX-License-Identifier: MIT */
/* A cursor that begins in the middle of an epoch requests bytes of all its lanes at once,
 * and not of each when a reader waits for it. */
#include "base/log.h"
#include "check.h"
#include "stream-world.h"

#define N_LANES 6

static struct naive_shard shards[2 * N_LANES];
static struct naive_epoch epoch;
static struct world w;

static size_t n_ahead(void)
{
	struct sfs_request *r;
	size_t i, n = 0;

	for (i = 0; (r = scripted_nth(w.source, i)) != NULL; i++)
		n += r->is_ahead;
	return n;
}

/* Read 4 MiB in a row, which earns a cursor.  Returns how much was requested ahead before
 * anything of it came. */
static size_t read_in_a_row(struct sfs_stream *stream, uint64_t offset)
{
	struct world_read read;
	uint64_t at, n = 256 << 10;
	size_t n_first = 0;

	for (at = offset; at < offset + (4 << 20); at += n) {
		world_read(&w, &read, stream, at, n);
		world_settle(&w);
		n_first = n_first > 0 ? n_first : n_ahead();
		world_end_all(&w, 0);
		CHECK_EQ(world_result(&read, &epoch), 0);
	}
	return n_first;
}

static void check(uint64_t segment)
{
	const struct sfs_share all = {0, 1, 1};
	struct world_settings settings = {
		.epoch = {.order = {.lanes = N_LANES,
				    .buffer_bytes = 65536,
				    .segment = segment},
			  .shards = shards,
			  .n_shards = 2 * N_LANES},
		.stream_bytes = (uint64_t)64 << 20,
	};
	struct sfs_stream *stream;

	naive_epoch_make(&epoch, &settings.epoch, 0, all);
	world_start(&w, &settings);
	stream = sfs_stream_open(&w.streams, 0, all);
	CHECK(read_in_a_row(stream, epoch.end - (24 << 20)) >= N_LANES - 1);
	sfs_stream_close(stream);
	world_stop(&w);
	naive_epoch_done(&epoch);
}

int main(void)
{
	struct sfs_rng rng;
	uint32_t i;

	sfs_log_set_level(SFS_LOG_ERROR);
	sfs_rng_init(&rng, (const uint64_t[]){9}, 1);
	for (i = 0; i < 2 * N_LANES; i++)
		naive_shard_make(&shards[i], i, &rng, 700, 10, 200000);
	check(SFS_SEGMENT_SHARD);
	check(1 << 20);
	check(SFS_SEGMENT_RANDOM);
	for (i = 0; i < 2 * N_LANES; i++)
		naive_shard_done(&shards[i]);
	return 0;
}
