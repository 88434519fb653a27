/* SPDX-License-Identifier: MIT */
/* How this works: the C library's allocator behind one check.  A process that
 * cannot get a few bytes can neither answer its readers nor say why, so it
 * ends at once; the kernel then gives every reader ENOTCONN. */
#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

static void *check(void *p, size_t n_bytes)
{
	if (p == NULL && n_bytes > 0) {
		fprintf(stderr, "shufflefs: out of memory (%zu bytes)\n", n_bytes);
		abort();
	}
	return p;
}

void *sfs_malloc(size_t n_bytes)
{
	return check(malloc(n_bytes), n_bytes);
}

void *sfs_calloc(size_t n, size_t size)
{
	return check(calloc(n, size), n && size ? n : 0);
}

void *sfs_realloc(void *p, size_t n_bytes)
{
	return check(realloc(p, n_bytes), n_bytes);
}

void *sfs_reallocarray(void *p, size_t n, size_t size)
{
	return check(reallocarray(p, n, size), n && size ? n : 0);
}

void *sfs_make_room(void *memory, size_t *n, size_t wanted, size_t size)
{
	if (*n >= wanted)
		return memory;
	free(memory);
	*n = wanted;
	return sfs_calloc(wanted, size);
}

char *sfs_strdup(const char *s)
{
	return sfs_strndup(s, strlen(s));
}

char *sfs_strndup(const char *s, size_t n)
{
	return check(strndup(s, n), n + 1);
}

char *sfs_asprintf(const char *format, ...)
{
	char *s = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&s, format, args) < 0)
		s = NULL;
	va_end(args);
	return check(s, 1);
}
