/* SPDX-License-Identifier: MIT */
/* The pieces of an oversize sample are fetched within a window ahead of the reader, and
 * no further; more as the reader goes on.  A piece that a read waits for is fetched
 * wherever it is.  What is dropped gives its memory back. */
#include "base/log.h"
#include "check.h"
#include "stream-world.h"
#include "stream/cursor/oversize.h"

#define MIB	 ((uint64_t)1 << 20)
#define N_PIECES 12

static struct naive_shard shard;
static struct world w;
static struct sfs_account account;
static struct sfs_extent_map extents;
static struct sfs_oversize oversize;
static struct sfs_deferred out;

static void on_wake(void *ctx)
{
}

static void on_failed(void *ctx, const struct sfs_mapped_extent *e, int err,
		      struct sfs_deferred *to)
{
	CHECK(!"a piece has failed");
}

static struct sfs_oversize_piece *piece(uint64_t number)
{
	return sfs_extent_map_at(&extents, number)->piece;
}

/* A reader has got all before `front`, and waits for the byte at `wanted`. */
static void start(uint64_t front, uint64_t wanted)
{
	struct sfs_read read = {.offset = wanted, .n_bytes = 1};
	struct sfs_link waiting;

	sfs_list_init(&waiting);
	if (wanted != UINT64_MAX)
		sfs_list_push(&waiting, &read.link);
	sfs_oversize_start(&oversize, &waiting, front, &out);
	sfs_deferred_run(&out);
}

static void end_all(void)
{
	world_end_all(&w, 0);
	sfs_oversize_take(&oversize, &out);
	sfs_deferred_run(&out);
}

static void drop_first(void)
{
	sfs_oversize_drop(&oversize, piece(extents.head));
	sfs_extent_map_drop_head(&extents);
}

static void check_window(void)
{
	const uint64_t n_window =
		(sfs_oversize_window(&oversize) + SFS_RANGE_MAX - 1) / SFS_RANGE_MAX;
	uint64_t i;

	CHECK(n_window >= 2 && n_window < N_PIECES / 2);
	start(0, UINT64_MAX);
	CHECK_EQ(scripted_n(w.source), n_window);
	end_all();
	for (i = 0; i < N_PIECES; i++)
		CHECK_EQ(sfs_oversize_piece_is_here(piece(i)), i < n_window);
	start(0, UINT64_MAX);
	CHECK_EQ(scripted_n(w.source), 0); /* it has enough */

	/* The reader goes on, and what was delivered goes. */
	drop_first();
	start(SFS_RANGE_MAX, UINT64_MAX);
	CHECK_EQ(scripted_n(w.source), 1);
	CHECK_EQ(scripted_nth(w.source, 0)->offset, n_window * SFS_RANGE_MAX);
	end_all();

	start(SFS_RANGE_MAX, (N_PIECES - 1) * SFS_RANGE_MAX);
	CHECK_EQ(scripted_n(w.source), 1);
	CHECK_EQ(scripted_nth(w.source, 0)->offset, (N_PIECES - 1) * SFS_RANGE_MAX);
	CHECK(scripted_nth(w.source, 0)->is_urgent);
	end_all();
	CHECK(sfs_oversize_piece_is_here(piece(N_PIECES - 1)));
}

int main(void)
{
	struct world_settings settings = {
		.epoch = {.order = {.lanes = 1, .buffer_bytes = 65536},
			  .shards = &shard,
			  .n_shards = 1},
		.stream_bytes = 64 * MIB,
	};
	const struct sfs_oversize_owner owner = {.wake = on_wake, .failed = on_failed};
	const struct sfs_block_sample sample = {.n_bytes = N_PIECES * SFS_RANGE_MAX};

	sfs_log_set_level(SFS_LOG_ERROR);
	strcpy(shard.name, "s.tar");
	tar_file(&shard.tar, "0.b", N_PIECES * SFS_RANGE_MAX - BLOCK, 'x');
	tar_end(&shard.tar);
	world_start(&w, &settings);
	sfs_deferred_init(&out);
	CHECK_EQ(sfs_account_open(&account, &w.runtime.budget, 0, true, NULL), 0);
	sfs_extent_map_init(&extents, 0);
	sfs_oversize_init(&oversize, &w.runtime, &account, &extents, &owner);
	sfs_oversize_append(&oversize, &sample, false);
	CHECK_EQ(extents.tail, N_PIECES);

	check_window();

	while (extents.head < extents.tail)
		drop_first();
	CHECK_EQ(sfs_account_used(&account), 0);
	sfs_oversize_done(&oversize);
	sfs_extent_map_done(&extents);
	sfs_account_close(&account);
	world_stop(&w);
	naive_shard_done(&shard);
	return 0;
}
