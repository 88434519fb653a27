/* SPDX-License-Identifier: MIT */
/* The pages of a stream go in steps, from where reading began to the hindmost reader less
 * what is kept, each once; nothing goes while a reader has not begun or leaps about. */
#include "base/rng.h"
#include "check.h"
#include "tree/trail.h"

#define MIB  ((uint64_t)1 << 20)
#define KEPT (64 * MIB)
#define STEP SFS_TRAIL_STEP

static struct sfs_trail t;

/* Read from `from` to `to`, as readahead does. */
static bool walk(struct sfs_walker *w, uint64_t from, uint64_t to)
{
	bool may_drop = false;

	for (; from < to; from += MIB)
		may_drop = sfs_trail_read(&t, w, from, MIB);
	return may_drop;
}

/* All steps that there are now begin at `from` and end before `to`. */
static void taken(uint64_t from, uint64_t to)
{
	uint64_t offset;

	for (; from < to; from += STEP) {
		CHECK(sfs_trail_take(&t, &offset));
		CHECK_EQ(offset, from);
	}
	CHECK(!sfs_trail_take(&t, &offset));
}

static void one_reader(void)
{
	struct sfs_walker w;

	sfs_trail_init(&t, KEPT);
	taken(0, 0);
	sfs_trail_join(&t, &w);
	taken(0, 0);
	CHECK(!walk(&w, 0, KEPT + STEP - MIB));
	taken(0, 0);
	CHECK(walk(&w, KEPT + STEP - MIB, KEPT + STEP));
	taken(0, STEP);
	/* Whatever has gathered goes in steps; a part of one stays. */
	walk(&w, KEPT + STEP, KEPT + 5 * STEP + 3 * MIB);
	taken(STEP, 5 * STEP);
	sfs_trail_leave(&t, &w);
	taken(0, 0);
}

/* A reader that goes on where an epoch was left: what lies before it is not its. */
static void from_the_middle(void)
{
	struct sfs_walker w;

	sfs_trail_init(&t, KEPT);
	sfs_trail_join(&t, &w);
	walk(&w, 7 * STEP + 5, 7 * STEP + KEPT + 2 * STEP);
	taken(7 * STEP, 9 * STEP);
}

static void several_readers(void)
{
	struct sfs_walker fast, slow, late;

	sfs_trail_init(&t, KEPT);
	sfs_trail_join(&t, &fast);
	sfs_trail_join(&t, &slow);
	walk(&fast, 0, 50 * STEP);
	taken(0, 0); /* it has not begun */
	walk(&slow, 0, KEPT + 2 * STEP);
	taken(0, 2 * STEP);
	/* One that begins now has all to read, also what went already. */
	sfs_trail_join(&t, &late);
	walk(&slow, KEPT + 2 * STEP, 20 * STEP);
	taken(0, 0);
	walk(&late, 0, KEPT + STEP);
	taken(0, STEP);
	sfs_trail_leave(&t, &late);
	taken(STEP, 20 * STEP - KEPT);
	/* Of those who have gone nothing is kept, and the next read says so. */
	sfs_trail_leave(&t, &slow);
	CHECK(walk(&fast, 50 * STEP, 50 * STEP + MIB));
	taken(20 * STEP - KEPT, 50 * STEP - KEPT);
}

/* A reader that leaps needs its pages, the others' too, until it is closed. */
static void leaps(uint64_t to)
{
	struct sfs_walker w, leaper;

	sfs_trail_init(&t, KEPT);
	sfs_trail_join(&t, &w);
	sfs_trail_join(&t, &leaper);
	walk(&w, 0, 100 * STEP);
	walk(&leaper, 0, 20 * STEP);
	taken(0, 20 * STEP - KEPT);
	walk(&leaper, to, to + 4 * KEPT);
	taken(0, 0);
	sfs_trail_leave(&t, &leaper);
	taken(to < 20 * STEP - KEPT ? to : 20 * STEP - KEPT, 100 * STEP - KEPT);
}

/* Threads, readahead and seeks over a member's data come out of order,
 * and are no leaps. */
static void out_of_order(void)
{
	struct sfs_walker w;
	uint64_t at;

	sfs_trail_init(&t, KEPT);
	sfs_trail_join(&t, &w);
	for (at = 0; at < 20 * STEP; at += 2 * STEP) {
		sfs_trail_read(&t, &w, at + STEP, STEP);
		sfs_trail_read(&t, &w, at, STEP);
	}
	taken(0, 20 * STEP - KEPT);
	sfs_trail_read(&t, &w, 20 * STEP + KEPT, 1);
	taken(20 * STEP - KEPT, 20 * STEP);
}

/* Whatever comes: no step touches what a reader may still want. */
static void anything(void)
{
	struct sfs_walker w[4];
	uint64_t front[4] = {0}, offset, n_taken = 0;
	struct sfs_rng r = {7};
	int i, k;

	sfs_trail_init(&t, KEPT);
	for (i = 0; i < 4; i++)
		sfs_trail_join(&t, &w[i]);
	for (k = 0; k < 100000; k++) {
		i = (int)sfs_rng_below(&r, 4);
		offset = front[i] + sfs_rng_below(&r, 2 * MIB);
		sfs_trail_read(&t, &w[i], offset, MIB);
		front[i] = offset + MIB > front[i] ? offset + MIB : front[i];
		if (sfs_rng_below(&r, 2000) == 0) {
			sfs_trail_leave(&t, &w[i]);
			sfs_trail_join(&t, &w[i]);
			front[i] = 0;
		}
		while (sfs_trail_take(&t, &offset)) {
			CHECK_EQ(offset % STEP, 0);
			for (i = 0; i < 4; i++)
				CHECK(offset + STEP + KEPT <= front[i]);
			n_taken++;
		}
	}
	CHECK(n_taken > 100);
}

int main(void)
{
	one_reader();
	from_the_middle();
	several_readers();
	leaps(0);
	leaps(60 * STEP);
	out_of_order();
	anything();
	return 0;
}
