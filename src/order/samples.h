/* SPDX-License-Identifier: MIT */
/* samples - the table of the samples of one shard: start, end and key hash of each.
 *
 * 16 bytes per sample.  One thread at a time may add, which callers ensure; any number
 * may read at the same time without a lock: entries never move, and an entry is written
 * before the count includes it.  A borrowed table lies in memory of the caller's: in an
 * index (catalog/index-format.h).
 *
 * A table that grows may know less than the caller does of the shard: it may have been
 * dropped.  To ask for a sample that it does not have is a bug, and ends the process.
 */
#ifndef SFS_SAMPLE_TABLE_H
#define SFS_SAMPLE_TABLE_H

#include "tar/scan.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define SFS_SAMPLE_TABLE_SHARD_MAX (1ULL << 40) /* bytes of a shard: 1 TiB */

enum sfs_sample_table_state {
	SFS_SAMPLE_TABLE_GROWING,
	SFS_SAMPLE_TABLE_WHOLE,	  /* all samples of the shard that are readable */
	SFS_SAMPLE_TABLE_DAMAGED, /* the shard is damaged after the last sample */
};

/* An index stores entries as they are in memory: a change of them needs a new version of
 * the format (SFS_INDEX_VERSION). */
#define SFS_SAMPLE_TABLE_ENTRY_BYTES 16
struct sfs_sample_table_entry {
	uint32_t start; /* blocks of 512; the top bit: a global header is inside */
	uint32_t end;	/* blocks: the sum of all extents up to and with this one */
	uint64_t key_hash;
};
#define SFS_SAMPLE_TABLE_GLOBAL (1u << 31)
#define SFS_SAMPLE_TABLE_CHUNK_0 256 /* entries of the first; the next has twice that */

struct sfs_sample_table {
	struct sfs_sample_table_entry *chunks[24];
	_Atomic uint64_t n;
	_Atomic int state;
	atomic_bool is_unverified; /* from an index: the headers were not read */
	bool is_borrowed;
};

struct sfs_sample_table_sample {
	uint64_t start, n_bytes; /* in the shard */
	uint64_t place;		 /* the sum of the extents before it */
	uint64_t key_hash;
	bool has_global;
	bool is_unverified; /* see struct sfs_sample_table */
};

void sfs_sample_table_done(struct sfs_sample_table *t); /* empty again */

void sfs_sample_table_add(struct sfs_sample_table *t, const struct sfs_extent *extent);
void sfs_sample_table_end(struct sfs_sample_table *t, enum sfs_sample_table_state state);

/* Read the state before n: unless it is GROWING, n is final. */
static inline enum sfs_sample_table_state sfs_sample_table_state(
	const struct sfs_sample_table *t)
{
	return (enum sfs_sample_table_state)atomic_load_explicit(&t->state,
								 memory_order_acquire);
}

static inline uint64_t sfs_sample_table_n(const struct sfs_sample_table *t)
{
	return atomic_load_explicit(&t->n, memory_order_acquire);
}

/* The memory of entry i, which may not be there yet. */
static inline struct sfs_sample_table_entry *sfs_sample_table_memory_of(
	const struct sfs_sample_table *t, uint64_t i)
{
	uint64_t k = 63 - (uint64_t)__builtin_clzll(i / SFS_SAMPLE_TABLE_CHUNK_0 + 1);

	return &t->chunks[k][i - SFS_SAMPLE_TABLE_CHUNK_0 * ((1ULL << k) - 1)];
}

/* Entry i < n. */
static inline const struct sfs_sample_table_entry *sfs_sample_table_entry_at(
	const struct sfs_sample_table *t, uint64_t i)
{
	assert(i < sfs_sample_table_n(t));
	return sfs_sample_table_memory_of(t, i);
}

/* The sum of the extents of the first n samples. */
static inline uint64_t sfs_sample_table_place(const struct sfs_sample_table *t,
					      uint64_t n)
{
	return n == 0 ? 0
		      : (uint64_t)sfs_sample_table_entry_at(t, n - 1)->end *
				SFS_TAR_BLOCK;
}

/* Sample i < n, whose place is known. */
static inline struct sfs_sample_table_sample sfs_sample_table_get_at(
	const struct sfs_sample_table *t, uint64_t i, uint64_t place)
{
	const struct sfs_sample_table_entry *e = sfs_sample_table_entry_at(t, i);

	return (struct sfs_sample_table_sample){
		.start = (uint64_t)(e->start & ~SFS_SAMPLE_TABLE_GLOBAL) * SFS_TAR_BLOCK,
		.n_bytes = (uint64_t)e->end * SFS_TAR_BLOCK - place,
		.place = place,
		.key_hash = e->key_hash,
		.has_global = e->start & SFS_SAMPLE_TABLE_GLOBAL,
		.is_unverified =
			atomic_load_explicit(&t->is_unverified, memory_order_relaxed),
	};
}

/* Sample i < n. */
static inline struct sfs_sample_table_sample sfs_sample_table_get(
	const struct sfs_sample_table *t, uint64_t i)
{
	return sfs_sample_table_get_at(t, i, sfs_sample_table_place(t, i));
}

/* What sfs_sample_table_add() took for sample i < n. */
static inline struct sfs_extent sfs_sample_table_extent(const struct sfs_sample_table *t,
							uint64_t i)
{
	struct sfs_sample_table_sample s = sfs_sample_table_get(t, i);

	return (struct sfs_extent){.start = s.start,
				   .n_bytes = s.n_bytes,
				   .key_hash = s.key_hash,
				   .has_global = s.has_global};
}

static inline uint64_t sfs_sample_table_start(const struct sfs_sample_table *t,
					      uint64_t i)
{
	return (uint64_t)(sfs_sample_table_entry_at(t, i)->start &
			  ~SFS_SAMPLE_TABLE_GLOBAL) *
	       SFS_TAR_BLOCK;
}

/* Where in the shard sample i ends. */
static inline uint64_t sfs_sample_table_end_of(const struct sfs_sample_table *t,
					       uint64_t i)
{
	return sfs_sample_table_start(t, i) + sfs_sample_table_place(t, i + 1) -
	       sfs_sample_table_place(t, i);
}

/* Samples i to end - 1 of a whole table will be wanted soon; end > i. */
static inline void sfs_sample_table_prefetch(const struct sfs_sample_table *t, uint64_t i,
					     uint64_t end)
{
	for (i -= i > 0; i < end; i += 64 / SFS_SAMPLE_TABLE_ENTRY_BYTES)
		__builtin_prefetch(sfs_sample_table_entry_at(t, i));
	__builtin_prefetch(sfs_sample_table_entry_at(t, end - 1));
}

/* The first of n samples whose place is >= `place`; n if there is none. */
uint64_t sfs_sample_table_find(const struct sfs_sample_table *t, uint64_t n,
			       uint64_t place);

/* The first of n samples that starts at or after byte `offset` of the shard; n if there
 * is none. */
uint64_t sfs_sample_table_from(const struct sfs_sample_table *t, uint64_t n,
			       uint64_t offset);

/* The first of n samples that ends after byte `offset` of the shard; n if
 * there is none. */
uint64_t sfs_sample_table_at(const struct sfs_sample_table *t, uint64_t n,
			     uint64_t offset);

/* Entries that are added from now on come from an index. */
void sfs_sample_table_set_unverified(struct sfs_sample_table *t);

/* Bytes of memory that n added entries take. */
uint64_t sfs_sample_table_memory(uint64_t n);

/* ---- borrowed entries ---- */

/* Are these n entries possible for a shard of `shard_bytes`: ascending, without overlap,
 * within it?  They may be any bytes, aligned to 8. */
bool sfs_sample_table_is_sound(const struct sfs_sample_table_entry *entries, uint64_t n,
			       uint64_t shard_bytes);

/* Make an empty table whole at once, with n entries that are sound.  They are borrowed:
 * they must stay unchanged until sfs_sample_table_done().  The table is unverified.
 * Others may read it meanwhile. */
void sfs_sample_table_borrow(struct sfs_sample_table *t,
			     const struct sfs_sample_table_entry *entries, uint64_t n);

/* Copy the first n entries, n * SFS_SAMPLE_TABLE_ENTRY_BYTES, to `ret_entries`. */
void sfs_sample_table_copy(const struct sfs_sample_table *t, uint64_t n,
			   void *ret_entries);

#endif
