/* SPDX-License-Identifier: MIT */
/* A lane that is fast for now is read further ahead than a slow one, so that all of them
 * last equally long. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "check.h"
#include "stream-world.h"
#include "stream/prefetch/sizing.h"

#define N_LANES	 8
#define N_SHARDS 24
#define KIB	 ((uint64_t)1 << 10)
#define MIB	 ((uint64_t)1 << 20)
#define TIMES	 ((uint64_t)1 << 32)
#define LOG	 (16 * MIB) /* so far ahead of reads, samples are taken from lanes */

/* Parts of 256 KiB, 16 at a time. */
static const struct sfs_netpath path = {.n_parallel = 8,
					.wait_ns = 20 * SFS_NS_PER_MS,
					.bytes_per_s = 2 * MIB};

static struct naive_shard shards[N_SHARDS];
static struct naive_epoch epoch;
static struct world w;
static struct sfs_stream *stream;
static uint64_t requested[N_SHARDS]; /* up to this byte */

static uint32_t shard_of(const struct sfs_request *r)
{
	return sfs_shards_number(&w.runtime.shards, r->object);
}

/* The source brings whatever is requested. */
static void bring_all(void)
{
	struct sfs_request *r;

	for (world_settle(&w); (r = scripted_nth(w.source, 0)) != NULL;
	     world_settle(&w)) {
		if (r->offset + r->n_bytes > requested[shard_of(r)])
			requested[shard_of(r)] = r->offset + r->n_bytes;
		scripted_end(w.source, r, 0);
	}
}

static void read_up_to(uint64_t *at, uint64_t end)
{
	struct world_read read;
	uint64_t n;

	for (; *at < end; *at += n) {
		n = end - *at < MIB ? end - *at : MIB;
		world_read(&w, &read, stream, *at, n);
		bring_all();
		CHECK_EQ(world_result(&read, &epoch), 0);
	}
	bring_all();
}

/* A lane's first shard: the others begin at a later byte of the lane. */
static uint32_t first_shard(uint32_t lane)
{
	const struct naive_place *first = NULL;
	size_t i;

	for (i = 0; i < epoch.n; i++)
		if (epoch.places[i].lane == lane &&
		    (!first || epoch.places[i].time < first->time))
			first = &epoch.places[i];
	return first->sample->shard;
}

/* The byte of its first shard that a lane has reached by some time. */
static uint64_t place_at(uint32_t s, uint64_t time)
{
	size_t i;

	for (i = 0; i < shards[s].n && epoch.dues[s][i] < time; i++)
		;
	return i < shards[s].n ? shards[s].samples[i].begin : shards[s].tar.n;
}

/* The time of the first sample after some byte. */
static uint64_t time_after(uint64_t offset)
{
	size_t i;

	for (i = 0; epoch.places[i].offset < offset; i++)
		;
	return epoch.places[i].time;
}

/* After a read up to that byte of the stream: what lanes have ahead beyond a margin is in
 * proportion to their pace. */
static void check_lanes(uint64_t offset)
{
	const uint64_t part = 256 * KIB, lead = sfs_sizing_lead(&path, part);
	const uint64_t margin = sfs_sizing_margin(&path, 8 * KIB);
	uint64_t now = time_after(offset + LOG), speed[N_LANES], all = 0, ahead, wanted;
	uint64_t slowest = UINT64_MAX, fastest = 0;
	uint32_t l, s;

	for (l = 0; l < N_LANES; l++) {
		s = first_shard(l);
		speed[l] = place_at(s, now + TIMES / 64) - place_at(s, now);
		all += speed[l];
	}
	for (l = 0; l < N_LANES; l++) {
		s = first_shard(l);
		CHECK(requested[s] < shards[s].tar.n); /* else this says nothing */
		ahead = requested[s] - place_at(s, now);
		wanted = margin + lead * speed[l] / all;
		CHECK(ahead + part > wanted);
		CHECK(ahead < wanted + 2 * part);
		slowest = ahead < slowest ? ahead : slowest;
		fastest = ahead > fastest ? ahead : fastest;
	}
	CHECK(2 * fastest > 3 * slowest);
}

int main(void)
{
	struct world_settings settings = {
		.epoch = {.order = {.lanes = N_LANES, .buffer_bytes = 64 * KIB},
			  .shards = shards,
			  .n_shards = N_SHARDS},
		.stream_bytes = 96 * MIB,
		.path = path,
	};
	struct sfs_rng rng;
	uint64_t at = 0;
	uint32_t i;

	sfs_log_set_level(SFS_LOG_ERROR);
	sfs_rng_init(&rng, (const uint64_t[]){5}, 1);
	for (i = 0; i < N_SHARDS; i++)
		naive_shard_make(&shards[i], i, &rng, 900, 0, 0);
	stream = world_open(&w, &settings, &epoch);
	CHECK_EQ(sfs_sizing_part(&path, w.runtime.budget.limit_bytes, N_LANES),
		 256 * KIB);

	read_up_to(&at, 1000);
	check_lanes(at);
	read_up_to(&at, 4 * MIB);
	check_lanes(at);

	world_close(&w, stream, &epoch);
	for (i = 0; i < N_SHARDS; i++)
		naive_shard_done(&shards[i]);
	return 0;
}
