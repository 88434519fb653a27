/* SPDX-License-Identifier: MIT */
/* A response is believed if its status, range, encoding and version are those that were
 * asked for; anything else is asked for again, or an error that says what is wrong. */
#include "base/alloc.h"
#include "check.h"
#include "source/http/response.h"

#include <errno.h>

#define DAY	  "Mon, 01 Jan 2024 00:00:00 GMT"
#define OTHER_DAY "Tue, 02 Jan 2024 00:00:00 GMT"
#define TAGGED	  "ETag: \"one\"\n"
#define DATED	  "Last-Modified: " DAY "\n"

/* Bytes 100 to 199 of 1000, as they should come. */
#define PART "HTTP/1.1 206 x\nContent-Range: bytes 100-199/1000\nContent-Length: 100\n"

static struct sfs_http_headers response;
static struct sfs_response_error error;
static struct sfs_object object;

/* The response that these lines make. */
static const struct sfs_http_headers *answer_of(const char *text)
{
	size_t n;

	sfs_http_headers_init(&response);
	for (; *text; text += n + (text[n] == '\n')) {
		n = strcspn(text, "\n");
		sfs_http_headers_add(&response, text, n, 0);
	}
	return &response;
}

/* The object is as an ask has found it: of 1000 bytes, with these headers. */
static void know(const char *headers)
{
	sfs_autofree char *text =
		sfs_asprintf("HTTP/1.1 206 x\nContent-Range: bytes 0-511/1000\n%s",
			     headers);

	sfs_object_done(&object);
	memset(&object, 0, sizeof object);
	sfs_response_learn(&object, answer_of(text));
	CHECK_EQ(object.size, 1000);
}

static int judge(const struct sfs_http_query *q, const char *text)
{
	int outcome;

	memset(&error, 0, sizeof error);
	outcome = (int)sfs_response_judge(q, answer_of(text), &error);
	CHECK(error.err < 0 || outcome != SFS_RESPONSE_FINAL);
	if (outcome == SFS_RESPONSE_AGAIN || outcome == SFS_RESPONSE_FINAL)
		CHECK(error.why[0]);
	return outcome;
}

/* What the response to a read of bytes 100 to 199 means. */
static int read_part(const char *text)
{
	const struct sfs_http_query q = {.object = &object,
					 .first = 100,
					 .last = 199,
					 .if_match = object.tag};

	return judge(&q, text);
}

static int read_whole(const char *text)
{
	const struct sfs_http_query q = {.object = &object, .first = 0, .last = 999};

	return judge(&q, text);
}

static int ask(const char *text)
{
	const struct sfs_http_query q = {.object = &object,
					 .is_ask = true,
					 .first = 0,
					 .last = 511};

	return judge(&q, text);
}

/* The third of several over one connection. */
static int ask_third(const char *text)
{
	const struct sfs_http_query q = {.object = &object,
					 .is_ask = true,
					 .last = 513,
					 .is_exact = true};

	return judge(&q, text);
}

/* FINAL, with that errno. */
static void check_final(int outcome, int err)
{
	CHECK_EQ(outcome, SFS_RESPONSE_FINAL);
	CHECK_EQ(error.err, err);
}

/* AGAIN, and that errno if it stays so: one cache of many may have said it. */
static void check_doubt(int outcome, int err)
{
	CHECK_EQ(outcome, SFS_RESPONSE_AGAIN);
	CHECK_EQ(error.err, err);
}

static void the_range_that_was_asked_for(void)
{
	know(TAGGED DATED);
	CHECK_EQ(read_part(PART TAGGED DATED), SFS_RESPONSE_BYTES);
	/* Fewer, if it is said; without a length; without a total. */
	CHECK_EQ(read_part("HTTP/1.1 206 x\nContent-Range: bytes 100-149/1000\n" TAGGED),
		 SFS_RESPONSE_BYTES);
	CHECK_EQ(read_part("HTTP/1.1 206 x\nContent-Range: bytes 100-199/*\n" TAGGED),
		 SFS_RESPONSE_BYTES);
	/* Another one. */
	CHECK_EQ(read_part("HTTP/1.1 206 x\nContent-Range: bytes 99-199/1000\n" TAGGED),
		 SFS_RESPONSE_AGAIN);
	CHECK_HAS(error.why, "asked for bytes 100-199, got 99-199");
	CHECK_EQ(read_part("HTTP/1.1 206 x\nContent-Range: bytes 101-199/1000\n" TAGGED),
		 SFS_RESPONSE_AGAIN);
	CHECK_EQ(read_part("HTTP/1.1 206 x\nContent-Range: bytes 100-200/1000\n" TAGGED),
		 SFS_RESPONSE_AGAIN);
	/* None, or several. */
	CHECK_EQ(read_part("HTTP/1.1 206 x\nContent-Length: 100\n" TAGGED),
		 SFS_RESPONSE_AGAIN);
	CHECK_EQ(read_part(PART TAGGED
			   "Content-Type: multipart/byteranges; boundary=x\n"),
		 SFS_RESPONSE_AGAIN);
	/* A body of another length. */
	CHECK_EQ(read_part("HTTP/1.1 206 x\nContent-Range: bytes 100-199/1000\n"
			   "Content-Length: 99\n" TAGGED),
		 SFS_RESPONSE_AGAIN);
	CHECK_HAS(error.why, "does not match");
}

static void the_whole_object(void)
{
	const struct sfs_http_query end = {.object = &object, .first = 900, .last = 999};
	const struct sfs_http_query begin = {.object = &object, .first = 0, .last = 99};

	know(TAGGED);
	CHECK_EQ(read_whole("HTTP/1.1 200 x\nContent-Length: 1000\n" TAGGED),
		 SFS_RESPONSE_BYTES);
	check_doubt(read_whole("HTTP/1.1 200 x\nContent-Length: 1000\nETag: \"two\"\n"),
		    -ESTALE);
	CHECK_EQ(read_whole("HTTP/1.1 200 x\nContent-Length: 1001\n" TAGGED),
		 SFS_RESPONSE_AGAIN);
	CHECK_EQ(read_whole("HTTP/1.1 200 x\n" TAGGED), SFS_RESPONSE_AGAIN);
	/* A part is none of it. */
	CHECK_EQ(read_part("HTTP/1.1 200 x\nContent-Length: 1000\n" TAGGED),
		 SFS_RESPONSE_AGAIN);
	CHECK_HAS(error.why, "ignores Range");
	CHECK_EQ(read_part("HTTP/1.1 200 x\nContent-Length: 100\n" TAGGED),
		 SFS_RESPONSE_AGAIN);
	CHECK_EQ(judge(&end, "HTTP/1.1 200 x\nContent-Length: 1000\n" TAGGED),
		 SFS_RESPONSE_AGAIN);
	CHECK_EQ(judge(&begin, "HTTP/1.1 200 x\nContent-Length: 100\n" TAGGED),
		 SFS_RESPONSE_AGAIN);
}

static void one_version(void)
{
	know(TAGGED DATED);
	check_doubt(read_part(PART "ETag: \"two\"\n" DATED), -ESTALE);
	CHECK_HAS(error.why, "its ETag was \"one\", is \"two\"");
	check_doubt(read_part("HTTP/1.1 206 x\nContent-Range: bytes 100-199/1001\n" TAGGED
				      DATED),
		    -ESTALE);
	CHECK_HAS(error.why, "its size was 1000, is 1001");
	CHECK(!strstr(error.why, "verify=size"));
	/* The tag says more than the time: replicas may have got theirs later. */
	CHECK_EQ(read_part(PART TAGGED "Last-Modified: " OTHER_DAY "\n"),
		 SFS_RESPONSE_BYTES);
	/* One that has gone, or come, is another one; and so is a weak one. */
	check_doubt(read_part(PART DATED), -ESTALE);
	CHECK_HAS(error.why, "its ETag was \"one\", is none; for replicas");
	check_doubt(read_part(PART "ETag: W/\"one\"\n" DATED), -ESTALE);
	check_doubt(read_part(PART "ETag: W/\"two\"\n" DATED), -ESTALE);
	check_doubt(read_part(PART TAGGED "ETag: \"two\"\n" DATED), -ESTALE);
	CHECK_EQ(read_part(PART TAGGED TAGGED DATED), SFS_RESPONSE_BYTES);
	know(DATED);
	check_doubt(read_part(PART TAGGED DATED), -ESTALE);
	CHECK_HAS(error.why, "its ETag was none, is \"one\"");

	/* Where the tag is weak, or says nothing, the time counts, too; */
	know("ETag: W/\"one\"\n" DATED);
	CHECK_EQ(read_part(PART "ETag: W/\"one\"\n" DATED), SFS_RESPONSE_BYTES);
	check_doubt(read_part(PART "ETag: W/\"two\"\n" DATED), -ESTALE);
	check_doubt(read_part(PART "ETag: \"one\"\n" DATED), -ESTALE);
	check_doubt(read_part(PART "ETag: W/\"one\"\nLast-Modified: " OTHER_DAY "\n"),
		    -ESTALE);
	CHECK_HAS(error.why, "Last-Modified was " DAY ", is " OTHER_DAY);
	check_doubt(read_part(PART "ETag: W/\"one\"\n"), -ESTALE);
	know("ETag: \"\"\n" DATED);
	CHECK_EQ(read_part(PART "ETag: \"\"\n" DATED), SFS_RESPONSE_BYTES);
	check_doubt(read_part(PART "ETag: \"\"\nLast-Modified: " OTHER_DAY "\n"),
		    -ESTALE);

	/* and where there was nothing, nothing may come. */
	know("");
	CHECK_EQ(read_part(PART), SFS_RESPONSE_BYTES);
	check_doubt(read_part(PART DATED), -ESTALE);
	CHECK_HAS(error.why, "was none");
}

/* Two tags that differ in their last byte only, however long they are. */
static void long_tags(void)
{
	sfs_autofree char *tag = sfs_malloc(5001), *one = NULL, *two = NULL, *got = NULL,
			  *other = NULL;

	memset(tag, 'x', 5000);
	tag[5000] = 0;
	one = sfs_asprintf("ETag: \"%s1\"\n", tag);
	two = sfs_asprintf("ETag: \"%s2\"\n", tag);
	got = sfs_asprintf(PART "%s" DATED, one);
	other = sfs_asprintf(PART "%s" DATED, two);
	know(one);
	CHECK_EQ(read_part(got), SFS_RESPONSE_BYTES);
	check_doubt(read_part(other), -ESTALE);
	CHECK_HAS(error.why, "5003 bytes");
	check_doubt(read_part(PART DATED), -ESTALE);
}

static void replicas(void)
{
	const struct sfs_http_query q = {.object = &object,
					 .first = 100,
					 .last = 199,
					 .verify_size_only = true};

	know(TAGGED DATED);
	CHECK_EQ(judge(&q, PART "ETag: \"two\"\nLast-Modified: " OTHER_DAY "\n"),
		 SFS_RESPONSE_BYTES);
	check_doubt(judge(&q, "HTTP/1.1 206 x\nContent-Range: bytes 100-199/999\n"),
		    -ESTALE);
}

static void encodings(void)
{
	know(TAGGED);
	CHECK_EQ(read_part(PART TAGGED "Content-Encoding: identity\n"),
		 SFS_RESPONSE_BYTES);
	check_doubt(read_part(PART TAGGED "Content-Encoding: gzip\n"), -EIO);
	CHECK_HAS(error.why, "gzip");
	check_doubt(ask("HTTP/1.1 206 x\nContent-Range: bytes 0-511/2000\n"
			"Content-Encoding: br\n"),
		    -EIO);
}

static void refusals(void)
{
	static const struct {
		int status, outcome, err;
	} all[] = {
		{301, SFS_RESPONSE_REDIRECT, 0},    {302, SFS_RESPONSE_REDIRECT, 0},
		{303, SFS_RESPONSE_REDIRECT, 0},    {307, SFS_RESPONSE_REDIRECT, 0},
		{308, SFS_RESPONSE_REDIRECT, 0},    {304, SFS_RESPONSE_AGAIN, -EIO},
		{400, SFS_RESPONSE_AGAIN, -EIO},    {401, SFS_RESPONSE_FINAL, -EACCES},
		{403, SFS_RESPONSE_FINAL, -EACCES}, {404, SFS_RESPONSE_AGAIN, -ENOENT},
		{405, SFS_RESPONSE_AGAIN, -EIO},    {407, SFS_RESPONSE_FINAL, -EACCES},
		{408, SFS_RESPONSE_AGAIN, 0},	    {410, SFS_RESPONSE_AGAIN, -ENOENT},
		{412, SFS_RESPONSE_AGAIN, -ESTALE}, {416, SFS_RESPONSE_AGAIN, 0},
		{501, SFS_RESPONSE_AGAIN, 0},	    {505, SFS_RESPONSE_AGAIN, 0},
		{425, SFS_RESPONSE_AGAIN, 0},	    {429, SFS_RESPONSE_AGAIN, 0},
		{500, SFS_RESPONSE_AGAIN, 0},	    {502, SFS_RESPONSE_AGAIN, 0},
		{503, SFS_RESPONSE_AGAIN, 0},	    {599, SFS_RESPONSE_AGAIN, 0},
		{204, SFS_RESPONSE_AGAIN, -EIO},    {100, SFS_RESPONSE_AGAIN, -EIO},
		{0, SFS_RESPONSE_AGAIN, 0},
	};
	size_t i;

	know(TAGGED);
	for (i = 0; i < SFS_COUNT(all); i++) {
		sfs_autofree char *text =
			sfs_asprintf("HTTP/1.1 %03d x\nContent-Length: 9\n",
				     all[i].status);

		CHECK_EQ(read_part(text), all[i].outcome);
		CHECK_EQ(error.err, all[i].err);
		if (all[i].status == 412 || all[i].status == 416)
			continue; /* see below, and asks() */
		/* What is asked for its size may not be there; what is read was. */
		CHECK_EQ(ask(text), all[i].err == -ENOENT ? SFS_RESPONSE_FINAL
							  : all[i].outcome);
		CHECK_EQ(error.err, all[i].err);
	}
	check_doubt(read_part("HTTP/1.1 412 x\nETag: \"two\"\n"), -ESTALE);
	CHECK_HAS(error.why, "its ETag was \"one\", is \"two\"");
	/* S3 says 403 where others say 404. */
	check_final(ask("HTTP/1.1 403 x\nContent-Type: application/xml\n"), -EACCES);
	CHECK_HAS(error.why, "HTTP 403 (S3 says so of a missing object, too");
	check_final(ask("HTTP/1.1 403 x\nx-amz-request-id: 1\n"), -EACCES);
	CHECK_HAS(error.why, "HTTP 403 (S3 says so of a missing object, too");
	check_final(ask("HTTP/1.1 403 x\nContent-Type: text/html\n"), -EACCES);
	CHECK_STR(error.why, "HTTP 403");
	check_final(read_part("HTTP/1.1 403 x\nContent-Type: application/xml\n"),
		    -EACCES);
	CHECK_STR(error.why, "HTTP 403");
	/* What contradicts itself may be better next time. */
	CHECK_EQ(read_part("HTTP/1.1 412 x\n" TAGGED), SFS_RESPONSE_AGAIN);
	CHECK_EQ(read_whole("HTTP/1.1 412 x\n"), SFS_RESPONSE_AGAIN);
	CHECK_EQ(read_part("HTTP/1.1 416 x\nContent-Range: bytes */1000\n"),
		 SFS_RESPONSE_AGAIN);
	check_doubt(read_part("HTTP/1.1 416 x\nContent-Range: bytes */150\n"), -ESTALE);
	CHECK_HAS(error.why, "its size was 1000, is 150");
	CHECK_EQ(read_part(PART TAGGED "Content-Length: 99\n"), SFS_RESPONSE_AGAIN);
	CHECK_HAS(error.why, "two lengths");
	CHECK_EQ(ask("HTTP/1.1 412 x\n"), SFS_RESPONSE_AGAIN);

	CHECK(sfs_response_is_later(503) && sfs_response_is_later(500));
	CHECK(sfs_response_is_later(429) && sfs_response_is_later(408));
	CHECK(!sfs_response_is_later(501) && !sfs_response_is_later(505));
	CHECK(!sfs_response_is_later(404) && !sfs_response_is_later(206));
}

static void asks(void)
{
	CHECK_EQ(ask("HTTP/1.1 206 x\nContent-Range: bytes 0-511/2048\n" TAGGED),
		 SFS_RESPONSE_BYTES);
	CHECK_EQ(ask("HTTP/1.1 206 x\nContent-Range: bytes 0-511/2000\n" TAGGED),
		 SFS_RESPONSE_ODD);
	CHECK_EQ(ask("HTTP/1.1 206 x\nContent-Range: bytes 1-511/1000\n"),
		 SFS_RESPONSE_AGAIN);
	CHECK_EQ(ask("HTTP/1.1 206 x\n"), SFS_RESPONSE_AGAIN);
	/* No ranges, or no size. */
	check_doubt(ask("HTTP/1.1 200 x\nContent-Length: 1000\n"), -EOPNOTSUPP);
	CHECK_HAS(error.why, "does not serve ranges");
	check_doubt(ask("HTTP/1.1 200 x\n"), -EOPNOTSUPP);
	check_doubt(ask("HTTP/1.1 200 x\nContent-Type: text/html; charset=utf-8\n"),
		    -EOPNOTSUPP);
	CHECK_HAS(error.why, "a web page (HTTP 200, text/html)");
	check_doubt(ask("HTTP/1.1 206 x\nContent-Range: bytes 0-511/*\n"), -EOPNOTSUPP);
	CHECK_HAS(error.why, "how large");
}

/* Each asks for another number of bytes, which says whose response it is. */
static void asks_over_one_connection(void)
{
	CHECK_EQ(ask_third("HTTP/1.1 206 x\nContent-Range: bytes 0-513/2048\n" TAGGED),
		 SFS_RESPONSE_BYTES);
	CHECK_EQ(ask_third("HTTP/1.1 206 x\nContent-Range: bytes 0-512/2048\n" TAGGED),
		 SFS_RESPONSE_AGAIN);
	CHECK_EQ(ask_third("HTTP/1.1 206 x\nContent-Range: bytes 0-514/2048\n" TAGGED),
		 SFS_RESPONSE_AGAIN);
	CHECK_EQ(ask_third("HTTP/1.1 206 x\nContent-Range: bytes 0-9/10\n" TAGGED),
		 SFS_RESPONSE_AGAIN);
	/* The first one has nobody before it, and a server may give less. */
	CHECK_EQ(ask("HTTP/1.1 206 x\nContent-Range: bytes 0-512/2048\n" TAGGED),
		 SFS_RESPONSE_AGAIN);
	CHECK_EQ(ask("HTTP/1.1 206 x\nContent-Range: bytes 0-499/2048\n" TAGGED),
		 SFS_RESPONSE_BYTES);
}

/* Its size is asked for, and then the whole, to confirm it. */
static int ask_twice(const char *first, const char *second)
{
	struct sfs_http_query q = {.object = &object, .is_ask = true, .last = 511};
	struct sfs_claim claim;

	CHECK_EQ(judge(&q, first), SFS_RESPONSE_TINY);
	claim = error.claim;
	q.claim = &claim;
	return judge(&q, second);
}

/* No tar is so small: only what is said twice, in two ways, is so. */
static void tiny_objects(void)
{
	static const char
		*const few = "HTTP/1.1 206 x\nContent-Range: bytes 0-9/10\n",
		       *tagged = "HTTP/1.1 206 x\nContent-Range: bytes 0-9/10\n" TAGGED,
		       *none = "HTTP/1.1 200 x\nContent-Length: 0\n",
		       *none_tagged = "HTTP/1.1 200 x\nContent-Length: 0\n" TAGGED,
		       *none_dated = "HTTP/1.1 200 x\nContent-Length: 0\n" DATED,
		       *refused = "HTTP/1.1 416 x\nContent-Range: bytes */0\n",
		       *refused_badly = "HTTP/1.1 416 x\n" TAGGED,
		       *ten = "HTTP/1.1 200 x\nContent-Length: 10\n",
		       *ten_tagged = "HTTP/1.1 200 x\nContent-Length: 10\n" TAGGED;
	const struct sfs_http_query small = {.object = &object,
					     .is_ask = true,
					     .may_be_tiny = true,
					     .last = 511};

	/* As nginx, AIStore and MinIO say it. */
	CHECK_EQ(ask_twice(none_tagged, none_tagged), SFS_RESPONSE_BYTES);
	CHECK_EQ(ask_twice(none_dated, none_dated), SFS_RESPONSE_BYTES);
	CHECK_EQ(ask_twice(refused, none), SFS_RESPONSE_BYTES);
	CHECK_EQ(ask_twice(refused_badly, none_tagged), SFS_RESPONSE_BYTES);
	CHECK_EQ(ask_twice(tagged, ten_tagged), SFS_RESPONSE_BYTES);

	CHECK_EQ(ask_twice(none, none), SFS_RESPONSE_AGAIN);
	CHECK_HAS(error.why,
		  "claimed a size of 0 bytes, which no tar has, and did not confirm it");
	CHECK_EQ(ask_twice(refused_badly, none), SFS_RESPONSE_AGAIN);
	CHECK_EQ(ask_twice(none_tagged, none_dated), SFS_RESPONSE_AGAIN);
	CHECK_EQ(ask_twice(none_tagged, ten_tagged), SFS_RESPONSE_AGAIN);
	CHECK_EQ(ask_twice(refused, refused), SFS_RESPONSE_AGAIN);
	CHECK_EQ(ask_twice(refused, "HTTP/1.1 200 x\n"), SFS_RESPONSE_AGAIN);
	CHECK_EQ(ask_twice(few, ten), SFS_RESPONSE_AGAIN);
	CHECK_EQ(ask_twice(few, few), SFS_RESPONSE_AGAIN);
	CHECK_EQ(ask_twice(tagged, "HTTP/1.1 200 x\nContent-Length: 9\n" TAGGED),
		 SFS_RESPONSE_AGAIN);
	check_final(ask_twice(few, "HTTP/1.1 404 x\n"), -ENOENT);

	CHECK_EQ(ask("HTTP/1.1 416 x\nContent-Range: bytes */1000\n"),
		 SFS_RESPONSE_AGAIN);
	CHECK_EQ(ask("HTTP/1.1 206 x\nContent-Range: bytes 0-511/1024\n"),
		 SFS_RESPONSE_BYTES);
	/* An index may be small, and there need be none. */
	check_final(judge(&small, "HTTP/1.1 200 x\nContent-Type: text/html\n"),
		    -EOPNOTSUPP);
	CHECK_EQ(judge(&small, few), SFS_RESPONSE_BYTES);
}

static void what_is_learnt(void)
{
	know(TAGGED DATED);
	CHECK_STR(object.tag, "\"one\"");
	CHECK_STR(object.modified, DAY);
	CHECK_EQ(object.mtime_s, 1704067200);

	know("ETag: W/\"one\"\nLast-Modified: yesterday\n");
	CHECK_STR(object.tag, "W/\"one\"");
	CHECK_STR(object.modified, "yesterday");
	CHECK_EQ(object.mtime_s, 0);

	know("");
	CHECK(!object.tag && !object.modified);

	sfs_response_learn(&object, answer_of("HTTP/1.1 200 x\nContent-Length: 0\n"));
	CHECK_EQ(object.size, 0);
	sfs_response_learn(&object, answer_of("HTTP/1.1 200 x\nContent-Length: 10\n"));
	CHECK_EQ(object.size, 10);
}

int main(void)
{
	the_range_that_was_asked_for();
	the_whole_object();
	one_version();
	long_tags();
	replicas();
	encodings();
	refusals();
	asks();
	asks_over_one_connection();
	tiny_objects();
	what_is_learnt();
	sfs_object_done(&object);
	return 0;
}
