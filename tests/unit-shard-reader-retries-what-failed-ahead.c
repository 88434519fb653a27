/* SPDX-License-Identifier: MIT */
/* A chunk that was fetched ahead and failed before anybody wanted it is no error of the
 * read that comes for it later: that read has it fetched anew.  Who waited for it gets
 * the error, and only who waited for it. */
#include "base/alloc.h"
#include "base/ledger.h"
#include "check.h"
#include "io/shard-reader.h"
#include "scripted-source.h"

#include <errno.h>
#include <unistd.h>

#define BUDGET	   ((uint64_t)256 << 20)
#define SIZE	   ((size_t)64 << 20)
#define READ_BYTES ((size_t)512 << 10)

static struct sfs_runtime runtime;
static struct scripted_source *source;
static struct sfs_shard_readers *shard_readers;
static unsigned char *bytes;

struct reader {
	struct sfs_read read;
	int err;
	bool is_done;
};

static void on_read(struct sfs_read *read, int err)
{
	struct reader *r = sfs_container(read, struct reader, read);

	r->err = err;
	r->is_done = true;
}

static void begin(struct reader *r, uint64_t offset)
{
	*r = (struct reader){.read.offset = offset,
			     .read.n_bytes = READ_BYTES,
			     .read.done = on_read};
	sfs_shard_readers_read(shard_readers, &runtime.shards.shards[0], 0, SIZE, &r->read);
}

/* What became of it; it must have ended. */
static int result(struct reader *r)
{
	CHECK(r->is_done);
	if (r->err == 0) {
		CHECK_EQ(r->read.n_answered, READ_BYTES);
		CHECK(memcmp(r->read.iov[0].iov_base, bytes + r->read.offset,
			     r->read.iov[0].iov_len) == 0);
		sfs_read_release(&r->read);
	}
	return r->err;
}

static bool run_barrier(struct sfs_task *task)
{
	return true;
}

/* The pool's only thread has done what was posted so far. */
static void settle(void)
{
	static struct sfs_task barrier = {.run = run_barrier};

	sfs_threadpool_post(runtime.pool, &barrier);
	sfs_threadpool_settle(runtime.pool, &barrier);
}

static void end_at(uint64_t offset, int err)
{
	struct sfs_request *r =
		scripted_find(source, &runtime.shards.shards[0].object, offset);

	CHECK(r != NULL);
	scripted_end(source, r, err);
	settle();
}

/* Reads in a row from 0 on: the second one begins a window, which fetches ahead. */
static void begin_window(struct reader *ret_second)
{
	struct reader first;

	begin(&first, 0);
	end_at(0, 0);
	CHECK_EQ(result(&first), 0);
	begin(ret_second, READ_BYTES);
	CHECK(scripted_n(source) > 1);
}

static void failed_ahead(void)
{
	struct reader r;
	uint64_t at;

	begin_window(&r);
	end_at(READ_BYTES, 0);
	CHECK_EQ(result(&r), 0);
	CHECK(scripted_n(source) > 0);
	while (scripted_n(source) > 0)
		end_at(scripted_nth(source, 0)->offset, -EIO);
	for (at = 2 * READ_BYTES; at < 32 * READ_BYTES; at += READ_BYTES) {
		begin(&r, at);
		while (scripted_n(source) > 0)
			end_at(scripted_nth(source, 0)->offset, 0);
		CHECK_EQ(result(&r), 0);
	}
}

static void failed_while_awaited(void)
{
	struct reader a, b, c;

	begin_window(&a);
	begin(&b, 2 * READ_BYTES); /* of the same chunk */
	begin(&c, 3 * READ_BYTES); /* of the next one */
	end_at(READ_BYTES, -ETIMEDOUT);
	CHECK_EQ(result(&a), -EIO);
	CHECK_EQ(result(&b), -EIO);
	CHECK(!c.is_done);
	while (scripted_n(source) > 0)
		end_at(scripted_nth(source, 0)->offset, 0);
	CHECK_EQ(result(&c), 0);
}

int main(void)
{
	char **names = sfs_calloc(1, sizeof *names);
	struct sfs_object none = {0};
	size_t i;

	alarm(60);
	sfs_log_set_level(SFS_LOG_ERROR);
	bytes = sfs_malloc(SIZE);
	for (i = 0; i < SIZE; i++)
		bytes[i] = (unsigned char)(i / 511);
	names[0] = sfs_strdup("train.tar");
	sfs_budget_init(&runtime.budget, BUDGET);
	runtime.slabs = sfs_slabs_new(BUDGET);
	runtime.pool = sfs_threadpool_start("test", 1);
	CHECK_EQ(sfs_range_reader_init(&runtime.range_reader, runtime.slabs, runtime.pool, &runtime.budget,
				  8 << 20),
		 0);
	sfs_shards_init(&runtime.shards, 1, names, &none, false, &runtime.budget);
	source = scripted_start();
	scripted_have(source, &runtime.shards.shards[0].object, "train.tar", bytes, SIZE);

	shard_readers = sfs_shard_readers_new(&runtime);
	failed_ahead();
	sfs_shard_readers_free(shard_readers);
	shard_readers = sfs_shard_readers_new(&runtime);
	failed_while_awaited();
	sfs_shard_readers_free(shard_readers);

	scripted_free(source);
	sfs_threadpool_stop(runtime.pool);
	sfs_shards_done(&runtime.shards);
	sfs_range_reader_done(&runtime.range_reader);
	sfs_threadpool_free(runtime.pool);
	sfs_slabs_free(runtime.slabs);
	sfs_budget_done(&runtime.budget);
	free(names);
	free(bytes);
	sfs_ledger_clear();
	return 0;
}
