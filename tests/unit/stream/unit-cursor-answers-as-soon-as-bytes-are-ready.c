/* SPDX-License-Identifier: MIT */
/* A read is answered when its own bytes are ready, although the request that brings them
 * goes on; and reads of the same bytes, now or a little later, request nothing. */
#include "base/log.h"
#include "check.h"
#include "stream-world.h"

int main(void)
{
	static struct naive_shard shard;
	static struct world w;
	struct world_settings settings = {
		.epoch = {.order = {.lanes = 1, .buffer_bytes = 16384},
			  .shards = &shard,
			  .n_shards = 1},
		.stream_bytes = 64 << 20,
	};
	const struct sfs_share all = {0, 1, 1};
	const size_t half = SFS_SLAB_BYTES / 2;
	struct naive_epoch epoch;
	struct sfs_stream *stream;
	struct world_read a, b, c;
	struct sfs_request *r;
	struct sfs_rng rng;
	uint64_t n;

	sfs_log_set_level(SFS_LOG_ERROR);
	sfs_rng_init(&rng, (const uint64_t[]){4}, 1);
	naive_shard_make(&shard, 0, &rng, 1000, 0, 0);
	naive_epoch_make(&epoch, &settings.epoch, 0, all);
	world_start(&w, &settings);
	stream = sfs_stream_open(&w.streams, 0, all);

	world_read(&w, &a, stream, 0, half);
	world_read(&w, &b, stream, 100, half);
	world_read(&w, &c, stream, 2 * SFS_SLAB_BYTES, half);
	world_settle(&w);
	r = scripted_find(w.source, w.runtime.shards.shards[0].object, 0);
	CHECK(r && r->n_bytes > SFS_SLAB_BYTES);
	n = w.source->n_submitted;
	scripted_bring(w.source, r, SFS_SLAB_BYTES);
	world_settle(&w);
	CHECK_EQ(world_result(&a, &epoch), 0);
	CHECK_EQ(world_result(&b, &epoch), 0);
	CHECK(!world_is_answered(&c));
	world_read(&w, &a, stream, 50, half);
	CHECK_EQ(world_result(&a, &epoch), 0);
	CHECK_EQ(w.source->n_submitted, n);

	world_end_all(&w, 0);
	CHECK_EQ(world_result(&c, &epoch), 0);
	n = w.source->n_submitted;
	world_read(&w, &a, stream, 0, half); /* a little behind the front */
	CHECK_EQ(world_result(&a, &epoch), 0);
	CHECK_EQ(w.source->n_submitted, n);

	sfs_stream_close(stream);
	world_stop(&w);
	naive_epoch_done(&epoch);
	naive_shard_done(&shard);
	return 0;
}
