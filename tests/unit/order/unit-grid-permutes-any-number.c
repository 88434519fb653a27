/* SPDX-License-Identifier: MIT */
/* Each number comes once, however many there are, and its position is found again; other
 * seeds and epochs have other permutations; the numbers are those of docs/ORDER.md. */
#include "order/grid.h"

#include "base/alloc.h"
#include "check.h"

#include <stdbool.h>

static void is_permutation(uint32_t n, uint64_t seed, uint64_t epoch)
{
	sfs_autofree bool *is_seen = sfs_calloc(n + 1, sizeof *is_seen);
	struct sfs_grid g;
	uint32_t p, x;

	sfs_grid_init(&g, seed, epoch, n);
	CHECK((uint64_t)g.rows * g.columns >= n);
	for (p = 0; p < n; p++) {
		x = sfs_grid_at(&g, p);
		CHECK(x < n);
		CHECK(!is_seen[x]);
		is_seen[x] = true;
		CHECK_EQ(sfs_grid_position(&g, x), p);
	}
	sfs_grid_done(&g);
}

static void any_number(void)
{
	static const uint32_t some[] = {1023, 1024, 1025,  4095,  4096,
					4097, 9999, 65536, 99999, 1000003};
	uint32_t n;

	for (n = 0; n <= 600; n++)
		is_permutation(n, n % 7, n % 5);
	for (n = 0; n < SFS_COUNT(some); n++)
		is_permutation(some[n], 1, 2);
}

/* As many as there may be. */
static void largest(void)
{
	struct sfs_grid g;
	uint32_t p, i;

	sfs_grid_init(&g, 9, 9, UINT32_MAX);
	CHECK_EQ(g.rows, 65536);
	CHECK_EQ(sfs_grid_memory(&g), 6 * 65536 * 4);
	for (i = 0, p = 0; i < 100000; i++, p += 42949) {
		CHECK(sfs_grid_at(&g, p) < UINT32_MAX);
		CHECK_EQ(sfs_grid_position(&g, sfs_grid_at(&g, p)), p);
	}
	sfs_grid_done(&g);
}

static void others(void)
{
	struct sfs_grid a, b, c;
	uint32_t p, n_same = 0;

	sfs_grid_init(&a, 1, 0, 10000);
	sfs_grid_init(&b, 2, 0, 10000);
	sfs_grid_init(&c, 1, 1, 10000);
	for (p = 0; p < 10000; p++) {
		n_same += sfs_grid_at(&a, p) == sfs_grid_at(&b, p);
		n_same += sfs_grid_at(&a, p) == sfs_grid_at(&c, p);
	}
	CHECK(n_same < 20);
	sfs_grid_done(&a);
	sfs_grid_done(&b);
	sfs_grid_done(&c);
}

/* The numbers at positions 0, 1, ... as an independent program finds them. */
static void published(void)
{
	static const struct {
		uint64_t seed, epoch;
		uint32_t n;
		size_t n_numbers;
		uint32_t numbers[11];
	} vectors[] = {
		{0, 0, 11, 11, {0, 7, 8, 2, 10, 3, 4, 9, 5, 6, 1}},
		{0, 0, 1, 1, {0}},
		{1, 2, 7, 7, {3, 2, 5, 6, 4, 1, 0}},
		{5, 3, 4095, 7, {2645, 368, 3278, 2195, 1537, 435, 3552}},
		{5, 3, 4096, 7, {3786, 832, 2398, 604, 1992, 2721, 1218}},
		{7, 1, 100000, 7, {63324, 5135, 4617, 88681, 52159, 17547, 59648}},
		{UINT64_MAX,
		 (1ULL << 56) - 1,
		 100000000,
		 5,
		 {90158423, 25614779, 44107977, 77509341, 95569025}},
		{9, 9, UINT32_MAX, 4, {2983610041, 3864568831, 3447935683, 3143109015}},
	};
	struct sfs_grid g;
	size_t k, p;

	for (k = 0; k < SFS_COUNT(vectors); k++) {
		sfs_grid_init(&g, vectors[k].seed, vectors[k].epoch, vectors[k].n);
		for (p = 0; p < vectors[k].n_numbers; p++)
			CHECK_EQ(sfs_grid_at(&g, (uint32_t)p), vectors[k].numbers[p]);
		sfs_grid_done(&g);
	}
}

int main(void)
{
	any_number();
	largest();
	others();
	published();
	return 0;
}
