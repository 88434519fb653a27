/* SPDX-License-Identifier: MIT */
/* tars - tars made in memory, header by header, for tests that want just these. */
#ifndef SFS_TESTS_TARS_H
#define SFS_TESTS_TARS_H

#include "tar/entry.h"
#include "tar/rewrite.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 512
#define SMALL_TAR 65536

enum {
	AT_MODE = 100,
	AT_SIZE = 124,
	AT_MTIME = 136,
	AT_SUM = 148,
	AT_TYPE = 156,
	AT_LINK = 157,
	AT_MAGIC = 257,
	AT_PREFIX = 345
};

struct tar {
	unsigned char *bytes;
	size_t n, capacity;
};

static inline void tar_done(struct tar *t)
{
	free(t->bytes);
	*t = (struct tar){0};
}

static inline void tar_reserve(struct tar *t, size_t capacity)
{
	t->bytes = realloc(t->bytes, capacity);
	if (!t->bytes)
		abort();
	t->capacity = capacity;
}

/* n zeros behind what is there; where they begin. */
static inline unsigned char *tar_grow(struct tar *t, size_t n)
{
	/* A small one is no larger than it must be: then a sanitizer sees
	 * who reads beyond. */
	if (t->n + n > t->capacity)
		tar_reserve(t, t->n + n < SMALL_TAR ? t->n + n : 2 * (t->n + n));
	memset(t->bytes + t->n, 0, n);
	t->n += n;
	return t->bytes + t->n - n;
}

/* Write n octal digits; what is behind them stays. */
static inline void tar_octal(unsigned char *to, size_t n, uint64_t value)
{
	for (; n > 0; value >>= 3)
		to[--n] = (unsigned char)('0' + (value & 7));
}

/* Write a header's checksum. */
static inline void tar_sum(unsigned char *block)
{
	unsigned sum = 0, i;

	memset(block + AT_SUM, ' ', 8);
	for (i = 0; i < BLOCK; i++)
		sum += block[i];
	tar_octal(block + AT_SUM, 6, sum);
	block[AT_SUM + 6] = 0;
}

/* A header of mode 0444 and mtime 1500000000; `magic` is "ustar", "gnu" or "v7".  The
 * caller may change it and sum it anew, until the next call. */
static inline unsigned char *tar_header(struct tar *t, const char *magic, char type,
					const char *name, uint64_t size)
{
	unsigned char *block = tar_grow(t, BLOCK);

	memcpy(block, name, strlen(name) < 100 ? strlen(name) : 100);
	strcpy((char *)block + AT_MODE, "0000444");
	tar_octal(block + AT_SIZE, 11, size);
	tar_octal(block + AT_MTIME, 11, 1500000000);
	block[AT_TYPE] = (unsigned char)type;
	if (strcmp(magic, "ustar") == 0)
		memcpy(block + AT_MAGIC, "ustar\00000", 8);
	else if (strcmp(magic, "gnu") == 0)
		memcpy(block + AT_MAGIC, "ustar  ", 8);
	tar_sum(block);
	return block;
}

/* n bytes and their padding. */
static inline void tar_body(struct tar *t, const void *bytes, size_t n)
{
	if (n > 0)
		memcpy(tar_grow(t, (n + BLOCK - 1) / BLOCK * BLOCK), bytes, n);
}

/* A regular file of `size` bytes, all of them `byte`. */
static inline void tar_file(struct tar *t, const char *name, size_t size, int byte)
{
	tar_header(t, "ustar", '0', name, size);
	memset(tar_grow(t, (size + BLOCK - 1) / BLOCK * BLOCK), byte, size);
}

/* An extension: x or g with records, L or K with a name and its NUL. */
static inline void tar_extension(struct tar *t, char type, const char *body, size_t n)
{
	bool is_gnu = type == 'L' || type == 'K';

	tar_header(t, is_gnu ? "gnu" : "ustar", type, is_gnu ? "././@LongLink" : "pax",
		   n);
	tar_body(t, body, n);
}

/* A record's text: "12 path=a/b\n".  `to` has room. */
static inline char *tar_record(char *to, const char *key, const char *value)
{
	size_t n = strlen(key) + strlen(value) + 4, was;

	do {
		was = n;
		n = strlen(key) + strlen(value) + 3 +
		    (size_t)snprintf(NULL, 0, "%zu", was);
	} while (n != was);
	sprintf(to, "%zu %s=%s\n", n, key, value);
	return to;
}

/* A pax extension of one record. */
static inline void tar_pax(struct tar *t, char type, const char *key, const char *value)
{
	char *record = malloc(strlen(key) + strlen(value) + 30);

	tar_record(record, key, value);
	tar_extension(t, type, record, strlen(record));
	free(record);
}

static inline void tar_end(struct tar *t)
{
	tar_grow(t, 2 * BLOCK);
	tar_reserve(t, t->n);
}

/* Rewrite the header group at `bytes`, of which all n are at hand.  0: *ret_entry says
 * what it was; sfs_tar_entry_done() frees it. */
static inline int tar_rewrite(unsigned char *bytes, size_t n, const char *folder,
			      struct sfs_tar_entry *ret_entry, struct sfs_error *err)
{
	int ret = sfs_tar_entry_read(bytes, n, n, ret_entry, err);

	if (ret < 0)
		return ret;
	ret = sfs_rewrite_entry(bytes, ret_entry, folder, err);
	if (ret < 0)
		sfs_tar_entry_done(ret_entry);
	return ret;
}

#endif
