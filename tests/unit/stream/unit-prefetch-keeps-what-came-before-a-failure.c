/* SPDX-License-Identifier: MIT */
/* A part that fails after some of its bytes came: these stay, in whole slabs, and the
 * next try requests the rest only. */
#include "base/log.h"
#include "check.h"
#include "stream-world.h"

#include <errno.h>

int main(void)
{
	static struct naive_shard shard;
	static struct world w;
	struct world_settings settings = {
		.epoch = {.order = {.lanes = 1, .buffer_bytes = 65536},
			  .shards = &shard,
			  .n_shards = 1},
		.stream_bytes = 64 << 20,
	};
	const struct sfs_share all = {0, 1, 1};
	struct naive_epoch epoch;
	struct sfs_stream *stream;
	struct sfs_request *r;
	struct world_read read;
	struct sfs_rng rng;
	uint64_t n;

	sfs_log_set_level(SFS_LOG_ERROR);
	sfs_rng_init(&rng, (const uint64_t[]){2}, 1);
	naive_shard_make(&shard, 0, &rng, 1000, 0, 0);
	naive_epoch_make(&epoch, &settings.epoch, 0, all);
	world_start(&w, &settings);
	stream = sfs_stream_open(&w.streams, 0, all);

	world_read(&w, &read, stream, 0, 3 * SFS_SLAB_BYTES);
	world_settle(&w);
	r = scripted_find(w.source, w.runtime.shards.shards[0].object, 0);
	CHECK(r && r->n_bytes >= 3 * SFS_SLAB_BYTES);
	n = w.source->n_submitted;
	scripted_end_short(w.source, r, 2 * SFS_SLAB_BYTES + 100, -EIO);
	world_settle(&w);
	CHECK_EQ(world_result(&read, &epoch), -EIO);
	CHECK_EQ(w.source->n_submitted, n); /* nobody waits */

	/* What is there is there: nothing is requested for it. */
	world_read(&w, &read, stream, 0, SFS_SLAB_BYTES);
	CHECK_EQ(world_result(&read, &epoch), 0);
	CHECK_EQ(w.source->n_submitted, n);

	world_read(&w, &read, stream, 0, 3 * SFS_SLAB_BYTES);
	world_settle(&w);
	CHECK(w.source->n_submitted > n);
	CHECK(!scripted_find(w.source, w.runtime.shards.shards[0].object,
			     2 * SFS_SLAB_BYTES - 1));
	CHECK(scripted_find(w.source, w.runtime.shards.shards[0].object,
			    2 * SFS_SLAB_BYTES)
		      ->is_urgent);
	world_end_all(&w, 0);
	CHECK_EQ(world_result(&read, &epoch), 0);

	sfs_stream_close(stream);
	world_stop(&w);
	naive_epoch_done(&epoch);
	naive_shard_done(&shard);
	return 0;
}
