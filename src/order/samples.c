/* SPDX-License-Identifier: MIT */
/* How this works: chunk k holds 256 << k entries, so nothing is ever moved and
 * a reader needs no lock: entry i is written before n becomes i + 1.  An entry
 * keeps the start of its sample and the sum of extents up to its end, both in blocks
 * of 512; the size is the difference to the entry before.
 *
 * Chunk k begins at entry 256 * (2^k - 1), so a borrowed table is just pointers into one
 * array, and readers need not know. */
#include "order/samples.h"

#include "base/alloc.h"

#include <assert.h>
#include <string.h>

_Static_assert(sizeof(struct sfs_sample_table_entry) == SFS_SAMPLE_TABLE_ENTRY_BYTES,
	       "as stored");

static int chunk_of(uint64_t i)
{
	return 63 - __builtin_clzll(i / SFS_SAMPLE_TABLE_CHUNK_0 + 1);
}

void sfs_sample_table_done(struct sfs_sample_table *t)
{
	size_t k;

	for (k = 0; k < SFS_COUNT(t->chunks); k++)
		if (t->is_borrowed)
			t->chunks[k] = NULL;
		else
			free(steal(&t->chunks[k]));
	t->is_borrowed = false;
	atomic_store(&t->is_unverified, false);
	atomic_store(&t->n, 0);
	atomic_store(&t->state, SFS_SAMPLE_TABLE_GROWING);
}

uint64_t sfs_sample_table_memory(uint64_t n)
{
	return n == 0 ? 0
		      : ((2ULL << chunk_of(n - 1)) - 1) * SFS_SAMPLE_TABLE_CHUNK_0 *
				sizeof(struct sfs_sample_table_entry);
}

void sfs_sample_table_add(struct sfs_sample_table *t, const struct sfs_extent *extent)
{
	uint64_t n = atomic_load_explicit(&t->n, memory_order_relaxed);
	uint64_t end = (sfs_sample_table_place(t, n) + extent->n_bytes) / SFS_TAR_BLOCK;
	int k = chunk_of(n);

	if (!t->chunks[k])
		t->chunks[k] =
			sfs_reallocarray(NULL, (size_t)SFS_SAMPLE_TABLE_CHUNK_0 << k,
					 sizeof(struct sfs_sample_table_entry));
	*sfs_sample_table_memory_of(t, n) = (struct sfs_sample_table_entry){
		.start = (uint32_t)(extent->start / SFS_TAR_BLOCK) |
			 (extent->has_global ? SFS_SAMPLE_TABLE_GLOBAL : 0),
		.end = (uint32_t)end,
		.key_hash = extent->key_hash,
	};
	atomic_store_explicit(&t->n, n + 1, memory_order_release);
}

void sfs_sample_table_end(struct sfs_sample_table *t, enum sfs_sample_table_state state)
{
	atomic_store_explicit(&t->state, (int)state, memory_order_release);
}

void sfs_sample_table_set_unverified(struct sfs_sample_table *t)
{
	/* A reader that sees the next entry sees this too: n is released after it. */
	atomic_store_explicit(&t->is_unverified, true, memory_order_relaxed);
}

/* The first of n samples at which a number that rises with them is at least `least`; n
 * if there is none. */
static inline uint64_t first_at(const struct sfs_sample_table *t, uint64_t n,
				uint64_t least,
				uint64_t (*number)(const struct sfs_sample_table *,
						   uint64_t))
{
	uint64_t low = 0, high = n, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (number(t, middle) < least)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint64_t sfs_sample_table_find(const struct sfs_sample_table *t, uint64_t n,
			       uint64_t place)
{
	return first_at(t, n, place, sfs_sample_table_place);
}

uint64_t sfs_sample_table_from(const struct sfs_sample_table *t, uint64_t n,
			       uint64_t offset)
{
	return first_at(t, n, offset, sfs_sample_table_start);
}

uint64_t sfs_sample_table_at(const struct sfs_sample_table *t, uint64_t n,
			     uint64_t offset)
{
	if (offset == UINT64_MAX)
		return n;
	return first_at(t, n, offset + 1, sfs_sample_table_end_of);
}

bool sfs_sample_table_is_sound(const struct sfs_sample_table_entry *entries, uint64_t n,
			       uint64_t shard_bytes)
{
	uint64_t n_blocks = shard_bytes / SFS_TAR_BLOCK;
	uint64_t i, start, end_before = 0, sum = 0;

	for (i = 0; i < n; i++) {
		start = entries[i].start & ~SFS_SAMPLE_TABLE_GLOBAL;
		if (start < end_before || entries[i].end <= sum)
			return false;
		end_before = start + entries[i].end - sum;
		if (end_before > n_blocks)
			return false;
		sum = entries[i].end;
	}
	return true;
}

void sfs_sample_table_borrow(struct sfs_sample_table *t,
			     const struct sfs_sample_table_entry *entries, uint64_t n)
{
	uint64_t at = 0;
	int k;

	assert(sfs_sample_table_n(t) == 0 && !t->chunks[0]);
	for (k = 0; at < n; at += (uint64_t)SFS_SAMPLE_TABLE_CHUNK_0 << k++)
		t->chunks[k] = (struct sfs_sample_table_entry *)entries + at;
	t->is_borrowed = true;
	sfs_sample_table_set_unverified(t);
	atomic_store_explicit(&t->n, n, memory_order_release);
	sfs_sample_table_end(t, SFS_SAMPLE_TABLE_WHOLE);
}

void sfs_sample_table_copy(const struct sfs_sample_table *t, uint64_t n,
			   void *ret_entries)
{
	struct sfs_sample_table_entry *ret = ret_entries;
	uint64_t at = 0, here;
	int k;

	assert(n <= sfs_sample_table_n(t));
	for (k = 0; at < n; at += here, k++) {
		here = (uint64_t)SFS_SAMPLE_TABLE_CHUNK_0 << k;
		here = here < n - at ? here : n - at;
		memcpy(ret + at, t->chunks[k], here * sizeof *ret);
	}
}
