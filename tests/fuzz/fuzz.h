/* SPDX-License-Identifier: MIT */
/* fuzz - what the fuzz targets share: the entry that libFuzzer and replay.c call, a
 * check that ends the run, and an input taken in small pieces.
 *
 * Every input does something: past its end it reads as zeros. */
#ifndef SFS_TESTS_FUZZ_H
#define SFS_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* What must hold for any input.  abort() makes libFuzzer keep the input. */
#define MUST(condition)                                                            \
	do {                                                                       \
		if (!(condition)) {                                                \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, \
				#condition);                                       \
			abort();                                                   \
		}                                                                  \
	} while (0)

struct fuzz_in {
	const uint8_t *p;
	size_t n;
};

static inline unsigned fuzz_byte(struct fuzz_in *in)
{
	if (in->n == 0)
		return 0;
	in->n--;
	return *in->p++;
}

/* 0 .. limit - 1 */
static inline uint64_t fuzz_below(struct fuzz_in *in, uint64_t limit)
{
	uint64_t v = fuzz_byte(in), bound = 256;

	for (; bound < limit && in->n > 0; bound *= 256)
		v = v * 256 + fuzz_byte(in);
	return v % limit;
}

/* One time in `times`. */
static inline bool fuzz_once_in(struct fuzz_in *in, unsigned times)
{
	return fuzz_byte(in) % times == times - 1;
}

/* A copy that ends where its bytes end, so that ASan sees one byte too far. */
static inline void *fuzz_copy(const void *bytes, size_t n)
{
	void *p = calloc(1, n > 0 ? n : 1);

	if (!p)
		abort();
	if (n > 0)
		memcpy(p, bytes, n);
	return p;
}

/* The same as a string: it ends at the first NUL, if there is one. */
static inline char *fuzz_string(const void *bytes, size_t n)
{
	const char *nul = n > 0 ? memchr(bytes, 0, n) : NULL;
	size_t length = nul ? (size_t)(nul - (const char *)bytes) : n;
	char *s = malloc(length + 1);

	if (!s)
		abort();
	if (length > 0)
		memcpy(s, bytes, length);
	s[length] = 0;
	return s;
}

/* A file NUMBER.SUFFIX for judge.py in the folder SHUFFLEFS_FUZZ_OUT; NULL: none is
 * wanted. */
static inline FILE *fuzz_open_out(unsigned number, const char *suffix)
{
	const char *folder = getenv("SHUFFLEFS_FUZZ_OUT");
	char path[4096];
	FILE *f;

	if (!folder)
		return NULL;
	snprintf(path, sizeof path, "%s/%06u.%s", folder, number, suffix);
	f = fopen(path, "wb");
	MUST(f);
	return f;
}

/* One line of a .list: size, hash of the data ("?": any), name in hexadecimal. */
static inline void fuzz_list(FILE *f, uint64_t size, const char *hash, const char *name,
			     size_t n_name)
{
	fprintf(f, "%llu %s ", (unsigned long long)size, hash);
	for (; n_name > 0; n_name--)
		fprintf(f, "%02x", (unsigned char)*name++);
	fprintf(f, "\n");
}

#endif
