/* SPDX-License-Identifier: MIT */
#include "base/strbuf.h"

#include "base/alloc.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

void sfs_strbuf_done(struct sfs_strbuf *t)
{
	free(t->s);
	*t = (struct sfs_strbuf){0};
}

static void reserve(struct sfs_strbuf *t, size_t n_more)
{
	if (t->n + n_more + 1 <= t->capacity)
		return;
	t->capacity = (t->n + n_more + 1) * 2;
	t->s = sfs_realloc(t->s, t->capacity);
}

void sfs_strbuf_add(struct sfs_strbuf *t, const char *bytes, size_t n)
{
	reserve(t, n);
	memcpy(t->s + t->n, bytes, n);
	t->n += n;
	t->s[t->n] = 0;
}

void sfs_strbuf_puts(struct sfs_strbuf *t, const char *s)
{
	sfs_strbuf_add(t, s, strlen(s));
}

void sfs_strbuf_printf(struct sfs_strbuf *t, const char *format, ...)
{
	sfs_autofree char *line = NULL;
	va_list args;
	int n;

	va_start(args, format);
	n = vasprintf(&line, format, args);
	va_end(args);
	if (n >= 0)
		sfs_strbuf_add(t, line, (size_t)n);
}

size_t sfs_strbuf_utf8(const char *string, size_t n)
{
	const unsigned char *s = (const unsigned char *)string;
	size_t length, i;

	if (n == 0 || (s[0] >= 0x80 && (s[0] < 0xc2 || s[0] > 0xf4)))
		return 0;
	length = s[0] < 0x80 ? 1 : s[0] >> 5 == 6 ? 2 : s[0] >> 4 == 14 ? 3 : 4;
	if (length > n)
		return 0;
	for (i = 1; i < length; i++)
		if (s[i] >> 6 != 2)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return length;
}

void sfs_strbuf_json(struct sfs_strbuf *t, const char *s)
{
	const unsigned char *p = (const unsigned char *)s, *end = p + strlen(s);
	size_t n;

	sfs_strbuf_puts(t, "\"");
	while (p < end) {
		n = sfs_strbuf_utf8((const char *)p, (size_t)(end - p));
		if (*p == '"' || *p == '\\')
			sfs_strbuf_printf(t, "\\%c", *p);
		else if (*p < 0x20 || *p == 0x7f)
			sfs_strbuf_printf(t, "\\u%04x", *p);
		else if (n == 0)
			sfs_strbuf_puts(t, "\xef\xbf\xbd");
		else
			sfs_strbuf_add(t, (const char *)p, n);
		p += n ? n : 1;
	}
	sfs_strbuf_puts(t, "\"");
}

const char *sfs_format_size(uint64_t n_bytes, char buf[32])
{
	static const char units[] = "KMGTPE";
	double value = (double)n_bytes;
	int u = -1;

	while (value >= 1024 && u < 5) {
		value /= 1024;
		u++;
	}
	if (u < 0)
		snprintf(buf, 32, "%llu", (unsigned long long)n_bytes);
	else if (value == (double)(uint64_t)value || value >= 100)
		snprintf(buf, 32, "%.0f%c", value, units[u]);
	else
		snprintf(buf, 32, "%.1f%c", value, units[u]);
	return buf;
}

size_t sfs_strbuf_distance(const char *a, const char *b)
{
	size_t row[64], n = strlen(b), i, j, diagonal, above;

	if (n >= SFS_COUNT(row))
		return SIZE_MAX;
	for (j = 0; j <= n; j++)
		row[j] = j;
	for (i = 0; a[i]; i++) {
		diagonal = row[0];
		row[0] = i + 1;
		for (j = 1; j <= n; j++) {
			above = row[j];
			row[j] = diagonal + (tolower((unsigned char)a[i]) !=
					     tolower((unsigned char)b[j - 1]));
			if (above + 1 < row[j])
				row[j] = above + 1;
			if (row[j - 1] + 1 < row[j])
				row[j] = row[j - 1] + 1;
			diagonal = above;
		}
	}
	return row[n];
}

void sfs_strbuf_label(struct sfs_strbuf *t, const char *s)
{
	size_t n = strlen(s), i, n_char;

	sfs_strbuf_puts(t, "\"");
	for (i = 0; i < n; i += n_char ? n_char : 1) {
		n_char = sfs_strbuf_utf8(s + i, n - i);
		if (n_char == 0)
			sfs_strbuf_puts(t, "\xef\xbf\xbd"); /* U+FFFD */
		else if (s[i] == '\n')
			sfs_strbuf_puts(t, "\\n");
		else if (s[i] == '\\' || s[i] == '"')
			sfs_strbuf_printf(t, "\\%c", s[i]);
		else
			sfs_strbuf_add(t, s + i, n_char);
	}
	sfs_strbuf_puts(t, "\"");
}
