/* SPDX-License-Identifier: MIT */
/* Where headers lie close together, large chunks are read, one ahead; where the wanted
 * byte jumps, one small chunk is; and with hints several are.  Bytes are fed in the order
 * of the shard, in whatever order they come. */
#include "base/lock.h"
#include "io/header-fetch.h"
#include "one-runtime.h"

#include <errno.h>
#include <stdarg.h>

#define LARGE ((uint64_t)512 << 10)
#define SMALL ((uint64_t)16 << 10)
#define SIZE  ((uint64_t)64 << 20)

static unsigned char *content;
static struct sfs_header_fetch fetch;
static struct sfs_header_fetch_times times;
static pthread_mutex_t lock;

static atomic_int n_posts;

static bool run(struct sfs_task *task)
{
	atomic_fetch_add(&n_posts, 1);
	return true;
}

static void begin(void)
{
	static struct sfs_task task = {.run = run};

	times = (struct sfs_header_fetch_times){0};
	fetch = (struct sfs_header_fetch){.runtime = &runtime,
					  .shard = &runtime.shards.shards[0],
					  .task = &task,
					  .lock = &lock,
					  .times = &times};
}

/* Just these reads are pending: n offsets, in the order in which they were asked for. */
static void pending(size_t n, ...)
{
	const struct sfs_request *r;
	uint64_t offset;
	va_list offsets;
	size_t i;

	CHECK_EQ(scripted_n(source), n);
	va_start(offsets, n);
	for (i = 0; i < n; i++) {
		offset = va_arg(offsets, uint64_t);
		r = scripted_nth(source, i);
		CHECK_EQ(r->offset, offset);
	}
	va_end(offsets);
}

/* ---- what is fed ---- */

static uint64_t fed_from, fed_to;

static void feed(void *ctx, uint64_t offset, const void *bytes, size_t n)
{
	CHECK(ctx == &fetch);
	CHECK(memcmp(bytes, content + offset, n) == 0);
	if (fed_from == UINT64_MAX)
		fed_from = offset;
	CHECK(offset >= fed_to); /* in order */
	fed_to = offset + n;
}

static int take(void)
{
	fed_from = UINT64_MAX;
	fed_to = 0;
	return sfs_header_fetch_take(&fetch, feed, &fetch);
}

static void finish(void)
{
	while (scripted_n(source) > 0)
		end_at(0, scripted_nth(source, 0)->offset, -ECANCELED);
	take();
	CHECK(!sfs_header_fetch_ask(&fetch, UINT64_MAX));
	CHECK_EQ(sfs_account_used(&runtime.range_reader.account), 0);
}

/* ---- tests ---- */

static void reads_on_one_chunk_ahead(void)
{
	uint64_t at;

	begin();
	CHECK(sfs_header_fetch_ask(&fetch, 0));
	pending(2, (uint64_t)0, LARGE);
	for (at = 0; at < 5 * LARGE; at += LARGE) {
		end_at(0, at, 0);
		CHECK_EQ(take(), 0);
		CHECK_EQ(fed_from, at);
		CHECK_EQ(fed_to, at + LARGE);
		/* The next header is close, in the chunk that is in flight. */
		CHECK(sfs_header_fetch_ask(&fetch, at + LARGE + 700));
		pending(2, at + LARGE, at + 2 * LARGE);
	}
	finish();
}

static void feeds_in_order_what_comes_in_any(void)
{
	begin();
	sfs_header_fetch_ask(&fetch, 0);
	end_at(0, LARGE, 0);
	CHECK_EQ(take(), 0);
	CHECK_EQ(fed_from, UINT64_MAX);
	CHECK(sfs_header_fetch_ask(&fetch, 0)); /* the first one is still in flight */
	pending(1, (uint64_t)0);
	end_at(0, 0, 0);
	CHECK_EQ(take(), 0);
	CHECK_EQ(fed_from, 0);
	CHECK_EQ(fed_to, 2 * LARGE);
	finish();
}

/* To the wanted byte, by one small chunk at a time, for nobody knows what follows. */
static void jumps(void)
{
	uint64_t want = 10 << 20;

	begin();
	sfs_header_fetch_ask(&fetch, 0);
	end_at(0, 0, 0);
	end_at(0, LARGE, 0);
	CHECK_EQ(take(), 0);
	for (; want < SIZE; want += 10 << 20) {
		CHECK(sfs_header_fetch_ask(&fetch, want));
		pending(1, want);
		CHECK_EQ(scripted_nth(source, 0)->n_bytes, SMALL);
		CHECK(sfs_header_fetch_ask(&fetch, want));
		pending(1, want);
		end_at(0, want, 0);
		CHECK_EQ(take(), 0);
	}
	/* Headers lie close together again: large chunks. */
	CHECK(sfs_header_fetch_ask(&fetch, fed_to));
	pending(2, fed_to, fed_to + LARGE);
	finish();
}

/* What is in flight then comes in vain, but no more is asked for there. */
static void goes_back(void)
{
	begin();
	sfs_header_fetch_ask(&fetch, 0);
	end_at(0, 0, 0);
	CHECK_EQ(take(), 0);
	CHECK(sfs_header_fetch_ask(&fetch, 1024));
	pending(1, LARGE);
	end_at(0, LARGE, 0);
	CHECK_EQ(take(), 0);
	CHECK(sfs_header_fetch_ask(&fetch, 1024));
	pending(2, (uint64_t)1024, 1024 + LARGE);
	finish();
}

/* Of a stretch: what lies behind its end is not read ahead. */
static void stops_where_a_stretch_ends(void)
{
	struct sfs_shard *shard = &runtime.shards.shards[0];

	begin();
	shard->part.whole = shard;
	shard->part.begin = 3 * LARGE;
	shard->part.end = 3 * LARGE + LARGE / 2;
	CHECK(sfs_header_fetch_ask(&fetch, 3 * LARGE));
	pending(1, 3 * LARGE);
	CHECK_EQ(scripted_nth(source, 0)->n_bytes, LARGE / 2 + SMALL);
	end_at(0, 3 * LARGE, 0);
	CHECK_EQ(take(), 0);
	CHECK(sfs_header_fetch_ask(&fetch, 9 * LARGE)); /* its last sample is long */
	pending(1, 9 * LARGE);
	CHECK_EQ(scripted_nth(source, 0)->n_bytes, SMALL);
	finish();
	shard->part = (struct sfs_shard_part){0};
}

/* What is quicker is known when both have been tried. */
static void reads_on_if_that_is_quicker(void)
{
	begin();
	sfs_header_fetch_ask(&fetch, 0);
	end_at(0, 0, 0);
	CHECK_EQ(take(), 0);
	CHECK(times.large_ns > 0 && times.small_ns == 0);
	times = (struct sfs_header_fetch_times){.small_ns = 1000000, .large_ns = 1000};
	CHECK(sfs_header_fetch_ask(&fetch, 4 * LARGE));
	pending(2, LARGE, 2 * LARGE);
	times = (struct sfs_header_fetch_times){.small_ns = 1000, .large_ns = 1000000};
	end_at(0, LARGE, 0);
	CHECK_EQ(take(), 0);
	CHECK(sfs_header_fetch_ask(&fetch, 40 * LARGE));
	pending(1, 2 * LARGE);
	end_at(0, 2 * LARGE, 0);
	CHECK_EQ(take(), 0);
	CHECK(sfs_header_fetch_ask(&fetch, 40 * LARGE));
	pending(1, 40 * LARGE);
	CHECK_EQ(scripted_nth(source, 0)->n_bytes, SMALL);
	finish();
}

static void fetches_hints_at_once(void)
{
	uint64_t starts[20], i;
	struct sfs_index_import hints = {.kind = SFS_INDEX_IMPORT_ENERGON,
					 .n_samples = 19,
					 .starts = starts};

	for (i = 0; i < 20; i++)
		starts[i] = i * (3 << 20);
	begin();
	fetch.hints = &hints;
	sfs_header_fetch_ask(&fetch, 0);
	end_at(0, 0, 0);
	end_at(0, LARGE, 0);
	CHECK_EQ(take(), 0);
	CHECK(sfs_header_fetch_ask(&fetch, starts[1]));
	pending(SFS_HEADER_FETCH_CHUNKS, starts[1], starts[2], starts[3], starts[4],
		starts[5], starts[6], starts[7], starts[8]);
	end_at(0, starts[1], 0);
	CHECK_EQ(take(), 0);
	CHECK(sfs_header_fetch_ask(&fetch, starts[2]));
	pending(SFS_HEADER_FETCH_CHUNKS, starts[2], starts[3], starts[4], starts[5],
		starts[6], starts[7], starts[8], starts[9]);

	/* A header of which the hints say nothing: from there on they count no more. */
	for (i = 2; i < 10; i++)
		end_at(0, starts[i], 0);
	CHECK_EQ(take(), 0);
	CHECK(sfs_header_fetch_ask(&fetch, starts[3] + LARGE));
	CHECK(!fetch.hints);
	CHECK_EQ(scripted_nth(source, 0)->offset, starts[3] + LARGE);
	finish();
}

/* The first error counts; what lies after it is freed. */
static void fails(void)
{
	begin();
	sfs_header_fetch_ask(&fetch, 0);
	end_at(0, LARGE, -EACCES);
	CHECK_EQ(take(), 0); /* the bytes before it may suffice */
	end_at(0, 0, -ETIMEDOUT);
	CHECK_EQ(take(), -ETIMEDOUT);
	CHECK_EQ(fed_from, UINT64_MAX);
	finish();
}

static void asks_for_nothing_after_the_end(void)
{
	begin();
	CHECK(sfs_header_fetch_ask(&fetch, SIZE - 1000));
	pending(1, SIZE - 1000);
	CHECK_EQ(scripted_nth(source, 0)->n_bytes, 1000);
	end_at(0, SIZE - 1000, 0);
	CHECK_EQ(take(), 0);
	CHECK(!sfs_header_fetch_ask(&fetch, UINT64_MAX));
	finish();
}

/* Each chunk that ends posts the task. */
static void posts_the_task(void)
{
	begin();
	sfs_header_fetch_ask(&fetch, 0);
	atomic_store(&n_posts, 0);
	end_at(0, 0, 0);
	CHECK_EQ(n_posts, 1);
	end_at(0, LARGE, -EIO);
	CHECK_EQ(n_posts, 2);
	finish();
}

int main(void)
{
	size_t i;

	sfs_lock_init(&lock, SFS_LOCK_HEADER_SCANNER);
	content = sfs_malloc(SIZE);
	for (i = 0; i < SIZE; i++)
		content[i] = (unsigned char)(i / 511);
	start_runtime((uint64_t)64 << 20, 1, (const void *[]){content},
		      (const uint64_t[]){SIZE});
	reads_on_one_chunk_ahead();
	feeds_in_order_what_comes_in_any();
	jumps();
	goes_back();
	stops_where_a_stretch_ends();
	reads_on_if_that_is_quicker();
	fetches_hints_at_once();
	fails();
	asks_for_nothing_after_the_end();
	posts_the_task();
	stop_runtime();
	pthread_mutex_destroy(&lock);
	free(content);
	return 0;
}
