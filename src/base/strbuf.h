/* SPDX-License-Identifier: MIT */
/* strbuf - a string that grows. */
#ifndef SFS_STRBUF_H
#define SFS_STRBUF_H

#include <stddef.h>
#include <stdint.h>

struct sfs_strbuf {
	char *s;  /* NUL-terminated; NULL until something was added */
	size_t n; /* bytes before the NUL */
	size_t capacity;
};

void sfs_strbuf_done(struct sfs_strbuf *t); /* free it; it is empty then */

void sfs_strbuf_add(struct sfs_strbuf *t, const char *bytes, size_t n);
void sfs_strbuf_puts(struct sfs_strbuf *t, const char *s);
void sfs_strbuf_printf(struct sfs_strbuf *t, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Append s as a JSON string with its quotes (see json-writer.h).  Bytes that are not
 * UTF-8 become U+FFFD, so that the result is always valid JSON (RFC 8259). */
void sfs_strbuf_json(struct sfs_strbuf *t, const char *s);

/* Append s as the value of a label in Prometheus's text format, with its quotes: in UTF-8,
 * as above. */
void sfs_strbuf_label(struct sfs_strbuf *t, const char *s);

/* The length of the UTF-8 character (RFC 3629) at the start of the n bytes of s; 0: there
 * is none. */
size_t sfs_strbuf_utf8(const char *s, size_t n);

/* "64M", "1.5G", "300": a size as a person writes it; returns buf. */
const char *sfs_format_size(uint64_t n_bytes, char buf[32]);

/* How many letters must be changed, added or removed to turn one word into the other,
 * ignoring case (Levenshtein). */
size_t sfs_strbuf_distance(const char *a, const char *b);

#endif
