/* SPDX-License-Identifier: MIT */
/* A table over entries in somebody else's memory says what the grown one says, and is
 * made only of entries that a shard can have. */
#include "base/alloc.h"
#include "base/threadpool.h"
#include "made-indexes.h"

static void says_the_same(const struct sfs_sample_table *a,
			  const struct sfs_sample_table *b)
{
	uint64_t i, n = sfs_sample_table_n(a), at;

	CHECK_EQ(sfs_sample_table_n(b), n);
	CHECK_EQ(sfs_sample_table_state(b), SFS_SAMPLE_TABLE_WHOLE);
	for (i = 0; i < n; i++) {
		struct sfs_sample_table_sample s = sfs_sample_table_get(a, i),
					       o = sfs_sample_table_get(b, i);

		CHECK_EQ(o.start, s.start);
		CHECK_EQ(o.n_bytes, s.n_bytes);
		CHECK_EQ(o.place, s.place);
		CHECK(o.key_hash == s.key_hash && o.has_global == s.has_global);
		if (i % 97 == 0 || n - i < 3) {
			at = s.start + s.n_bytes - 1;
			CHECK_EQ(sfs_sample_table_at(b, n, at),
				 sfs_sample_table_at(a, n, at));
			CHECK_EQ(sfs_sample_table_find(b, n, s.place + 1),
				 sfs_sample_table_find(a, n, s.place + 1));
		}
	}
	CHECK_EQ(sfs_sample_table_place(b, n), sfs_sample_table_place(a, n));
}

static void borrows(uint64_t n)
{
	struct sfs_sample_table grown, borrowed = {0};
	uint64_t shard_bytes = make_table(&grown, n);
	sfs_autofree void *entries =
		sfs_malloc(n > 0 ? n * SFS_SAMPLE_TABLE_ENTRY_BYTES : 1);
	sfs_autofree void *again =
		sfs_malloc(n > 0 ? n * SFS_SAMPLE_TABLE_ENTRY_BYTES : 1);

	sfs_sample_table_copy(&grown, n, entries);
	CHECK(sfs_sample_table_is_sound(entries, n, shard_bytes));
	sfs_sample_table_borrow(&borrowed, entries, n);
	says_the_same(&grown, &borrowed);
	sfs_sample_table_copy(&borrowed, n, again);
	CHECK(memcmp(entries, again, n * SFS_SAMPLE_TABLE_ENTRY_BYTES) == 0);

	sfs_sample_table_done(&borrowed); /* does not free what it does not own */
	CHECK_EQ(sfs_sample_table_n(&borrowed), 0);
	CHECK_EQ(sfs_sample_table_state(&borrowed), SFS_SAMPLE_TABLE_GROWING);
	if (n > 0)
		sfs_sample_table_add(&borrowed, &(struct sfs_extent){.n_bytes = 512});
	sfs_sample_table_done(&borrowed);
	sfs_sample_table_done(&grown);
}

/* ---- which entries are sound ---- */

struct entry {
	uint32_t start, end; /* blocks */
	uint64_t key_hash;
};

#define GLOBAL (1u << 31)

static bool sound(struct entry a, struct entry b, uint64_t n_blocks)
{
	struct entry entries[2] = {a, b};

	return sfs_sample_table_is_sound((const struct sfs_sample_table_entry *)entries,
					 2, 512 * n_blocks);
}

#define E(start, end) ((struct entry){start, end, 7})

static void soundness(void)
{
	CHECK(sfs_sample_table_is_sound(NULL, 0, 0));
	CHECK(sound(E(0, 2), E(2, 4), 4));
	CHECK(sound(E(0, 2), E(10, 4), 12));
	CHECK(sound(E(GLOBAL | 0, 2), E(GLOBAL | 2, 4), 4));
	CHECK(!sound(E(0, 2), E(2, 4), 3)); /* beyond the shard's end */
	CHECK(!sound(E(0, 2), E(10, 4), 11));
	CHECK(!sound(E(4, 2), E(2, 4), 10)); /* backwards */
	CHECK(!sound(E(0, 2), E(0, 4), 10)); /* the same again */
	CHECK(!sound(E(0, 2), E(1, 4), 10)); /* overlapping */
	CHECK(!sound(E(0, 2), E(GLOBAL | 1, 4), 10));
	CHECK(!sound(E(0, 0), E(1, 4), 10)); /* of no length */
	CHECK(!sound(E(0, 2), E(2, 2), 10));
	CHECK(!sound(E(0, 2), E(2, 1), 10)); /* of less */
	CHECK(!sound(E(0, 5), E(5, 4), 10));
	CHECK(!sound(E(0, UINT32_MAX), E(0, 1), 1ULL << 31));

	/* The largest shard there may be. */
	CHECK(sound(E(0, (1u << 31) - 1), E((1u << 31) - 1, 1u << 31), 1ULL << 31));
	CHECK(sound(E(GLOBAL | 0, (1u << 31) - 1), E(UINT32_MAX, 1u << 31), 1ULL << 31));
	CHECK(!sound(E(0, (1u << 31) - 1), E((1u << 31) - 1, (1u << 31) + 1),
		     1ULL << 31));
}

/* ---- read by others at the moment when it becomes whole ---- */

static struct sfs_sample_table table;

static void *read_along(void *arg)
{
	enum sfs_sample_table_state state;
	uint64_t n;

	do {
		state = sfs_sample_table_state(&table);
		n = sfs_sample_table_n(&table);
		CHECK(n == 0 || sfs_sample_table_get(&table, n - 1).n_bytes > 0);
	} while (state == SFS_SAMPLE_TABLE_GROWING);
	CHECK_EQ(n, 1000);
	return NULL;
}

static void readers(void)
{
	sfs_autofree void *entries = sfs_malloc(1000 * SFS_SAMPLE_TABLE_ENTRY_BYTES);
	struct sfs_sample_table grown;
	pthread_t threads[3];
	size_t i;

	make_table(&grown, 1000);
	sfs_sample_table_copy(&grown, 1000, entries);
	for (i = 0; i < SFS_COUNT(threads); i++)
		threads[i] = sfs_thread_start("reads", read_along, NULL);
	sfs_sample_table_borrow(&table, entries, 1000);
	for (i = 0; i < SFS_COUNT(threads); i++)
		pthread_join(threads[i], NULL);
	sfs_sample_table_done(&table);
	sfs_sample_table_done(&grown);
}

int main(void)
{
	/* Chunks begin at 0, 256, 768, 1792, ... */
	static const uint64_t sizes[] = {0,   1,   2,	 255,  256,  257,   767,
					 768, 769, 1791, 1792, 1793, 100000};
	size_t i;

	for (i = 0; i < SFS_COUNT(sizes); i++)
		borrows(sizes[i]);
	soundness();
	readers();
	return 0;
}
