/* SPDX-License-Identifier: MIT */
/* A chunk that was fetched ahead and failed before anybody wanted it is no error of the
 * read that comes for it later: that read has it fetched anew.  Who waited for it gets
 * the error, and only who waited for it. */
#include "io/shard-reader.h"
#include "one-runtime.h"

#include <errno.h>

#define BUDGET	   ((uint64_t)256 << 20)
#define SMALL	   ((uint64_t)16 << 20)
#define SIZE	   ((size_t)64 << 20)
#define READ_BYTES ((size_t)512 << 10)

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
	sfs_shard_readers_read(shard_readers, &runtime.shards.shards[0], 0, SIZE,
			       &r->read);
}

/* Its error; it must have ended. */
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

/* Reads in a row from 0 on: the second one begins a window, which fetches ahead. */
static void begin_window(struct reader *ret_second)
{
	struct reader first;

	begin(&first, 0);
	end_at(0, 0, 0);
	CHECK_EQ(result(&first), 0);
	begin(ret_second, READ_BYTES);
	CHECK(scripted_n(source) > 1);
}

static void failed_ahead(void)
{
	struct reader r;
	uint64_t at;

	begin_window(&r);
	end_at(0, READ_BYTES, 0);
	CHECK_EQ(result(&r), 0);
	CHECK(scripted_n(source) > 0);
	while (scripted_n(source) > 0)
		end_at(0, scripted_nth(source, 0)->offset, -EIO);
	for (at = 2 * READ_BYTES; at < 32 * READ_BYTES; at += READ_BYTES) {
		begin(&r, at);
		while (scripted_n(source) > 0)
			end_at(0, scripted_nth(source, 0)->offset, 0);
		CHECK_EQ(result(&r), 0);
	}
}

static void failed_while_awaited(void)
{
	struct reader a, b, c;

	begin_window(&a);
	begin(&b, 2 * READ_BYTES); /* of the same chunk */
	begin(&c, 3 * READ_BYTES); /* of the next one */
	end_at(0, READ_BYTES, -ETIMEDOUT);
	CHECK_EQ(result(&a), -EIO);
	CHECK_EQ(result(&b), -EIO);
	CHECK(!c.is_done);
	while (scripted_n(source) > 0)
		end_at(0, scripted_nth(source, 0)->offset, 0);
	CHECK_EQ(result(&c), 0);
}

/* A read that is cancelled is not called; what it waited for is there for the others. */
static void cancelled(void)
{
	struct reader a, b;

	begin_window(&a);
	begin(&b, READ_BYTES);
	CHECK(sfs_read_cancel(&a.read));
	while (scripted_n(source) > 0)
		end_at(0, scripted_nth(source, 0)->offset, 0);
	CHECK(!a.is_done);
	CHECK_EQ(result(&b), 0);
}

/* Without memory for a window, reads are answered one by one. */
static void without_memory(void)
{
	struct reader r;
	uint64_t at;

	for (at = 0; at < SIZE; at += READ_BYTES) {
		begin(&r, at);
		CHECK(sfs_account_used(&runtime.range_reader.account) <= SMALL);
		while (scripted_n(source) > 0)
			end_at(0, scripted_nth(source, 0)->offset, 0);
		CHECK_EQ(result(&r), 0);
	}
}

static void test(uint64_t budget, void (*run)(void))
{
	start_runtime(budget, 1, (const void *[]){bytes}, (const uint64_t[]){SIZE});
	shard_readers = sfs_shard_readers_new(&runtime);
	run();
	stop_source();
	sfs_shard_readers_free(shard_readers);
	stop_runtime();
}

int main(void)
{
	size_t i;

	bytes = sfs_malloc(SIZE);
	for (i = 0; i < SIZE; i++)
		bytes[i] = (unsigned char)(i / 511);
	test(BUDGET, failed_ahead);
	test(BUDGET, failed_while_awaited);
	test(BUDGET, cancelled);
	test(SMALL, without_memory);
	free(bytes);
	return 0;
}
