/* SPDX-License-Identifier: MIT */
/* A lane that has far more bytes than the others runs as much faster, and may
 * have as many more requests in flight: with two at a time it would hold up a
 * stream from afar. */
#include "base/clock.h"
#include "base/log.h"
#include "check.h"
#include "stream-world.h"

#define N_LANES 16
#define MIB	((uint64_t)1 << 20)

static struct naive_shard shards[N_LANES];
static struct world w;

static size_t n_pending(const struct sfs_object *object)
{
	const struct sfs_request *r;
	size_t i, n = 0;

	for (i = 0; (r = scripted_nth(w.source, i)) != NULL; i++)
		n += r->object == object;
	return n;
}

/* End all requests but those of `late`, until no others come. */
static void end_others(const struct sfs_object *late)
{
	struct sfs_request *r;

	while ((r = world_other_than(&w, late)) != NULL) {
		scripted_end(w.source, r, 0);
		world_settle(&w);
	}
}

int main(void)
{
	struct world_settings settings = {
		.epoch = {.order = {.lanes = N_LANES, .buffer_bytes = 1 << 20},
			  .shards = shards,
			  .n_shards = N_LANES},
		.stream_bytes = 256 * MIB,
		.path = {.n_parallel = 8,
			 .rtt_ns = 100 * SFS_NS_PER_MS,
			 .wait_ns = 100 * SFS_NS_PER_MS,
			 .bytes_per_s = 16 * MIB},
	};
	const struct sfs_object *large;
	struct naive_epoch epoch;
	struct sfs_stream *stream;
	struct world_read read;
	struct sfs_rng rng;
	size_t n, most = 0;
	uint64_t offset;
	uint32_t i;

	sfs_log_set_level(SFS_LOG_ERROR);
	sfs_rng_init(&rng, (const uint64_t[]){3}, 1);
	for (i = 0; i < N_LANES; i++)
		naive_shard_make(&shards[i], i, &rng, i == 0 ? 20000 : 300, 0, 0);
	stream = world_open(&w, &settings, &epoch);
	large = w.runtime.shards.shards[0].object;

	for (offset = 0; offset < 16 * MIB; offset += MIB) {
		world_read(&w, &read, stream, offset, MIB);
		world_settle(&w);
		end_others(large);
		n = n_pending(large);
		most = n > most ? n : most;
		world_end_all(&w, 0);
		CHECK_EQ(world_result(&read, &epoch), 0);
	}
	CHECK(most >= 4);
	world_close(&w, stream, &epoch);
	for (i = 0; i < N_LANES; i++)
		naive_shard_done(&shards[i]);
	return 0;
}
