/* SPDX-License-Identifier: MIT */
/* segment=sample, small and large samples, and any memory from next to none: all bytes of
 * the epoch, whatever chunks are refused and cut. */
#include "base/log.h"
#include "check.h"
#include "stream-world.h"

#define N_SHARDS 3
#define KIB	 ((uint64_t)1 << 10)

static struct naive_shard shards[N_SHARDS];
static struct world w;

/* `other_bytes` of the memory are somebody else's. */
static void read_all(uint64_t stream_bytes, uint64_t other_bytes)
{
	const struct world_settings settings = {
		.epoch = {.order = {.lanes = 2, .segment = SFS_SEGMENT_SAMPLE},
			  .shards = shards,
			  .n_shards = N_SHARDS},
		.stream_bytes = stream_bytes,
	};
	struct naive_epoch epoch;
	struct sfs_stream *stream = world_open(&w, &settings, &epoch);
	struct sfs_account other;

	CHECK_EQ(sfs_account_open(&other, &w.runtime.budget, 0, false, NULL), 0);
	CHECK_EQ(sfs_account_take(&other, other_bytes), 0);
	world_read_all(&w, stream, &epoch, 256 * KIB);
	sfs_account_give(&other, other_bytes);
	sfs_account_close(&other);
	world_close(&w, stream, &epoch);
}

int main(void)
{
	struct sfs_rng rng;
	uint64_t n;
	uint32_t i;

	sfs_log_set_level(SFS_LOG_ERROR);
	sfs_rng_init(&rng, (const uint64_t[]){8}, 1);
	for (i = 0; i < N_SHARDS; i++)
		naive_shard_make(&shards[i], i, &rng, 60, 12, 6000000);
	for (n = 512 * KIB; n < 20000 * KIB; n += n / 3) {
		read_all(n, 0);
		read_all(65536 * KIB, 65536 * KIB - n);
	}
	for (i = 0; i < N_SHARDS; i++)
		naive_shard_done(&shards[i]);
	return 0;
}
