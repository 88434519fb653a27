/* SPDX-License-Identifier: MIT */
/* segment=sample: while requests fail and nobody waits, no more are made.  Who waits has
 * all of them tried again, side by side. */
#include "base/log.h"
#include "check.h"
#include "stream-world.h"

#include <errno.h>

#define N_SAMPLES 3000
#define MIB	  ((uint64_t)1 << 20)

static struct naive_shard shards[2];
static struct world w;

int main(void)
{
	const struct world_settings settings = {
		.epoch = {.order = {.lanes = 8, .segment = SFS_SEGMENT_SAMPLE},
			  .shards = shards,
			  .n_shards = 2},
		.stream_bytes = 64 * MIB,
	};
	struct naive_epoch epoch;
	struct sfs_stream *stream;
	struct world_read read;
	struct sfs_rng rng;
	uint64_t most;

	sfs_log_set_level(SFS_LOG_ERROR);
	sfs_rng_init(&rng, (const uint64_t[]){7}, 1);
	naive_shard_make(&shards[0], 0, &rng, N_SAMPLES, 0, 0);
	naive_shard_make(&shards[1], 1, &rng, N_SAMPLES, 0, 0);
	stream = world_open(&w, &settings, &epoch);
	world_read(&w, &read, stream, 0, MIB);
	world_settle(&w);
	most = scripted_n(w.source);
	CHECK(most > 8);
	world_end_all(&w, -EIO);
	CHECK_EQ(world_result(&read, &epoch), -EIO);
	CHECK(w.source->n_submitted <= 2 * most);

	world_read(&w, &read, stream, 0, MIB);
	world_settle(&w);
	CHECK(scripted_n(w.source) > 8);
	world_end_all(&w, 0);
	CHECK_EQ(world_result(&read, &epoch), 0);
	world_close(&w, stream, &epoch);
	naive_shard_done(&shards[0]);
	naive_shard_done(&shards[1]);
	return 0;
}
