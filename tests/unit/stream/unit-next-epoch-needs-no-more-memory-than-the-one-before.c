/* SPDX-License-Identifier: MIT */
/* An epoch that is fetched before its reader comes takes memory only as far as the one
 * before has given it back: all that is held never exceeds what was held within that
 * epoch.  Its parts are no larger than those of a stream that is read, also when that one
 * has been closed and no other is open. */
#include "base/log.h"
#include "check.h"
#include "stream-world.h"
#include "stream/prefetch/sizing.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)

#define N_SHARDS 32
#define N_LANES	 32
#define READ	 MIB

static struct naive_shard shards[N_SHARDS];
static struct naive_epoch epochs[2];
static struct world w;
static const struct sfs_share all = {0, 1, 1};

static uint32_t n_streams(void)
{
	uint32_t n;

	pthread_mutex_lock(&w.streams.lock);
	n = w.streams.n;
	pthread_mutex_unlock(&w.streams.lock);
	return n;
}

static uint64_t part;	/* the most that a request may be */
static uint64_t height; /* what the first epoch held at most, before the next was begun */
static bool has_begun;

static uint64_t held(void)
{
	return sfs_budget_used(&w.runtime.budget);
}

/* (More may have been held for a moment, where nobody looked.) */
static void look(void)
{
	has_begun |= n_streams() > 1;
	if (has_begun)
		CHECK(held() <= height + 2 * part);
	else if (held() > height)
		height = held();
}

/* The source brings whatever is requested. */
static void bring_all(void)
{
	struct sfs_request *r;

	for (world_settle(&w); (r = scripted_nth(w.source, 0)) != NULL;
	     world_settle(&w)) {
		look();
		CHECK(r->n_bytes <= part);
		scripted_end(w.source, r, 0);
	}
	look();
}

static void tick(void)
{
	sfs_streams_tick(&w.streams);
	bring_all();
}

int main(void)
{
	struct world_settings settings = {
		.epoch = {.order = {.lanes = N_LANES, .buffer_bytes = 4 * MIB},
			  .shards = shards,
			  .n_shards = N_SHARDS},
		.stream_bytes = 256 * MIB,
		.next_epoch = SFS_NEXT_YES,
	};
	const struct sfs_netpath near = {.n_parallel = 8};
	struct sfs_stream *first, *second;
	struct world_read read;
	uint64_t at, n;
	struct sfs_rng rng;
	uint32_t i;

	sfs_log_set_level(SFS_LOG_ERROR);
	sfs_rng_init(&rng, (const uint64_t[]){5}, 1);
	for (i = 0; i < N_SHARDS; i++)
		naive_shard_make(&shards[i], i, &rng, 200, 2, 160000);
	for (i = 0; i < 2; i++)
		naive_epoch_make(&epochs[i], &settings.epoch, i, all);
	settings.path = near;
	world_start(&w, &settings);
	part = sfs_sizing_part(&near, w.runtime.budget.total_bytes, N_LANES);
	first = sfs_stream_open(&w.streams, 0, all);
	for (at = 0; at < epochs[0].n_bytes; at += n) {
		n = epochs[0].n_bytes - at < READ ? epochs[0].n_bytes - at : READ;
		world_read(&w, &read, first, at, n);
		bring_all();
		CHECK_EQ(world_result(&read, &epochs[0]), 0);
	}
	CHECK(has_begun);
	CHECK(height < epochs[0].n_bytes / 2); /* what is ahead is not just all there is */
	tick();
	CHECK_EQ(n_streams(), 2);

	/* Nobody reads now.  All that the first epoch held is the second's. */
	sfs_stream_close(first);
	tick();
	tick();
	CHECK_EQ(n_streams(), 1);
	CHECK(held() > height / 2);

	/* Its reader finds it. */
	second = sfs_stream_open(&w.streams, 1, all);
	world_read(&w, &read, second, 0, READ);
	CHECK_EQ(world_result(&read, &epochs[1]), 0);
	sfs_stream_close(second);
	world_end_all(&w, 0);
	world_stop(&w);
	for (i = 0; i < 2; i++)
		naive_epoch_done(&epochs[i]);
	for (i = 0; i < N_SHARDS; i++)
		naive_shard_done(&shards[i]);
	return 0;
}
