/* SPDX-License-Identifier: MIT */
/* Header lines of an answer.  The first 4 bytes are the wall time, the rest are lines. */
#include "fuzz.h"

#include "source/http/headers.h"

static void feed(struct sfs_http_headers *a, const uint8_t *p, size_t n, time_t now,
		 const char *end_of_line)
{
	const uint8_t *newline;
	size_t n_line;
	char *line;

	sfs_http_headers_init(a);
	for (; n > 0; p += n_line, n -= n_line) {
		newline = memchr(p, '\n', n);
		n_line = newline ? (size_t)(newline - p) : n;
		line = malloc(n_line + strlen(end_of_line) + 1);
		memcpy(line, p, n_line);
		memcpy(line + n_line, end_of_line, strlen(end_of_line));
		/* libcurl's lines have no NUL behind them */
		line = realloc(line, n_line + strlen(end_of_line));
		/* an empty one ends the head */
		sfs_http_headers_add(a, line ? line : "", n_line + strlen(end_of_line),
				     now);
		free(line);
		n_line += newline != NULL;
	}
}

#define IS_STRING(field) (memchr(field, 0, sizeof(field)) != NULL)

static void check(const struct sfs_http_headers *a)
{
	MUST(a->status >= 0 && a->status <= 999);
	MUST(IS_STRING(a->etag) && IS_STRING(a->last_modified));
	MUST(IS_STRING(a->encoding) && (!a->location || a->location[0]));
	MUST(a->retry_after_s >= -1 && a->retry_after_s <= 86400);
	MUST(a->length == SFS_HTTP_UNKNOWN || a->length <= INT64_MAX);
	MUST(a->total == SFS_HTTP_UNKNOWN || a->total <= INT64_MAX);
	if (a->has_range) {
		MUST(a->first <= a->last && a->last <= INT64_MAX);
		MUST(a->total == SFS_HTTP_UNKNOWN || a->last < a->total);
	}
	MUST(!sfs_http_etag_is_strong(a->etag) || a->etag[0] == '"');
	MUST(!sfs_http_etag_can_be_sent(a->etag) || sfs_http_etag_is_strong(a->etag));
	MUST(!sfs_http_etag_can_be_sent(a->etag) || !strpbrk(a->etag, "\r\n"));
}

static void must_agree(const struct sfs_http_headers *a, const struct sfs_http_headers *b)
{
	MUST(a->status == b->status && a->length == b->length);
	MUST(a->has_range == b->has_range && a->first == b->first && a->last == b->last);
	MUST(a->total == b->total && a->retry_after_s == b->retry_after_s);
	MUST(a->is_multipart == b->is_multipart);
	MUST(a->is_whole == b->is_whole && a->is_ambiguous == b->is_ambiguous);
	MUST(strcmp(a->etag, b->etag) == 0);
	MUST(strcmp(a->last_modified, b->last_modified) == 0);
	MUST(!a->location == !b->location);
	MUST(!a->location || strcmp(a->location, b->location) == 0);
	MUST(strcmp(a->encoding, b->encoding) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct sfs_http_headers bare, with_crlf;
	struct fuzz_in in = {data, n};
	time_t now = (time_t)fuzz_below(&in, 1ULL << 32);

	feed(&bare, in.p, in.n, now, "");
	feed(&with_crlf, in.p, in.n, now, "\r\n");
	check(&bare);
	check(&with_crlf);
	must_agree(&bare, &with_crlf);
	sfs_http_headers_done(&bare);
	sfs_http_headers_done(&with_crlf);
	return 0;
}
