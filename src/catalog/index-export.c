/* SPDX-License-Identifier: MIT */
#include "catalog/index-export.h"

#include "tar/key.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

void sfs_index_export_done(struct sfs_index_export *export)
{
	sfs_strbuf_done(&export->lines);
	sfs_strbuf_done(&export->key);
	export->n_samples = 0;
}

/* C++'s >> ends a word at what isspace() says; a NUL would end a reader's string. */
static bool is_word(const char *s, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (isspace((unsigned char)s[i]) || s[i] == 0)
			return false;
	return n > 0;
}

/* Begin the word of a member that has this key: in a new line if the key is new. */
static void begin(struct sfs_index_export *d, const char *key, size_t n)
{
	if (d->n_samples > 0 && d->key.n == n && memcmp(d->key.s, key, n) == 0) {
		sfs_strbuf_puts(&d->lines, " ");
		return;
	}
	if (d->n_samples > 0)
		sfs_strbuf_puts(&d->lines, "\n");
	d->n_samples++;
	d->key.n = 0;
	sfs_strbuf_add(&d->key, key, n);
}

int sfs_index_export_add(struct sfs_index_export *export, const char *name, size_t n,
			 uint64_t data, uint64_t n_bytes, struct sfs_error *err)
{
	size_t n_key = sfs_key_length(name, n);

	if (n_key == 0)
		return 0;
	if (!is_word(name, n) || n_key + 1 == n)
		return sfs_error_set(err, -EILSEQ,
				     "a DALI index cannot contain the name '%.*s'",
				     (int)n, name);
	begin(export, name, n_key);
	sfs_strbuf_add(&export->lines, name + n_key + 1, n - n_key - 1);
	sfs_strbuf_printf(&export->lines, " %" PRIu64 " %" PRIu64 " ", data, n_bytes);
	sfs_strbuf_add(&export->lines, name, n);
	return 0;
}

int sfs_index_export_print(struct sfs_index_export *export, struct sfs_strbuf *ret,
			   struct sfs_error *err)
{
	char head[40];
	size_t n;

	if (export->n_samples == 0)
		return sfs_error_set(
			err, -ENODATA,
			"the shard has no samples, and a DALI index cannot be "
			"empty");
	n = (size_t)snprintf(head, sizeof head, "v1.2 %" PRIu64 "\n", export->n_samples);
	*ret = export->lines;
	export->lines = (struct sfs_strbuf){0};
	sfs_strbuf_puts(ret, "\n");
	sfs_strbuf_add(ret, head, n); /* room for it */
	memmove(ret->s + n, ret->s, ret->n - n);
	memcpy(ret->s, head, n);
	return 0;
}
