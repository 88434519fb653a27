/* SPDX-License-Identifier: MIT */
/* The pieces of a sample whose headers change share one header patch.  Whatever ends
 * first, and whatever fails: every piece ends, here or failed, and a failed one can be
 * fetched again. */
#include "base/alloc.h"
#include "base/ledger.h"
#include "base/rng.h"
#include "check.h"
#include "one-runtime.h"
#include "stream/cursor/oversize.h"
#include "tars.h"

#include <errno.h>

#define N_PIECES 3 /* of the large member */
#define BUDGET	 ((uint64_t)64 << 20)

static struct tar good, bad; /* in the bad one a name has no room for a folder */
static struct sfs_extent_map extents;
static struct sfs_account account;
static struct sfs_oversize oversize;
static struct sfs_deferred out;
static int n_failed[N_PIECES], last_err, n_waking;

static struct sfs_oversize_piece *piece(int i)
{
	return sfs_extent_map_at(&extents, (uint64_t)i)->piece;
}

/* ---- the owner ---- */

static void on_wake(void *ctx)
{
	n_waking++;
}

static bool on_no_memory(void *ctx, const struct sfs_mapped_extent *e,
			 struct sfs_deferred *to)
{
	CHECK(!"memory is lacking");
	return false;
}

static void on_failed(void *ctx, const struct sfs_mapped_extent *e, int err,
		      struct sfs_deferred *to)
{
	int i;

	for (i = 0; i < N_PIECES; i++)
		n_failed[i] += sfs_extent_map_at(&extents, (uint64_t)i) == e;
	last_err = err;
}

/* ---- what a cursor does ---- */

static void take(void)
{
	while (n_waking > 0) {
		n_waking = 0;
		sfs_oversize_take(&oversize, &out);
		sfs_deferred_run(&out);
	}
}

/* A reader waits for this piece. */
static void need(int i)
{
	const struct sfs_mapped_extent *e = sfs_extent_map_at(&extents, (uint64_t)i);
	struct sfs_read read = {.offset = e->offset, .n_bytes = 1};
	struct sfs_link waiting;

	sfs_list_init(&waiting);
	sfs_list_push(&waiting, &read.link);
	sfs_oversize_start(&oversize, &waiting, UINT64_MAX, &out);
	sfs_deferred_run(&out);
}

static bool is_waiting(int i)
{
	uint64_t since_ns;

	return sfs_oversize_piece_wait(piece(i), &since_ns) == SFS_WAIT_BUDGET;
}

/* ---- what a server does ---- */

/* The read of a piece, or of the headers of the sample. */
static struct sfs_request *of_piece(int i)
{
	struct sfs_request *r;
	size_t k;

	for (k = 0; (r = scripted_nth(source, k)) != NULL; k++)
		if (r->n_bytes > 4096 && r->offset == (uint64_t)i * SFS_RANGE_MAX)
			return r;
	return NULL;
}

static struct sfs_request *of_patch(void)
{
	struct sfs_request *r;
	size_t k;

	for (k = 0; (r = scripted_nth(source, k)) != NULL; k++)
		if (r->n_bytes <= 4096)
			return r;
	return NULL;
}

static void end(struct sfs_request *r, int err)
{
	CHECK(r != NULL);
	scripted_end(source, r, err);
	take();
}

/* ---- a sample that was appended in pieces ---- */

static void begin(const struct tar *t)
{
	const struct sfs_oversize_owner owner = {.wake = on_wake,
						 .no_memory = on_no_memory,
						 .failed = on_failed};
	const struct sfs_block_sample sample = {.n_bytes = t->n};

	scripted_have(source, runtime.shards.shards[0].object, "x.tar", t->bytes, t->n);
	CHECK_EQ(sfs_account_open(&account, &runtime.budget, BUDGET / 2, true, NULL), 0);
	sfs_extent_map_init(&extents, 0);
	sfs_oversize_init(&oversize, &runtime, &account, &extents, &owner);
	sfs_oversize_append(&oversize, &sample, true);
	CHECK_EQ(extents.tail, N_PIECES);
	memset(n_failed, 0, sizeof n_failed);
}

static void finish(void)
{
	CHECK_EQ(scripted_n(source), 0);
	CHECK_EQ(oversize.n_pending, 0);
	for (; extents.head < extents.tail; sfs_extent_map_drop_head(&extents))
		sfs_oversize_drop(&oversize, piece((int)extents.head));
	sfs_oversize_done(&oversize);
	sfs_extent_map_done(&extents);
	CHECK_EQ(sfs_account_used(&account), 0);
	CHECK_EQ(sfs_account_used(&runtime.range_reader.account), 0);
	sfs_account_close(&account);
}

/* ---- tests ---- */

/* The patch fails when n_here pieces are there; the others come after it. */
static void patch_fails_after(int n_here)
{
	int i;

	begin(&bad);
	for (i = 0; i < N_PIECES; i++)
		need(i);
	CHECK_EQ(scripted_n(source), N_PIECES + 1);
	for (i = 0; i < n_here; i++)
		end(of_piece(i), 0);
	end(of_patch(), 0);
	for (i = n_here; i < N_PIECES; i++)
		end(of_piece(i), 0);
	for (i = 0; i < N_PIECES; i++) {
		CHECK_EQ(n_failed[i], 1);
		CHECK(is_waiting(i));
	}
	CHECK_EQ(last_err, -ENAMETOOLONG);
	finish();
}

/* The network fails for the patch; one piece is fetched again while another of the first
 * try is in flight. */
static void tried_again(void)
{
	size_t n;

	begin(&good);
	need(0);
	need(1);
	end(of_piece(0), 0);
	end(of_patch(), -EIO);
	CHECK_EQ(n_failed[0], 1);
	CHECK_EQ(n_failed[1], 1);
	need(0);
	end(of_piece(1), 0);
	CHECK(!sfs_oversize_piece_is_here(piece(1))); /* its headers are not known yet */
	while (of_patch())
		end(of_patch(), 0);
	CHECK(sfs_oversize_piece_is_here(piece(1)));
	CHECK(!sfs_oversize_piece_is_here(piece(0)));
	end(of_piece(0), 0);
	CHECK(sfs_oversize_piece_is_here(piece(0)));
	CHECK_STR((const char *)sfs_oversize_piece_at(piece(0), AT_PREFIX, &n),
		  "train-0");
	CHECK_EQ(n_failed[0] + n_failed[1], 2);
	finish();
}

/* Reads that wait when the patch fails have the error at once; a read that comes later,
 * while the bytes are in flight, has nothing to do with it. */
static void failed_at_once(void)
{
	begin(&good);
	need(0);
	end(of_patch(), -EIO);
	CHECK_EQ(n_failed[0], 1);
	end(of_piece(0), 0);
	CHECK_EQ(n_failed[0], 1);
	CHECK(is_waiting(0));
	need(0);
	while (of_patch())
		end(of_patch(), 0);
	end(of_piece(0), 0);
	CHECK(sfs_oversize_piece_is_here(piece(0)));
	finish();
}

static void check_all_settled(void)
{
	int i;

	for (i = 0; i < N_PIECES; i++)
		CHECK(sfs_oversize_piece_is_here(piece(i)) || is_waiting(i));
}

/* Anything may end at any time, well or not. */
static void at_random(struct sfs_rng *rng)
{
	uint64_t n_steps = 40;
	int i;

	begin(&good);
	while (n_steps-- > 0) {
		if (sfs_rng_below(rng, 2) == 0)
			need((int)sfs_rng_below(rng, N_PIECES));
		else if (scripted_n(source) > 0)
			end(scripted_nth(source, sfs_rng_below(rng, scripted_n(source))),
			    sfs_rng_below(rng, 3) ? 0 : -EIO);
	}
	while (scripted_n(source) > 0)
		end(scripted_nth(source, sfs_rng_below(rng, scripted_n(source))),
		    sfs_rng_below(rng, 4) ? 0 : -ETIMEDOUT);
	check_all_settled();
	for (i = 0; i < N_PIECES; i++)
		need(i);
	while (scripted_n(source) > 0)
		end(scripted_nth(source, 0), 0);
	for (i = 0; i < N_PIECES; i++)
		CHECK(sfs_oversize_piece_is_here(piece(i)));
	finish();
}

static void make_tars(void)
{
	size_t n = (size_t)(N_PIECES - 1) * SFS_RANGE_MAX;
	unsigned char *b;

	tar_file(&good, "0.b", n, 'x');
	tar_file(&good, "0.c", 100000, 'x');

	b = tar_header(&bad, "ustar", '0', "0.b", n);
	memset(b + AT_PREFIX, 'p', 150);
	tar_sum(b);
	tar_grow(&bad, n);
	tar_file(&bad, "0.c", 100000, 'x');
}

int main(void)
{
	struct sfs_rng rng;
	int i;

	sfs_deferred_init(&out);
	make_tars();
	start_runtime(BUDGET, 1, (const void *[]){good.bytes},
		      (const uint64_t[]){good.n});

	for (i = 0; i <= N_PIECES; i++)
		patch_fails_after(i);
	tried_again();
	failed_at_once();
	sfs_rng_init(&rng, (const uint64_t[]){14, 5}, 2);
	for (i = 0; i < 500; i++)
		at_random(&rng);

	stop_runtime();
	tar_done(&good);
	tar_done(&bad);
	return 0;
}
