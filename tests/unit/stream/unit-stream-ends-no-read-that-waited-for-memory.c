/* SPDX-License-Identifier: MIT */
/* Reads that wait for the memory of their cursor's lanes go on without it after some
 * seconds.  If there is room by then, the first of them may get a cursor of its own in
 * place of theirs: the others get their bytes all the same. */
#include "base/clock.h"
#include "base/log.h"
#include "check.h"
#include "stream-world.h"
#include "stream/cursor/cursor-internal.h"
#include "stream/stream-internal.h"

#include <unistd.h>

#define MIB	((uint64_t)1 << 20)
#define N_READS 5

static struct naive_shard shards[3];
static struct world w;
static struct sfs_stream *stream;
static struct naive_epoch epoch;
static struct sfs_account other; /* somebody else's */

static void on_room(struct sfs_account *account)
{
}

/* All but less than one cursor needs is in use. */
static void take_room(void)
{
	struct sfs_budget *budget = &w.runtime.budget;

	CHECK_EQ(sfs_account_open(&other, budget, 0, false, on_room), 0);
	while (sfs_account_take(&other, 64 << 10) == 0)
		;
}

static void give_room(void)
{
	sfs_account_give(&other, sfs_account_used(&other));
	sfs_account_close(&other);
}

/* The stream's only cursor has waited for long. */
static void age(void)
{
	struct sfs_cursor *c;

	pthread_mutex_lock(&stream->lock);
	CHECK_EQ(stream->n_cursors, 1);
	c = sfs_cursor_of(stream->cursors.next);
	CHECK(!c->prefetch);
	c->born_ns -= 60 * SFS_NS_PER_S;
	pthread_mutex_unlock(&stream->lock);
}

/* Reads at these places, the first of which begins the cursor. */
static void try(const uint64_t *offsets)
{
	struct world_read reads[N_READS];
	int i;

	take_room();
	for (i = 0; i < N_READS; i++)
		world_read(&w, &reads[i], stream, offsets[i], 65536);
	for (i = 1; i < N_READS; i++)
		reads[i].read.is_first = true; /* as of a file that is read on */
	world_settle(&w);
	for (i = 0; i < N_READS; i++)
		CHECK(!world_is_answered(&reads[i]));
	age();
	sfs_tasks_keep(); /* the stream is not told of the room before the tick */
	give_room();
	sfs_streams_tick(&w.streams);
	sfs_tasks_run_kept();
	for (i = 0; i < N_READS; i++) {
		for (world_end_all(&w, 0); !world_is_answered(&reads[i]);
		     world_end_all(&w, 0))
			usleep(1000); /* the front waits for readers behind it */
		CHECK_EQ(world_result(&reads[i], &epoch), 0);
	}
}

int main(void)
{
	const uint64_t in_order[N_READS] = {0, 3 * MIB, 2 * MIB, 4 * MIB, 5 * MIB},
		       near[N_READS] = {0, 65536, 131072, 300000, MIB};
	struct world_settings settings = {
		.epoch = {.order = {.lanes = 3, .buffer_bytes = 1 << 20},
			  .shards = shards,
			  .n_shards = 3},
		.stream_bytes = 4 * MIB,
	};
	const struct sfs_share all = {0, 1, 1};
	struct sfs_rng rng;
	bool has_tables;
	int i;

	sfs_log_set_level(SFS_LOG_ERROR);
	sfs_rng_init(&rng, (const uint64_t[]){8}, 1);
	for (i = 0; i < 3; i++)
		naive_shard_make(&shards[i], (uint32_t)i, &rng, 105, 1, 100000);
	naive_epoch_make(&epoch, &settings.epoch, 0, all);
	CHECK(epoch.end > 6 * MIB);
	for (i = 0; i < 4; i++) {
		has_tables = i % 2;
		world_start(&w, &settings);
		stream = sfs_stream_open(&w.streams, 0, all);
		if (has_tables) {
			world_read_all(&w, stream, &epoch, MIB);
			sfs_stream_close(stream);
			world_settle(&w);
			stream = sfs_stream_open(&w.streams, 0, all);
		}
		try(i < 2 ? in_order : near);
		sfs_stream_close(stream);
		world_stop(&w);
	}
	naive_epoch_done(&epoch);
	for (i = 0; i < 3; i++)
		naive_shard_done(&shards[i]);
	return 0;
}
