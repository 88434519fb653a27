/* SPDX-License-Identifier: MIT */
/* How this works: one pass over the block adds it up as 64-bit words for the checksum;
 * then the fields are read at their offsets.  A header is FILE only if every field that
 * we or a reader of the stream depend on has its plain form; in doubt it is ODD and
 * entry.c decides.  A differential fuzz test (tests/fuzz/fuzz-tar-differential.c)
 * compares both with libarchive. */
#include "tar/header.h"

#include <string.h>

enum {
	MODE = 100,
	MODE_BYTES = 8,
	MTIME = 136,
	MTIME_BYTES = 12,
	CHECKSUM = 148,
};

bool sfs_tar_is_zero(const unsigned char *p, size_t n)
{
	return n == 0 || (p[0] == 0 && memcmp(p, p + 1, n - 1) == 0);
}

/* The sum of all bytes, with blanks in the checksum field. */
static unsigned sum_block(const unsigned char *block)
{
	unsigned sum = 8 * ' ', i;

	for (i = 0; i < SFS_TAR_BLOCK; i++)
		sum += block[i];
	for (i = 0; i < 8; i++)
		sum -= block[CHECKSUM + i];
	return sum;
}

/* Some old tars added signed bytes. */
static int sum_block_signed(const unsigned char *block)
{
	int sum = (int)sum_block(block), i;

	for (i = 0; i < SFS_TAR_BLOCK; i++)
		if (block[i] > 127 && (i < CHECKSUM || i >= CHECKSUM + 8))
			sum -= 256;
	return sum;
}

/* Octal digits, perhaps after blanks, ended by a blank, a NUL or the field. */
static bool read_octal(const unsigned char *p, size_t n, uint64_t *ret)
{
	uint64_t v = 0;
	size_t i = 0, first;

	while (i < n && p[i] == ' ')
		i++;
	first = i;
	for (; i < n && p[i] >= '0' && p[i] <= '7'; i++)
		v = v * 8 + (uint64_t)(p[i] - '0');
	if (i == first || (i < n && p[i] != 0 && p[i] != ' '))
		return false;
	*ret = v;
	return true;
}

/* GNU's base-256: the top bit marks it, the rest is a big-endian number. */
static bool read_base256(const unsigned char *p, size_t n, uint64_t *ret)
{
	uint64_t v = p[0] & 0x7f;
	size_t i;

	if (p[0] != 0x80)
		return false; /* negative or larger than 2^63 */
	for (i = 1; i < n; i++) {
		if (v >> 55)
			return false;
		v = v << 8 | p[i];
	}
	*ret = v;
	return true;
}

bool sfs_tar_number(const unsigned char *field, size_t n, uint64_t *ret)
{
	return read_octal(field, n, ret) || read_base256(field, n, ret);
}

int64_t sfs_tar_mtime(const unsigned char *block)
{
	const unsigned char *field = block + MTIME;
	uint64_t v = 0;
	int i;

	if (sfs_tar_number(field, MTIME_BYTES, &v))
		return (int64_t)v;
	if (field[0] != 0xff)
		return 0;
	for (i = MTIME_BYTES - 8; i < MTIME_BYTES; i++) /* base 256, before 1970 */
		v = v << 8 | field[i];
	return (int64_t)v;
}

uint32_t sfs_tar_mode(const unsigned char *block)
{
	uint64_t mode;

	return sfs_tar_number(block + MODE, MODE_BYTES, &mode) ? mode & 07777 : 0;
}

bool sfs_tar_has_prefix(const unsigned char *block)
{
	return memcmp(block + SFS_TAR_MAGIC, "ustar\00000", 8) == 0;
}

bool sfs_tar_is_gnu(const unsigned char *block)
{
	return memcmp(block + SFS_TAR_MAGIC, "ustar  ", 8) == 0;
}

bool sfs_tar_has_gnu_map(const unsigned char *block)
{
	enum { MAP = 386, REALSIZE = 483 };

	return sfs_tar_is_gnu(block) && (block[MAP] || block[REALSIZE]);
}

/* libarchive takes nothing else in the field of the checksum. */
static bool is_octal_or_blank(const unsigned char *p, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (p[i] != 0 && p[i] != ' ' && (p[i] < '0' || p[i] > '7'))
			return false;
	return true;
}

static bool has_right_checksum(const unsigned char *block)
{
	uint64_t stored;

	if (!is_octal_or_blank(block + CHECKSUM, 8) ||
	    !read_octal(block + CHECKSUM, 8, &stored))
		return false;
	return stored == sum_block(block) || (int64_t)stored == sum_block_signed(block);
}

/* Is it a plain regular file?  Fills *h if so. */
static bool look_plain(const unsigned char *block, struct sfs_tar_header *h)
{
	const unsigned char *name = block + SFS_TAR_NAME;
	size_t n_name = strnlen((const char *)name, SFS_TAR_NAME_BYTES);
	uint64_t mtime, mode;

	if (h->type != '0' && h->type != 0)
		return false;
	if (n_name == 0 || name[n_name - 1] == '/')
		return false; /* in old tars, a folder */
	if (!sfs_tar_has_prefix(block) &&
	    (!sfs_tar_is_gnu(block) || sfs_tar_has_gnu_map(block)))
		return false;
	if (!read_octal(block + SFS_TAR_SIZE, 12, &h->size) || h->size >> 33 ||
	    !read_octal(block + MTIME, 12, &mtime) || !read_octal(block + MODE, 8, &mode))
		return false;
	h->mtime = (int64_t)mtime;
	h->mode = (uint32_t)mode & 07777;
	return true;
}

struct sfs_tar_header sfs_tar_look(const unsigned char *block)
{
	struct sfs_tar_header h = {.kind = SFS_TAR_ODD,
				   .type = (char)block[SFS_TAR_TYPE]};

	if (block[0] == 0 && sfs_tar_is_zero(block, SFS_TAR_BLOCK)) {
		h.kind = SFS_TAR_ZERO;
		return h;
	}
	if (!has_right_checksum(block)) {
		h.kind = SFS_TAR_BAD;
		return h;
	}
	if (h.type != 0 && strchr("xXLKAg", h.type)) {
		h.kind = h.type == 'g' ? SFS_TAR_GLOBAL : SFS_TAR_EXTENSION;
		if (!sfs_tar_number(block + SFS_TAR_SIZE, SFS_TAR_SIZE_BYTES, &h.size))
			h.kind = SFS_TAR_BAD;
		return h;
	}
	if (look_plain(block, &h))
		h.kind = SFS_TAR_FILE;
	return h;
}

/* Other dialects have the field too, whatever version they name; GNU has times and sparse
 * maps there. */
static bool has_any_prefix(const unsigned char *block)
{
	return memcmp(block + SFS_TAR_MAGIC, "ustar", 5) == 0 && !sfs_tar_is_gnu(block);
}

size_t sfs_tar_name(const unsigned char *block, char *buf)
{
	const char *name = (const char *)block + SFS_TAR_NAME;
	const char *prefix = (const char *)block + SFS_TAR_PREFIX;
	size_t n_name = strnlen(name, SFS_TAR_NAME_BYTES), n = 0;

	if (has_any_prefix(block) && *prefix) {
		n = strnlen(prefix, SFS_TAR_PREFIX_BYTES);
		memcpy(buf, prefix, n);
		buf[n++] = '/';
	}
	memcpy(buf + n, name, n_name);
	return n + n_name;
}

void sfs_tar_seal(unsigned char *block)
{
	unsigned sum = sum_block(block);
	int i;

	/* Six octal digits, a NUL, a blank, as every tar writes it. */
	for (i = 5; i >= 0; i--, sum >>= 3)
		block[CHECKSUM + i] = (unsigned char)('0' + (sum & 7));
	block[CHECKSUM + 6] = 0;
	block[CHECKSUM + 7] = ' ';
}
