/* SPDX-License-Identifier: MIT */
/* A stream has four cursors at most.  A reader who begins again gets one of its own; for
 * a fifth, the one that was unread for longest is ended, of those where no read waits. */
#include "base/log.h"
#include "check.h"
#include "stream-world.h"

#include <unistd.h>

#define MIB ((uint64_t)1 << 20)

static struct naive_shard shards[2];
static struct world w;
static struct sfs_stream *stream;
static struct naive_epoch epoch;

/* All requests end but those for the ends of the shards. */
static void end_most(void)
{
	struct sfs_request *r;
	size_t i = 0;

	for (world_settle(&w); (r = scripted_nth(w.source, i)) != NULL;
	     world_settle(&w)) {
		if (r->offset + r->n_bytes == r->object->size) {
			i++;
			continue;
		}
		scripted_end(w.source, r, 0);
		i = 0;
	}
}

static void read_at(uint64_t offset)
{
	struct world_read r;

	world_read(&w, &r, stream, offset, 65536);
	for (end_most(); !world_is_answered(&r); end_most())
		usleep(1000); /* the front waits for readers behind it */
	CHECK_EQ(world_result(&r, &epoch), 0);
}

/* From the start on, but not into what another cursor has. */
static void read_up_to(uint64_t end)
{
	uint64_t at;

	for (at = 0; at < end; at += 65536)
		read_at(at);
}

int main(void)
{
	struct world_settings settings = {
		.epoch = {.order = {.lanes = 2, .buffer_bytes = 1 << 20},
			  .shards = shards,
			  .n_shards = 2},
		.stream_bytes = 128 * MIB,
	};
	const struct sfs_share all = {0, 1, 1};
	struct world_read waiting, fifth;
	struct sfs_rng rng;
	int i;

	sfs_log_set_level(SFS_LOG_ERROR);
	sfs_rng_init(&rng, (const uint64_t[]){5}, 1);
	for (i = 0; i < 2; i++)
		naive_shard_make(&shards[i], (uint32_t)i, &rng, 105, 1, 1000000);
	naive_epoch_make(&epoch, &settings.epoch, 0, all);
	CHECK(epoch.end > 92 * MIB);
	world_start(&w, &settings);
	stream = sfs_stream_open(&w.streams, 0, all);

	for (i = 1; i <= 4; i++) {
		read_up_to((uint64_t)(5 - i) * 20 * MIB);
		CHECK_EQ(world_n_cursors(&w, stream), i);
	}

	/* The first one was unread for longest, but a read waits there. */
	world_read(&w, &waiting, stream, epoch.end - 100, 100);
	world_settle(&w);
	CHECK(!world_is_answered(&waiting));
	for (i = 3; i >= 1; i--)
		read_at((uint64_t)i * 20 * MIB);
	CHECK_EQ(world_n_cursors(&w, stream), 4);
	world_read(&w, &fifth, stream, 0, 100);
	CHECK_EQ(world_n_cursors(&w, stream), 4);
	world_end_all(&w, 0);
	CHECK_EQ(world_result(&fifth, &epoch), 0);
	CHECK_EQ(world_result(&waiting, &epoch), 0);
	read_at(61 * MIB);

	sfs_stream_close(stream);
	world_stop(&w);
	naive_epoch_done(&epoch);
	for (i = 0; i < 2; i++)
		naive_shard_done(&shards[i]);
	return 0;
}
