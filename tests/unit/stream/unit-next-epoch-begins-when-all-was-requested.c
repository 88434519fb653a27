/* SPDX-License-Identifier: MIT */
/* The next epoch is prefetched once all of the one that is read was requested, and not
 * before; its first read finds what was prefetched.  When memory is short, it is given
 * up. */
#include "base/log.h"
#include "check.h"
#include "stream-world.h"

#define MIB ((uint64_t)1 << 20)

static struct naive_shard shards[2];
static struct naive_epoch epochs[2];
static struct world w;
static const struct sfs_share all = {0, 1, 1};

static struct sfs_stream *open_stream(uint64_t epoch)
{
	return sfs_stream_open(&w.streams, epoch, all);
}

static void read_some(struct sfs_stream *stream, int epoch, uint64_t from, uint64_t end)
{
	struct world_read r;
	uint64_t at, n;

	for (at = from; at < end; at += n) {
		n = end - at < 65536 ? end - at : 65536;
		world_read(&w, &r, stream, at, n);
		world_settle(&w);
		while (!world_is_answered(&r)) {
			scripted_end(w.source, scripted_nth(w.source, 0), 0);
			world_settle(&w);
		}
		CHECK_EQ(world_result(&r, &epochs[epoch]), 0);
		world_settle(&w);
	}
}

/* Is the second epoch prefetched?  (Its stream is kept, and has asked for memory.) */
static bool is_begun(void)
{
	bool is_begun;

	world_settle(&w);
	pthread_mutex_lock(&w.streams.lock);
	is_begun = w.streams.n > 1;
	pthread_mutex_unlock(&w.streams.lock);
	return is_begun;
}

static void begins(struct world_settings *settings)
{
	struct sfs_stream *first, *second;
	struct world_read r;

	world_start(&w, settings);
	first = open_stream(0);
	read_some(first, 0, 0, epochs[0].n_bytes / 4);
	world_end_all(&w, 0);
	CHECK(!is_begun()); /* it has enough, but is not near its end */
	read_some(first, 0, epochs[0].n_bytes / 4, epochs[0].n_bytes);
	CHECK(is_begun());
	world_end_all(&w, 0);
	second = open_stream(1);
	world_read(&w, &r, second, 0, 100000);
	CHECK_EQ(world_result(&r, &epochs[1]), 0); /* at once */
	sfs_stream_close(first);
	sfs_stream_close(second);
	world_end_all(&w, 0);
	world_stop(&w);
}

static void gives_way(struct world_settings *settings)
{
	struct sfs_stream *first;

	world_start(&w, settings);
	first = open_stream(0);
	read_some(first, 0, 0, epochs[0].n_bytes);
	CHECK(is_begun());
	world_end_all(&w, 0);
	CHECK(is_begun());

	/* Memory is short: what nobody reads goes first, and all of it. */
	sfs_budget_limit(&w.runtime.budget, 1);
	sfs_streams_tick(&w.streams);
	world_end_all(&w, 0);
	CHECK(!is_begun());
	sfs_stream_close(first);
	world_stop(&w);
}

static void check(uint64_t segment)
{
	struct world_settings settings = {
		.epoch = {.order = {.lanes = 2, .buffer_bytes = 65536, .segment = segment},
			  .shards = shards,
			  .n_shards = 2},
		.stream_bytes = 64 * MIB,
		.next_epoch = SFS_NEXT_YES,
	};
	uint32_t i;

	for (i = 0; i < 2; i++)
		naive_epoch_make(&epochs[i], &settings.epoch, i, all);
	begins(&settings);
	gives_way(&settings);
	for (i = 0; i < 2; i++)
		naive_epoch_done(&epochs[i]);
}

int main(void)
{
	struct sfs_rng rng;
	uint32_t i;

	sfs_log_set_level(SFS_LOG_ERROR);
	sfs_rng_init(&rng, (const uint64_t[]){7}, 1);
	for (i = 0; i < 2; i++)
		naive_shard_make(&shards[i], i, &rng, 800, 0, 0);
	check(SFS_SEGMENT_SHARD);
	check(SFS_SEGMENT_SAMPLE);
	for (i = 0; i < 2; i++)
		naive_shard_done(&shards[i]);
	return 0;
}
