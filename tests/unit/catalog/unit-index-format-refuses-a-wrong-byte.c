/* SPDX-License-Identifier: MIT */
/* An index with a wrong byte, one too few or too many, in another version or of a
 * foreign kind is refused with a sentence; so is one that lies under right checksums. */
#include "base/alloc.h"
#include "made-indexes.h"

#include <errno.h>

#define N 5

static struct {
	unsigned char *bytes;
	size_t n;
	size_t members; /* where they begin */
} good;

/* Open a copy of just n bytes; the members too, if they are not refused before. */
static int open_copy(const unsigned char *bytes, size_t n, struct sfs_error *err)
{
	sfs_autofree unsigned char *copy = sfs_malloc(n > 0 ? n : 1);
	struct sfs_index index = {.n_samples = 99};
	struct sfs_members members = {.n = 99};
	int ret;

	memcpy(copy, bytes, n);
	ret = sfs_index_open(copy, n, n, &index, err);
	CHECK(ret == 0 || index.n_samples == 99);
	if (ret < 0 || !index.has_members)
		return ret;
	ret = sfs_index_members(&index, &members, err);
	CHECK(ret == 0 || members.n == 99);
	return ret;
}

static void is_refused(const unsigned char *bytes, size_t n, int wanted)
{
	struct sfs_error err = {0};
	int ret = open_copy(bytes, n, &err);

	CHECK(ret < 0 && err.text[0]);
	CHECK(wanted == 0 || ret == wanted);
}

static void every_byte(void)
{
	size_t i;
	int bit;

	for (i = 0; i < good.n; i++) {
		for (bit = 0; bit < 8; bit++) {
			good.bytes[i] ^= (unsigned char)(1 << bit);
			is_refused(good.bytes, good.n, i / 4 == 2 ? 0 : -EBADMSG);
			good.bytes[i] ^= (unsigned char)(1 << bit);
		}
		good.bytes[i] = (unsigned char)~good.bytes[i];
		is_refused(good.bytes, good.n, 0);
		good.bytes[i] = (unsigned char)~good.bytes[i];
	}
}

static void every_length(void)
{
	sfs_autofree unsigned char *longer = sfs_calloc(good.n + 64, 1);
	size_t n;

	memcpy(longer, good.bytes, good.n);
	for (n = 0; n < good.n + 64; n++)
		if (n != good.n)
			is_refused(longer, n, -EBADMSG);
	/* Torn: the last blocks were never written. */
	for (n = 0; n < good.n; n++) {
		memcpy(longer, good.bytes, good.n);
		memset(longer + n, 0, good.n - n);
		if (memcmp(longer, good.bytes, good.n) != 0)
			is_refused(longer, good.n, 0);
	}
}

/* The members' part is damaged: the samples can be used still. */
static void members_alone(void)
{
	sfs_autofree unsigned char *copy = sfs_malloc(good.n);
	struct sfs_members members;
	struct sfs_index index;

	memcpy(copy, good.bytes, good.n);
	copy[good.members + 3] ^= 1;
	CHECK_EQ(sfs_index_open(copy, good.n, good.n, &index, NULL), 0);
	CHECK_EQ(index.n_samples, N);
	CHECK_EQ(sfs_index_members(&index, &members, NULL), -EBADMSG);
}

static void foreign(void)
{
	struct sfs_error err = {0};
	unsigned char other[200] = "v1.2 100";
	size_t n;

	is_refused((const unsigned char *)"", 0, -EBADMSG);
	is_refused(other, sizeof other, -EBADMSG);
	good.bytes[AT_FORMAT] = 1; /* an older one */
	n = HEADER_BYTES;
	CHECK_EQ(open_copy(good.bytes, n, &err), -EPROTONOSUPPORT);
	CHECK_HAS(err.text, "version 1");
	good.bytes[AT_FORMAT] = SFS_INDEX_VERSION;
}

/* ---- lies ---- */

/* Another number, and all checksums right. */
static void lie(size_t at, uint64_t number)
{
	sfs_autofree unsigned char *copy = sfs_malloc(good.n);

	memcpy(copy, good.bytes, good.n);
	CHECK(get_number(copy, at) != number);
	put_number(copy, at, number);
	seal(copy, good.n);
	is_refused(copy, good.n, -EBADMSG);
}

static void header_lies(void)
{
	static const uint64_t numbers[] = {0,	       1,	   16,	       112,
					   N - 1,      N + 1,	   1u << 31,   1ULL << 32,
					   1ULL << 40, 1ULL << 60, UINT64_MAX, 1ULL << 63,
					   -(16ULL),   1ULL << 41};
	static const size_t fields[] = {AT_N_SAMPLES,	 AT_SAMPLE_BYTES,
					AT_N_MEMBERS,	 AT_ORDER_OFFSET,
					AT_ORDER_BYTES,	 AT_MEMBERS_OFFSET,
					AT_MEMBERS_BYTES};
	size_t i, k;

	for (i = 0; i < SFS_COUNT(fields); i++)
		for (k = 0; k < SFS_COUNT(numbers); k++)
			if (get_number(good.bytes, fields[i]) != numbers[k])
				lie(fields[i], numbers[k]);
	lie(AT_SHARD_BYTES, 0);
	lie(AT_SHARD_BYTES, 512);
	lie(AT_SHARD_BYTES, SFS_SAMPLE_TABLE_SHARD_MAX + 1);
	lie(AT_SHARD_BYTES, UINT64_MAX);
	lie(AT_SAMPLE_BYTES, get_number(good.bytes, AT_SAMPLE_BYTES) + 512);
	lie(AT_FORMAT, SFS_INDEX_VERSION | 96ULL << 32); /* the header's length */
}

static void sample_lies(void)
{
	uint64_t first = get_number(good.bytes, HEADER_BYTES);
	uint64_t second = get_number(good.bytes, HEADER_BYTES + ENTRY_BYTES);

	lie(HEADER_BYTES, second); /* twice the same */
	lie(HEADER_BYTES + ENTRY_BYTES, first);
	lie(HEADER_BYTES, first & UINT32_MAX);		/* of no length */
	lie(HEADER_BYTES, first | 0xffffffffULL << 32); /* longer than all */
	lie(HEADER_BYTES, first | 0x7fffffff);		/* beyond the end */
	lie(HEADER_BYTES + (N - 1) * ENTRY_BYTES, 0x7fffffff | 1ULL << 63);
}

/* No members, but something where they were. */
static void no_members(void)
{
	size_t n;
	sfs_autofree unsigned char *bytes = make_index(N, false, &n);

	CHECK_EQ(open_copy(bytes, n, NULL), 0);
	put_number(bytes, AT_N_MEMBERS, 1);
	seal(bytes, n);
	is_refused(bytes, n, -EBADMSG);
	put_number(bytes, AT_N_MEMBERS, 0);
	put_number(bytes, AT_MEMBERS_OFFSET, n);
	seal(bytes, n);
	is_refused(bytes, n, -EBADMSG);
	put_number(bytes, AT_MEMBERS_OFFSET, 0);
	put_number(bytes, AT_MEMBERS_SUM, 1);
	seal(bytes, n);
	is_refused(bytes, n, -EBADMSG);
}

int main(void)
{
	good.bytes = make_index(N, true, &good.n);
	good.members = HEADER_BYTES + N * ENTRY_BYTES;
	CHECK_EQ(open_copy(good.bytes, good.n, NULL), 0);
	every_byte();
	every_length();
	members_alone();
	foreign();
	header_lies();
	sample_lies();
	no_members();
	CHECK_EQ(open_copy(good.bytes, good.n, NULL), 0);
	free(good.bytes);
	return 0;
}
