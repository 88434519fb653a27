/* SPDX-License-Identifier: MIT */
/* The time left for a list of shards is estimated from those done, shards in work
 * included; a waiter that would be answered in time is never given up. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/eta.h"
#include "base/rng.h"
#include "check.h"

#define AT_A_TIME 8
#define MOST	  3000
#define S	  SFS_NS_PER_S

/* ---- shards, a few at a time, each for its own time ---- */

static struct row {
	uint32_t n;
	double takes_s[MOST];	      /* how long it is in work */
	double begins_s[MOST], end_s; /* as it comes out */
	uint64_t n_bytes[MOST];
} row;

/* When does each begin? */
static void run(void)
{
	double free_s[AT_A_TIME] = {0};
	uint32_t k, i, w, first;

	row.end_s = 0;
	for (k = 0; k < row.n; k++) {
		i = sfs_eta_turn(row.n, k);
		for (first = 0, w = 1; w < AT_A_TIME; w++)
			first = free_s[w] < free_s[first] ? w : first;
		row.begins_s[i] = free_s[first];
		free_s[first] += row.takes_s[i];
		if (free_s[first] > row.end_s)
			row.end_s = free_s[first];
	}
}

static struct sfs_eta at(double now_s)
{
	struct sfs_eta e = {.gone_ns = (uint64_t)(now_s * S), .n = row.n};
	double part;
	uint32_t i;

	for (i = 0; i < row.n; i++) {
		part = row.takes_s[i] > 0 ? (now_s - row.begins_s[i]) / row.takes_s[i]
					  : now_s >= row.begins_s[i];
		part = part < 0 ? 0 : part > 1 ? 1 : part;
		e.n_bytes += row.n_bytes[i];
		e.n_done += (uint64_t)(part * (double)row.n_bytes[i]);
		e.n_ended += part >= 1;
	}
	return e;
}

static void fill(uint32_t n, double takes_s)
{
	row.n = n;
	for (uint32_t i = 0; i < n; i++) {
		row.takes_s[i] = takes_s;
		row.n_bytes[i] = 100 << 20;
	}
}

/* Second by second: whoever asks is given up at once only if they would wait in vain. */
static bool is_ever_exceeded(uint64_t wait_s)
{
	struct sfs_eta e;
	bool is_ever = false;
	double now_s;

	run();
	for (now_s = 1; now_s < row.end_s; now_s++) {
		e = at(now_s);
		if (!sfs_eta_exceeds(&e, wait_s * S))
			continue;
		is_ever = true;
		if (row.end_s - now_s <= (double)wait_s) {
			fprintf(stderr, "given up at %.0f s, of %.1f\n", now_s,
				row.end_s);
			exit(1);
		}
	}
	return is_ever;
}

/* ---- tests ---- */

static void is_left(double now_s, double wanted_s)
{
	struct sfs_eta e = at(now_s);
	double off_s;
	uint64_t ns;

	CHECK(sfs_eta_left(&e, &ns));
	off_s = (double)ns / S - wanted_s;
	if (off_s < -0.5 - 0.02 * wanted_s || off_s > 0.5 + 0.02 * wanted_s) {
		fprintf(stderr, "at %.1f s: %.1f s left, not %.1f\n", now_s,
			(double)ns / S, wanted_s);
		exit(1);
	}
}

/* 16 shards of 9 s, 8 at a time, are 18 s, and none is done before the 9th. */
static void what_is_in_work_counts(void)
{
	double now_s;

	fill(16, 9);
	CHECK(!is_ever_exceeded(60));
	CHECK_EQ(row.end_s, 18);
	for (now_s = 1; now_s < 18; now_s++)
		is_left(now_s, 18 - now_s);
	CHECK(!is_ever_exceeded(1));
}

static void nothing_is_known_at_first(void)
{
	struct sfs_eta e = {.gone_ns = 100 * S, .n = 10000, .n_bytes = 1ULL << 40};
	uint64_t ns = 7;

	CHECK(!sfs_eta_left(&e, &ns) && ns == 7);
	CHECK(!sfs_eta_exceeds(&e, 0));
	e.n_done = 1; /* one of a million says next to nothing */
	CHECK(sfs_eta_left(&e, &ns) && ns > 1000000 * S);
	CHECK(!sfs_eta_exceeds(&e, S));
	e = (struct sfs_eta){.gone_ns = S, .n = 3, .n_ended = 3};
	CHECK(sfs_eta_left(&e, &ns) && ns == 0);
	e = (struct sfs_eta){0};
	CHECK(sfs_eta_left(&e, &ns) && ns == 0);
}

static void hours_are_told_soon(void)
{
	struct sfs_eta e;

	fill(MOST, 20); /* two hours */
	CHECK(is_ever_exceeded(60));
	e = at(41);
	CHECK(sfs_eta_exceeds(&e, 60 * S));
	e = at(19); /* none has ended */
	CHECK(!sfs_eta_exceeds(&e, 60 * S));
}

/* Some have an index and take no time: any of them, or all of one end. */
static void some_take_no_time(struct sfs_rng *r)
{
	uint32_t n_slow, first, i;
	int round;

	for (round = 0; round < 300; round++) {
		fill(16 + (uint32_t)sfs_rng_below(r, 1500), 0.001);
		n_slow = 1 + (uint32_t)sfs_rng_below(r, row.n);
		first = round % 3 ? 0 : row.n - n_slow;
		for (i = 0; i < n_slow; i++)
			row.takes_s[round % 3 == 2 ? sfs_rng_below(r, row.n)
						   : first + i] =
				1 + (double)sfs_rng_below(r, 20);
		is_ever_exceeded(5 + sfs_rng_below(r, 100));
	}
}

/* Above 0, up to 1. */
static double uniform(struct sfs_rng *r)
{
	return ((double)sfs_rng_below(r, 1 << 20) + 1) / (1 << 20);
}

/* Sizes and speeds of all kinds, a few shards many times slower than most. */
static void all_kinds(struct sfs_rng *r)
{
	int round, n_exceeded = 0;
	double mean_s;
	uint32_t i;

	for (round = 0; round < 300; round++) {
		fill(1 + (uint32_t)sfs_rng_below(r, 1500), 0);
		mean_s = (double)(1u << sfs_rng_below(r, 9)) / 16;
		for (i = 0; i < row.n; i++) {
			row.n_bytes[i] = sfs_rng_below(r, 1 << 30);
			row.takes_s[i] = mean_s * (0.4 + 2 * uniform(r)) /
					 (round % 2 ? 0.02 + uniform(r) : 1);
		}
		n_exceeded += is_ever_exceeded(1 + sfs_rng_below(r, 60));
	}
	CHECK(n_exceeded > 20); /* or it proves nothing */
}

/* Each shard has its turn, once. */
static void turns(void)
{
	static const uint32_t sizes[] = {1,  2,	 3,   4,    8,	  16,
					 21, 34, 100, 1000, 1597, 2999};
	bool was[MOST];
	uint32_t n, k, i;
	size_t s;

	for (s = 0; s < SFS_COUNT(sizes); s++) {
		n = sizes[s];
		memset(was, 0, sizeof was);
		for (k = 0; k < n; k++) {
			i = sfs_eta_turn(n, k);
			CHECK(i < n && !was[i]);
			was[i] = true;
		}
	}
	CHECK(sfs_eta_turn(UINT32_MAX, UINT32_MAX - 1) < UINT32_MAX);
	/* The first few are of all parts. */
	for (i = k = 0; k < 16; k++)
		i |= 1u << (sfs_eta_turn(1000, k) / 125);
	CHECK_EQ(i, 255);
}

int main(void)
{
	struct sfs_rng r = {5};

	what_is_in_work_counts();
	nothing_is_known_at_first();
	hours_are_told_soon();
	some_take_no_time(&r);
	all_kinds(&r);
	turns();
	return 0;
}
