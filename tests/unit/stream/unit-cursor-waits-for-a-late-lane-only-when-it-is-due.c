/* SPDX-License-Identifier: MIT */
/* A lane whose bytes do not come holds nobody up before its next sample could be due, by
 * what is known of its shard; and then it does. */
#include "base/alloc.h"
#include "base/log.h"
#include "check.h"
#include "stream-world.h"

#define N_LANES 6

static struct naive_shard shards[N_LANES];
static struct naive_epoch epoch;
static struct world w;
static struct sfs_stream *stream;

static const struct sfs_object *object(uint32_t s)
{
	return w.runtime.shards.shards[s].object;
}

/* The source brings all but what lies in shard `late` from byte `from` on. */
static void bring_others(uint32_t late, uint64_t from)
{
	struct sfs_request *r;
	size_t i = 0;

	world_settle(&w);
	while ((r = scripted_nth(w.source, i)) != NULL) {
		if (r->object == object(late) && r->offset + r->n_bytes > from) {
			i++;
			continue;
		}
		scripted_end(w.source, r, 0);
		world_settle(&w);
		i = 0;
	}
}

/* How many bytes of the shard are here when all that is pending does not come. */
static uint64_t bytes_here(uint32_t s)
{
	uint64_t n = shards[s].tar.n;
	struct sfs_request *r;
	size_t i;

	for (i = 0; (r = scripted_nth(w.source, i)) != NULL; i++)
		if (r->object == object(s) && r->offset < n)
			n = r->offset;
	return n;
}

/* The first sample of the shard that cannot leave: only the header after it says where a
 * sample ends. */
static size_t first_unknown(uint32_t s, uint64_t n_here)
{
	size_t i;

	for (i = 0; i < shards[s].n && shards[s].samples[i].end + BLOCK <= n_here; i++)
		;
	return i;
}

/* Where the stream comes to a sample of the lane, or to where it could have one. */
static uint64_t offset_of(uint32_t lane, uint64_t time)
{
	const struct naive_place *p = epoch.places;
	size_t i;

	for (i = 0; i < epoch.n; i++)
		if (p[i].time > time || (p[i].time == time && p[i].lane >= lane))
			break;
	return p[i].offset;
}

static uint32_t lane_of(uint32_t shard)
{
	size_t i;

	for (i = 0; epoch.places[i].sample->shard != shard; i++)
		;
	return epoch.places[i].lane;
}

static void check(uint32_t late)
{
	const struct sfs_share all = {0, 1, 1};
	struct world_read first, before, at;
	uint64_t end;
	size_t i;

	stream = sfs_stream_open(&w.streams, 0, all);
	world_read(&w, &first, stream, 0, 1);
	bring_others(late, 600000);
	CHECK_EQ(world_result(&first, &epoch), 0);
	i = first_unknown(late, bytes_here(late));
	CHECK(i > 10 && i < shards[late].n);
	end = offset_of(lane_of(late), epoch.dues[late][i]);

	world_read(&w, &before, stream, 0, end);
	bring_others(late, 600000);
	CHECK_EQ(world_result(&before, &epoch), 0);
	world_read(&w, &at, stream, end, 1);
	bring_others(late, 600000);
	CHECK(!world_is_answered(&at));
	bring_others(late, UINT64_MAX);
	CHECK_EQ(world_result(&at, &epoch), 0);
	sfs_stream_close(stream);
	world_end_all(&w, 0);
}

int main(void)
{
	struct world_settings settings = {
		/* Each sample is a block. */
		.epoch = {.order = {.lanes = N_LANES, .buffer_bytes = 512},
			  .shards = shards,
			  .n_shards = N_LANES},
		.stream_bytes = (uint64_t)64 << 20,
	};
	const struct sfs_share all = {0, 1, 1};
	struct sfs_rng rng;
	uint32_t i;

	sfs_log_set_level(SFS_LOG_ERROR);
	sfs_rng_init(&rng, (const uint64_t[]){8}, 1);
	for (i = 0; i < N_LANES; i++)
		naive_shard_make(&shards[i], i, &rng, 400, 0, 0);
	naive_epoch_make(&epoch, &settings.epoch, 0, all);
	for (i = 0; i < N_LANES; i++) {
		world_start(&w, &settings);
		check(i);
		world_stop(&w);
	}
	naive_epoch_done(&epoch);
	for (i = 0; i < N_LANES; i++)
		naive_shard_done(&shards[i]);
	return 0;
}
