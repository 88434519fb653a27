/* SPDX-License-Identifier: MIT */
/* segment=sample: of the samples that are due soon, those that lie together in a shard
 * are read by one request: the more memory there is, the more of them.  What lies between
 * them is named as what nobody wants, and each sample is wanted once. */
#include "base/log.h"
#include "check.h"
#include "stream-world.h"

#define N_SHARDS  2
#define N_SAMPLES 3000
#define MIB	  ((uint64_t)1 << 20)
#define END_BYTES 1024 /* the zeros that end a tar are of no shard */

static struct naive_shard shards[N_SHARDS];
static struct world w;

/* Read the epoch from its start to its end.  Returns the number of requests. */
static uint64_t read_all(uint64_t stream_bytes)
{
	const struct world_settings settings = {
		.epoch = {.order = {.lanes = 8, .segment = SFS_SEGMENT_SAMPLE},
			  .shards = shards,
			  .n_shards = N_SHARDS},
		.stream_bytes = stream_bytes,
	};
	struct naive_epoch epoch;
	struct sfs_stream *stream = world_open(&w, &settings, &epoch);
	uint64_t n;

	world_read_all(&w, stream, &epoch, MIB);
	n = w.source->n_submitted;
	CHECK(w.source->n_gap_bytes > 0);
	CHECK_EQ(w.source->n_bytes - w.source->n_gap_bytes, epoch.n_bytes - END_BYTES);
	world_close(&w, stream, &epoch);
	return n;
}

int main(void)
{
	struct sfs_rng rng;
	uint64_t n;
	uint32_t i;

	sfs_log_set_level(SFS_LOG_ERROR);
	sfs_rng_init(&rng, (const uint64_t[]){5}, 1);
	for (i = 0; i < N_SHARDS; i++)
		naive_shard_make(&shards[i], i, &rng, N_SAMPLES, 0, 0);
	n = read_all(64 * MIB);
	CHECK(n < N_SHARDS * N_SAMPLES / 3);
	CHECK(n < read_all(8 * MIB));
	for (i = 0; i < N_SHARDS; i++)
		naive_shard_done(&shards[i]);
	return 0;
}
