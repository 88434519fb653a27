/* SPDX-License-Identifier: MIT */
/* In a dataset of near and far shards, the parts of each are as its own path wants them:
 * a far shard begins with one slab, so that its first sample is here soon. */
#include "base/log.h"
#include "check.h"
#include "stream-world.h"
#include "stream/prefetch/sizing.h"

#define N_LANES 4
#define N_FAR	2 /* shards 0 and 1 */

static struct naive_shard shards[N_LANES];
static struct world w;

static struct sfs_object *object(uint32_t i)
{
	return w.runtime.shards.shards[i].object;
}

/* Parts of a lane end at places of its own, so a near one may be somewhat smaller. */
static void check_first_parts(const struct sfs_netpath *near,
			      const struct sfs_netpath *far)
{
	uint64_t n_bytes;
	uint32_t i;

	for (i = 0; i < N_LANES; i++) {
		n_bytes = scripted_find(w.source, object(i), 0)->n_bytes;
		if (i < N_FAR) {
			CHECK(n_bytes >= sfs_sizing_first(far, N_LANES));
			CHECK(n_bytes <= sfs_sizing_first(far, 0));
		} else {
			CHECK(n_bytes > sfs_sizing_first(far, N_LANES));
			CHECK(n_bytes <= sfs_sizing_first(near, 0));
		}
	}
}

int main(void)
{
	static const struct sfs_netpath near = {.n_parallel = 8};
	static const struct sfs_netpath far = {.n_parallel = 8,
					       .rtt_ns = 100 * 1000 * 1000,
					       .wait_ns = 100 * 1000 * 1000,
					       .bytes_per_s = 200 * 1000 * 1000};
	static struct sfs_netpath_record far_record;
	struct world_settings settings = {
		.epoch = {.order = {.lanes = N_LANES, .buffer_bytes = 1 << 20},
			  .shards = shards,
			  .n_shards = N_LANES},
		.stream_bytes = 64 << 20,
		.path = near,
	};
	struct naive_epoch epoch;
	struct sfs_stream *stream;
	struct world_read read;
	struct sfs_rng rng;
	uint32_t i;

	sfs_log_set_level(SFS_LOG_ERROR);
	sfs_rng_init(&rng, (const uint64_t[]){3}, 1);
	for (i = 0; i < N_LANES; i++)
		naive_shard_make(&shards[i], i, &rng, 4000, 0, 0);
	stream = world_open(&w, &settings, &epoch);
	sfs_netpath_store(&far_record, &far);
	for (i = 0; i < N_FAR; i++)
		atomic_store(&object(i)->path, &far_record);

	world_read(&w, &read, stream, 0, 1000);
	world_settle(&w);
	check_first_parts(&near, &far);

	world_end_all(&w, 0);
	CHECK_EQ(world_result(&read, &epoch), 0);
	world_close(&w, stream, &epoch);
	for (i = 0; i < N_LANES; i++)
		naive_shard_done(&shards[i]);
	return 0;
}
