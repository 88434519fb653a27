/* SPDX-License-Identifier: MIT */
/* made-indexes - made-up samples and members, and indexes of them with
 * whatever is wrong. */
#ifndef SFS_TESTS_INDEXES_H
#define SFS_TESTS_INDEXES_H

#include "base/checksum.h"
#include "base/rng.h"
#include "catalog/index-format.h"
#include "check.h"

/* Where a header has what; docs/internals/catalog.md. */
enum {
	AT_FORMAT = 8,
	AT_HEADER_BYTES = 12,
	AT_SHARD_BYTES = 16,
	AT_VERSION = 24,
	AT_N_SAMPLES = 32,
	AT_SAMPLE_BYTES = 40,
	AT_N_MEMBERS = 48,
	AT_ORDER_OFFSET = 56,
	AT_ORDER_BYTES = 64,
	AT_MEMBERS_OFFSET = 72,
	AT_MEMBERS_BYTES = 80,
	AT_ORDER_SUM = 88,
	AT_MEMBERS_SUM = 96,
	AT_HEADER_SUM = 104,
	HEADER_BYTES = 112,
	ENTRY_BYTES = 16,  /* start, end: 4 bytes each; the key's hash */
	MEMBER_BYTES = 48, /* start, data, size, mtime, name: 8 each; mode, flags: 4 */
};

/* A whole table of n samples of a member or two; the bytes of the shard. */
static inline uint64_t make_table(struct sfs_sample_table *t, uint64_t n)
{
	struct sfs_rng r = {n + 1};
	uint64_t at = 0, i;

	*t = (struct sfs_sample_table){0};
	for (i = 0; i < n; i++) {
		struct sfs_extent extent = {
			.start = at += 512 * sfs_rng_below(&r, 3),
			.n_bytes = 512 * (2 + sfs_rng_below(&r, 9)),
			.key_hash = sfs_rng_next(&r),
			.has_global = sfs_rng_below(&r, 4) == 0,
		};

		sfs_sample_table_add(t, &extent);
		at += extent.n_bytes;
	}
	sfs_sample_table_end(t, SFS_SAMPLE_TABLE_WHOLE);
	return at + 1024;
}

/* The members of those samples: one each, and every fifth is sparse. */
static inline void make_members(struct sfs_members *m, const struct sfs_sample_table *t)
{
	uint64_t i, n = sfs_sample_table_n(t);
	struct sfs_sample_table_sample s;
	struct sfs_tar_entry g;
	char name[40];

	*m = (struct sfs_members){0};
	for (i = 0; i < n; i++) {
		s = sfs_sample_table_get(t, i);
		snprintf(name, sizeof name, "d/%llu.\xff\n", (unsigned long long)i);
		g = (struct sfs_tar_entry){
			.kind = SFS_TAR_ENTRY_MEMBER,
			.name = name,
			.n_name = i == 3 ? 0 : strlen(name),
			.is_regular = true,
			.data = 512,
			.size = i % 5 == 4 ? 1ULL << 50 : s.n_bytes - 512 - i % 512,
			.mtime = (int64_t)i - 5,
			.mode = 0600 + (uint32_t)(i % 64),
		};
		g.is_sparse = i % 5 == 4;
		sfs_members_add(m, s.start, &g);
	}
}

/* An index of n samples, in memory of just its size. */
static inline unsigned char *make_index(uint64_t n, bool with_members, size_t *ret_n)
{
	struct sfs_sample_table t;
	struct sfs_members m;
	uint64_t shard_bytes = make_table(&t, n);
	unsigned char *bytes;

	make_members(&m, &t);
	bytes = sfs_index_write(&t, shard_bytes, 77, with_members ? &m : NULL, ret_n);
	sfs_members_done(&m);
	sfs_sample_table_done(&t);
	return bytes;
}

static inline uint64_t get_number(const unsigned char *bytes, size_t at)
{
	uint64_t number;

	memcpy(&number, bytes + at, sizeof number);
	return number;
}

static inline void put_number(unsigned char *bytes, size_t at, uint64_t number)
{
	memcpy(bytes + at, &number, sizeof number);
}

/* Make all checksums right that are where they should be. */
static inline void seal(unsigned char *bytes, size_t n)
{
	uint64_t order = get_number(bytes, AT_ORDER_BYTES);
	uint64_t members = get_number(bytes, AT_MEMBERS_BYTES);

	if (order <= n - HEADER_BYTES)
		put_number(bytes, AT_ORDER_SUM,
			   sfs_checksum(bytes + HEADER_BYTES, order));
	if (order <= n - HEADER_BYTES && members > 0 &&
	    members <= n - HEADER_BYTES - order)
		put_number(bytes, AT_MEMBERS_SUM,
			   sfs_checksum(bytes + HEADER_BYTES + order, members));
	put_number(bytes, AT_HEADER_SUM, sfs_checksum(bytes, AT_HEADER_SUM));
}

#endif
