/* SPDX-License-Identifier: MIT */
/* The headers of a response are understood as servers write them; what is damaged,
 * doubtful or too long says nothing. */
#include "base/alloc.h"
#include "base/rng.h"
#include "check.h"
#include "source/http/headers.h"

#define NOW 1700000000 /* Tue, 14 Nov 2023 22:13:20 GMT */

/* In memory of just its size, so that sanitizers see every read beyond its end. */
static void line_of(struct sfs_http_headers *a, const char *line, size_t n)
{
	sfs_autofree char *exact = sfs_malloc(n ? n : 1);

	memcpy(exact, line, n);
	sfs_http_headers_add(a, exact, n, NOW);
}

/* A response of these lines, which end in LF, with or without CR. */
static struct sfs_http_headers response(const char *lines)
{
	struct sfs_http_headers a;
	size_t n;

	memset(&a, 0x5a, sizeof a);
	sfs_http_headers_init(&a);
	for (; *lines; lines += n) {
		n = strcspn(lines, "\n");
		n += lines[n] == '\n';
		line_of(&a, lines, n);
	}
	return a;
}

static void nothing(void)
{
	struct sfs_http_headers a = response("");

	CHECK_EQ(a.status, 0);
	CHECK(a.length == SFS_HTTP_UNKNOWN && a.total == SFS_HTTP_UNKNOWN);
	CHECK(!a.has_range && !a.is_multipart);
	CHECK_EQ(a.retry_after_s, -1);
	CHECK_STR(a.etag, "");
	CHECK_STR(a.last_modified, "");
	CHECK(!a.location);
	CHECK_STR(a.encoding, "");
}

/* As nginx sends it. */
static void whole_answer(void)
{
	struct sfs_http_headers a =
		response("HTTP/1.1 206 Partial Content\r\n"
			 "Server: nginx/1.22.1\r\n"
			 "Date: Tue, 14 Nov 2023 22:13:20 GMT\r\n"
			 "Content-Type: application/octet-stream\r\n"
			 "Content-Length: 500\r\n"
			 "Last-Modified: Mon, 13 Nov 2023 10:00:00 GMT\r\n"
			 "Connection: keep-alive\r\n"
			 "ETag: \"6551f2a0-4d2\"\r\n"
			 "Content-Range: bytes 500-999/1234\r\n"
			 "\r\n");

	CHECK_EQ(a.status, 206);
	CHECK_EQ(a.length, 500);
	CHECK(a.has_range && a.first == 500 && a.last == 999 && a.total == 1234);
	CHECK_STR(a.etag, "\"6551f2a0-4d2\"");
	CHECK_STR(a.last_modified, "Mon, 13 Nov 2023 10:00:00 GMT");
	CHECK(!a.is_multipart);
	CHECK_EQ(a.retry_after_s, -1);
}

static void statuses(void)
{
	CHECK_EQ(response("HTTP/1.1 200 OK\r\n").status, 200);
	CHECK_EQ(response("HTTP/2 206 \r\n").status, 206);
	CHECK_EQ(response("HTTP/2 206").status, 206);
	CHECK_EQ(response("HTTP/1.0 404 Not Found").status, 404);
	CHECK_EQ(response("HTTP/1.1 503\n").status, 503);
	CHECK_EQ(response("HTTP/1.1\r\n").status, 0);
	CHECK_EQ(response("HTTP/1.1 \r\n").status, 0);
	CHECK_EQ(response("HTTP/1.1 20\r\n").status, 0);
	CHECK_EQ(response("HTTP/1.1 2x0 OK\r\n").status, 0);
	CHECK_EQ(response("HTTP/1.1 -20 OK\r\n").status, 0);
}

/* Each status line forgets what the response before it said. */
static void begins_anew(void)
{
	struct sfs_http_headers a =
		response("HTTP/1.1 302 Found\r\n"
			 "Location: https://elsewhere/x.tar\r\n"
			 "Content-Length: 17\r\n"
			 "ETag: \"of the redirect\"\r\n"
			 "Retry-After: 3\r\n"
			 "Content-Range: bytes 0-16/17\r\n"
			 "Content-Encoding: gzip\r\n"
			 "Content-Type: multipart/byteranges; boundary=x\r\n"
			 "Last-Modified: Mon, 13 Nov 2023 10:00:00 GMT\r\n");

	CHECK_STR(a.location, "https://elsewhere/x.tar");
	CHECK(a.has_range && a.is_multipart);
	CHECK_STR(a.encoding, "gzip");
	CHECK_EQ(a.retry_after_s, 3);
	line_of(&a, "HTTP/1.1 200 OK\r\n", 17);
	CHECK_EQ(a.status, 200);
	CHECK(a.length == SFS_HTTP_UNKNOWN && a.total == SFS_HTTP_UNKNOWN);
	CHECK(!a.has_range && !a.is_multipart && a.retry_after_s == -1);
	CHECK(!a.etag[0] && !a.location && !a.last_modified[0] && !a.encoding[0]);
}

/* RFC 9112, 6.3: whichever comes first. */
static void a_coded_answer_has_no_length(void)
{
	static const char length[] = "Content-Length: 5\r\n",
			  coding[] = "Transfer-Encoding: chunked\r\n";
	struct sfs_http_headers a;

	sfs_http_headers_init(&a);
	line_of(&a, length, sizeof length - 1);
	CHECK_EQ(a.length, 5);
	line_of(&a, coding, sizeof coding - 1);
	CHECK(a.length == SFS_HTTP_UNKNOWN);
	line_of(&a, length, sizeof length - 1);
	CHECK(a.length == SFS_HTTP_UNKNOWN);
}

static void lengths(void)
{
	CHECK_EQ(response("Content-Length: 0").length, 0);
	CHECK_EQ(response("content-length:5\r\n").length, 5);
	CHECK_EQ(response("CONTENT-LENGTH: \t 5 \t\r\n").length, 5);
	CHECK_EQ(response("Content-Length: 1099511627776\n").length, 1LL << 40);
	CHECK_EQ(response("Content-Length: 007").length, 7);
	CHECK(response("Content-Length:").length == SFS_HTTP_UNKNOWN);
	CHECK(response("Content-Length: -1").length == SFS_HTTP_UNKNOWN);
	CHECK(response("Content-Length: +1").length == SFS_HTTP_UNKNOWN);
	CHECK(response("Content-Length: 5x").length == SFS_HTTP_UNKNOWN);
	CHECK(response("Content-Length: 5, 5").length == SFS_HTTP_UNKNOWN);
	CHECK(response("Content-Length: 0x10").length == SFS_HTTP_UNKNOWN);
	CHECK(response("Content-Length: 18446744073709551615").length ==
	      SFS_HTTP_UNKNOWN);
	CHECK(response("Content-Length: 18446744073709551621").length ==
	      SFS_HTTP_UNKNOWN);
	CHECK(response("Content-Length: 99999999999999999999999").length ==
	      SFS_HTTP_UNKNOWN);
	/* Other names that only look like it. */
	CHECK(response("Content-Length : 5").length == SFS_HTTP_UNKNOWN);
	CHECK(response("X-Content-Length: 5").length == SFS_HTTP_UNKNOWN);
	CHECK(response("Content-Lengt: 5").length == SFS_HTTP_UNKNOWN);
	CHECK(response(" Content-Length: 5").length == SFS_HTTP_UNKNOWN);
	CHECK(response("Content-Length 5").length == SFS_HTTP_UNKNOWN);
}

static void check_range(const char *line, bool has, uint64_t first, uint64_t last,
			uint64_t total)
{
	struct sfs_http_headers a = response(line);

	if (a.has_range == has && (!has || (a.first == first && a.last == last)) &&
	    a.total == total)
		return;
	fprintf(stderr, "'%s': %d, %llu to %llu of %llu\n", line, a.has_range,
		(unsigned long long)a.first, (unsigned long long)a.last,
		(unsigned long long)a.total);
	exit(1);
}

static void ranges(void)
{
	static const char *const bad[] = {
		"",
		"bytes",
		"bytes ",
		"bytes 0-499",
		"bytes 0-499/",
		"bytes 0/1234",
		"bytes 0-/1234",
		"bytes -499/1234",
		"bytes 499-0/1234",
		"bytes 0-1234/1234",
		"bytes 5000-5001/1234",
		"bytes 0-499/-1",
		"bytes 0-499/x",
		"bytes 0-499/1234x",
		"bytes 0-499 /1234",
		"lines 0-4/9",
		"0-499/1234",
		"bytes 0-499/1234, 0-4/9",
		"bytes 0-99999999999999999999/*",
		"bytes *",
		"bytes 18446744073709551616-18446744073709551617/*",
	};
	char line[200];
	size_t i;

	check_range("Content-Range: bytes 0-499/1234", true, 0, 499, 1234);
	check_range("content-range: bytes 0-0/1\r\n", true, 0, 0, 1);
	check_range("Content-Range: bytes 1233-1233/1234", true, 1233, 1233, 1234);
	check_range("Content-Range: BYTES 5-9/10", true, 5, 9, 10);
	check_range("Content-Range: bytes  5-9/10", true, 5, 9, 10);
	check_range("Content-Range: bytes 5-9/*", true, 5, 9, SFS_HTTP_UNKNOWN);
	check_range("Content-Range: bytes */1234", false, 0, 0, 1234);
	check_range("Content-Range: bytes */0", false, 0, 0, 0);
	for (i = 0; i < SFS_COUNT(bad); i++) {
		snprintf(line, sizeof line, "Content-Range: %s\r\n", bad[i]);
		check_range(line, false, 0, 0, SFS_HTTP_UNKNOWN);
	}
}

static void tags(void)
{
	CHECK_STR(response("ETag: \"abc\"\r\n").etag, "\"abc\"");
	CHECK_STR(response("etag:W/\"abc\"").etag, "W/\"abc\"");
	CHECK_STR(response("ETag: \"a b: c\"").etag, "\"a b: c\"");
	CHECK_STR(response("ETag: unquoted").etag, "unquoted");
	CHECK_STR(response("ETag:").etag, "");
	CHECK(sfs_http_etag_is_strong("\"abc\""));
	CHECK(!sfs_http_etag_is_strong("W/\"abc\""));
	CHECK(!sfs_http_etag_is_strong("w/\"abc\""));
	CHECK(!sfs_http_etag_is_strong(""));
	CHECK(!sfs_http_etag_is_strong("\"\"")); /* says nothing */
	CHECK_STR(response("ETAG : \t\"abc\" \r\n").etag, "\"abc\"");
	CHECK_STR(response("ETag: \"\"").etag, "\"\"");
	/* Sent twice: once is enough, and two different ones are a third. */
	CHECK_STR(response("ETag: \"a\"\netag: \"a\"\n").etag, "\"a\"");
	CHECK_STR(response("ETag: \"a\"\netag: \"b\"\n").etag, "\"a\", \"b\"");
	CHECK_STR(response("Last-Modified: a\nLast-Modified: b\n").last_modified, "a, b");

	CHECK(sfs_http_etag_can_be_sent("\"abc\""));
	CHECK(!sfs_http_etag_can_be_sent("\"\""));
	CHECK(!sfs_http_etag_can_be_sent("\""));
	CHECK(!sfs_http_etag_can_be_sent(""));
	CHECK(!sfs_http_etag_can_be_sent("abc"));
	CHECK(!sfs_http_etag_can_be_sent("W/\"abc\""));
	CHECK(!sfs_http_etag_can_be_sent("\"a\", \"b\""));
}

/* Trailers come after the body, and whoever wrote the head did not write them. */
static void trailers(void)
{
	struct sfs_http_headers a = response(
		"HTTP/1.1 100 Continue\r\n\r\n"
		"HTTP/1.1 206 x\r\nContent-Range: bytes 0-4/9\r\n"
		"Transfer-Encoding: chunked\r\n\r\n"
		"Content-Range: bytes 5-8/10\r\nETag: \"x\"\r\nHTTP/1.1 404 x\r\n");

	CHECK(a.is_whole && !a.is_ambiguous);
	CHECK_EQ(a.status, 206);
	CHECK(a.has_range && a.first == 0 && a.last == 4 && a.total == 9);
	CHECK_STR(a.etag, "");
}

static void said_twice(void)
{
	CHECK(!response("Content-Length: 5\nContent-Length: 5\n").is_ambiguous);
	CHECK(response("Content-Length: 5\nContent-Length: 6\n").is_ambiguous);
	CHECK(!response("Content-Range: bytes 0-1/5\nContent-Range: bytes 0-1/5\n")
		       .is_ambiguous);
	CHECK(response("Content-Range: bytes 0-1/5\nContent-Range: bytes 0-1/6\n")
		      .is_ambiguous);
	CHECK(response("Content-Range: bytes */5\nContent-Range: bytes 0-1/5\n")
		      .is_ambiguous);
}

static char *long_line(const char *name, size_t n)
{
	char *line = sfs_malloc(strlen(name) + n + 1);

	strcpy(line, name);
	memset(line + strlen(name), 'x', n);
	line[strlen(name) + n] = 0;
	return line;
}

static char *tag_of(const char *line)
{
	return sfs_strdup(response(line).etag);
}

/* However long a tag is, two that differ stay different: at the end, and in length. */
static void long_tags(void)
{
	size_t n;

	for (n = 200; n < 100000; n = n < 300 ? n + 1 : 3 * n) {
		sfs_autofree char *line = long_line("ETag: W/\"", n);
		sfs_autofree char *longer = long_line("ETag: W/\"", n + 1);
		sfs_autofree char *tag = tag_of(line), *tag_longer = tag_of(longer),
				  *tag_other = NULL;

		line[strlen(line) - 1] = 'y';
		tag_other = tag_of(line);
		CHECK(*tag && *tag_other && *tag_longer);
		CHECK(strcmp(tag, tag_other) != 0 && strcmp(tag, tag_longer) != 0);
		CHECK(memcmp(tag, "W/\"xx", 5) == 0);
		line[6] = '"'; /* "/" and so on: a strong one */
		CHECK(sfs_http_etag_is_strong(response(line).etag));
		CHECK(!sfs_http_etag_can_be_sent(response(line).etag));
	}
}

/* A signed URL is long: half of it is another URL. */
static void locations_of_any_length(void)
{
	static const size_t lengths[] = {1, 4095, 4096, 5000, 100000};
	struct sfs_http_headers a;
	size_t i;

	for (i = 0; i < SFS_COUNT(lengths); i++) {
		sfs_autofree char *line = long_line("Location: ", lengths[i]);

		a = response(line);
		CHECK_EQ(strlen(a.location), lengths[i]);
		line_of(&a, "Location: b\r\n", 13); /* the last one counts */
		CHECK_STR(a.location, "b");
		line_of(&a, "Location:\r\n", 11);
		CHECK(!a.location);
		sfs_http_headers_done(&a);
	}
}

static void encodings(void)
{
	sfs_autofree char *odd = long_line("Content-Encoding: ", 500);

	CHECK_STR(response("Content-Encoding: gzip\r\n").encoding, "gzip");
	CHECK_STR(response("Content-Encoding: identity\r\n").encoding, "");
	CHECK_STR(response("content-encoding: IDENTITY").encoding, "");
	CHECK_STR(response("Content-Encoding: aws-chunked, gzip").encoding,
		  "aws-chunked, gzip");
	CHECK(response(odd).encoding[0]); /* some encoding, whatever it is called */
	CHECK_STR(response("Transfer-Encoding: chunked").encoding, "");
}

static void types(void)
{
	CHECK(response("Content-Type: multipart/byteranges; boundary=abc").is_multipart);
	CHECK(response("content-type:Multipart/Byteranges").is_multipart);
	CHECK(!response("Content-Type: application/x-tar").is_multipart);
	CHECK(!response("Content-Type: multipart/form-data").is_multipart);
	CHECK(!response("Content-Type:").is_multipart);
}

static void retries(void)
{
	CHECK_EQ(response("Retry-After: 0").retry_after_s, 0);
	CHECK_EQ(response("Retry-After: 120\r\n").retry_after_s, 120);
	CHECK_EQ(response("Retry-After: 999999999").retry_after_s, 86400);
	CHECK_EQ(response("Retry-After: Tue, 14 Nov 2023 22:13:50 GMT").retry_after_s,
		 30);
	CHECK_EQ(response("Retry-After: Tue, 14 Nov 2023 22:13:20 GMT").retry_after_s, 0);
	CHECK_EQ(response("Retry-After: Fri, 31 Dec 1999 23:59:59 GMT").retry_after_s, 0);
	CHECK_EQ(response("Retry-After: Fri, 31 Dec 2100 23:59:59 GMT").retry_after_s,
		 86400);
	CHECK_EQ(response("Retry-After: soon").retry_after_s, -1);
	CHECK_EQ(response("Retry-After: -5").retry_after_s, -1);
	CHECK_EQ(response("Retry-After: 5.5").retry_after_s, -1);
	CHECK_EQ(response("Retry-After:").retry_after_s, -1);
}

static int64_t after_s(const char *lines)
{
	const struct sfs_http_headers a = response(lines);

	return sfs_http_headers_after_s(&a);
}

/* Only of a 429, and only of what is used up. */
static void rate_limits(void)
{
	const char *head = "HTTP/1.1 429 Too Many Requests\n";
	static const struct {
		const char *lines;
		int64_t wanted;
	} cases[] = {
		{"RateLimit: \"api\";r=0;t=55", 55},
		{"ratelimit: \"api\" ; R=0 ; t=7, \"pages\";r=0;t=3", 7},
		{"RateLimit: \"api\";r=12;t=55", -1},
		{"RateLimit: \"api\";r=12;t=55, \"resolvers\";r=0;t=9", 9},
		{"RateLimit: \"api\";r=0;t=999999999", 86400},
		{"RateLimit: \"api\";r=0;t=55\nRetry-After: 5", 5},
		{"Retry-After: 5\nRateLimit: \"api\";r=0;t=55", 5},
		{"RateLimit: \"api\";r=0", -1},
		{"RateLimit: \"api\";r=0;t=", -1},
		{"RateLimit: ;;r;t=5;r=0", 5},
		{"RateLimit:", -1},
	};
	size_t i;

	for (i = 0; i < SFS_COUNT(cases); i++) {
		sfs_autofree char *all = sfs_asprintf("%s%s", head, cases[i].lines);
		sfs_autofree char *good =
			sfs_asprintf("HTTP/1.1 200 OK\n%s", cases[i].lines);

		CHECK_EQ(after_s(all), cases[i].wanted);
		if (!strstr(good, "Retry-After"))
			CHECK_EQ(after_s(good), -1);
	}
}

/* NULs, lines of nothing, any bytes at all: ignored, and always within bounds. */
static void garbage(void)
{
	static const char *const parts[] = {
		"HTTP/", "Content-", "Range", "Length", "ETag", "Retry-After",
		":",	 ": ",	     "bytes", " ",	"0",	"99999999",
		"-",	 "/",	     "*",     "\r",	"\n",	"\t",
		"\"",	 "W/",	     "GMT",   "Mon, ",
	};
	struct sfs_http_headers a;
	struct sfs_rng r = {7};
	int round;
	size_t n, k;
	char line[300];

	sfs_http_headers_init(&a);
	line_of(&a, "ETag\0: \"ab\"", 11);
	CHECK_STR(a.etag, "");
	line_of(&a, "ETag: \"a\0b\"", 11);
	CHECK(strncmp(a.etag, "\"a...(5 bytes, hash ", 20) == 0);
	line_of(&a, "Location: a\0b", 13);
	CHECK(!a.location);
	line_of(&a, ":", 1);
	line_of(&a, ": x", 3);
	line_of(&a, "", 0);
	line_of(&a, "\0", 1);
	line_of(&a, "HTTP", 4);
	line_of(&a, "HTTP/", 5);
	CHECK_EQ(a.status, 0);
	for (round = 0; round < 20000; round++) {
		line[0] = 0;
		for (k = sfs_rng_below(&r, 12); k > 0; k--)
			strcat(line, parts[sfs_rng_below(&r, SFS_COUNT(parts))]);
		n = strlen(line);
		if (n > 0 && sfs_rng_below(&r, 4) == 0)
			line[sfs_rng_below(&r, n)] = (char)sfs_rng_next(&r);
		line_of(&a, line, n);
		CHECK(!a.has_range || a.first <= a.last);
		CHECK(!a.has_range || a.total == SFS_HTTP_UNKNOWN || a.last < a.total);
		CHECK(a.retry_after_s >= -1 && a.retry_after_s <= 86400);
		CHECK(a.status >= 0 && a.status <= 999);
	}
	sfs_http_headers_done(&a);
}

int main(void)
{
	nothing();
	whole_answer();
	statuses();
	begins_anew();
	a_coded_answer_has_no_length();
	lengths();
	ranges();
	tags();
	trailers();
	said_twice();
	long_tags();
	locations_of_any_length();
	encodings();
	types();
	retries();
	rate_limits();
	garbage();
	return 0;
}
