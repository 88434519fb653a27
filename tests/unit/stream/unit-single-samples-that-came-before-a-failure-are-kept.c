/* SPDX-License-Identifier: MIT */
/* segment=sample: a request for several samples that fails after some of them came.  Reads
 * of those are answered, the others fail; and whoever tries again has the rest
 * requested, and nothing twice. */
#include "base/log.h"
#include "check.h"
#include "stream-world.h"

#include <errno.h>

#define N_SAMPLES 40

static struct naive_shard shard;
static struct world w;

/* How many samples, from the first of the stream on, end before this
 * byte of the shard? */
static size_t n_before(const struct naive_epoch *epoch, uint64_t end)
{
	size_t n = 0;

	while (n < epoch->n && epoch->places[n].sample->end <= end)
		n++;
	return n;
}

int main(void)
{
	const struct world_settings settings = {
		.epoch = {.order = {.seed = 3, .lanes = 1, .segment = SFS_SEGMENT_SAMPLE},
			  .shards = &shard,
			  .n_shards = 1},
		.stream_bytes = 64 << 20,
	};
	struct naive_epoch epoch;
	struct sfs_stream *stream;
	struct sfs_request *r;
	struct world_read first, all;
	struct sfs_rng rng;
	uint64_t got, n;
	size_t k;

	sfs_log_set_level(SFS_LOG_ERROR);
	sfs_rng_init(&rng, (const uint64_t[]){6}, 1);
	naive_shard_make(&shard, 0, &rng, N_SAMPLES, 0, 0);
	stream = world_open(&w, &settings, &epoch);
	world_read(&w, &first, stream, 0, 512);
	world_read(&w, &all, stream, 0, (size_t)epoch.n_bytes);
	world_settle(&w);
	CHECK_EQ(scripted_n(w.source), 1);
	r = scripted_nth(w.source, 0);
	CHECK_EQ(r->n_bytes, shard.samples[N_SAMPLES - 1].end);

	/* The first sample of the stream comes, and half of the one after it in the
	 * shard. */
	got = epoch.places[0].sample->end + 512;
	k = n_before(&epoch, got);
	CHECK(k > 0 && k < epoch.n);
	n = w.source->n_submitted;
	scripted_end_short(w.source, r, got, -EIO);
	world_settle(&w);
	CHECK_EQ(world_result(&first, &epoch), 0);
	CHECK_EQ(world_result(&all, &epoch), -EIO);
	CHECK_EQ(w.source->n_submitted, n); /* nobody waits */

	world_read(&w, &all, stream, 0, (size_t)epoch.n_bytes);
	world_settle(&w);
	CHECK_EQ(scripted_n(w.source), 1);
	r = scripted_nth(w.source, 0);
	CHECK(r->is_urgent);
	CHECK_EQ(r->offset, epoch.places[0].sample->end);
	world_end_all(&w, 0);
	CHECK_EQ(world_result(&all, &epoch), 0);
	world_close(&w, stream, &epoch);
	naive_shard_done(&shard);
	return 0;
}
