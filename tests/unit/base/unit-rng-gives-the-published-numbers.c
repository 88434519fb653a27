/* SPDX-License-Identifier: MIT */
/* The generator gives the numbers that docs/ORDER.md publishes, in range, and a
 * shuffle loses nothing. */
#include "base/alloc.h"
#include "base/rng.h"
#include "check.h"

/* docs/ORDER.md, section 10: the state that the name gives, the first number, and
 * the state after it. */
static void published(void)
{
	const uint64_t name[] = {0, 0, 0, 0, 1};
	struct sfs_rng r;

	sfs_rng_init(&r, name, SFS_COUNT(name));
	CHECK(r.state == 0xa5d3758b95b92366ULL);
	CHECK(sfs_rng_next(&r) == 0x6ae50bb70340ca91ULL);
	CHECK(r.state == 0x440aef4515039f7bULL);
}

/* SplitMix64 as its authors have it: from the state 0, and from 1234567 (the
 * numbers that the Rosetta Code page and others test it by). */
static void splitmix(void)
{
	static const uint64_t wanted[] = {6457827717110365317ULL, 3203168211198807973ULL,
					  9817491932198370423ULL, 4593380528125082431ULL,
					  16408922859458223821ULL};
	struct sfs_rng r = {0};
	size_t i;

	CHECK(sfs_rng_next(&r) == 0xe220a8397b1dcdafULL);
	r.state = 1234567;
	for (i = 0; i < SFS_COUNT(wanted); i++)
		CHECK(sfs_rng_next(&r) == wanted[i]);
}

/* Another word, another place of a word, another number of words: another sequence. */
static void names(void)
{
	static const uint64_t words[][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0},
					    {0, 0, 1}, {1, 1, 0}, {UINT64_MAX, 0, 0}};
	struct sfs_rng a, b;
	size_t i, j;

	for (i = 0; i < SFS_COUNT(words); i++) {
		for (j = 0; j < SFS_COUNT(words); j++) {
			sfs_rng_init(&a, words[i], 3);
			sfs_rng_init(&b, words[j], 3);
			CHECK_EQ(a.state == b.state, i == j);
		}
	}
	sfs_rng_init(&a, words[0], 2);
	sfs_rng_init(&b, words[0], 3);
	CHECK(a.state != b.state);
}

/* Lemire's method as docs/ORDER.md states it, with the rejection always tried. */
static uint64_t below_by_the_page(struct sfs_rng *r, uint64_t n)
{
	uint64_t t = (0 - n) % n;
	unsigned __int128 m;

	do
		m = (unsigned __int128)sfs_rng_next(r) * n;
	while ((uint64_t)m < t);
	return (uint64_t)(m >> 64);
}

static void below(void)
{
	static const uint64_t limits[] = {
		1,
		2,
		3,
		5,
		7,
		10,
		255,
		256,
		257,
		1000,
		65537,
		1ULL << 31,
		(1ULL << 32) + 1,
		6148914691236517206ULL,
		1ULL << 63,
		(1ULL << 63) + 1,
		UINT64_MAX - 1,
		UINT64_MAX,
	};
	struct sfs_rng r = {7}, page = {7};
	uint64_t v;
	size_t i;
	int k;

	for (i = 0; i < SFS_COUNT(limits); i++) {
		for (k = 0; k < 2000; k++) {
			v = sfs_rng_below(&r, limits[i]);
			CHECK(v < limits[i]);
			CHECK(v == below_by_the_page(&page, limits[i]));
		}
	}
}

static void all_as_likely(void)
{
	unsigned count[7] = {0};
	struct sfs_rng r = {3};
	int i;

	for (i = 0; i < 70000; i++)
		count[sfs_rng_below(&r, 7)]++;
	for (i = 0; i < 7; i++)
		CHECK(count[i] > 9500 && count[i] < 10500);
}

static void shuffles(void)
{
	static const size_t sizes[] = {0, 1, 2, 3, 10, 100, 5000};
	struct sfs_rng r = {5};
	size_t k, i, moved;

	for (k = 0; k < SFS_COUNT(sizes); k++) {
		size_t n = sizes[k];
		sfs_autofree uint32_t *a = sfs_calloc(n + 1, sizeof *a);
		sfs_autofree char *seen = sfs_calloc(n + 1, 1);

		for (i = 0; i < n; i++)
			a[i] = (uint32_t)i;
		a[n] = 0xdeadbeef;
		sfs_rng_shuffle(&r, a, n);
		CHECK(a[n] == 0xdeadbeef);
		moved = 0;
		for (i = 0; i < n; i++) {
			CHECK(a[i] < n && !seen[a[i]]);
			seen[a[i]] = 1;
			moved += a[i] != i;
		}
		CHECK(n < 10 || moved > n / 2);
	}
}

/* Each of the six orders of three items comes up, about as often. */
static void all_orders(void)
{
	unsigned count[3][3] = {{0}};
	struct sfs_rng r = {11};
	uint32_t a[3];
	int i;

	for (i = 0; i < 60000; i++) {
		a[0] = 0;
		a[1] = 1;
		a[2] = 2;
		sfs_rng_shuffle(&r, a, 3);
		count[a[0]][a[1]]++;
	}
	for (i = 0; i < 9; i++) {
		unsigned n = count[i / 3][i % 3];

		CHECK(i / 3 == i % 3 ? n == 0 : n > 9500 && n < 10500);
	}
}

int main(void)
{
	published();
	splitmix();
	names();
	below();
	all_as_likely();
	shuffles();
	all_orders();
	return 0;
}
