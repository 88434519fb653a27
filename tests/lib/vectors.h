/* SPDX-License-Identifier: MIT */
/* vectors - a cursor in the text of published vectors (JSON): names and numbers are
 * taken in the sequence in which they are written. */
#ifndef SFS_TESTS_VECTORS_H
#define SFS_TESTS_VECTORS_H

#include "base/alloc.h"
#include "check.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>

static char *vectors_text, *vectors_at;

/* Begin to read tests/FILE. */
static inline void vectors_load(const char *file)
{
	const char *srcdir = getenv("srcdir");
	sfs_autofree char *path =
		sfs_asprintf("%s/tests/data/%s", srcdir ? srcdir : ".", file);
	FILE *f = fopen(path, "r");
	long n;

	if (!f) {
		perror(path);
		exit(1);
	}
	fseek(f, 0, SEEK_END);
	n = ftell(f);
	rewind(f);
	vectors_at = vectors_text = sfs_calloc((size_t)n + 1, 1);
	CHECK_EQ(fread(vectors_text, 1, (size_t)n, f), n);
	fclose(f);
}

/* Go to what comes next and is no space, comma or brace of an object. */
static inline char vectors_peek(void)
{
	vectors_at += strspn(vectors_at, " \n,{}");
	return *vectors_at;
}

static inline void vectors_done(void)
{
	CHECK_EQ(vectors_peek(), 0);
	free(vectors_text);
}

/* Take the name, which must be next. */
static inline void vectors_name(const char *name)
{
	sfs_autofree char *quoted = sfs_asprintf("\"%s\":", name);

	vectors_peek();
	if (strncmp(vectors_at, quoted, strlen(quoted)) != 0) {
		fprintf(stderr, "no %s at byte %zu of the vectors\n", quoted,
			(size_t)(vectors_at - vectors_text));
		exit(1);
	}
	vectors_at += strlen(quoted);
}

static inline uint64_t vectors_number(void)
{
	char *end;
	uint64_t v;

	CHECK(isdigit((unsigned char)vectors_peek()));
	v = strtoull(vectors_at, &end, 10);
	vectors_at = end;
	return v;
}

static inline uint64_t vectors_named(const char *name)
{
	vectors_name(name);
	return vectors_number();
}

static inline void vectors_open(void)
{
	CHECK_EQ(vectors_peek(), '[');
	vectors_at++;
}

/* Has the list, which is open, one more item?  If not, it is closed. */
static inline bool vectors_more(void)
{
	if (vectors_peek() != ']')
		return true;
	vectors_at++;
	return false;
}

/* Take the list of numbers that is next; the caller frees them. */
static inline uint64_t *vectors_list(size_t *ret_n)
{
	uint64_t *numbers = NULL;
	size_t n = 0;

	vectors_open();
	while (vectors_more()) {
		numbers = sfs_reallocarray(numbers, n + 1, sizeof *numbers);
		numbers[n++] = vectors_number();
	}
	*ret_n = n;
	return numbers;
}

#endif
