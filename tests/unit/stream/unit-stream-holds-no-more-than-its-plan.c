/* SPDX-License-Identifier: MIT */
/* From its first byte to its end, a stream whose source is faster than its reader holds
 * what its plan says (sizing.h), what its log has ahead and before the reader, and little
 * more than a part of each lane.  (So it was when all lanes had one pace.)  Not more either
 * while an answer is not released, although its reader goes on: the thread that replied has
 * no turn. */
#include "base/clock.h"
#include "base/log.h"
#include "check.h"
#include "stream-world.h"
#include "stream/prefetch/sizing.h"

#define KIB (1ULL << 10)
#define MIB (1ULL << 20)
#define LOG (16 * MIB) /* ahead of reads */

#define MAX_SHARDS 48
#define READ	   MIB

static const struct sfs_netpath near = {.n_parallel = 8};
static const struct sfs_netpath far = {.n_parallel = 8,
				       .wait_ns = 20 * SFS_NS_PER_MS,
				       .bytes_per_s = 4 * MIB};

static struct naive_shard shards[MAX_SHARDS];
static struct world w;

/* The source brings whatever is requested.  The most that is held meanwhile. */
static uint64_t bring_all(void)
{
	struct sfs_request *r;
	uint64_t most = 0, used;

	for (world_settle(&w); (r = scripted_nth(w.source, 0)) != NULL;
	     world_settle(&w)) {
		used = sfs_slabs_used(w.runtime.slabs);
		most = used > most ? used : most;
		scripted_end(w.source, r, 0);
	}
	return most;
}

/* The first read is released when `pinned` bytes were read. */
static uint64_t read_all(const struct naive_epoch *epoch, uint64_t pinned)
{
	struct sfs_stream *stream =
		sfs_stream_open(&w.streams, 0, (struct sfs_share){0, 1, 1});
	struct world_read first, read;
	uint64_t at, n, used, most = 0;

	world_read(&w, &first, stream, 0, READ);
	bring_all();
	for (at = READ; at < epoch->n_bytes; at += n) {
		if (first.n_done > 0 && at >= pinned) {
			CHECK_EQ(world_result(&first, epoch), 0);
			first.n_done = 0;
		}
		n = epoch->n_bytes - at < READ ? epoch->n_bytes - at : READ;
		world_read(&w, &read, stream, at, n);
		used = bring_all();
		most = used > most ? used : most;
		CHECK_EQ(world_result(&read, epoch), 0);
	}
	sfs_stream_close(stream);
	return most;
}

static uint64_t mean_bytes(const struct naive_epoch *epoch)
{
	return epoch->end / epoch->n;
}

static void check_pinned(const struct sfs_netpath *path, uint32_t lanes, uint64_t buffer,
			 uint32_t n_shards, uint64_t pinned)
{
	struct world_settings settings = {
		.epoch = {.order = {.lanes = lanes, .buffer_bytes = buffer},
			  .shards = shards,
			  .n_shards = n_shards},
		.stream_bytes = 150 * MIB,
		.path = *path,
	};
	struct naive_epoch epoch;
	uint64_t part, block, back, plan, most;

	naive_epoch_make(&epoch, &settings.epoch, 0, (struct sfs_share){0, 1, 1});
	world_start(&w, &settings);
	part = sfs_sizing_part(path, w.runtime.budget.limit_bytes, lanes);
	block = buffer / lanes;
	block = block > mean_bytes(&epoch) ? block : mean_bytes(&epoch);
	back = (settings.stream_bytes + WORLD_BASE_BYTES) / 16;
	plan = sfs_sizing_stream(path, lanes, block, part);
	most = read_all(&epoch, pinned);
	CHECK(most <= 9 * (plan + lanes * part) / 8 + LOG + back);
	if (pinned > 0)
		CHECK(most <= 9 * plan / 8 + LOG + back);
	world_stop(&w);
	naive_epoch_done(&epoch);
}

static void check(const struct sfs_netpath *path, uint32_t lanes, uint64_t buffer,
		  uint32_t n_shards)
{
	check_pinned(path, lanes, buffer, n_shards, 0);
}

int main(void)
{
	struct sfs_rng rng;
	uint32_t i;

	sfs_log_set_level(SFS_LOG_ERROR);
	sfs_rng_init(&rng, (const uint64_t[]){11}, 1);
	for (i = 0; i < MAX_SHARDS; i++)
		naive_shard_make(&shards[i], i, &rng, 150 + sfs_rng_below(&rng, 100), 10,
				 200000);
	check(&near, 8, 64 * KIB, 48);
	check(&far, 8, 64 * KIB, 48);
	check(&near, 16, 16 * MIB, 48);
	check(&far, 16, 16 * MIB, 48);
	check(&near, 3, 4 * MIB, 48);
	check(&far, 3, 4 * MIB, 48);
	check(&near, 48, 4 * MIB, 48);
	check(&far, 48, 4 * MIB, 48);
	check_pinned(&near, 8, 64 * KIB, 48, 48 * MIB);
	check_pinned(&near, 16, 16 * MIB, 48, 48 * MIB);
	check_pinned(&near, 48, 4 * MIB, 48, 48 * MIB);
	for (i = 0; i < MAX_SHARDS; i++)
		naive_shard_done(&shards[i]);
	return 0;
}
