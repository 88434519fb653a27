/* SPDX-License-Identifier: MIT */
/* What is written into an index is there when it is opened, and the table that borrows
 * it equals the one that was written. */
#include "base/alloc.h"
#include "made-indexes.h"

static void is_table(const struct sfs_index *index, const struct sfs_sample_table *wanted)
{
	struct sfs_sample_table t = {0};
	struct sfs_sample_table_sample s, w;
	uint64_t i, n = sfs_sample_table_n(wanted);

	sfs_sample_table_borrow(&t, index->entries, index->n_samples);
	CHECK_EQ(sfs_sample_table_n(&t), n);
	CHECK_EQ(sfs_sample_table_state(&t), SFS_SAMPLE_TABLE_WHOLE);
	for (i = 0; i < n; i++) {
		s = sfs_sample_table_get(&t, i);
		w = sfs_sample_table_get(wanted, i);
		CHECK(s.start == w.start && s.n_bytes == w.n_bytes &&
		      s.place == w.place && s.key_hash == w.key_hash &&
		      s.has_global == w.has_global);
		CHECK_EQ(sfs_sample_table_at(&t, n, s.start), i);
		CHECK_EQ(sfs_sample_table_find(&t, n, s.place), i);
	}
	CHECK_EQ(sfs_sample_table_place(&t, n), index->sample_bytes);
	sfs_sample_table_done(&t);
}

static void is_members(const struct sfs_index *index, const struct sfs_members *wanted)
{
	struct sfs_members m = {0};
	uint64_t i;

	CHECK(index->has_members);
	CHECK_EQ(sfs_index_members(index, &m, NULL), 0);
	CHECK_EQ(m.n, wanted->n);
	CHECK_EQ(m.n, index->n_members);
	for (i = 0; i < m.n; i++) {
		struct sfs_member a = sfs_members_get(&m, i),
				  b = sfs_members_get(wanted, i);

		CHECK_EQ(a.n_name, b.n_name);
		CHECK(memcmp(a.name, b.name, a.n_name) == 0);
		CHECK(a.start == b.start && a.data == b.data && a.size == b.size &&
		      a.mtime == b.mtime && a.mode == b.mode &&
		      a.is_sparse == b.is_sparse);
	}
	sfs_members_done(&m);
}

static void round_trip(uint64_t n, bool with_members)
{
	struct sfs_sample_table t;
	struct sfs_members m;
	struct sfs_index index;
	uint64_t shard_bytes = make_table(&t, n);
	sfs_autofree unsigned char *bytes = NULL;
	size_t n_bytes;

	make_members(&m, &t);
	bytes = sfs_index_write(&t, shard_bytes, 0x1122334455667788,
				with_members ? &m : NULL, &n_bytes);
	CHECK_EQ(sfs_index_open(bytes, n_bytes, n_bytes, &index, NULL), 0);
	CHECK_EQ(index.shard_bytes, shard_bytes);
	CHECK_EQ(index.version, 0x1122334455667788);
	CHECK_EQ(index.n_samples, n);
	CHECK_EQ(index.sample_bytes, sfs_sample_table_place(&t, n));
	is_table(&index, &t);
	CHECK_EQ(index.has_members, with_members);
	if (with_members)
		is_members(&index, &m);
	else
		CHECK_EQ(n_bytes, HEADER_BYTES + n * ENTRY_BYTES);
	sfs_members_done(&m);
	sfs_sample_table_done(&t);
}

/* What others read is where the page says. */
static void layout(void)
{
	size_t n;
	sfs_autofree unsigned char *bytes = make_index(2, true, &n);

	CHECK(memcmp(bytes, "SFSINDEX\3\0\0\0\x70\0\0\0", 16) == 0);
	CHECK_EQ(get_number(bytes, AT_VERSION), 77);
	CHECK_EQ(get_number(bytes, AT_N_SAMPLES), 2);
	CHECK_EQ(get_number(bytes, AT_N_MEMBERS), 2);
	CHECK_EQ(get_number(bytes, AT_ORDER_OFFSET), HEADER_BYTES);
	CHECK_EQ(get_number(bytes, AT_ORDER_BYTES), 2 * ENTRY_BYTES);
	CHECK_EQ(get_number(bytes, AT_MEMBERS_OFFSET), HEADER_BYTES + 2 * ENTRY_BYTES);
	CHECK_EQ(get_number(bytes, AT_MEMBERS_BYTES), n - HEADER_BYTES - 2 * ENTRY_BYTES);
	CHECK(memcmp(bytes + n - 10, "d/0.\xff\nd/1.\xff\n" + 2, 10) == 0);
	/* Sealed by the test as by the writer. */
	sfs_autofree unsigned char *again = sfs_malloc(n);
	memcpy(again, bytes, n);
	seal(again, n);
	CHECK(memcmp(bytes, again, n) == 0);
}

int main(void)
{
	static const uint64_t sizes[] = {0, 1, 255, 256, 257, 767, 768, 769, 100000};
	size_t i;

	for (i = 0; i < SFS_COUNT(sizes); i++) {
		round_trip(sizes[i], false);
		round_trip(sizes[i], true);
	}
	layout();
	return 0;
}
