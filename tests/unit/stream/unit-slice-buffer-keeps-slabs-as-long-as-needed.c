/* SPDX-License-Identifier: MIT */
/* A slab stays while a sample counts on it or its bytes are not dealt, goes back at once
 * when neither is so, and its bytes are given back with it; headers are edited and
 * checked wherever they lie. */
#include "base/alloc.h"
#include "base/keyhash.h"
#include "base/rng.h"
#include "check.h"
#include "stream/prefetch/slice-buffer.h"
#include "tars.h"

#include <errno.h>

#define SLAB	((uint64_t)SFS_SLAB_BYTES)
#define N_SLABS 20
#define SIZE	((N_SLABS - 1) * SLAB + 1000)

static struct sfs_budget budget;
static struct sfs_account account;
static struct sfs_slabs *slabs;
static struct sfs_object object;
static struct sfs_shard shard = {.object = &object};
static struct sfs_slice_buffer *run;

static void begin(uint64_t from)
{
	run = sfs_slice_buffer_new(&shard, slabs, &account, from, SIZE);
}

static void held(uint64_t n_slabs)
{
	CHECK_EQ(sfs_slabs_used(slabs), n_slabs * SLAB);
	CHECK_EQ(sfs_account_used(&account), n_slabs * SLAB);
}

static void end(void)
{
	sfs_slice_buffer_free(run);
	held(0);
}

/* Ask for n slabs from number i on, as a lane does: charged first. */
static void expect(uint64_t i, uint64_t n)
{
	uint64_t n_bytes = (i + n) * SLAB < SIZE ? n * SLAB : SIZE - i * SLAB;

	CHECK_EQ(sfs_account_take(&account, n * SLAB), 0);
	sfs_slice_buffer_expect(run, i * SLAB, n_bytes);
}

/* They come, each filled with its number. */
static void arrive(uint64_t i, size_t n)
{
	void *got[N_SLABS];
	size_t k;

	sfs_slabs_get(slabs, got, n);
	for (k = 0; k < n; k++)
		memset(got[k], (int)(i + k + 1), SLAB);
	sfs_slice_buffer_arrive(run, i * SLAB, got, n);
}

/* What the lane does with what did not come. */
static void fail(uint64_t i, size_t n)
{
	sfs_slice_buffer_fail(run, i * SLAB, n);
	sfs_account_give(&account, n * SLAB);
}

static void byte_is(uint64_t offset, int wanted, size_t n_wanted)
{
	size_t n = 77;
	unsigned char *p = sfs_slice_buffer_at(run, offset, &n);

	CHECK((p != NULL) == (wanted != 0));
	if (p) {
		CHECK_EQ(*p, wanted);
		CHECK_EQ(n, n_wanted);
	}
}

static void comes_and_goes(void)
{
	begin(0);
	CHECK_EQ(run->requested, 0);
	CHECK_EQ(sfs_slice_buffer_state(run, 0, 100),
		 SFS_SLICE_BUFFER_EXPECTED); /* not asked for yet */
	expect(0, 3);
	CHECK_EQ(run->requested, 3 * SLAB);
	CHECK_EQ(run->n_held, 3);
	CHECK_EQ(sfs_slice_buffer_state(run, 0, 3 * SLAB), SFS_SLICE_BUFFER_EXPECTED);
	byte_is(0, 0, 0);
	arrive(1, 2); /* in any order */
	CHECK_EQ(sfs_slice_buffer_state(run, SLAB, 2 * SLAB), SFS_SLICE_BUFFER_HERE);
	CHECK_EQ(sfs_slice_buffer_state(run, SLAB - 1, 2), SFS_SLICE_BUFFER_EXPECTED);
	arrive(0, 1);
	held(3);
	byte_is(0, 1, SLAB);
	byte_is(SLAB - 1, 1, 1);
	byte_is(SLAB, 2, SLAB);
	byte_is(SLAB + 100, 2, SLAB - 100);

	/* A sample over slabs 0 and 1, one within 1. */
	sfs_slice_buffer_hold(run, SLAB - 512, 1024);
	sfs_slice_buffer_hold(run, SLAB + 512, 512);
	CHECK_EQ(run->n_users, 3);
	CHECK_EQ(run->held_end, SLAB + 1024);
	sfs_slice_buffer_assign(run, 2 * SLAB);
	held(3);
	sfs_slice_buffer_release(run, SLAB - 512, 1024);
	held(2);
	byte_is(0, 0, 0);
	CHECK_EQ(sfs_slice_buffer_state(run, 0, 100), SFS_SLICE_BUFFER_GONE);
	CHECK_EQ(sfs_slice_buffer_state(run, SLAB - 512, 1024), SFS_SLICE_BUFFER_GONE);
	sfs_slice_buffer_release(run, SLAB + 512, 512);
	held(1);
	/* The last bytes before `dealt` are in a slab that goes on. */
	sfs_slice_buffer_assign(run, 3 * SLAB - 1);
	held(1);
	sfs_slice_buffer_assign(run, 3 * SLAB);
	held(0);
	sfs_slice_buffer_assign(run, SLAB); /* dealt is dealt */
	CHECK_EQ(run->n_held, 0);
	end();
}

/* Live is what samples count on, and what is not dealt, of what is here or in flight. */
static void live(void)
{
	begin(0);
	CHECK_EQ(sfs_slice_buffer_live_bytes(run), 0); /* nothing was asked for */
	expect(0, 3);
	CHECK_EQ(sfs_slice_buffer_live_bytes(run), 3 * SLAB);
	arrive(0, 3);
	CHECK_EQ(sfs_slice_buffer_live_bytes(run), 3 * SLAB);
	sfs_slice_buffer_hold(run, SLAB - 512, 1024);
	sfs_slice_buffer_hold(run, SLAB + 512, 512);
	sfs_slice_buffer_hold(run, 3 * SLAB - 512,
			      1024); /* half of it is still to be asked for */
	CHECK_EQ(sfs_slice_buffer_live_bytes(run), 3 * SLAB + 1024 + 512 + 512);
	sfs_slice_buffer_assign(run, 3 * SLAB + 512);
	CHECK_EQ(sfs_slice_buffer_live_bytes(run), 1024 + 512 + 512);
	held(3);
	sfs_slice_buffer_release(run, SLAB - 512, 1024);
	CHECK_EQ(sfs_slice_buffer_live_bytes(run), 512 + 512);
	held(2);
	expect(3, N_SLABS - 3);
	CHECK_EQ(sfs_slice_buffer_live_bytes(run), 512 + 1024 + SIZE - 3 * SLAB - 512);
	fail(3, N_SLABS - 3);
	CHECK_EQ(sfs_slice_buffer_live_bytes(run), 512 + 512);
	sfs_slice_buffer_release(run, 3 * SLAB - 512, 1024);
	sfs_slice_buffer_release(run, SLAB + 512, 512);
	CHECK_EQ(sfs_slice_buffer_live_bytes(run), 0);
	end();
}

/* Bytes that nobody will need when they come. */
static void dealt_before_they_come(void)
{
	begin(0);
	expect(0, 2);
	sfs_slice_buffer_assign(run, SLAB);
	CHECK_EQ(run->n_held, 2);
	arrive(0, 2);
	held(1);
	byte_is(0, 0, 0);
	byte_is(SLAB, 2, SLAB);
	end();
}

static void the_end_of_the_shard(void)
{
	begin(0);
	expect(N_SLABS - 1, 1);
	CHECK_EQ(run->requested, N_SLABS * SLAB);
	arrive(N_SLABS - 1, 1);
	byte_is(SIZE - 1000, N_SLABS, 1000); /* no more than the shard has */
	byte_is(SIZE - 1, N_SLABS, 1);
	held(1);
	end();
}

static void from_the_middle(void)
{
	begin(3 * SLAB);
	CHECK_EQ(run->requested, 3 * SLAB);
	CHECK_EQ(run->assigned, 3 * SLAB);
	CHECK_EQ(sfs_slice_buffer_state(run, 2 * SLAB, 512), SFS_SLICE_BUFFER_GONE);
	CHECK_EQ(sfs_slice_buffer_state(run, 3 * SLAB, 512), SFS_SLICE_BUFFER_EXPECTED);
	byte_is(0, 0, 0);
	expect(3, 1);
	arrive(3, 1);
	byte_is(3 * SLAB + 5, 4, SLAB - 5);
	end();
}

/* Slabs are counted from where the run begins, and the last one ends where it does. */
static void a_piece_of_a_shard(void)
{
	const uint64_t from = 5 * SLAB / 2, to = from + 2 * SLAB + 1024;
	void *got[3];
	size_t n;

	run = sfs_slice_buffer_new(&shard, slabs, &account, from, to);
	CHECK_EQ(run->requested, from);
	CHECK_EQ(sfs_slice_buffer_round_up(run, from), from);
	CHECK_EQ(sfs_slice_buffer_round_up(run, from + 1), from + SLAB);
	CHECK_EQ(sfs_slice_buffer_state(run, from - 512, 512), SFS_SLICE_BUFFER_GONE);
	CHECK_EQ(sfs_account_take(&account, 3 * SLAB), 0);
	sfs_slice_buffer_expect(run, from, to - from);
	CHECK_EQ(run->requested, from + 3 * SLAB);
	sfs_slice_buffer_hold(run, from + SLAB, 512);
	sfs_slabs_get(slabs, got, 3);
	sfs_slice_buffer_arrive(run, from, got, 3);
	CHECK(sfs_slice_buffer_at(run, from - 1, &n) == NULL);
	CHECK(sfs_slice_buffer_at(run, from + 7, &n) == (unsigned char *)got[0] + 7);
	CHECK_EQ(n, SLAB - 7);
	CHECK(sfs_slice_buffer_at(run, to - 1, &n) != NULL);
	CHECK_EQ(n, 1);
	sfs_slice_buffer_assign(run, UINT64_MAX);
	held(1);
	sfs_slice_buffer_release(run, from + SLAB, 512);
	end();
}

static void what_did_not_come(void)
{
	uint64_t offset = 77, n = 77;

	begin(0);
	CHECK(!sfs_slice_buffer_missing(run, 0, 1 << 30, &offset, &n));
	expect(0, 5);
	arrive(0, 1);
	fail(1, 3);
	arrive(4, 1);
	held(2);
	CHECK_EQ(sfs_slice_buffer_state(run, SLAB, 512),
		 SFS_SLICE_BUFFER_EXPECTED); /* it will be asked anew */
	CHECK(sfs_slice_buffer_missing(run, 0, 1 << 30, &offset, &n));
	CHECK(offset == SLAB && n == 3 * SLAB);
	CHECK_EQ(run->n_missing, 3);
	CHECK(sfs_slice_buffer_missing(run, 0, 2 * SLAB, &offset, &n));
	CHECK(offset == SLAB && n == 2 * SLAB);
	CHECK(!sfs_slice_buffer_missing(run, 0, SLAB - 1, &offset,
					&n)); /* no slab fits */
	CHECK_EQ(sfs_account_take(&account, 2 * SLAB), 0);
	sfs_slice_buffer_expect(run, SLAB, 2 * SLAB);
	CHECK(sfs_slice_buffer_missing(run, 0, 1 << 30, &offset, &n));
	CHECK(offset == 3 * SLAB && n == SLAB);
	arrive(1, 2);
	CHECK_EQ(run->n_missing, 1);
	sfs_slice_buffer_give_up(run, 3 * SLAB, 1);
	CHECK_EQ(run->n_missing, 0);
	CHECK(!sfs_slice_buffer_missing(run, 0, 1 << 30, &offset, &n));
	CHECK_EQ(sfs_slice_buffer_state(run, 3 * SLAB, 512), SFS_SLICE_BUFFER_GONE);
	CHECK_EQ(sfs_slice_buffer_state(run, 4 * SLAB, 512), SFS_SLICE_BUFFER_HERE);
	held(4);
	end();

	/* Missing at the shard's end, and dealt while it is missing. */
	begin((N_SLABS - 2) * SLAB);
	expect(N_SLABS - 2, 2);
	fail(N_SLABS - 2, 2);
	CHECK(sfs_slice_buffer_missing(run, 0, 1 << 30, &offset, &n));
	CHECK(offset == (N_SLABS - 2) * SLAB && n == SLAB + 1000);
	sfs_slice_buffer_assign(run, (N_SLABS - 1) * SLAB);
	CHECK(sfs_slice_buffer_missing(run, 0, 1 << 30, &offset, &n));
	CHECK(offset == (N_SLABS - 1) * SLAB && n == 1000);
	end();
}

static void given_up(void)
{
	begin(0);
	expect(0, 1);
	sfs_slice_buffer_skip(run, SLAB - 1); /* asked for already */
	sfs_slice_buffer_skip(run, 4 * SLAB + 5);
	CHECK_EQ(run->requested, 4 * SLAB);
	CHECK_EQ(sfs_slice_buffer_state(run, 2 * SLAB, 512), SFS_SLICE_BUFFER_GONE);
	CHECK_EQ(sfs_slice_buffer_state(run, 4 * SLAB, 512), SFS_SLICE_BUFFER_EXPECTED);
	CHECK_EQ(sfs_slice_buffer_state(run, 0, 512), SFS_SLICE_BUFFER_EXPECTED);
	CHECK_EQ(sfs_slice_buffer_state(run, 0, 2 * SLAB), SFS_SLICE_BUFFER_GONE);
	expect(4, 1);
	arrive(0, 1);
	arrive(4, 1);
	held(2);
	/* Of a range, only what is not here. */
	sfs_slice_buffer_give_up(run, 4 * SLAB, 3 * SLAB);
	CHECK_EQ(sfs_slice_buffer_state(run, 4 * SLAB, SLAB), SFS_SLICE_BUFFER_HERE);
	CHECK_EQ(sfs_slice_buffer_state(run, 6 * SLAB, 1), SFS_SLICE_BUFFER_GONE);
	CHECK_EQ(sfs_slice_buffer_state(run, 7 * SLAB, 1), SFS_SLICE_BUFFER_EXPECTED);
	end();

	/* All dealt, up to what was never asked for. */
	begin(0);
	sfs_slice_buffer_skip(run, 3 * SLAB);
	sfs_slice_buffer_assign(run, 5 * SLAB);
	CHECK(run->requested >= 3 * SLAB);
	expect(5, 1);
	arrive(5, 1);
	byte_is(5 * SLAB, 6, SLAB);
	end();
}

/* ---- headers that are edited where they lie ---- */

/* Copy the sample from or to the slabs, byte by byte. */
static void copy(uint64_t at, struct tar *t, bool is_write)
{
	size_t i, n;

	for (i = 0; i < t->n; i++) {
		unsigned char *p = sfs_slice_buffer_at(run, at + i, &n);

		CHECK(p != NULL);
		if (is_write)
			*p = t->bytes[i];
		else
			CHECK_EQ(*p, t->bytes[i]);
	}
}

static void make_sample(struct tar *t)
{
	char name[301];

	memset(name, 'n', 300);
	strcpy(name + 296, ".jpg");
	tar_file(t, "plain.jpg", 700, 'x');
	tar_pax(t, 'x', "path", name);
	tar_file(t, "nnn", 512, 'x');
	tar_pax(t, 'g', "comment", name);
	tar_extension(t, 'L', name, 301);
	tar_file(t, "nnn", 0, 'x');
	tar_file(t, "README", 5, 'x');
}

/* Wherever the border of two slabs falls, what is changed is what would
 * be in one piece. */
static void edits(void)
{
	struct tar t = {0}, longest = {0};
	struct sfs_tar_entry entry;
	uint64_t shift, at;
	struct sfs_error err;
	size_t pos;

	make_sample(&t);
	for (shift = 0; shift <= t.n; shift += 512) {
		begin(0);
		expect(0, 2);
		arrive(0, 2);
		copy(SLAB - shift, &t, true);
		CHECK_EQ(sfs_slice_buffer_rewrite(run, SLAB - shift, t.n, "train-0", &at,
						  &err),
			 0);
		for (pos = 0; pos < t.n; pos += entry.next) {
			CHECK_EQ(tar_rewrite(t.bytes + pos, t.n - pos, "train-0", &entry,
					     &err),
				 0);
			sfs_tar_entry_done(&entry);
		}
		copy(SLAB - shift, &t, false);
		tar_done(&t);
		make_sample(&t);
		end();
	}
	/* A name that has no room: which group, and why. */
	begin(0);
	expect(0, 2);
	arrive(0, 2);
	tar_file(&longest, "a.jpg", 5, 'x');
	tar_file(&longest, "a.cls", 5, 'x');
	memset(longest.bytes + 1024 + AT_PREFIX, 'p', 155);
	tar_sum(longest.bytes + 1024);
	copy(SLAB - 1024, &longest, true);
	CHECK_EQ(sfs_slice_buffer_rewrite(run, SLAB - 1024, longest.n, "train-0", &at,
					  &err),
		 -ENAMETOOLONG);
	CHECK_EQ(at, 1024);
	CHECK_HAS(err.text, "train-0/");
	end();
	tar_done(&longest);
	tar_done(&t);
}

/* ---- what an index says ---- */

static struct sfs_block_sample stated;

/* It is not so: at this byte of the sample, for this reason. */
static void is_lie(struct sfs_block_sample lie, uint64_t wanted_at, const char *why)
{
	struct sfs_error err = {0};
	uint64_t at = 0;

	CHECK_EQ(sfs_slice_buffer_check(run, lie.start, &lie, &at, &err), -EBADMSG);
	CHECK_EQ(lie.start + at - stated.start, wanted_at);
	CHECK_HAS(err.text, why);
}

static void make_stated_sample(struct tar *t)
{
	char name[302];

	memset(name, 'k', 301);
	strcpy(name + 296, ".jpg");
	tar_file(t, "k.jpg", 700, 'x');
	tar_pax(t, 'x', "path", "k.longer");
	tar_file(t, "n", 512, 'x');
	tar_pax(t, 'g', "comment", name);
	tar_file(t, "README", 5, 'x'); /* in the sample, but without a key */
	tar_extension(t, 'L', "k.cls", 6);
	tar_file(t, "n", 0, 'x');
}

/* Wherever the border of two slabs falls, a sample is what its index says, or not. */
static void checks(void)
{
	struct sfs_block_sample lie;
	struct sfs_error err;
	struct tar t = {0};
	uint64_t shift, at;

	make_stated_sample(&t);
	for (shift = 0; shift <= t.n; shift += 512) {
		begin(0);
		expect(0, 2);
		arrive(0, 2);
		copy(SLAB - shift, &t, true);
		stated = (struct sfs_block_sample){.start = SLAB - shift,
						   .n_bytes = t.n,
						   .key_hash = sfs_keyhash("k", 1),
						   .has_global = true};
		CHECK_EQ(sfs_slice_buffer_check(run, stated.start, &stated, &at, &err),
			 0);
		copy(SLAB - shift, &t, false); /* nothing was changed */
		lie = stated;
		lie.key_hash++;
		is_lie(lie, 0, "a member of another sample");
		lie = stated;
		lie.has_global = false;
		is_lie(lie, 1536 + 2048, "a pax global header");
		lie = stated;
		lie.start += 512; /* 'x' */
		is_lie(lie, 512, "checksum");
		lie = stated;
		lie.start += 1536 + 2048; /* README, or what is before it */
		lie.n_bytes -= 1536 + 2048;
		is_lie(lie, 1536 + 2048, "a member of another sample");
		lie = stated;
		lie.n_bytes -= 512;
		is_lie(lie, t.n - 1536, "");
		lie = stated;
		lie.n_bytes = 1024;
		is_lie(lie, 0, "after the end");
		lie.n_bytes = t.n + 512; /* numbers of slabs */
		is_lie(lie, t.n, "checksum");
		end();
	}
	tar_done(&t);
}

/* Samples at random: at the end all is back, and no sample ever lost a slab. */
static void at_random(uint64_t seed)
{
	struct {
		uint64_t start, n;
	} samples[40];
	struct sfs_rng r = {seed};
	uint64_t at = 0, i = 0, k, slab;
	size_t n_open = 0, n;

	begin(0);
	while (at < SIZE || n_open > 0) {
		switch (sfs_rng_below(&r, 4)) {
		case 0: /* the next part */
			n = 1 + sfs_rng_below(&r, 3);
			if (i + n > N_SLABS || sfs_account_take(&account, n * SLAB) < 0)
				break;
			sfs_slice_buffer_expect(run, i * SLAB,
						i + n < N_SLABS ? n * SLAB
								: SIZE - i * SLAB);
			arrive(i, n);
			i += n;
			break;
		case 1: /* the next sample */
			if (n_open == SFS_COUNT(samples) || at >= SIZE)
				break;
			n = 512 * (1 + sfs_rng_below(&r, 900));
			n = n < SIZE - at ? n : SIZE - at;
			if (at + n > run->requested)
				break;
			sfs_slice_buffer_hold(run, at, n);
			samples[n_open].start = at;
			samples[n_open++].n = n;
			at += n;
			sfs_slice_buffer_assign(run, at);
			break;
		default: /* one goes */
			if (n_open == 0)
				break;
			k = sfs_rng_below(&r, n_open);
			CHECK_EQ(sfs_slice_buffer_state(run, samples[k].start,
							samples[k].n),
				 SFS_SLICE_BUFFER_HERE);
			for (slab = samples[k].start;
			     slab < samples[k].start + samples[k].n;
			     slab = (slab / SLAB + 1) * SLAB)
				CHECK_EQ(*sfs_slice_buffer_at(run, slab, &n),
					 slab / SLAB + 1);
			sfs_slice_buffer_release(run, samples[k].start, samples[k].n);
			samples[k] = samples[--n_open];
		}
		CHECK_EQ(sfs_slabs_used(slabs), run->n_held * SLAB);
		CHECK_EQ(sfs_account_used(&account), run->n_held * SLAB);
		CHECK_EQ(run->n_users == 0, n_open == 0);
	}
	sfs_slice_buffer_assign(run, N_SLABS * SLAB);
	held(0);
	end();
}

int main(void)
{
	uint64_t i;

	sfs_budget_init(&budget, 100 * SLAB);
	CHECK_EQ(sfs_account_open(&account, &budget, 0, false, NULL), 0);
	slabs = sfs_slabs_new(100 * SLAB);
	shard.object->size = SIZE;
	comes_and_goes();
	live();
	dealt_before_they_come();
	the_end_of_the_shard();
	from_the_middle();
	a_piece_of_a_shard();
	what_did_not_come();
	given_up();
	edits();
	checks();
	for (i = 0; i < 10; i++)
		at_random(i);
	sfs_slice_buffer_free(NULL);
	sfs_account_close(&account);
	sfs_slabs_free(slabs);
	sfs_budget_done(&budget);
	return 0;
}
