/* SPDX-License-Identifier: MIT */
/* Indexes.  An input that begins with 'I' is an index, 'i' one whose checksums are made
 * right, so that mutations get behind them: it is refused with a sentence, or all that a
 * reader may ask its table and members is answered within the shard.  Any other is for
 * maketar.h: what a scan finds in a sound tar must be taken back as it was written. */
#include "fuzz.h"
#include "maketar.h"

#include "base/alloc.h"
#include "base/checksum.h"
#include "catalog/index-format.h"
#include "tar/scan.h"

#include <errno.h>

/* ---- any bytes ---- */

static uint64_t get(const uint8_t *bytes, size_t at)
{
	uint64_t number;

	memcpy(&number, bytes + at, sizeof number);
	return number;
}

static void put_sum(uint8_t *bytes, size_t at, size_t from, size_t n)
{
	uint64_t sum = sfs_checksum(bytes + from, n);

	memcpy(bytes + at, &sum, sizeof sum);
}

/* docs/internals/catalog.md */
static void seal(uint8_t *bytes, size_t n)
{
	enum {
		HEADER = 112,
		ORDER_BYTES = 64,
		ORDER_SUM = 88,
		MEMBERS_SUM = 96,
		SUM = 104
	};
	uint64_t order;

	if (n < HEADER)
		return;
	order = get(bytes, ORDER_BYTES);
	if (order <= n - HEADER) {
		put_sum(bytes, ORDER_SUM, HEADER, order);
		if (order < n - HEADER)
			put_sum(bytes, MEMBERS_SUM, HEADER + order, n - HEADER - order);
	}
	put_sum(bytes, SUM, 0, SUM);
}

static void walk_table(const struct sfs_index *index)
{
	struct sfs_sample_table t = {0};
	struct sfs_sample_table_sample s;
	uint64_t i, n = index->n_samples, sum = 0, behind = 0;

	sfs_sample_table_borrow(&t, index->entries, n);
	for (i = 0; i < n; i++) {
		s = sfs_sample_table_get(&t, i);
		MUST(s.n_bytes > 0 && s.start >= behind && s.place == sum);
		behind = s.start + s.n_bytes;
		sum += s.n_bytes;
		MUST(behind <= index->shard_bytes);
		MUST(sfs_sample_table_at(&t, n, s.start) == i);
		MUST(sfs_sample_table_find(&t, n, s.place) == i);
	}
	MUST(sum == index->sample_bytes && sfs_sample_table_place(&t, n) == sum);
	sfs_sample_table_done(&t);
}

static void walk_members(const struct sfs_index *index)
{
	struct sfs_members m = {0};
	struct sfs_error err = {0};
	struct sfs_member member;
	uint64_t i, behind = 0;
	int ret;

	ret = sfs_index_members(index, &m, &err);
	MUST(ret == 0 || (ret == -EBADMSG && err.text[0] && !m.entries));
	MUST(ret < 0 || m.n == index->n_members);
	for (i = 0; i < m.n; i++) {
		member = sfs_members_get(&m, i);
		MUST(member.n_name == 0 || !memchr(member.name, 0, member.n_name));
		MUST(member.start >= behind && member.data > member.start);
		behind = member.data + (member.is_sparse ? 0 : member.size);
		MUST(behind <= index->shard_bytes && member.size <= INT64_MAX);
		MUST(sfs_members_find(&m, member.start) == i);
	}
	sfs_members_done(&m);
}

/* The header alone, and then what it says is needed without members: in memory of its
 * own, so that no byte behind it can be read. */
static void walk_part(const uint8_t *bytes, size_t n, bool is_sound)
{
	size_t first = n < SFS_INDEX_HEADER_BYTES ? n : SFS_INDEX_HEADER_BYTES;
	uint8_t *header = fuzz_copy(bytes, first), *part;
	struct sfs_index index;
	uint64_t n_part;
	int ret;

	ret = sfs_index_look(header, first, n, &index, NULL);
	free(header);
	MUST(ret == 0 || !is_sound);
	if (ret < 0)
		return;
	n_part = index.order_end;
	MUST(n_part <= n && n <= sfs_index_bytes_max(index.shard_bytes));
	part = fuzz_copy(bytes, n_part);
	ret = sfs_index_open(part, n_part, n, &index, NULL);
	MUST((ret == 0) == is_sound && (ret < 0 || !index.has_members || n_part == n));
	if (ret == 0)
		walk_table(&index);
	free(part);
}

static void any_bytes(const uint8_t *data, size_t n, bool is_sealed)
{
	uint8_t *bytes = fuzz_copy(data, n);
	struct sfs_index index;
	struct sfs_error err = {0};
	int ret;

	if (is_sealed)
		seal(bytes, n);
	ret = sfs_index_open(bytes, n, n, &index, &err);
	MUST(ret == 0 || ((ret == -EBADMSG || ret == -EPROTONOSUPPORT) && err.text[0]));
	if (ret == 0)
		walk_table(&index);
	if (ret == 0 && index.has_members)
		walk_members(&index);
	walk_part(bytes, n, ret == 0);
	free(bytes);
}

/* ---- what a scan found ---- */

struct found {
	struct sfs_sample_table table;
	struct sfs_members members;
};

static void note_member(void *ctx, uint64_t start, const struct sfs_tar_entry *group)
{
	struct found *found = ctx;

	sfs_members_add(&found->members, start, group);
}

static void note_sample(void *ctx, const struct sfs_extent *extent)
{
	struct found *found = ctx;

	sfs_sample_table_add(&found->table, extent);
}

static bool same_sample(struct sfs_sample_table_sample a,
			struct sfs_sample_table_sample b)
{
	return a.start == b.start && a.n_bytes == b.n_bytes && a.place == b.place &&
	       a.key_hash == b.key_hash && a.has_global == b.has_global;
}

static bool same_member(struct sfs_member a, struct sfs_member b)
{
	return a.start == b.start && a.data == b.data && a.size == b.size &&
	       a.mtime == b.mtime && a.mode == b.mode && a.is_sparse == b.is_sparse &&
	       a.n_name == b.n_name &&
	       (a.n_name == 0 || memcmp(a.name, b.name, a.n_name) == 0);
}

static void is_taken_back(struct found *found, uint64_t shard_bytes)
{
	struct found back = {0};
	struct sfs_index index;
	uint64_t i;
	size_t n;
	uint8_t *bytes =
		sfs_index_write(&found->table, shard_bytes, 1, &found->members, &n);

	MUST(sfs_index_open(bytes, n, n, &index, NULL) == 0);
	MUST(sfs_index_members(&index, &back.members, NULL) == 0);
	sfs_sample_table_borrow(&back.table, index.entries, index.n_samples);
	MUST(sfs_sample_table_n(&back.table) == sfs_sample_table_n(&found->table));
	for (i = 0; i < index.n_samples; i++)
		MUST(same_sample(sfs_sample_table_get(&back.table, i),
				 sfs_sample_table_get(&found->table, i)));
	MUST(back.members.n == found->members.n);
	for (i = 0; i < back.members.n; i++)
		MUST(same_member(sfs_members_get(&back.members, i),
				 sfs_members_get(&found->members, i)));
	walk_table(&index);
	walk_members(&index);
	sfs_members_done(&back.members);
	sfs_sample_table_done(&back.table);
	free(bytes);
}

static void scanned(const uint8_t *data, size_t n)
{
	struct fuzz_tar tar = fuzz_tar_make(data, n);
	struct found found = {0};
	struct sfs_scan_sink sink = {.ctx = &found,
				     .member = note_member,
				     .sample = note_sample};
	struct sfs_scan scan;

	sfs_scan_init(&scan, tar.n);
	sfs_scan_feed(&scan, 0, tar.bytes, tar.n, &sink);
	if (scan.is_complete) {
		sfs_sample_table_end(&found.table, SFS_SAMPLE_TABLE_WHOLE);
		is_taken_back(&found, tar.n);
	}
	sfs_scan_done(&scan);
	sfs_members_done(&found.members);
	sfs_sample_table_done(&found.table);
	free(tar.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	if (n > 0 && (data[0] == 'I' || data[0] == 'i'))
		any_bytes(data + 1, n - 1, data[0] == 'i');
	else
		scanned(data, n);
	return 0;
}
