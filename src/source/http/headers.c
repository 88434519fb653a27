/* SPDX-License-Identifier: MIT */
#include "source/http/headers.h"

#include "base/alloc.h"
#include "base/keyhash.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void sfs_http_headers_init(struct sfs_http_headers *a)
{
	*a = (struct sfs_http_headers){.length = SFS_HTTP_UNKNOWN,
				       .total = SFS_HTTP_UNKNOWN,
				       .retry_after_s = -1,
				       .limited_s = -1};
}

void sfs_http_headers_done(struct sfs_http_headers *a)
{
	free(steal(&a->location));
}

int64_t sfs_http_headers_after_s(const struct sfs_http_headers *a)
{
	return a->retry_after_s < 0 && a->status == 429 ? a->limited_s : a->retry_after_s;
}

int sfs_http_status_err(int status)
{
	switch (status) {
	case 401:
	case 403: return -EACCES;
	case 404:
	case 410: return -ENOENT;
	default: return -EIO;
	}
}

bool sfs_http_etag_is_strong(const char *etag)
{
	return etag[0] == '"' && strcmp(etag, "\"\"") != 0;
}

/* One pair of quotes with something in it: what was shortened, or sent twice, is not. */
bool sfs_http_etag_can_be_sent(const char *etag)
{
	size_t n = strlen(etag);

	return n > 2 && etag[0] == '"' && strchr(etag + 1, '"') == etag + n - 1;
}

/* Digits at *s up to 2^63; moves *s past them. */
static bool read_number(const char **s, uint64_t *ret)
{
	uint64_t v = 0;

	if (!isdigit((unsigned char)**s))
		return false;
	for (; isdigit((unsigned char)**s); (*s)++) {
		if (v > (UINT64_MAX >> 1) / 10 - 1)
			return false;
		v = v * 10 + (uint64_t)(**s - '0');
	}
	*ret = v;
	return true;
}

static void take_length(struct sfs_http_headers *a, const char *value, time_t now)
{
	uint64_t v;

	if (a->is_coded || !read_number(&value, &v) || *value != 0)
		return;
	a->is_ambiguous |= a->length != SFS_HTTP_UNKNOWN && a->length != v;
	a->length = v;
}

/* RFC 9112, 6.3: it counts, whatever Content-Length says. */
static void take_coding(struct sfs_http_headers *a, const char *value, time_t now)
{
	a->is_coded = true;
	a->length = SFS_HTTP_UNKNOWN;
}

/* "bytes 0-499/1234", "bytes 0-499/ *" (without the space), "bytes * /1234" */
static void take_range(struct sfs_http_headers *a, const char *value, time_t now)
{
	uint64_t first = 0, last = 0, total = SFS_HTTP_UNKNOWN;
	bool has_range = false;

	if (strncasecmp(value, "bytes", 5) != 0)
		return;
	value += 5 + strspn(value + 5, " ");
	if (*value == '*') {
		value++;
	} else {
		if (!read_number(&value, &first) || *value++ != '-' ||
		    !read_number(&value, &last) || last < first)
			return;
		has_range = true;
	}
	if (*value++ != '/')
		return;
	if (strcmp(value, "*") != 0 && (!read_number(&value, &total) || *value != 0))
		return;
	if (has_range && total != SFS_HTTP_UNKNOWN && last >= total)
		return;
	if (a->has_range || a->total != SFS_HTTP_UNKNOWN)
		a->is_ambiguous |= has_range != a->has_range || first != a->first ||
				   last != a->last || total != a->total;
	a->has_range = has_range;
	a->first = first;
	a->last = last;
	a->total = total;
}

/* Keep a value whole or not at all. */
static void keep(char *to, size_t size, const char *value)
{
	if (strlen(value) < size)
		strcpy(to, value);
}

static bool is_printable(const char *s, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if ((unsigned char)s[i] < ' ' || s[i] == 127)
			return false;
	return true;
}

/* Keep a validator as it is, or else enough of it to tell it from others.  (SHORT_BYTES:
 * what is shown of it, of which W/ is the most important.) */
static void shorten(char *to, size_t size, const char *value, size_t n)
{
	enum { SHORT_BYTES = 32 };
	size_t n_shown = 0;

	if (n < size && is_printable(value, n)) {
		memcpy(to, value, n);
		to[n] = 0;
		return;
	}
	while (n_shown < SHORT_BYTES && n_shown < n && is_printable(value + n_shown, 1))
		n_shown++;
	snprintf(to, size, "%.*s...(%zu bytes, hash %016llx)", (int)n_shown, value, n,
		 (unsigned long long)sfs_keyhash(value, n));
}

static void take_validator(char *to, size_t size, const char *value, size_t n)
{
	sfs_autofree char *both = NULL;
	char short_value[256];

	if (n == 0)
		return;
	if (!*to) {
		shorten(to, size, value, n);
		return;
	}
	shorten(short_value, size, value, n);
	if (strcmp(to, short_value) == 0)
		return;
	both = sfs_asprintf("%s, %s", to, short_value);
	shorten(to, size, both, strlen(both));
}

/* A signed URL has several KiB, where a session's token is a part of it. */
static void take_location(struct sfs_http_headers *a, const char *value, size_t n)
{
	if (memchr(value, 0, n))
		return;
	free(a->location);
	a->location = n > 0 ? sfs_strndup(value, n) : NULL;
}

static void take_encoding(struct sfs_http_headers *a, const char *value, time_t now)
{
	if (strcasecmp(value, "identity") == 0)
		return;
	memcpy(a->encoding, "unknown", 8);
	keep(a->encoding, sizeof a->encoding, value);
}

static void take_type(struct sfs_http_headers *a, const char *value, time_t now)
{
	a->is_multipart = strncasecmp(value, "multipart/byteranges", 20) == 0;
	a->is_page = strncasecmp(value, "text/html", 9) == 0;
	a->is_like_s3 |= strncasecmp(value, "application/xml", 15) == 0 ||
			 strncasecmp(value, "text/xml", 8) == 0;
}

static void take_request_id(struct sfs_http_headers *a, const char *value, time_t now)
{
	a->is_like_s3 = true;
}

/* A number of seconds, or a date (RFC 9110, 10.2.3). */
static void take_retry_after(struct sfs_http_headers *a, const char *value, time_t now)
{
	struct tm tm = {0};
	uint64_t s;

	if (read_number(&value, &s) && *value == 0) {
		a->retry_after_s = s < 86400 ? (int64_t)s : 86400;
	} else if (strptime(value, "%a, %d %b %Y %H:%M:%S GMT", &tm)) {
		int64_t wait = (int64_t)(timegm(&tm) - now);

		a->retry_after_s = wait < 0 ? 0 : wait < 86400 ? wait : 86400;
	}
}

/* The number behind "NAME=" among the parameters, from `s` to `end`. */
static bool find_parameter(const char *s, const char *end, char name, uint64_t *ret)
{
	for (; s < end; s++) {
		if (*s != ';')
			continue;
		s += 1 + strspn(s + 1, " \t");
		if (s + 1 < end && tolower((unsigned char)s[0]) == name && s[1] == '=') {
			s += 2;
			return read_number(&s, ret) && s <= end;
		}
		s--;
	}
	return false;
}

/* "api";r=0;t=55, "pages";r=99;t=55 (draft-ietf-httpapi-ratelimit-headers): of those of
 * which nothing remains, the longest time. */
static void take_rate_limit(struct sfs_http_headers *a, const char *value, time_t now)
{
	uint64_t remaining, s;
	const char *end;

	for (; *value; value = *end ? end + 1 : end) {
		end = strchrnul(value, ',');
		if (!find_parameter(value, end, 'r', &remaining) || remaining > 0 ||
		    !find_parameter(value, end, 't', &s))
			continue;
		s = s < 86400 ? s : 86400;
		if ((int64_t)s > a->limited_s)
			a->limited_s = (int64_t)s;
	}
}

static void take_date(struct sfs_http_headers *a, const char *value, time_t now)
{
	struct tm tm = {0};

	if (strptime(value, "%a, %d %b %Y %H:%M:%S GMT", &tm))
		a->date_s = (int64_t)timegm(&tm);
}

static void take_bucket_region(struct sfs_http_headers *a, const char *value, time_t now)
{
	keep(a->bucket_region, sizeof a->bucket_region, value);
}

static void take_generation(struct sfs_http_headers *a, const char *value, time_t now)
{
	keep(a->generation, sizeof a->generation, value);
}

static void take_ais_version(struct sfs_http_headers *a, const char *value, time_t now)
{
	keep(a->ais_version, sizeof a->ais_version, value);
}

static void take_ais_checksum(struct sfs_http_headers *a, const char *value, time_t now)
{
	keep(a->ais_checksum, sizeof a->ais_checksum, value);
}

static void take_error_code(struct sfs_http_headers *a, const char *value, time_t now)
{
	keep(a->error_code, sizeof a->error_code, value);
}

static void take_linked_etag(struct sfs_http_headers *a, const char *value, time_t now)
{
	keep(a->linked_etag, sizeof a->linked_etag, value);
}

static const struct {
	const char *name;
	void (*take)(struct sfs_http_headers *a, const char *value, time_t now);
} fields[] = {
	{"content-length", take_length},
	{"transfer-encoding", take_coding},
	{"content-range", take_range},
	{"content-encoding", take_encoding},
	{"content-type", take_type},
	{"retry-after", take_retry_after},
	{"ratelimit", take_rate_limit},
	{"date", take_date},
	{"x-amz-bucket-region", take_bucket_region},
	{"x-amz-request-id", take_request_id},
	{"x-goog-generation", take_generation},
	{"ais-version", take_ais_version},
	{"ais-checksum-value", take_ais_checksum},
	{"x-error-code", take_error_code},
	{"x-linked-etag", take_linked_etag},
};

static bool is_name(const char *line, size_t n, const char *name)
{
	return strlen(name) == n && strncasecmp(name, line, n) == 0;
}

static void take_status(struct sfs_http_headers *a, const char *line, size_t n)
{
	const char *space = memchr(line, ' ', n);

	sfs_http_headers_done(a);
	sfs_http_headers_init(a);
	if (space && line + n - space >= 4 && isdigit((unsigned char)space[1]) &&
	    isdigit((unsigned char)space[2]) && isdigit((unsigned char)space[3]))
		a->status =
			(space[1] - '0') * 100 + (space[2] - '0') * 10 + (space[3] - '0');
}

void sfs_http_headers_add(struct sfs_http_headers *a, const char *line, size_t n,
			  time_t now)
{
	const char *colon;
	char value[4096];
	size_t n_name, n_bare, i;

	if (a->is_whole)
		return;
	while (n > 0 && isspace((unsigned char)line[n - 1]))
		n--;
	a->is_whole = n == 0 && a->status >= 200;
	if (n >= 5 && memcmp(line, "HTTP/", 5) == 0) {
		take_status(a, line, n);
		return;
	}
	colon = memchr(line, ':', n);
	if (!colon)
		return;
	n_name = n_bare = (size_t)(colon - line);
	while (n_bare > 0 && isspace((unsigned char)line[n_bare - 1]))
		n_bare--;
	for (colon++; colon < line + n && isspace((unsigned char)*colon);)
		colon++;
	n -= (size_t)(colon - line);
	/* However a validator is written, it must not be overlooked. */
	if (is_name(line, n_bare, "etag"))
		take_validator(a->etag, sizeof a->etag, colon, n);
	if (is_name(line, n_bare, "last-modified"))
		take_validator(a->last_modified, sizeof a->last_modified, colon, n);
	if (is_name(line, n_name, "location"))
		take_location(a, colon, n);
	if (n >= sizeof value || memchr(colon, 0, n))
		return;
	memcpy(value, colon, n);
	value[n] = 0;
	for (i = 0; i < SFS_COUNT(fields); i++)
		if (is_name(line, n_name, fields[i].name))
			fields[i].take(a, value, now);
}
