/* SPDX-License-Identifier: MIT */
/* A sample larger than its lane may hold is fetched in pieces as the reader comes near,
 * never all of it at once; no lane asks for its data; and what was delivered goes. */
#include "base/log.h"
#include "check.h"
#include "stream-world.h"

#include <unistd.h>

#define MIB   ((uint64_t)1 << 20)
#define LARGE (40 * MIB)

static struct naive_shard shards[2];
static struct world w;

/* The shard that has a large sample between small ones. */
static void make_large(struct naive_shard *shard, struct sfs_rng *rng)
{
	size_t i;

	naive_shard_make(shard, 0, rng, 8, 4, LARGE);
	for (i = 0; i < shard->n; i++)
		if (shard->samples[i].end - shard->samples[i].begin > 8 * MIB)
			return;
	CHECK(!"there is a large sample");
}

int main(void)
{
	struct world_settings settings = {
		.epoch = {.order = {.lanes = 2, .buffer_bytes = 65536},
			  .shards = shards,
			  .n_shards = 2},
		.stream_bytes = 14 * MIB,
	};
	const struct sfs_share all = {0, 1, 1};
	uint64_t at, n = 65536, most = 0, used;
	struct naive_epoch epoch;
	struct sfs_stream *stream;
	struct world_read r;
	struct sfs_rng rng;

	alarm(60);
	sfs_log_set_level(SFS_LOG_ERROR);
	sfs_rng_init(&rng, (const uint64_t[]){8}, 1);
	make_large(&shards[0], &rng);
	naive_shard_make(&shards[1], 1, &rng, 100, 0, 0);
	naive_epoch_make(&epoch, &settings.epoch, 0, all);
	world_start(&w, &settings);
	stream = sfs_stream_open(&w.streams, 0, all);
	for (at = 0; at < epoch.n_bytes; at += n) {
		n = epoch.n_bytes - at < n ? epoch.n_bytes - at : n;
		world_read(&w, &r, stream, at, n);
		world_end_all(&w, 0);
		used = sfs_slabs_used(w.runtime.slabs);
		most = used > most ? used : most;
		CHECK_EQ(world_result(&r, &epoch), 0);
	}
	CHECK(most <= WORLD_BASE_BYTES + settings.stream_bytes);
	CHECK(most < LARGE / 2);
	/* But for what was in flight before its header came, nothing is fetched twice. */
	CHECK(w.source->base.n_bytes <=
	      epoch.n_bytes + WORLD_BASE_BYTES + settings.stream_bytes);

	sfs_stream_close(stream);
	world_stop(&w);
	naive_epoch_done(&epoch);
	naive_shard_done(&shards[0]);
	naive_shard_done(&shards[1]);
	return 0;
}
