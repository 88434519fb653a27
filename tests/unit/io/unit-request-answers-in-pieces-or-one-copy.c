/* SPDX-License-Identifier: MIT */
/* The pieces of an answer are its bytes in their order, never more of them than the
 * kernel takes, and done() is called once and not under a lock. */
#include "base/alloc.h"
#include "check.h"
#include "io/request.h"

#include <errno.h>

#define KERNEL_TAKES 1023 /* pieces of memory, beside the reply's header */

static unsigned char wanted[1 << 20];
static size_t n_wanted;

static void add(struct sfs_read *r, void *bytes, size_t n)
{
	memcpy(wanted + n_wanted, bytes, n);
	n_wanted += n;
	sfs_read_add(r, bytes, n);
}

static void check_answer(struct sfs_read *r)
{
	sfs_autofree unsigned char *got = sfs_malloc(n_wanted + 1);
	size_t n = 0;
	int i;

	CHECK_EQ(r->n_answered, n_wanted);
	CHECK(r->n_iov <= KERNEL_TAKES);
	for (i = 0; i < r->n_iov; i++) {
		CHECK(r->iov[i].iov_len > 0);
		CHECK(memcmp(r->iov[i].iov_base, wanted + n, r->iov[i].iov_len) == 0);
		n += r->iov[i].iov_len;
	}
	CHECK_EQ(n, n_wanted);
	got[n_wanted] = 77;
	sfs_read_copy(r, got);
	CHECK(memcmp(got, wanted, n_wanted) == 0);
	CHECK_EQ(got[n_wanted], 77);
	n_wanted = 0;
	sfs_read_reset(r);
	CHECK_EQ(r->n_answered, 0);
	CHECK_EQ(r->n_iov, 0);
	CHECK(!r->iov && !r->flat);
}

static void few(void)
{
	struct sfs_read r = {.n_bytes = sizeof wanted};
	static char a[] = "abc", b[] = "defgh";

	check_answer(&r);
	add(&r, a, 3);
	add(&r, b, 0); /* nothing is no piece */
	add(&r, b, 5);
	CHECK_EQ(r.n_iov, 2);
	CHECK(r.iov[0].iov_base == a && r.iov[1].iov_base == b); /* nobody copies them */
	check_answer(&r);
	add(&r, a, 1); /* it may be used again */
	check_answer(&r);
	sfs_read_reset(&r);
}

/* Pieces of a few bytes each: at some number one copy is better. */
static void many(size_t n_pieces)
{
	struct sfs_read r = {.n_bytes = n_pieces * 3};
	sfs_autofree char *bytes = sfs_malloc(n_pieces * 4);
	size_t i;

	for (i = 0; i < n_pieces * 4; i++)
		bytes[i] = (char)(i * 7 + i / 100);
	for (i = 0; i < n_pieces; i++)
		add(&r, bytes + 4 * i, 3);
	CHECK(r.flat || n_pieces <= KERNEL_TAKES);
	check_answer(&r);
}

/* What follows each other in memory is one piece. */
static void neighbours(void)
{
	struct sfs_read r = {.n_bytes = 4000};
	static char bytes[4000];
	size_t i;

	for (i = 0; i < sizeof bytes; i++)
		bytes[i] = (char)i;
	for (i = 0; i < sizeof bytes; i += 2)
		add(&r, bytes + i, 2);
	CHECK_EQ(r.n_iov, 1);
	CHECK(r.iov[0].iov_base == bytes);
	check_answer(&r);
}

static void zeros(size_t n)
{
	static char byte[] = "x";
	struct sfs_read r = {.n_bytes = n + 2};

	add(&r, byte, 1);
	memset(wanted + n_wanted, 0, n);
	n_wanted += n;
	sfs_read_add_zeros(&r, n);
	add(&r, byte, 1);
	check_answer(&r);
}

/* Memory that will not stay: from then on all is copied. */
static void copies(bool is_first)
{
	struct sfs_read r = {.n_bytes = 100};
	static char stays[] = "stays";
	char goes[] = "goes", again[] = "again";

	if (!is_first)
		add(&r, stays, 5);
	sfs_read_add_copy(&r, goes, 0); /* nothing is no piece */
	CHECK_EQ(r.n_iov, !is_first);
	memcpy(wanted + n_wanted, goes, 4);
	n_wanted += 4;
	sfs_read_add_copy(&r, goes, 4);
	memset(goes, 'x', 4);
	add(&r, again, 5);
	memset(again, 'x', 5);
	CHECK_EQ(r.n_iov, 1);
	check_answer(&r);
}

/* ---- who is called ---- */

static int n_done, done_err, n_released;

static void on_done(struct sfs_read *read, int err)
{
	n_done++;
	done_err = err;
}

static void on_release(struct sfs_read *read)
{
	n_released++;
}

static void tells(void)
{
	struct sfs_read r = {.done = on_done}, other = {.done = on_done};
	struct sfs_deferred out;

	sfs_deferred_init(&out);
	sfs_deferred_run(&out);
	sfs_read_tell(&r, -5, &out);
	CHECK_EQ(n_done, 0); /* not before the lock is free */
	sfs_deferred_run(&out);
	CHECK_EQ(n_done, 1);
	CHECK_EQ(done_err, -5);
	sfs_deferred_run(&out);
	CHECK_EQ(n_done, 1);
	sfs_read_tell(&other, -6, &out);
	sfs_read_tell(&r, 0, &out);
	sfs_deferred_run(&out);
	CHECK_EQ(n_done, 3);
	CHECK_EQ(done_err, 0); /* in the order in which they were put */

	sfs_read_release(&r); /* there may be nothing to release */
	r.release = on_release;
	sfs_read_release(&r);
	CHECK_EQ(n_released, 1);
}

int main(void)
{
	few();
	neighbours();
	many(1);
	many(16);
	many(17);
	many(999);
	many(1000);
	many(1001);
	many(1023);
	many(1024);
	many(20000);
	zeros(0);
	zeros(1);
	zeros(65536);
	zeros(65537);
	zeros(1000000);
	copies(true);
	copies(false);
	tells();
	CHECK_EQ(sfs_read_err(-ESTALE), -ESTALE);
	CHECK_EQ(sfs_read_err(-ECANCELED), -ECANCELED);
	CHECK_EQ(sfs_read_err(-ENOENT), -EIO);
	CHECK_EQ(sfs_read_err(-EACCES), -EIO);
	CHECK_EQ(sfs_read_err(-ETIMEDOUT), -EIO);
	return 0;
}
