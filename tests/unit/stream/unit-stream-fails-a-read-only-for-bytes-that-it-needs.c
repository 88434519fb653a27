/* SPDX-License-Identifier: MIT */
/* A part that was prefetched failed before anybody needed it, and others of its lane are
 * in flight.  A read that needs the part has it requested again at once; that another one
 * fails meanwhile is no error of the read. */
#include "base/log.h"
#include "check.h"
#include "stream-world.h"

#include <errno.h>

static struct naive_shard shard;
static struct world w;
static struct sfs_stream *stream;
static struct naive_epoch epoch;

static const struct sfs_object *object(void)
{
	return w.runtime.shards.shards[0].object;
}

static void end_at(uint64_t offset, int err)
{
	struct sfs_request *r = scripted_find(w.source, object(), offset);

	CHECK(r != NULL);
	scripted_end(w.source, r, err);
	world_settle(&w);
}

/* Where the first request that is pending begins, and the last one. */
static void find_ends(uint64_t *ret_first, uint64_t *ret_last)
{
	const struct sfs_request *r;
	size_t i;

	*ret_first = UINT64_MAX;
	*ret_last = 0;
	for (i = 0; (r = scripted_nth(w.source, i)) != NULL; i++) {
		*ret_first = r->offset < *ret_first ? r->offset : *ret_first;
		*ret_last = r->offset > *ret_last ? r->offset : *ret_last;
	}
	CHECK(*ret_first < *ret_last);
}

/* The first read ends, and with it all that it needs; more is in flight then. */
static void begin_stream(void)
{
	struct world_read r;

	world_read(&w, &r, stream, 0, 1000);
	world_settle(&w);
	while (!world_is_answered(&r))
		end_at(scripted_nth(w.source, 0)->offset, 0);
	CHECK_EQ(world_result(&r, &epoch), 0);
	world_settle(&w);
}

int main(void)
{
	struct world_settings settings = {
		.epoch = {.order = {.lanes = 1, .buffer_bytes = 65536},
			  .shards = &shard,
			  .n_shards = 1},
		.stream_bytes = 64 << 20,
	};
	uint64_t first, last;
	struct world_read r;
	struct sfs_rng rng;

	sfs_log_set_level(SFS_LOG_ERROR);
	sfs_rng_init(&rng, (const uint64_t[]){1}, 1);
	naive_shard_make(&shard, 0, &rng, 2000, 0, 0);
	naive_epoch_make(&epoch, &settings.epoch, 0, (struct sfs_share){0, 1, 1});
	world_start(&w, &settings);
	stream = sfs_stream_open(&w.streams, 0, (struct sfs_share){0, 1, 1});

	begin_stream();
	find_ends(&first, &last);
	end_at(first, -EIO);
	CHECK(!scripted_find(w.source, object(), first)); /* nobody needs it yet */

	world_read(&w, &r, stream, first, SFS_SLAB_BYTES);
	world_settle(&w);
	CHECK(scripted_find(w.source, object(), first) != NULL);
	CHECK(scripted_find(w.source, object(), last) != NULL);
	end_at(last, -EIO);
	CHECK(!world_is_answered(&r));
	end_at(first, 0);
	CHECK(world_is_answered(&r));
	CHECK_EQ(world_result(&r, &epoch), 0);

	/* What it needs fails while it waits: that is its error,
	 * whatever is in flight. */
	world_settle(&w);
	find_ends(&first, &last);
	world_read(&w, &r, stream, last, SFS_SLAB_BYTES);
	world_settle(&w);
	end_at(first, -ETIMEDOUT);
	CHECK(scripted_n(w.source) > 0);
	CHECK_EQ(world_result(&r, &epoch), -EIO);

	sfs_stream_close(stream);
	world_stop(&w);
	naive_epoch_done(&epoch);
	naive_shard_done(&shard);
	return 0;
}
