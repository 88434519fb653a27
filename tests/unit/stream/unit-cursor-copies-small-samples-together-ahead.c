/* SPDX-License-Identifier: MIT */
/* Samples of a KB or two that the reader is about to come to are copied together: of
 * some hundred of them, a reply has few pieces.  Larger ones are replied from where they
 * lie.  The bytes are right, an answer that was made before stays right, and all memory
 * is given back. */
#include "base/log.h"
#include "check.h"
#include "stream-world.h"

#define STEP	 ((size_t)1 << 20)
#define N_SMALL	 2000
#define N_LARGE	 60
#define LARGE	 ((size_t)200 << 10)
#define SHUFFLED (1 << 20)

static struct naive_shard shard;
static struct world w;
static struct naive_epoch epoch;
static struct sfs_stream *stream;

static void read_at(struct world_read *r, uint64_t offset)
{
	world_read(&w, r, stream, offset, STEP);
	world_settle(&w);
	CHECK(world_is_answered(r));
}

static size_t n_samples(uint64_t at)
{
	size_t i, n = 0;

	for (i = 0; i < epoch.n; i++)
		n += epoch.places[i].offset >= at && epoch.places[i].offset < at + STEP;
	return n;
}

static void open_shard(uint64_t seed, size_t n, unsigned large_of, size_t large_bytes)
{
	const struct world_settings settings = {
		.epoch = {.order = {.lanes = 1, .buffer_bytes = SHUFFLED},
			  .shards = &shard,
			  .n_shards = 1},
		.stream_bytes = 64 << 20,
	};
	struct sfs_rng rng;

	sfs_rng_init(&rng, &seed, 1);
	naive_shard_make(&shard, 0, &rng, n, large_of, large_bytes);
	stream = world_open(&w, &settings, &epoch);
}

/* The first answer is held while the others are made. */
static void check_small(void)
{
	struct world_read first, r, behind;
	uint64_t at;

	open_shard(4, N_SMALL, 0, 0);
	world_read(&w, &first, stream, 0, STEP);
	world_settle(&w);
	world_end_all(&w, 0);
	CHECK(world_is_answered(&first));
	for (at = STEP; at + 2 * STEP < epoch.end; at += STEP) {
		read_at(&r, at);
		CHECK(3 * r.read.n_iov < (int)n_samples(at));
		CHECK_EQ(world_result(&r, &epoch), 0);
	}
	CHECK(at > 2 * STEP);
	read_at(&behind, STEP / 2);
	CHECK_EQ(world_result(&behind, &epoch), 0);
	CHECK_EQ(world_result(&first, &epoch), 0);
	world_read_all(&w, stream, &epoch, STEP);
	world_close(&w, stream, &epoch);
	naive_shard_done(&shard);
}

/* No slab is taken for copies. */
static void check_large(void)
{
	struct world_read r;
	uint64_t at, used;

	open_shard(5, N_LARGE, 1, LARGE);
	world_read(&w, &r, stream, 0, STEP);
	world_settle(&w);
	world_end_all(&w, 0);
	CHECK_EQ(world_result(&r, &epoch), 0);
	used = sfs_slabs_used(w.runtime.slabs);
	for (at = STEP; at + STEP < epoch.end; at += STEP) {
		read_at(&r, at);
		CHECK(sfs_slabs_used(w.runtime.slabs) <= used);
		CHECK_EQ(world_result(&r, &epoch), 0);
	}
	world_close(&w, stream, &epoch);
	naive_shard_done(&shard);
}

int main(void)
{
	sfs_log_set_level(SFS_LOG_ERROR);
	check_small();
	check_large();
	return 0;
}
