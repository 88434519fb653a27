/* SPDX-License-Identifier: MIT */
/* names - a second reading of a member's name: from docs/ORDER.md, section 6, alone, with
 * none of the code that it is to judge.  libarchive is no judge of names, because it
 * converts them to the locale's character set. */
#ifndef SFS_TESTS_NAMES_H
#define SFS_TESTS_NAMES_H

#include "fuzz.h"

enum { OF_SPARSE_FILE = 1, OF_PATH, OF_GNU, OF_HEADER }; /* the lower one counts */

struct fuzz_name {
	char *s; /* the caller's to free */
	size_t n;
	int rank;
};

static inline void fuzz_name_set(struct fuzz_name *name, int rank, const void *s,
				 size_t n)
{
	if (name->s && rank > name->rank)
		return;
	free(name->s);
	*name = (struct fuzz_name){fuzz_copy(s, n), n, rank};
}

/* Digits in octal, or base-256.  Nonsense gives nonsense. */
static inline size_t fuzz_name_number(const unsigned char *p, int n)
{
	size_t v = *p & 0x80 ? *p & 0x7f : 0;
	int i = *p & 0x80 ? 1 : 0;

	for (; i < n; i++) {
		if (*p & 0x80)
			v = v << 8 | p[i];
		else if (p[i] >= '0' && p[i] <= '7')
			v = v * 8 + (size_t)(p[i] - '0');
		else if (p[i] != ' ')
			break;
	}
	return v;
}

static inline void fuzz_name_record(const char *key, size_t n_key, const char *value,
				    size_t n_value, struct fuzz_name *name)
{
	if (n_key == 15 && memcmp(key, "GNU.sparse.name", 15) == 0)
		fuzz_name_set(name, OF_SPARSE_FILE, value, n_value);
	else if (n_key == 4 && memcmp(key, "path", 4) == 0)
		fuzz_name_set(name, OF_PATH, value, n_value);
}

static inline void fuzz_name_pax(const char *p, const char *end, struct fuzz_name *name)
{
	const char *key, *value;
	size_t n;

	while (p < end && *p) {
		for (n = 0, key = p; key < end && *key >= '0' && *key <= '9';)
			n = n * 10 + (size_t)(*key++ - '0');
		if (n == 0 || n > (size_t)(end - p) || key + 1 >= p + n)
			return;
		key++;
		value = memchr(key, '=', (size_t)(p + n - key));
		if (!value)
			return;
		fuzz_name_record(key, (size_t)(value - key), value + 1,
				 (size_t)(p + n - 1 - (value + 1)), name);
		p += n;
	}
}

static inline void fuzz_name_own(const unsigned char *header, struct fuzz_name *name)
{
	char whole[256];
	size_t n = 0, n_name = strnlen((const char *)header, 100);

	if (memcmp(header + 257, "ustar", 5) == 0 &&
	    memcmp(header + 257, "ustar  ", 8) != 0)
		n = strnlen((const char *)header + 345, 155);
	memcpy(whole, header + 345, n);
	if (n > 0)
		whole[n++] = '/';
	memcpy(whole + n, header, n_name);
	fuzz_name_set(name, OF_HEADER, whole, n + n_name);
}

/* The name of the first member at `bytes`, behind extensions, global headers and labels.
 * Its s is NULL if there is none. */
static inline struct fuzz_name fuzz_name_read(const unsigned char *bytes, size_t n)
{
	struct fuzz_name name = {0};
	const char *body;
	size_t at = 0, size;
	char type;

	for (; at + 512 <= n; at += 512 + (size + 511) / 512 * 512) {
		type = (char)bytes[at + 156];
		if (type == 0 || !strchr("xXLKAgV", type)) {
			fuzz_name_own(bytes + at, &name);
			return name;
		}
		size = type == 'V' ? 0 : fuzz_name_number(bytes + at + 124, 12);
		if (size > n - at - 512)
			break;
		body = (const char *)bytes + at + 512;
		if (type == 'x' || type == 'X')
			fuzz_name_pax(body, body + size, &name);
		else if (type == 'L')
			fuzz_name_set(&name, OF_GNU, body, strnlen(body, size));
	}
	free(name.s);
	return (struct fuzz_name){0};
}

#endif
