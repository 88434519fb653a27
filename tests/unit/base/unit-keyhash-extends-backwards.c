/* SPDX-License-Identifier: MIT */
/* The hash of "folder/key" goes on from the hash of "key", and is FNV-1a. */
#include "base/alloc.h"
#include "base/keyhash.h"
#include "base/rng.h"
#include "check.h"

static void known(void)
{
	/* FNV-1a's published values; of one letter, either direction gives the same. */
	CHECK(sfs_keyhash("", 0) == SFS_KEYHASH_EMPTY);
	CHECK(sfs_keyhash("a", 1) == 0xaf63dc4c8601ec8cULL);
	CHECK(sfs_keyhash("foobar", 6) != 0x85944171f73967e8ULL);
	CHECK(sfs_keyhash("raboof", 6) == 0x85944171f73967e8ULL);
	CHECK(sfs_keyhash("ab", 2) != sfs_keyhash("ba", 2));
	CHECK(sfs_keyhash("a\0b", 3) != sfs_keyhash("a", 1));
	CHECK(sfs_keyhash("\xff", 1) != sfs_keyhash("\x7f", 1));
}

static void goes_on(void)
{
	struct sfs_rng r = {1};
	char name[300];
	size_t n, cut, i;
	int round;

	for (round = 0; round < 2000; round++) {
		n = sfs_rng_below(&r, sizeof name);
		for (i = 0; i < n; i++)
			name[i] = (char)sfs_rng_next(&r);
		cut = sfs_rng_below(&r, n + 1);
		CHECK(sfs_keyhash_prepend(sfs_keyhash(name + cut, n - cut), name, cut) ==
		      sfs_keyhash(name, n));
	}
	CHECK(sfs_keyhash_prepend(sfs_keyhash_prepend(sfs_keyhash("000001", 6), "/", 1),
				  "train-7", 7) == sfs_keyhash("train-7/000001", 14));
}

/* Keys of a dataset that count upwards do not collide. */
static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void no_collisions(void)
{
	size_t n = 200000, i;
	sfs_autofree uint64_t *hashes = sfs_calloc(n, sizeof *hashes);
	char key[32];

	for (i = 0; i < n; i++)
		hashes[i] =
			sfs_keyhash(key, (size_t)snprintf(key, sizeof key, "%09zu", i));
	qsort(hashes, n, sizeof *hashes, by_value);
	for (i = 1; i < n; i++)
		CHECK(hashes[i - 1] != hashes[i]);
}

int main(void)
{
	known();
	goes_on();
	no_collisions();
	return 0;
}
