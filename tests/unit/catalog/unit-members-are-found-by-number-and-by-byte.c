/* SPDX-License-Identifier: MIT */
/* A shard's members are what a scan found, added or borrowed; and only such are borrowed
 * as a shard can have. */
#include "base/alloc.h"
#include "made-indexes.h"
#include "tar/scan.h"
#include "tars.h"

#include <errno.h>

static bool same(const struct sfs_members *a, const struct sfs_members *b)
{
	uint64_t i;

	if (a->n != b->n)
		return false;
	for (i = 0; i < a->n; i++) {
		struct sfs_member m = sfs_members_get(a, i), o = sfs_members_get(b, i);

		if (m.n_name != o.n_name || memcmp(m.name, o.name, m.n_name) != 0 ||
		    m.start != o.start || m.data != o.data || m.size != o.size ||
		    m.mtime != o.mtime || m.mode != o.mode || m.is_sparse != o.is_sparse)
			return false;
	}
	return true;
}

/* Store and borrow them, in memory of just their size. */
static void stored(const struct sfs_members *m, uint64_t shard_bytes)
{
	size_t n_bytes = sfs_members_stored_bytes(m);
	sfs_autofree char *bytes = sfs_malloc(n_bytes);
	struct sfs_members borrowed = {0};

	CHECK(n_bytes > 0);
	sfs_members_store(m, bytes);
	CHECK_EQ(sfs_members_borrow(bytes, n_bytes, m->n, shard_bytes, &borrowed, NULL),
		 0);
	CHECK(same(m, &borrowed));
	CHECK_EQ(sfs_members_memory(&borrowed), 0);
	CHECK_EQ(sfs_members_stored_bytes(&borrowed), n_bytes);
	sfs_members_done(&borrowed);
}

/* ---- as a scan finds them ---- */

static void add(void *ctx, uint64_t start, const struct sfs_tar_entry *group)
{
	sfs_members_add(ctx, start, group);
}

static void ignore(void *ctx, const struct sfs_extent *extent)
{
}

static void is_member(const struct sfs_members *m, uint64_t i, const char *name,
		      uint64_t start, uint64_t size)
{
	struct sfs_member got = sfs_members_get(m, i);

	CHECK_EQ(got.n_name, strlen(name));
	CHECK(memcmp(got.name, name, got.n_name) == 0);
	CHECK_EQ(got.start, start);
	CHECK_EQ(got.size, size);
	CHECK(!got.is_sparse);
}

static void scanned(void)
{
	struct sfs_members m = {0};
	struct sfs_scan_sink sink = {.ctx = &m, .member = add, .sample = ignore};
	struct sfs_scan scan;
	struct tar tar = {0};

	tar_file(&tar, "README", 0, 'r');
	tar_file(&tar, "a/1.jpg", 700, 'x');
	tar_header(&tar, "ustar", '5', "b/", 0); /* no file */
	tar_file(&tar, "a/2.jpg", 512, 'x');
	tar_end(&tar);
	sfs_scan_init(&scan, tar.n);
	CHECK_EQ(sfs_scan_feed(&scan, 0, tar.bytes, tar.n, &sink), (long long)UINT64_MAX);
	CHECK_EQ(scan.err, 0);
	sfs_scan_done(&scan);

	CHECK_EQ(m.n, 3);
	is_member(&m, 0, "README", 0, 0);
	is_member(&m, 1, "a/1.jpg", 512, 700);
	is_member(&m, 2, "a/2.jpg", 512 + 1536 + 512, 512);
	CHECK_EQ(sfs_members_get(&m, 1).data, 1024);
	CHECK_EQ(sfs_members_find(&m, 0), 0);
	CHECK_EQ(sfs_members_find(&m, 1), 1);
	CHECK_EQ(sfs_members_find(&m, 512), 1);
	CHECK_EQ(sfs_members_find(&m, 513), 2);
	CHECK_EQ(sfs_members_find(&m, 2560), 2);
	CHECK_EQ(sfs_members_find(&m, 2561), 3);
	stored(&m, tar.n);
	sfs_members_done(&m);
	tar_done(&tar);
}

static void many(uint64_t n)
{
	struct sfs_sample_table t;
	struct sfs_members m;
	uint64_t shard_bytes = make_table(&t, n), i;

	make_members(&m, &t);
	CHECK_EQ(m.n, n);
	for (i = 0; i < n; i++)
		CHECK_EQ(sfs_members_find(&m, sfs_sample_table_get(&t, i).start), i);
	CHECK_EQ(sfs_members_find(&m, UINT64_MAX), n);
	CHECK(sfs_members_memory(&m) >= n * MEMBER_BYTES);
	stored(&m, shard_bytes);
	sfs_members_done(&m);
	sfs_members_done(&m);
	CHECK_EQ(sfs_members_memory(&m), 0);
	sfs_sample_table_done(&t);
}

/* ---- which are sound ---- */

#define N 7

static struct {
	unsigned char *bytes;
	size_t n_bytes;
	uint64_t shard_bytes;
} stock;

/* Are they refused with this number in place of what is there? */
static void refused(uint64_t member, size_t at, uint64_t number)
{
	sfs_autofree unsigned char *bytes = sfs_malloc(stock.n_bytes);
	struct sfs_members m = {.n = 99};
	struct sfs_error err = {0};

	memcpy(bytes, stock.bytes, stock.n_bytes);
	put_number(bytes, member * MEMBER_BYTES + at, number);
	CHECK_EQ(sfs_members_borrow(bytes, stock.n_bytes, N, stock.shard_bytes, &m, &err),
		 -EBADMSG);
	CHECK(err.text[0]);
	CHECK_EQ(m.n, 99);
}

static uint64_t number_of(uint64_t member, size_t at)
{
	return get_number(stock.bytes, member * MEMBER_BYTES + at);
}

static void make_stock(void)
{
	struct sfs_sample_table t;
	struct sfs_members m;

	stock.shard_bytes = make_table(&t, N);
	make_members(&m, &t);
	stock.n_bytes = sfs_members_stored_bytes(&m);
	stock.bytes = sfs_malloc(stock.n_bytes);
	sfs_members_store(&m, stock.bytes);
	sfs_members_done(&m);
	sfs_sample_table_done(&t);
}

static void soundness(void)
{
	enum { START = 0, DATA = 8, SIZE = 16, NAME = 32, MODE_FLAGS = 40 };
	struct sfs_members m;
	size_t n;

	make_stock();
	refused(1, START, 511);
	refused(1, START, 0);
	refused(1, START, number_of(1, DATA));
	refused(1, START, number_of(2, START));
	refused(N - 1, START, 1ULL << 40);
	refused(1, DATA, number_of(1, START));
	refused(1, DATA, number_of(2, START) + 512);
	refused(N - 1, DATA, stock.shard_bytes + 1);
	refused(1, SIZE, number_of(2, START) - number_of(1, DATA) + 1);
	refused(1, SIZE, UINT64_MAX);
	refused(4, SIZE, UINT64_MAX); /* sparse: any size that a file may have */
	refused(1, NAME, number_of(2, NAME) + 1);
	refused(1, NAME, UINT64_MAX);
	refused(0, NAME, 1);
	refused(1, MODE_FLAGS, 010000);
	refused(1, MODE_FLAGS, 2ULL << 32);
	refused(N, START, 512); /* the one after the last */
	refused(N, NAME, number_of(N, NAME) - 1);
	refused(N, NAME, number_of(N, NAME) + 1);
	refused(N + 1, 0, 0); /* names with NULs */

	for (n = 0; n < stock.n_bytes; n++) {
		sfs_autofree void *cut = sfs_malloc(n + 1);

		memcpy(cut, stock.bytes, n);
		CHECK_EQ(sfs_members_borrow(cut, n, N, stock.shard_bytes, &m, NULL),
			 -EBADMSG);
	}
	CHECK_EQ(sfs_members_borrow(stock.bytes, stock.n_bytes, UINT64_MAX,
				    stock.shard_bytes, &m, NULL),
		 -EBADMSG);
	CHECK_EQ(sfs_members_borrow(stock.bytes, stock.n_bytes, N, 512, &m, NULL),
		 -EBADMSG);
	free(stock.bytes);
}

int main(void)
{
	scanned();
	many(0);
	many(1);
	many(10);
	many(5000);
	soundness();
	return 0;
}
