/* SPDX-License-Identifier: MIT */
/* All lanes get their first part before any gets its second; a lane whose parts are late
 * does not make the others request without end; no more requests are in flight than the
 * source has a use for; and the lane that a reader waits for is urgent. */
#include "base/log.h"
#include "check.h"
#include "stream-world.h"
#include "stream/prefetch/sizing.h"

#define N_LANES 4

static struct naive_shard shards[N_LANES];
static struct world w;

static const struct sfs_object *object(uint32_t i)
{
	return w.runtime.shards.shards[i].object;
}

/* The first requests are one for each lane, from its start. */
static void check_first(void)
{
	bool is_seen[N_LANES] = {false};
	struct sfs_request *r;
	uint32_t i, k;

	for (i = 0; i < N_LANES; i++) {
		r = scripted_nth(w.source, i);
		CHECK(r != NULL);
		CHECK_EQ(r->offset, 0);
		for (k = 0; r->object != object(k); k++)
			CHECK(k < N_LANES);
		CHECK(!is_seen[k]);
		is_seen[k] = true;
	}
}

static void check_in_flight(void)
{
	struct sfs_netpath path = sfs_runtime_path(&w.runtime);

	CHECK((int)scripted_n(w.source) <= path.n_parallel + path.n_parallel / 2 + 4);
}

int main(void)
{
	struct world_settings settings = {
		.epoch = {.order = {.lanes = N_LANES, .buffer_bytes = 1 << 20},
			  .shards = shards,
			  .n_shards = N_LANES},
		.stream_bytes = 64 << 20,
	};
	const struct sfs_object *late;
	struct naive_epoch epoch;
	struct sfs_stream *stream;
	struct sfs_request *r;
	struct world_read read;
	struct sfs_rng rng;
	uint32_t i, n_late = 0;

	sfs_log_set_level(SFS_LOG_ERROR);
	sfs_rng_init(&rng, (const uint64_t[]){3}, 1);
	for (i = 0; i < N_LANES; i++)
		naive_shard_make(&shards[i], i, &rng, 4000, 0, 0);
	stream = world_open(&w, &settings, &epoch);

	world_read(&w, &read, stream, 0, 1000);
	world_settle(&w);
	check_first();
	check_in_flight();

	/* The lane of the first sample is late; all others get whatever they request. */
	late = object(epoch.places[0].sample->shard);
	while ((r = world_other_than(&w, late)) != NULL) {
		scripted_end(w.source, r, 0);
		world_settle(&w);
		check_in_flight();
	}
	CHECK(!world_is_answered(&read));
	for (i = 0; (r = scripted_nth(w.source, i)) != NULL; i++) {
		CHECK(r->object == late);
		CHECK(r->is_urgent || atomic_load(&r->is_needed) ||
		      atomic_load(&r->is_awaited));
		n_late++;
	}
	CHECK(n_late >= 1);
	CHECK(sfs_slabs_used(w.runtime.slabs) < epoch.n_bytes); /* they have enough */

	world_end_all(&w, 0);
	CHECK_EQ(world_result(&read, &epoch), 0);
	world_close(&w, stream, &epoch);
	for (i = 0; i < N_LANES; i++)
		naive_shard_done(&shards[i]);
	return 0;
}
