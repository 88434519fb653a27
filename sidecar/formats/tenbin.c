/* SPDX-License-Identifier: MIT */
/* How this works: a header is 3 + rank words: the dtype as text, the name as text, the
 * rank, the dimensions.  Everything that is read was checked against what is there
 * before: lengths are never added or multiplied where that could overflow. */
#include "formats/tenbin.h"

#include "base/alloc.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#define ALIGN 64

static const char magic[8] = {'~', 'T', 'e', 'n', 'B', 'i', 'n', '~'};

static const struct {
	const char *name;
	uint32_t n_bytes;
	bool is_ours; /* Tensorcom has none */
} dtypes[] = {{"b1", 1, true},	{"bf2", 2, true}, {"f2", 2, false}, {"f4", 4, false},
	      {"f8", 8, false}, {"i1", 1, false}, {"i2", 2, false}, {"i4", 4, false},
	      {"i8", 8, false}, {"u1", 1, false}, {"u2", 2, false}, {"u4", 4, true},
	      {"u8", 8, false}};

static uint32_t item_bytes(const char *dtype)
{
	size_t i;

	for (i = 0; i < SFS_COUNT(dtypes); i++)
		if (strcmp(dtypes[i].name, dtype) == 0)
			return dtypes[i].n_bytes;
	return 0;
}

bool sfs_tenbin_has_dtype(const char *dtype)
{
	size_t i;

	for (i = 0; i < SFS_COUNT(dtypes); i++)
		if (strcmp(dtypes[i].name, dtype) == 0)
			return !dtypes[i].is_ours;
	return false;
}

static void put_word(unsigned char *p, uint64_t n)
{
	n = htole64(n);
	memcpy(p, &n, sizeof n);
}

static uint64_t get_word(const unsigned char *p)
{
	uint64_t n;

	memcpy(&n, p, sizeof n);
	return le64toh(n);
}

size_t sfs_tenbin_write_header(const struct sfs_tenbin_array *array,
			       unsigned char ret_header[SFS_TENBIN_HEADER_MAX])
{
	uint32_t i;

	memcpy(ret_header, array->dtype, 8);
	memcpy(ret_header + 8, array->name, 8);
	put_word(ret_header + 16, array->rank);
	for (i = 0; i < array->rank; i++)
		put_word(ret_header + 24 + (size_t)8 * i, array->dims[i]);
	return (size_t)8 * (3 + array->rank);
}

/* Text of 8 bytes that ends at the first NUL: what lies behind it is NUL as well. */
static bool get_text(const unsigned char *p, char ret_text[9])
{
	size_t i, n = strnlen((const char *)p, 8);

	for (i = 0; i < 8; i++)
		if (i < n ? p[i] <= ' ' || p[i] >= 0x7f : p[i] != 0)
			return false;
	memcpy(ret_text, p, 8);
	ret_text[8] = 0;
	return true;
}

int sfs_tenbin_read_header(const unsigned char *bytes, uint64_t n_bytes,
			   struct sfs_tenbin_array *ret_array, struct sfs_error *err)
{
	struct sfs_tenbin_array a = {0};
	uint64_t rank;
	uint32_t i;

	if (n_bytes < 24 || n_bytes > SFS_TENBIN_HEADER_MAX)
		return sfs_error_set(err, -EBADMSG,
				     "an array's header of %llu bytes: it has 24 to %zu",
				     (unsigned long long)n_bytes, SFS_TENBIN_HEADER_MAX);
	if (!get_text(bytes, a.dtype) || item_bytes(a.dtype) == 0)
		return sfs_error_set(err, -EBADMSG,
				     "an array's header without a known dtype");
	if (!get_text(bytes + 8, a.name))
		return sfs_error_set(err, -EBADMSG, "an array's name that is not text");
	rank = get_word(bytes + 16);
	if (rank > SFS_TENBIN_RANK_MAX || n_bytes != 8 * (3 + rank))
		return sfs_error_set(err, -EBADMSG,
				     "an array's header of %llu bytes for rank %llu",
				     (unsigned long long)n_bytes,
				     (unsigned long long)rank);
	a.rank = (uint32_t)rank;
	a.n_bytes = item_bytes(a.dtype);
	for (i = 0; i < a.rank; i++) {
		a.dims[i] = get_word(bytes + 24 + (size_t)8 * i);
		if (a.dims[i] > INT64_MAX ||
		    (a.n_bytes && a.dims[i] > INT64_MAX / a.n_bytes))
			return sfs_error_set(err, -EBADMSG,
					     "an array's dimension %llu is too large",
					     (unsigned long long)a.dims[i]);
		a.n_bytes *= a.dims[i];
	}
	*ret_array = a;
	return 0;
}

static uint64_t padding(uint64_t n)
{
	return (ALIGN - n % ALIGN) % ALIGN;
}

uint64_t sfs_tenbin_chunk_bytes(uint64_t n)
{
	return SFS_TENBIN_PRELUDE_BYTES + n + padding(n);
}

unsigned char *sfs_tenbin_write_chunk(unsigned char *p, const void *body, uint64_t n)
{
	memcpy(p, magic, sizeof magic);
	put_word(p + sizeof magic, n);
	p += SFS_TENBIN_PRELUDE_BYTES;
	memcpy(p, body, n);
	memset(p + n, 0, padding(n));
	return p + n + padding(n);
}

int sfs_tenbin_next_chunk(struct sfs_tenbin_reader *reader,
			  const unsigned char **ret_body, uint64_t *ret_n,
			  struct sfs_error *err)
{
	const unsigned char *body = reader->bytes + SFS_TENBIN_PRELUDE_BYTES;
	uint64_t n, n_left;

	if (reader->n_bytes == 0)
		return 0;
	if (reader->n_bytes < SFS_TENBIN_PRELUDE_BYTES ||
	    memcmp(reader->bytes, magic, sizeof magic) != 0)
		return sfs_error_set(err, -EBADMSG, "no '~TenBin~' before a chunk");
	n = get_word(reader->bytes + sizeof magic);
	n_left = reader->n_bytes - SFS_TENBIN_PRELUDE_BYTES;
	if (n > n_left)
		return sfs_error_set(err, -EBADMSG,
				     "a chunk of %llu bytes, of which %llu are there",
				     (unsigned long long)n, (unsigned long long)n_left);
	n_left -= n;
	*ret_body = body;
	*ret_n = n;
	reader->bytes = body + n + (padding(n) < n_left ? padding(n) : n_left);
	reader->n_bytes = n_left - (padding(n) < n_left ? padding(n) : n_left);
	return 1;
}

int sfs_tenbin_next_array(struct sfs_tenbin_reader *reader,
			  struct sfs_tenbin_array *ret_array,
			  const unsigned char **ret_data, struct sfs_error *err)
{
	const unsigned char *header, *data;
	struct sfs_tenbin_array array;
	uint64_t n_header, n_data;
	int ret;

	ret = sfs_tenbin_next_chunk(reader, &header, &n_header, err);
	if (ret <= 0)
		return ret;
	ret = sfs_tenbin_read_header(header, n_header, &array, err);
	if (ret < 0)
		return ret;
	ret = sfs_tenbin_next_chunk(reader, &data, &n_data, err);
	if (ret < 0)
		return ret;
	if (ret == 0)
		return sfs_error_set(err, -EBADMSG, "an array's header without its data");
	if (n_data != array.n_bytes)
		return sfs_error_set(err, -EBADMSG,
				     "an array of %llu bytes, where its header says %llu",
				     (unsigned long long)n_data,
				     (unsigned long long)array.n_bytes);
	*ret_array = array;
	*ret_data = data;
	return 1;
}
