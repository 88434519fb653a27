/* SPDX-License-Identifier: MIT */
/* Whatever servers do, a request ends with the right bytes, or with the right error and a
 * sentence; and it claims no byte that is not there. */
#include "base/clock.h"
#include "scripted-fetch.h"

#define SIZE 100352
#define URL  "http://me:secret@origin/x.tar"
#define TAG  "ETag: \"one\"\n"

static unsigned char content[SIZE];
static struct sfs_source *source;
static struct sfs_object object;
static struct asked one;

static void start(const struct sfs_http_options *options)
{
	struct sfs_error err;

	source = sfs_source_http_start(options, &err);
	CHECK(source != NULL);
	make_object(&object, source, URL);
}

static void stop(void)
{
	sfs_source_stop(source);
	sfs_source_free(source);
	sfs_object_done(&object);
}

/* The only GET that is pending. */
static struct sfs_get *only(void)
{
	CHECK_EQ(script_n(), 1);
	return script_nth(0);
}

static struct sfs_get *begin_nth(size_t n)
{
	script_begin(script_nth(n));
	return script_nth(n);
}

static struct sfs_get *begin_only(void)
{
	only();
	return begin_nth(0);
}

/* "HTTP/1.1 206 ..." for the bytes first to last. */
static bool give_head(struct sfs_get *get, uint64_t first, uint64_t last)
{
	return script_head(
		get,
		"HTTP/1.1 206 Partial Content\nContent-Range: bytes %llu-%llu/%d\n"
		"Content-Length: %llu\n" TAG,
		(unsigned long long)first, (unsigned long long)last, SIZE,
		(unsigned long long)(last - first + 1));
}

/* All that was asked for. */
static void give(struct sfs_get *get)
{
	uint64_t first = get->first, last = get->last;

	CHECK(give_head(get, first, last));
	CHECK(script_body(get, content + first, last - first + 1));
	script_end(get);
}

static void expect(int err, uint64_t n_got, const char *why)
{
	size_t i;

	CHECK_EQ(one.n_done, 1);
	CHECK_EQ(one.err, err);
	CHECK_EQ(one.request.n_got, n_got);
	for (i = 0; one.request.kind == SFS_REQUEST_READ && i < n_got; i++)
		CHECK_EQ(asked_byte(&one, i), content[one.request.offset + i]);
	if (why)
		CHECK_HAS(one.error.text, why);
	asked_free(&one);
	CHECK_EQ(script_n(), 0);
}

/* The object's size has been asked for. */
static void begin(const struct sfs_http_options *options)
{
	start(options);
	ask_for_size(&one, &object);
	give(begin_only());
	CHECK(memcmp(one.head, content, sizeof one.head) == 0);
	expect(0, SFS_HEAD_BYTES, NULL);
	CHECK_EQ(object.size, SIZE);
	CHECK_STR(object.tag, "\"one\"");
}

static const struct sfs_http_options usual = {.n_connections = 4,
					      .n_retries = 2,
					      .read_timeout_ms = 3600000};

static void a_read_is_one_get(void)
{
	struct sfs_get *get;

	begin(&usual);
	ask_for_bytes(&one, &object, 1000, 5000);
	get = begin_only();
	CHECK_STR(get->url, "http://origin/x.tar");
	CHECK_STR(get->user, "me:secret");
	CHECK(get->has_user_headers);
	CHECK_STR(get->if_match, "\"one\"");
	CHECK_EQ(get->first, 1000);
	CHECK_EQ(get->last, 5999);
	give(get);
	expect(0, 5000, NULL);
	stop();
}

static void a_shorter_range_goes_on(void)
{
	struct sfs_get *get;

	begin(&usual);
	ask_for_bytes(&one, &object, 1000, 5000);
	get = begin_only();
	CHECK(give_head(get, 1000, 1999));
	CHECK(script_body(get, content + 1000, 1000));
	script_end(get);
	get = begin_only();
	CHECK_EQ(get->first, 2000);
	CHECK_EQ(get->last, 5999);
	give(get);
	expect(0, 5000, NULL);
	stop();
}

/* From the last good byte on. */
static void a_cut_body_is_resumed(void)
{
	struct sfs_get *get;

	begin(&usual);
	ask_for_bytes(&one, &object, 1000, 5000);
	get = begin_only();
	CHECK(give_head(get, 1000, 5999));
	CHECK(script_body(get, content + 1000, 700));
	script_lose(get);
	get = begin_only();
	CHECK_EQ(get->first, 1700);
	CHECK(get->is_retry);
	/* One without a length that just ends. */
	CHECK(script_head(get, "HTTP/1.1 206 OK\nContent-Range: bytes 1700-5999/%d\n" TAG,
			  SIZE));
	CHECK(script_body(get, content + 1700, 300));
	script_end(get);
	get = begin_only();
	CHECK_EQ(get->first, 2000);
	CHECK(!get->is_retry);
	give(get);
	expect(0, 5000, NULL);
	stop();
}

/* Which of them are the right ones is not known, so none counts. */
static void of_a_body_that_is_too_long_nothing_counts(void)
{
	static const size_t pieces[][4] = {{5000, 1}, {4000, 1001}, {5001}, {1, 4999, 7}};
	static const char wrong[6000];
	struct sfs_get *get;
	size_t i, j;

	for (i = 0; i < SFS_COUNT(pieces); i++) {
		begin(&usual);
		ask_for_bytes(&one, &object, 1000, 5000);
		get = begin_only();
		CHECK(script_head(get,
				  "HTTP/1.1 206 OK\n"
				  "Content-Range: bytes 1000-5999/%d\n" TAG,
				  SIZE));
		for (j = 0; pieces[i][j + 1]; j++)
			CHECK(script_body(get, wrong, pieces[i][j]));
		CHECK(!script_body(get, wrong, pieces[i][j]));
		get = begin_only();
		CHECK_EQ(get->first, 1000);
		CHECK_EQ(one.request.n_ready, 0);
		if (i % 2) {
			give(get);
			expect(0, 5000, NULL);
		} else {
			sfs_request_cancel(&one.request);
			expect(-ECANCELED, 0, NULL);
		}
		stop();
	}
}

/* Nor of one that is longer than it said, though there is room for it. */
static void a_body_is_no_longer_than_its_range(void)
{
	struct sfs_get *get;

	begin(&usual);
	ask_for_bytes(&one, &object, 1000, 5000);
	get = begin_only();
	CHECK(script_head(get, "HTTP/1.1 206 OK\nContent-Range: bytes 1000-1999/%d\n" TAG,
			  SIZE));
	CHECK(script_body(get, content + 1000, 1000));
	CHECK(!script_body(get, "?", 1));
	get = begin_only();
	CHECK_EQ(get->first, 1000);
	give(get);
	expect(0, 5000, NULL);
	stop();
}

/* The server gives this response at each try. */
static void steadily(const char *head)
{
	int i;

	for (i = 0; i < 3; i++) {
		CHECK_EQ(one.n_done, 0);
		begin_only();
		CHECK(script_head(only(), "%s", head));
		script_end(only());
	}
}

/* `retries` times more, and then it is an error. */
static void a_wrong_range_is_refused(void)
{
	int i;

	begin(&usual);
	ask_for_bytes(&one, &object, 1000, 5000);
	for (i = 0; i < 3; i++) {
		CHECK_EQ(one.n_done, 0);
		CHECK(give_head(begin_only(), 999, 5998));
		script_end(only());
	}
	expect(-EIO, 0, "http://origin/x.tar: asked for bytes 1000-5999, got 999-5998");

	ask_for_bytes(&one, &object, 1000, 5000);
	for (i = 0; i < 3; i++) {
		begin_only();
		CHECK(script_head(only(), "HTTP/1.1 200 OK\nContent-Length: %d\n" TAG,
				  SIZE));
		CHECK(script_body(only(), content, 5000)); /* and is not believed */
		script_end(only());
	}
	expect(-EIO, 0, "ignores Range");
	stop();
}

static void redirects_are_followed_without_secrets(void)
{
	struct sfs_get *get;

	begin(&usual);
	ask_for_bytes(&one, &object, 0, 2000);
	get = begin_only();
	CHECK(script_head(get, "HTTP/1.1 307 There\nLocation: /y.tar?key=1\n"));
	script_end(get);
	get = begin_only();
	CHECK_STR(get->url, "http://origin/y.tar?key=1");
	CHECK_STR(get->user, "me:secret");
	CHECK(get->has_user_headers);
	CHECK(script_head(get,
			  "HTTP/1.1 301 There\nLocation: http://origin:8080/z.tar\n"));
	script_end(get);
	get = begin_only();
	CHECK_STR(get->url, "http://origin:8080/z.tar");
	CHECK(!get->user && !get->has_user_headers);
	CHECK_STR(get->if_match, "\"one\"");
	give(get);
	expect(0, 2000, NULL);

	/* The next goes there at once. */
	ask_for_bytes(&one, &object, 2000, 2000);
	get = begin_only();
	CHECK_STR(get->url, "http://origin:8080/z.tar");
	CHECK(!get->user && !get->has_user_headers);
	/* When that place fails, the object's own URL is asked. */
	CHECK(script_head(get, "HTTP/1.1 404 Gone\n"));
	script_end(get);
	get = begin_only();
	CHECK_STR(get->url, "http://origin/x.tar");
	CHECK_STR(get->user, "me:secret");
	give(get);
	expect(0, 2000, NULL);

	ask_for_bytes(&one, &object, 0, 10);
	get = begin_only();
	CHECK_STR(get->url, "http://origin/x.tar");
	give(get);
	expect(0, 10, NULL);
	stop();
}

static void some_redirects_are_not_followed(void)
{
	int i;

	begin(&usual);
	ask_for_bytes(&one, &object, 0, 10);
	for (i = 0; i < 11; i++) {
		CHECK_EQ(one.n_done, 0);
		begin_only();
		CHECK(script_head(only(), "HTTP/1.1 302 Loop\nLocation: /x.tar\n"));
		script_end(only());
	}
	expect(-EIO, 0, "more than 10 redirects");

	ask_for_bytes(&one, &object, 0, 10);
	steadily("HTTP/1.1 302 Found\nLocation: ftp://origin/x.tar\n");
	expect(-EIO, 0, "not an http URL");

	ask_for_bytes(&one, &object, 0, 10);
	for (i = 0; i < 3; i++) {
		CHECK_EQ(one.n_done, 0);
		begin_only();
		CHECK(script_head(only(),
				  "HTTP/1.1 302 Found\nLocation: https://s/x.tar\n"));
		script_end(only());
		begin_only();
		CHECK(script_head(only(),
				  "HTTP/1.1 302 Found\nLocation: http://s/x.tar\n"));
		script_end(only());
	}
	expect(-EIO, 0, "from https to http");
	stop();
}

static void refuse(int status)
{
	begin_only();
	CHECK(script_head(only(), "HTTP/1.1 %d No\n", status));
	script_end(only());
}

static void renewed_credentials_are_sent(void)
{
	int i;

	begin(&usual);
	ask_for_bytes(&one, &object, 0, 10);
	begin_only();
	script.edition++; /* while it is in flight */
	CHECK(script_head(only(), "HTTP/1.1 401 No\n"));
	script_end(only());
	give(begin_only());
	expect(0, 10, NULL);

	ask_for_bytes(&one, &object, 0, 10);
	refuse(403); /* and there are no others */
	expect(-EACCES, 0, "HTTP 403");

	/* A file that changes all the time is no way to go on for ever. */
	ask_for_bytes(&one, &object, 0, 10);
	for (i = 0; i < 4; i++) {
		CHECK_EQ(one.n_done, 0);
		begin_only();
		script.edition++;
		CHECK(script_head(only(), "HTTP/1.1 401 No\n"));
		script_end(only());
	}
	expect(-EACCES, 0, "HTTP 401");
	stop();
}

static void what_passes_is_tried_again(void)
{
	int i;

	begin(&usual);
	ask_for_bytes(&one, &object, 0, 10);
	for (i = 0; i < 20; i++) {
		begin_only();
		CHECK(script_head(only(), "HTTP/1.1 503 Busy\nRetry-After: 7\n"));
		script_end(only());
		CHECK(script.last_delay_ms >= 7000);
		begin_only();
		script_fail(only(), -ECONNREFUSED, SFS_FETCH_REFUSED, "refused");
	}
	give(begin_only());
	expect(0, 10, NULL);

	ask_for_bytes(&one, &object, 0, 10);
	refuse(404);
	refuse(404);
	refuse(404);
	expect(-ENOENT, 0, "HTTP 404");
	ask_for_bytes(&one, &object, 0, 10);
	begin_only();
	script_fail(only(), -EACCES, SFS_FETCH_FINAL, "certificate has expired");
	expect(-EACCES, 0, "certificate has expired");
	stop();
}

/* A request that a reader cannot wait for any longer. */
static void the_time_may_be_up(void)
{
	const struct sfs_http_options hasty = {.n_connections = 4, .n_retries = 2};

	begin(&hasty);
	ask_for_bytes(&one, &object, 0, 3000);
	begin_only();
	CHECK(give_head(only(), 0, 2999));
	CHECK(script_body(only(), content, 1234));
	script_lose(only());
	expect(-ECONNRESET, 1234, "Connection reset by peer (given up after 0 s)");
	stop();
}

static void another_version_is_refused(void)
{
	begin(&usual);
	ask_for_bytes(&one, &object, 0, 3000);
	begin_only();
	CHECK(give_head(only(), 0, 2999));
	CHECK(script_body(only(), content, 1000));
	script_lose(only());
	begin_only();
	CHECK(script_head(only(),
			  "HTTP/1.1 206 OK\nContent-Range: bytes 1000-2999/%d\n"
			  "Content-Length: 2000\nETag: \"two\"\n",
			  SIZE));
	CHECK(script_body(only(), "another", 7));
	script_end(only());
	begin_only();
	CHECK(script_head(only(), "HTTP/1.1 412 No\nETag: \"two\"\n"));
	script_end(only());
	refuse(404);
	expect(-ENOENT, 1000, "HTTP 404");

	ask_for_bytes(&one, &object, 0, 3000);
	steadily("HTTP/1.1 412 No\nETag: \"two\"\n");
	expect(-ESTALE, 0, "its ETag was \"one\", is \"two\"");

	/* The kernel repeats a read: what was tried often enough is not tried again. */
	object.given_up_ns += 3600 * SFS_NS_PER_S; /* (however slow this machine is) */
	ask_for_bytes(&one, &object, 0, 3000);
	begin_only();
	CHECK(script_head(only(), "HTTP/1.1 206 OK\nContent-Range: bytes 0-2999/7777\n" TAG));
	script_end(only());
	expect(-ESTALE, 0, "its size was 100352, is 7777");
	ask_for_bytes(&one, &object, 0, 3000);
	steadily("HTTP/1.1 404 No\n"); /* that is something else */
	expect(-ENOENT, 0, "HTTP 404");
	object.given_up_ns = 0; /* it was some time ago */
	ask_for_bytes(&one, &object, 0, 3000);
	steadily("HTTP/1.1 404 No\n");
	expect(-ENOENT, 0, "HTTP 404");

	/* It is there again. */
	ask_for_bytes(&one, &object, 0, 3000);
	give(begin_only());
	expect(0, 3000, NULL);
	ask_for_bytes(&one, &object, 0, 3000);
	steadily("HTTP/1.1 416 No\nContent-Range: bytes */7777\n");
	expect(-ESTALE, 0, "its size was 100352, is 7777");
	stop();
}

/* What a server says once, and never again: one of many caches may be ill. */
static void one_odd_answer_is_not_believed(void)
{
	static const char *const odd[] = {
		"HTTP/1.1 200 OK\nContent-Length: 100352\n" TAG,
		"HTTP/1.1 200 OK\nContent-Type: text/html\n",
		"HTTP/1.1 206 OK\nContent-Range: bytes 0-511/*\n" TAG,
		"HTTP/1.1 206 OK\nContent-Range: bytes 0-511/7777\n"
		"Content-Encoding: gzip\n",
		"HTTP/1.1 416 No\nContent-Range: bytes */7777\n",
		"HTTP/1.1 412 No\nETag: \"two\"\n",
		"HTTP/1.1 302 Found\nLocation: ftp://origin/x.tar\n",
		"HTTP/1.1 302 Found\n",
		"HTTP/1.1 400 No\n",
		"HTTP/1.1 204 Nothing\n",
		"HTTP/1.1 304 Same\n",
		"HTTP/1.1 405 No\n",
		"HTTP/1.1 501 No\n",
		"HTTP/1.1 oh dear\n",
		"HTTP/1.1 206 OK\nContent-Range: bytes 0-511/77777\n"
		"Content-Length: 512\nETag: \"two\"\n",
		/* Of a read only. */
		"HTTP/1.1 404 No\n",
		"HTTP/1.1 410 No\n",
		"HTTP/1.1 206 OK\nContent-Range: bytes 0-9/100352\nETag: \"two\"\n",
		"HTTP/1.1 206 OK\nContent-Range: bytes 0-9/7777\n" TAG,
	};
	const size_t n_of_reads = 4;
	size_t i;

	start(&usual);
	for (i = 0; i < SFS_COUNT(odd) - n_of_reads; i++) {
		ask_for_size(&one, &object);
		begin_only();
		CHECK(script_head(only(), "%s", odd[i]));
		script_end(only());
		give(begin_only());
		expect(0, SFS_HEAD_BYTES, NULL);
		CHECK_EQ(object.size, SIZE);
	}
	for (i = 0; i < SFS_COUNT(odd); i++) {
		ask_for_bytes(&one, &object, 0, 10);
		begin_only();
		CHECK(script_head(only(), "%s", odd[i]));
		script_end(only());
		give(begin_only());
		expect(0, 10, NULL);
	}
	stop();
}

static void size_is(int size)
{
	begin_only();
	CHECK(script_head(only(),
			  "HTTP/1.1 206 OK\nContent-Range: bytes 0-511/%d\n"
			  "Content-Length: 512\n" TAG,
			  size));
	script_body(only(), content, 512);
	script_end(only());
}

/* A size that is no whole number of blocks is believed when it comes twice, as that of a
 * shard that was cut off; or when there is another one each time. */
static void an_odd_size_is_asked_for_again(void)
{
	start(&usual);
	ask_for_size(&one, &object);
	size_is(77777);
	size_is(77777);
	expect(0, SFS_HEAD_BYTES, NULL);
	CHECK_EQ(object.size, 77777);
	ask_for_size(&one, &object);
	size_is(77777);
	size_is(77778);
	size_is(77777);
	size_is(77779);
	expect(0, SFS_HEAD_BYTES, NULL);
	CHECK_EQ(object.size, 77779);
	ask_for_size(&one, &object);
	size_is(77777);
	size_is(SIZE);
	expect(0, SFS_HEAD_BYTES, NULL);
	CHECK_EQ(object.size, SIZE);
	stop();
}

/* Of an index, which need not be there, it is enough: many may be looked for. */
static void an_odd_answer_for_an_index_is_none(void)
{
	start(&usual);
	ask_for_size(&one, &object);
	one.request.may_be_tiny = one.request.is_probe = true;
	begin_only();
	CHECK(script_head(only(), "HTTP/1.1 400 No\n"));
	script_end(only());
	expect(-EIO, 0, "HTTP 400");
	stop();
}

/* A probe ends at once when the server wants to be asked again too late. */
static void a_server_may_want_more_time_than_there_is(void)
{
	const struct sfs_http_options brief = {
		.n_connections = 4, .n_retries = 2, .read_timeout_ms = 60000};

	start(&brief);
	ask_for_size(&one, &object);
	one.request.is_probe = true;
	begin_only();
	CHECK(script_head(only(), "HTTP/1.1 429 Busy\nRetry-After: 20\n"));
	script_end(only());
	CHECK(script.last_delay_ms >= 20000);
	begin_only();
	CHECK(script_head(only(), "HTTP/1.1 429 Busy\nRetry-After: 3600\n"));
	script_end(only());
	expect(-EIO, 0, "HTTP 429 (Retry-After: 3600 s; given up after");
	stop();
}

/* ---- hedges ---- */

/* The first GET has got `n` bytes and is late: the second is its hedge. */
static void hedge(size_t n)
{
	struct sfs_get *get;

	ask_for_bytes(&one, &object, 0, 50000);
	get = begin_only();
	if (n > 0) {
		CHECK(give_head(get, 0, 49999));
		CHECK(script_body(get, content, n));
	}
	script_late(get);
	CHECK_EQ(script_n(), 2);
	get = script_nth(1);
	CHECK(get->is_urgent);
	script_begin(get);
	CHECK_EQ(get->first, n);
	CHECK_EQ(get->last, 49999);
}

static void give_rest(struct sfs_get *get, uint64_t at)
{
	uint64_t n = get->last + 1 - at;

	CHECK(script_body(get, content + at, n));
	script_end(get);
}

static void either_leg_may_win(void)
{
	struct sfs_source_counts counts = {0};

	begin(&usual);
	/* The hedge. */
	hedge(0);
	give(script_nth(1));
	expect(0, 50000, NULL);
	CHECK_EQ(script.n_dropped, 1);
	/* The late one. */
	hedge(0);
	CHECK(give_head(script_nth(0), 0, 49999));
	give_rest(script_nth(0), 0);
	expect(0, 50000, NULL);
	CHECK_EQ(script.n_dropped, 2);
	sfs_source_count(source, &counts);
	CHECK_EQ(counts.n_hedges, 2);
	CHECK_EQ(counts.hedged_bytes, 0);
	/* Both have a part of it: the late one gets a third more, the hedge the rest. */
	hedge(0);
	CHECK(give_head(script_nth(0), 0, 49999));
	CHECK(script_body(script_nth(0), content, 20000));
	CHECK(give_head(script_nth(1), 0, 49999));
	CHECK(script_body(script_nth(1), content, 30000));
	CHECK(script_body(script_nth(0), content + 20000, 5000));
	give_rest(script_nth(1), 30000);
	expect(0, 50000, NULL);
	sfs_source_count(source, &counts);
	CHECK_EQ(counts.hedged_bytes, 25000);
	stop();
}

/* Each failure of one leg is no failure of the request. */
static void the_other_leg_goes_on(void)
{
	begin(&usual);
	hedge(0);
	script_lose(script_nth(0)); /* spare: it is not tried again */
	give(only());
	expect(0, 50000, NULL);
	hedge(0);
	CHECK(script_head(script_nth(1), "HTTP/1.1 404 No\n"));
	script_end(script_nth(1));
	CHECK(give_head(only(), 0, 49999));
	give_rest(only(), 0);
	expect(0, 50000, NULL);
	/* The last that could bring a byte fails. */
	hedge(0);
	script_lose(script_nth(0));
	steadily("HTTP/1.1 404 No\n");
	expect(-ENOENT, 0, "HTTP 404");
	stop();
}

/* A size is asked for again as well, and the first response is believed. */
static void an_ask_is_hedged(void)
{
	start(&usual);
	ask_for_size(&one, &object);
	begin_only();
	CHECK(give_head(only(), 0, SFS_HEAD_BYTES - 1));
	CHECK(script_body(only(), content, 100));
	script_late(only());
	give(begin_nth(1));
	CHECK(memcmp(one.head, content, sizeof one.head) == 0);
	expect(0, SFS_HEAD_BYTES, NULL);
	CHECK_EQ(object.size, SIZE);
	stop();
}

/* No more than three hedges of one request; where a reader waits, in several legs. */
static void hedges_have_limits(void)
{
	static unsigned char *memory;
	struct iovec iov;
	int i;

	begin(&usual);
	ask_for_bytes(&one, &object, 0, 1000);
	begin_only();
	for (i = 0; i < 5; i++)
		script_late(script_nth(0));
	CHECK_EQ(script_n(), 4);
	give(begin_nth(2));
	expect(0, 1000, NULL);

	memory = sfs_calloc(1, SIZE);
	iov = (struct iovec){memory, SIZE};
	object.size = 1 << 20;
	one = (struct asked){.request = {.kind = SFS_REQUEST_READ,
					 .object = &object,
					 .n_bytes = 400 << 10,
					 .iov = &iov,
					 .n_iov = 1,
					 .done = asked_done}};
	sfs_request_submit(&one.request);
	begin_only();
	sfs_request_hurry(&one.request);
	script_late(only());
	CHECK_EQ(script_n(), 4);
	sfs_request_cancel(&one.request);
	expect(-ECANCELED, 0, NULL);
	free(memory);
	stop();
}

/* ---- the first bytes of a far server ---- */

static void a_cold_far_server_is_asked_in_pieces(void)
{
	uint64_t at = 0;
	size_t i;

	begin(&usual);
	script.cold_bytes = 13 << 10;
	ask_for_bytes(&one, &object, 500, 60000);
	begin_only();
	CHECK_EQ(script_n(), 5);
	for (i = 1; i < 5; i++)
		begin_nth(i);
	for (i = 0; i < 5; i++) {
		CHECK_EQ(script_nth(i)->first, 500 + at);
		at = script_nth(i)->last + 1 - 500;
	}
	CHECK_EQ(at, 60000);
	/* The last ones first: nothing is claimed before the first is there. */
	while (script_n() > 1) {
		give(script_nth(script_n() - 1));
		CHECK_EQ(one.n_done, 0);
	}
	give(only());
	expect(0, 60000, NULL);
	stop();
}

static void a_gap_is_not_claimed(void)
{
	begin(&usual);
	script.cold_bytes = 13 << 10;
	ask_for_bytes(&one, &object, 0, 60000);
	begin_only();
	begin_nth(1);
	begin_nth(2);
	give(script_nth(2));
	give(script_nth(0));
	CHECK(give_head(script_nth(0), script_nth(0)->first, script_nth(0)->last));
	CHECK(script_body(script_nth(0), content + script_nth(0)->first, 1000));
	sfs_request_cancel(&one.request);
	expect(-ECANCELED, (13 << 10) + 1000, NULL);
	stop();
}

/* ---- cancellation ---- */

/* At each point of a read that is redirected, fails, is late and then gets its bytes. */
static void cancel_at(int point)
{
	int i = 0;

#define POINT                                                \
	if (i++ == point) {                                  \
		sfs_request_cancel(&one.request);            \
		CHECK_EQ(one.err, -ECANCELED);               \
		expect(-ECANCELED, one.request.n_got, NULL); \
		stop();                                      \
		return;                                      \
	}
	begin(&usual);
	ask_for_bytes(&one, &object, 0, 50000);
	POINT;
	begin_only();
	POINT;
	CHECK(script_head(only(), "HTTP/1.1 302 Found\nLocation: /y.tar\n"));
	POINT;
	script_end(only());
	POINT;
	begin_only();
	script_lose(only());
	POINT;
	begin_only();
	POINT;
	script_late(only());
	POINT;
	begin_nth(1);
	POINT;
	CHECK(give_head(script_nth(1), 0, 49999));
	POINT;
	CHECK(script_body(script_nth(1), content, 10000));
	POINT;
	CHECK(give_head(script_nth(0), 0, 49999));
	CHECK(script_body(script_nth(0), content, 20000));
	POINT;
	script_lose(script_nth(0));
	POINT;
	give_rest(only(), 10000);
	expect(0, 50000, NULL);
	stop();
#undef POINT
	CHECK(point >= i);
}

static void a_request_after_the_end_ends_at_once(void)
{
	start(&usual);
	sfs_source_stop(source);
	ask_for_size(&one, &object);
	expect(-ECANCELED, 0, NULL);
	stop();
}

/* ---- sizes that no tar has ---- */

static void a_tiny_size_is_confirmed(void)
{
	struct sfs_get *get;

	start(&usual);
	ask_for_size(&one, &object);
	CHECK(script_head(begin_only(), "HTTP/1.1 416 No\nContent-Range: bytes */0\n"));
	script_end(only());
	get = begin_only();
	CHECK(get->is_whole);
	CHECK(script_head(get, "HTTP/1.1 200 OK\nContent-Length: 0\n" TAG));
	script_end(get);
	expect(0, 0, NULL);
	CHECK_EQ(object.size, 0);
	stop();

	/* A server that was ill, and is not any more. */
	start(&usual);
	ask_for_size(&one, &object);
	CHECK(script_head(begin_only(), "HTTP/1.1 200 OK\nContent-Length: 0\n" TAG));
	script_end(only());
	get = begin_only();
	CHECK(get->is_whole);
	CHECK(script_head(get, "HTTP/1.1 200 OK\nContent-Length: %d\n" TAG, SIZE));
	script_end(get);
	give(begin_only());
	expect(0, SFS_HEAD_BYTES, NULL);
	CHECK_EQ(object.size, SIZE);
	stop();
}

int main(void)
{
	int i, in_place;

	for (i = 0; i < SIZE; i++)
		content[i] = (unsigned char)(i * 7 + i / 251);
	for (in_place = 0; in_place < 2; in_place++) {
		script.is_in_place = in_place;
		a_read_is_one_get();
		a_shorter_range_goes_on();
		a_cut_body_is_resumed();
		of_a_body_that_is_too_long_nothing_counts();
		a_body_is_no_longer_than_its_range();
		a_wrong_range_is_refused();
		redirects_are_followed_without_secrets();
		some_redirects_are_not_followed();
		renewed_credentials_are_sent();
		what_passes_is_tried_again();
		the_time_may_be_up();
		another_version_is_refused();
	one_odd_answer_is_not_believed();
	an_odd_size_is_asked_for_again();
	an_odd_answer_for_an_index_is_none();
	a_server_may_want_more_time_than_there_is();
		either_leg_may_win();
		the_other_leg_goes_on();
		an_ask_is_hedged();
		hedges_have_limits();
		a_cold_far_server_is_asked_in_pieces();
		a_gap_is_not_claimed();
		for (i = 0; i < 20; i++)
			cancel_at(i);
		a_request_after_the_end_ends_at_once();
		a_tiny_size_is_confirmed();
	}
	return 0;
}
