/* SPDX-License-Identifier: MIT */
/* How this works: a header, the entries of a table, and perhaps members, end to end.  The
 * header says where each part is, although only one layout is possible, so that people
 * and other programs can read the file; open() accepts only that layout.
 *
 * There are three checksums: of the header, so that sizes are checked before they are
 * used; of the order part, which every user reads; and of the members, which few need. */
#include "catalog/index-format.h"

#include "base/alloc.h"
#include "base/checksum.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "indexes are used as they are stored: little endian"
#endif

static const char magic[8] = "SFSINDEX";

struct header {
	char magic[8];
	uint32_t format; /* SFS_INDEX_VERSION */
	uint32_t header_bytes;
	uint64_t shard_bytes, version;
	uint64_t n_samples, sample_bytes, n_members;
	uint64_t order_offset, order_bytes;
	uint64_t members_offset, members_bytes; /* both 0: without members */
	uint64_t order_checksum, members_checksum;
	uint64_t checksum; /* of all before it */
};
_Static_assert(sizeof(struct header) == SFS_INDEX_HEADER_BYTES, "a multiple of 16");

static uint64_t checksum_of(const struct header *h)
{
	return sfs_checksum(h, offsetof(struct header, checksum));
}

/* ---- reading ---- */

bool sfs_index_begins_so(const void *bytes, size_t n)
{
	return n == 0 || memcmp(bytes, magic, n < sizeof magic ? n : sizeof magic) == 0;
}

static int bad(struct sfs_error *err, const char *what)
{
	return sfs_error_set(err, -EBADMSG, "not a usable index: %s", what);
}

static int read_header(const void *bytes, size_t n, struct header *ret,
		       struct sfs_error *err)
{
	if (n < sizeof *ret)
		return bad(err, "shorter than a header");
	memcpy(ret, bytes, sizeof *ret);
	if (memcmp(ret->magic, magic, sizeof magic) != 0)
		return bad(err, "it does not begin with SFSINDEX");
	if (ret->format != SFS_INDEX_VERSION)
		return sfs_error_set(err, -EPROTONOSUPPORT, "format version %u, not %d",
				     ret->format, SFS_INDEX_VERSION);
	if (ret->checksum != checksum_of(ret))
		return bad(err, "wrong checksum of the header");
	return 0;
}

/* The maximum size of the members part. */
static uint64_t members_bytes_max(uint64_t shard_bytes)
{
	return sfs_members_stored_max(shard_bytes / SFS_TAR_BLOCK, shard_bytes);
}

uint64_t sfs_index_bytes_max(uint64_t shard_bytes)
{
	if (shard_bytes > SFS_SAMPLE_TABLE_SHARD_MAX)
		return 0;
	return sizeof(struct header) +
	       shard_bytes / SFS_TAR_BLOCK * SFS_SAMPLE_TABLE_ENTRY_BYTES +
	       members_bytes_max(shard_bytes);
}

/* Is each part where it must be, without gaps? */
static bool is_laid_out(const struct header *h, uint64_t n)
{
	bool has_members = h->members_bytes > 0;

	if (h->header_bytes != sizeof *h || h->shard_bytes > SFS_SAMPLE_TABLE_SHARD_MAX)
		return false;
	if (h->n_samples > h->shard_bytes / SFS_TAR_BLOCK ||
	    h->order_offset != sizeof *h ||
	    h->order_bytes != h->n_samples * SFS_SAMPLE_TABLE_ENTRY_BYTES ||
	    h->order_bytes > n - sizeof *h)
		return false;
	if (!has_members && (h->n_members > 0 || h->members_checksum > 0))
		return false;
	if (h->n_members > h->shard_bytes / SFS_TAR_BLOCK ||
	    h->members_bytes > members_bytes_max(h->shard_bytes))
		return false;
	return h->members_offset == (has_members ? sizeof *h + h->order_bytes : 0) &&
	       h->members_bytes == n - sizeof *h - h->order_bytes;
}

static int check_order(const struct header *h,
		       const struct sfs_sample_table_entry *entries,
		       struct sfs_error *err)
{
	struct sfs_sample_table table = {0};
	uint64_t sum;

	if (sfs_checksum(entries, h->order_bytes) != h->order_checksum)
		return bad(err, "wrong checksum of the samples");
	if (!sfs_sample_table_is_sound(entries, h->n_samples, h->shard_bytes))
		return bad(err, "impossible samples");
	sfs_sample_table_borrow(&table, entries, h->n_samples);
	sum = sfs_sample_table_place(&table, h->n_samples);
	sfs_sample_table_done(&table);
	return sum == h->sample_bytes ? 0 : bad(err, "wrong sum of sample sizes");
}

static int look(const void *bytes, size_t first, uint64_t n_file, struct header *ret,
		struct sfs_error *err)
{
	int code = read_header(bytes, first < n_file ? first : (size_t)n_file, ret, err);

	if (code == 0 && !is_laid_out(ret, n_file))
		code = bad(err, "wrong sizes (cut off?)");
	return code;
}

static struct sfs_index index_of(const struct header *h)
{
	return (struct sfs_index){
		.shard_bytes = h->shard_bytes,
		.version = h->version,
		.n_samples = h->n_samples,
		.sample_bytes = h->sample_bytes,
		.n_members = h->n_members,
		.has_members = h->members_bytes > 0,
		.order_end = sizeof *h + h->order_bytes,
		.members_bytes = h->members_bytes,
		.members_checksum = h->members_checksum,
	};
}

int sfs_index_look(const void *bytes, size_t first, uint64_t n_file,
		   struct sfs_index *ret_index, struct sfs_error *err)
{
	struct header h;
	int ret = look(bytes, first, n_file, &h, err);

	if (ret == 0)
		*ret_index = index_of(&h);
	return ret;
}

int sfs_index_open(const void *bytes, size_t n, uint64_t n_file,
		   struct sfs_index *ret_index, struct sfs_error *err)
{
	struct sfs_index index;
	struct header h;
	int ret;

	assert((uintptr_t)bytes % 8 == 0);
	ret = look(bytes, n, n_file, &h, err);
	if (ret < 0)
		return ret;
	index = index_of(&h);
	assert(n == n_file || n == index.order_end);
	index.entries = (const void *)((const char *)bytes + h.order_offset);
	ret = check_order(&h, index.entries, err);
	if (ret < 0)
		return ret;

	index.has_members = index.has_members && n == n_file;
	if (index.has_members)
		index.members = (const char *)bytes + h.members_offset;
	*ret_index = index;
	return 0;
}

int sfs_index_members(const struct sfs_index *index, struct sfs_members *ret_members,
		      struct sfs_error *err)
{
	int ret;

	assert(index->has_members);
	if (sfs_checksum(index->members, index->members_bytes) != index->members_checksum)
		return bad(err, "wrong checksum of the members");
	ret = sfs_members_borrow(index->members, index->members_bytes, index->n_members,
				 index->shard_bytes, ret_members, err);
	return ret < 0 ? sfs_error_wrap(err, ret, "not a usable index") : 0;
}

/* ---- writing ---- */

static struct header header_of(const struct sfs_sample_table *table,
			       const struct sfs_members *members)
{
	uint64_t n = sfs_sample_table_n(table);
	struct header h = {
		.format = SFS_INDEX_VERSION,
		.header_bytes = sizeof h,
		.n_samples = n,
		.sample_bytes = sfs_sample_table_place(table, n),
		.order_offset = sizeof h,
		.order_bytes = n * SFS_SAMPLE_TABLE_ENTRY_BYTES,
	};

	memcpy(h.magic, magic, sizeof magic);
	if (members) {
		h.n_members = members->n;
		h.members_offset = sizeof h + h.order_bytes;
		h.members_bytes = sfs_members_stored_bytes(members);
	}
	return h;
}

void *sfs_index_write(const struct sfs_sample_table *table, uint64_t shard_bytes,
		      uint64_t version, const struct sfs_members *members, size_t *ret_n)
{
	struct header h = header_of(table, members);
	size_t n = sizeof h + h.order_bytes + h.members_bytes;
	char *bytes = sfs_malloc(n);

	assert(sfs_sample_table_state(table) == SFS_SAMPLE_TABLE_WHOLE);
	h.shard_bytes = shard_bytes;
	h.version = version;
	sfs_sample_table_copy(table, h.n_samples, bytes + h.order_offset);
	h.order_checksum = sfs_checksum(bytes + h.order_offset, h.order_bytes);
	if (members) {
		sfs_members_store(members, bytes + h.members_offset);
		h.members_checksum =
			sfs_checksum(bytes + h.members_offset, h.members_bytes);
	}
	h.checksum = checksum_of(&h);
	memcpy(bytes, &h, sizeof h);
	*ret_n = n;
	return bytes;
}
