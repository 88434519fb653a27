/* SPDX-License-Identifier: MIT */
/* A gather fills its read with all pieces in the order of the read's bytes, in whatever
 * order they come; or it ends once, with the first error, when nothing is in flight any
 * more.  It can be cancelled at any moment, and then gives its memory back. */
#include "io/gather.h"
#include "one-runtime.h"
#include "tars.h"

#include <errno.h>

#define SIZE  ((size_t)12 << 20)
#define PIECE 100000
#define N     3 /* ranges of a gather */

static unsigned char *content;
static struct tar tar; /* one sample */

struct reader {
	struct sfs_read read;
	int n_calls, err;
};

static void on_done(struct sfs_read *read, int err)
{
	struct reader *r = sfs_container(read, struct reader, read);

	r->n_calls++;
	r->err = err;
}

static struct sfs_shard *shard(uint32_t i)
{
	return &runtime.shards.shards[i];
}

static int map_err(int err)
{
	return err == -ENOENT ? -ESTALE : err;
}

static struct sfs_gather *new_gather(struct reader *r)
{
	*r = (struct reader){.read.n_bytes = SIZE, .read.done = on_done};
	return sfs_gather_new(&runtime.range_reader, &r->read);
}

/* Where range k lies. */
static uint64_t start_of(int k)
{
	return (uint64_t)(N - k) * 1000000;
}

/* Zeros, three ranges, and a copy between them. */
static struct sfs_gather *start_three(struct reader *r)
{
	struct sfs_gather *g = new_gather(r);
	int k;

	sfs_gather_add_zeros(g, 1000);
	for (k = 0; k < N; k++) {
		sfs_gather_add(g, shard(0), start_of(k), PIECE);
		if (k == 0)
			sfs_gather_add_copy(g, "copied", 6);
	}
	sfs_gather_start(g, map_err);
	CHECK_EQ(scripted_n(source), N);
	return g;
}

static void check_three(const struct reader *r)
{
	sfs_autofree unsigned char *got = sfs_malloc(r->read.n_answered);
	const unsigned char *p = got;
	int k, i;

	CHECK_EQ(r->n_calls, 1);
	CHECK_EQ(r->err, 0);
	CHECK_EQ(r->read.n_answered, 1000 + 6 + N * PIECE);
	sfs_read_copy(&r->read, got);
	for (i = 0; i < 1000; i++)
		CHECK_EQ(*p++, 0);
	for (k = 0; k < N; k++) {
		CHECK(memcmp(p, content + start_of(k), PIECE) == 0);
		p += PIECE;
		if (k == 0) {
			CHECK(memcmp(p, "copied", 6) == 0);
			p += 6;
		}
	}
}

static void nothing_is_held(void)
{
	settle();
	CHECK_EQ(sfs_account_used(&runtime.range_reader.account), 0);
	CHECK_EQ(sfs_slabs_used(runtime.slabs), 0);
}

/* The six orders in which three ranges can end. */
static const int orders[][N] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
				{1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

/* ---- tests ---- */

static void any_order(const int *order)
{
	struct reader r;
	int i;

	start_three(&r);
	for (i = 0; i < N; i++) {
		CHECK_EQ(r.n_calls, 0);
		end_at(0, start_of(order[i]), 0);
	}
	check_three(&r);
	sfs_read_release(&r.read);
	nothing_is_held();
}

/* Those from the i-th on to end fail, each in its own way: the first error counts. */
static void any_failure(const int *order, int first)
{
	static const int errs[N] = {-ENOENT, -ETIMEDOUT, -EACCES};
	struct reader r;
	int i;

	start_three(&r);
	for (i = 0; i < N; i++) {
		CHECK_EQ(r.n_calls, 0); /* the others still write to its memory */
		end_at(0, start_of(order[i]), i < first ? 0 : errs[i]);
	}
	CHECK_EQ(r.n_calls, 1);
	CHECK_EQ(r.err, map_err(errs[first]));
	CHECK_EQ(r.read.n_answered, 0);
	nothing_is_held();
}

/* Cancelled when n of its ranges have ended. */
static void cancelled_while_fetching(int n, int err)
{
	struct sfs_request *request;
	struct reader r;
	int i;

	start_three(&r);
	for (i = 0; i < n; i++)
		end_at(0, start_of(i), 0);
	CHECK(sfs_read_cancel(&r.read));
	for (i = n; i < N; i++) {
		request = scripted_find(source, shard(0)->object, start_of(i));
		CHECK(scripted_is_cancelled(request));
	}
	memset(&r, 0xa5, sizeof r); /* it is gone */
	for (i = n; i < N; i++)
		end_at(0, start_of(i), err);
	nothing_is_held();
}

static void cancelled_while_asking_for_memory(void)
{
	struct sfs_account *account = &runtime.range_reader.account;
	uint64_t n_bytes = 0;
	struct sfs_cause cause = {0};
	struct sfs_gather *g;
	struct reader r, next;

	while (sfs_account_take(account, SFS_SLAB_BYTES) == 0)
		n_bytes += SFS_SLAB_BYTES;
	g = new_gather(&r);
	sfs_gather_add(g, shard(0), 0, SFS_RANGE_MAX);
	sfs_gather_start(g, NULL);
	g = new_gather(&next);
	sfs_gather_add(g, shard(0), 0, 10);
	sfs_gather_start(g, NULL);
	CHECK_EQ(scripted_n(source), 0);
	sfs_read_explain(&r.read, &cause);
	CHECK_HAS(cause.text, "memory");

	CHECK(sfs_read_cancel(&r.read));
	sfs_account_give(account, SFS_SLAB_BYTES); /* enough for the next one alone */
	settle();
	CHECK_EQ(scripted_n(source), 1);
	end_at(0, 0, 0);
	CHECK_EQ(r.n_calls, 0);
	CHECK_EQ(next.n_calls, 1);
	CHECK_EQ(next.err, 0);
	sfs_read_release(&next.read);
	sfs_account_give(account, n_bytes - SFS_SLAB_BYTES);
	nothing_is_held();
}

/* ---- patched samples ---- */

static void start_patched(struct reader *r)
{
	struct sfs_gather *g = new_gather(r);
	const struct sfs_patched_sample sample = {shard(1), 0, tar.n, true};

	sfs_gather_add_patched(g, &sample, 0, tar.n);
	sfs_gather_start(g, NULL);
	CHECK_EQ(scripted_n(source), 1); /* its headers come first */
	CHECK(scripted_nth(source, 0)->n_bytes < tar.n);
}

static void patched(void)
{
	sfs_autofree unsigned char *got = sfs_malloc(tar.n), *want = sfs_malloc(tar.n);
	struct sfs_tar_entry entry;
	struct sfs_cause cause = {0};
	struct reader r;

	memcpy(want, tar.bytes, tar.n);
	CHECK_EQ(tar_rewrite(want, tar.n, "train-1", &entry, NULL), 0);
	sfs_tar_entry_done(&entry);
	start_patched(&r);
	sfs_read_explain(&r.read, &cause);
	CHECK_HAS(cause.text, "headers");
	end_at(1, 0, 0);
	CHECK_EQ(scripted_n(source), 1);
	end_at(1, tar.n - 1, 0);
	CHECK_EQ(r.n_calls, 1);
	CHECK_EQ(r.err, 0);
	CHECK_EQ(r.read.n_answered, tar.n);
	sfs_read_copy(&r.read, got);
	CHECK(memcmp(got, want, tar.n) == 0);
	sfs_read_release(&r.read);
	nothing_is_held();
}

static void headers_that_fail(void)
{
	struct reader r;

	start_patched(&r);
	end_at(1, 0, -EACCES);
	CHECK_EQ(r.n_calls, 1);
	CHECK_EQ(r.err, -EACCES);
	CHECK_EQ(scripted_n(source), 0);
	nothing_is_held();
}

static void cancelled_while_patching(int err)
{
	struct reader r;

	start_patched(&r);
	CHECK(sfs_read_cancel(&r.read));
	end_at(1, 0, err);
	CHECK_EQ(scripted_n(source), 0); /* no range is fetched any more */
	CHECK_EQ(r.n_calls, 0);
	nothing_is_held();
}

/* ---- what only an index says ---- */

static void unverified(uint64_t start, int wanted)
{
	struct sfs_gather *g;
	struct reader r;

	g = new_gather(&r);
	sfs_gather_add_unverified(g, shard(1), start, 1024);
	sfs_gather_start(g, NULL);
	end_at(1, start, 0);
	CHECK_EQ(r.n_calls, 1);
	CHECK_EQ(r.err, wanted);
	if (wanted == 0)
		sfs_read_release(&r.read);
	nothing_is_held();
}

int main(void)
{
	size_t i, k;

	content = sfs_malloc(SIZE);
	for (i = 0; i < SIZE; i++)
		content[i] = (unsigned char)(i / 511);
	tar_file(&tar, "000.jpg", 200000, 'x');
	start_runtime((uint64_t)64 << 20, 2, (const void *[]){content, tar.bytes},
		      (const uint64_t[]){SIZE, tar.n});
	for (i = 0; i < sizeof orders / sizeof *orders; i++) {
		any_order(orders[i]);
		for (k = 0; k < N; k++)
			any_failure(orders[i], (int)k);
	}
	for (i = 0; i < N; i++) {
		cancelled_while_fetching((int)i, -ECANCELED);
		cancelled_while_fetching((int)i, 0); /* it was too late for that one */
	}
	cancelled_while_asking_for_memory();
	patched();
	headers_that_fail();
	cancelled_while_patching(0);
	cancelled_while_patching(-ECANCELED);
	unverified(0, 0);
	unverified(512, -EBADMSG);
	stop_runtime();
	tar_done(&tar);
	free(content);
	return 0;
}
