/* SPDX-License-Identifier: MIT */
/* How this works
 *
 * Both formats are a header and the elements as they lie in memory, so an array is found
 * and not copied.  ten is read by formats/tenbin.h.  npy's header is a Python dict of
 * three keys; we read what numpy.lib.format writes, keys in any order.  Sizes are
 * multiplied with overflow in mind: the file is whatever the dataset holds.
 */
#include "decode/decode-array.h"

#include "formats/tenbin.h"
#include "ring/layout.h"

#include <errno.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "arrays are little-endian");

/* Bytes of the data by dtype and dims; false: more than a batch may have. */
static bool measure(struct sfs_array *a)
{
	uint32_t i;

	a->n_bytes = sfs_dtype_bytes(a->dtype);
	for (i = 0; i < a->rank; i++)
		if (__builtin_mul_overflow(a->n_bytes, a->dims[i], &a->n_bytes) ||
		    a->n_bytes > SFS_LAYOUT_SLOT_MAX)
			return false;
	return true;
}

static int check_data(struct sfs_array *a, uint64_t n_bytes, struct sfs_error *err)
{
	if (!measure(a))
		return sfs_error_set(err, -EBADMSG, "the array is larger than 4 GiB");
	if (n_bytes < a->n_bytes)
		return sfs_error_set(err, -EBADMSG,
				     "the file ends after %llu of the array's %llu bytes",
				     (unsigned long long)n_bytes,
				     (unsigned long long)a->n_bytes);
	return 0;
}

/* npy */

struct text {
	const char *p, *end;
};

static void skip_spaces(struct text *t)
{
	while (t->p < t->end && strchr(" \t\n\r\f", *t->p) && *t->p)
		t->p++;
}

static bool array_take(struct text *t, const char *word)
{
	size_t n = strlen(word);

	skip_spaces(t);
	if ((size_t)(t->end - t->p) < n || memcmp(t->p, word, n) != 0)
		return false;
	t->p += n;
	return true;
}

/* 'text' or "text"; false: neither, or longer than the room. */
static bool take_string(struct text *t, char *ret_text, size_t room)
{
	const char *end;
	size_t n;

	skip_spaces(t);
	if (t->p == t->end || (*t->p != '\'' && *t->p != '"'))
		return false;
	end = memchr(t->p + 1, *t->p, (size_t)(t->end - t->p - 1));
	n = end ? (size_t)(end - t->p - 1) : room;
	if (n >= room)
		return false;
	memcpy(ret_text, t->p + 1, n);
	ret_text[n] = 0;
	t->p = end + 1;
	return true;
}

static bool take_number(struct text *t, uint64_t *ret_n)
{
	uint64_t n = 0;
	const char *start;

	skip_spaces(t);
	for (start = t->p; t->p < t->end && *t->p >= '0' && *t->p <= '9'; t->p++)
		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(*t->p - '0'), &n))
			return false;
	*ret_n = n;
	return t->p > start;
}

static int read_descr(struct text *t, struct sfs_array *a, struct sfs_error *err)
{
	char descr[sizeof a->dtype + 1];
	bool is_text = take_string(t, descr, sizeof descr);

	if (is_text && descr[0] == '|' && descr[1] == 'O')
		return sfs_error_set(err, -EBADMSG,
				     "it holds Python objects; save an array of numbers");
	if (is_text && descr[0] == '>' && descr[1] && strcmp(descr + 2, "1") != 0)
		return sfs_error_set(
			err, -EBADMSG,
			"its dtype '%s' is big-endian; save it little-endian", descr);
	if (!is_text || !descr[0] || !strchr("<|=>", descr[0]) ||
	    strlen(descr + 1) >= sizeof a->dtype || strncmp(descr + 1, "bf", 2) == 0 ||
	    sfs_dtype_bytes(descr + 1) == 0)
		return sfs_error_set(err, -EBADMSG, "its dtype %s%s%s is not supported",
				     is_text ? "'" : "",
				     is_text ? descr : "of a structure",
				     is_text ? "'" : "");
	strcpy(a->dtype, descr + 1);
	return 0;
}

static int read_shape(struct text *t, struct sfs_array *a, struct sfs_error *err)
{
	if (!array_take(t, "("))
		goto bad;
	a->rank = 0;
	while (!array_take(t, ")")) {
		if (a->rank == SHUFFLEFS_DIMS_MAX - 1)
			return sfs_error_set(err, -EBADMSG,
					     "it has more than %d dimensions",
					     SHUFFLEFS_DIMS_MAX - 1);
		if (!take_number(t, &a->dims[a->rank++]))
			goto bad;
		array_take(t, "L"); /* Python 2 wrote 3L */
		if (!array_take(t, ",") && (t->p == t->end || *t->p != ')'))
			goto bad;
	}
	return 0;
bad:
	return sfs_error_set(err, -EBADMSG, "its npy header has no shape of numbers");
}

static int read_order(struct text *t, struct sfs_error *err)
{
	if (array_take(t, "False"))
		return 0;
	if (array_take(t, "True"))
		return sfs_error_set(
			err, -EBADMSG,
			"its elements are in Fortran order; save it in C order "
			"(numpy.ascontiguousarray)");
	return sfs_error_set(err, -EBADMSG,
			     "its npy header does not say in which order its elements "
			     "are");
}

/* {'descr': '<f4', 'fortran_order': False, 'shape': (3, 32), } */
static int read_dict(struct text t, struct sfs_array *a, struct sfs_error *err)
{
	unsigned seen = 0;
	char key[16];
	int ret = 0;

	if (!array_take(&t, "{"))
		return sfs_error_set(err, -EBADMSG, "its npy header is not a dict");
	while (ret == 0 && !array_take(&t, "}")) {
		if (!take_string(&t, key, sizeof key) || !array_take(&t, ":"))
			return sfs_error_set(err, -EBADMSG, "its npy header is broken");
		if (strcmp(key, "descr") == 0) {
			ret = read_descr(&t, a, err);
			seen |= 1;
		} else if (strcmp(key, "fortran_order") == 0) {
			ret = read_order(&t, err);
			seen |= 2;
		} else if (strcmp(key, "shape") == 0) {
			ret = read_shape(&t, a, err);
			seen |= 4;
		} else {
			ret = sfs_error_set(err, -EBADMSG,
					    "its npy header has the unknown key "
					    "'%s'", key);
		}
		array_take(&t, ",");
	}
	if (ret == 0 && seen != 7)
		ret = sfs_error_set(err, -EBADMSG,
				    "its npy header lacks dtype, order or shape");
	return ret;
}

int sfs_npy_read(const unsigned char *bytes, uint64_t n_bytes,
		 struct sfs_array *ret_array, struct sfs_error *err)
{
	struct sfs_array a = {0};
	uint64_t at, n_header;
	int ret;

	if (n_bytes < 12 || memcmp(bytes, "\x93NUMPY", 6) != 0)
		return sfs_error_set(err, -EBADMSG, "this is not an npy file");
	if (bytes[6] < 1 || bytes[6] > 3)
		return sfs_error_set(err, -EBADMSG,
				     "npy version %u is not known: 1, 2 or 3", bytes[6]);
	n_header = bytes[8] | (unsigned)bytes[9] << 8;
	if (bytes[6] > 1)
		n_header |= (uint64_t)bytes[10] << 16 | (uint64_t)bytes[11] << 24;
	at = bytes[6] > 1 ? 12 : 10;
	if (n_header > n_bytes - at)
		return sfs_error_set(err, -EBADMSG, "the file ends in its npy header");
	ret = read_dict((struct text){(const char *)bytes + at,
				      (const char *)bytes + at + n_header},
			&a, err);
	if (ret == 0)
		ret = check_data(&a, n_bytes - at - n_header, err);
	if (ret < 0)
		return ret;
	a.data = bytes + at + n_header;
	*ret_array = a;
	return 0;
}

/* ten */

/* What tenbin reads is a file of this one array, to its last byte of padding. */
static int check_whole(const struct sfs_tenbin_array *t, uint64_t n_bytes,
		       struct sfs_error *err)
{
	uint64_t n = sfs_tenbin_chunk_bytes(8 * (3 + t->rank)) +
		     sfs_tenbin_chunk_bytes(t->n_bytes);

	if (n_bytes < n)
		return sfs_error_set(err, -EBADMSG, "the file ends in a tensor");
	if (n_bytes > n)
		return sfs_error_set(err, -EBADMSG,
				     "it holds more than one array; a tensor is one");
	return 0;
}

int sfs_ten_read(const unsigned char *bytes, uint64_t n_bytes,
		 struct sfs_array *ret_array, struct sfs_error *err)
{
	struct sfs_tenbin_reader reader = {bytes, n_bytes};
	struct sfs_tenbin_array t;
	struct sfs_array a = {0};
	int ret = sfs_tenbin_next_array(&reader, &t, &a.data, err);

	if (ret == 0)
		return sfs_error_set(err, -EBADMSG, "it holds no tensor ('~TenBin~')");
	if (ret > 0)
		ret = check_whole(&t, n_bytes, err);
	if (ret < 0)
		return ret;
	if (t.rank >= SHUFFLEFS_DIMS_MAX)
		return sfs_error_set(err, -EBADMSG,
				     "its header does not have 0 to %d dimensions",
				     SHUFFLEFS_DIMS_MAX - 1);
	memcpy(a.dtype, t.dtype, sizeof a.dtype); /* (those that it knows are shorter) */
	memcpy(a.dims, t.dims, t.rank * sizeof *t.dims);
	a.rank = t.rank;
	ret = check_data(&a, t.n_bytes, err);
	if (ret == 0)
		*ret_array = a;
	return ret;
}

/* Numbers */

static bool is_space(unsigned char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Of digits only, up to `max`. */
static int read_digits(const unsigned char *p, const unsigned char *end, uint64_t max,
		       uint64_t *ret_n, struct sfs_error *err)
{
	uint64_t n = 0;

	if (p == end)
		return sfs_error_set(err, -EBADMSG, "this is not an integer");
	for (; p < end; p++) {
		if (*p < '0' || *p > '9')
			return sfs_error_set(err, -EBADMSG, "this is not an integer");
		if (n > (max - (uint64_t)(*p - '0')) / 10)
			return sfs_error_set(err, -EBADMSG,
					     "the number does not fit into %s",
					     max >> 32 ? "i8" : "i4 (i8 is larger)");
		n = n * 10 + (uint64_t)(*p - '0');
	}
	*ret_n = n;
	return 0;
}

int sfs_number_read(const unsigned char *bytes, uint64_t n_bytes, const char *dtype,
		    void *row, struct sfs_error *err)
{
	const unsigned char *p = bytes, *end = bytes + n_bytes;
	bool is_short = strcmp(dtype, "i4") == 0, is_negative;
	uint64_t max = is_short ? INT32_MAX : INT64_MAX, n = 0;
	int32_t n32;
	int ret;

	while (p < end && is_space(*p))
		p++;
	while (end > p && is_space(end[-1]))
		end--;
	is_negative = p < end && *p == '-';
	if (p < end && (*p == '-' || *p == '+'))
		p++;
	ret = read_digits(p, end, max + is_negative, &n, err);
	if (ret < 0)
		return ret;
	n = is_negative ? -n : n;
	n32 = (int32_t)n;
	memcpy(row, is_short ? (void *)&n32 : (void *)&n, is_short ? 4 : 8);
	return 0;
}
