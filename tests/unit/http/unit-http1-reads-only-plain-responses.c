/* SPDX-License-Identifier: MIT */
/* A wire reads an answer whose length is said, in whatever pieces it comes, and puts
 * each byte of the body where it is wanted; any other answer is odd, and a connection
 * on which something is wrong is not used again.  So also with TLS, which holds bytes that
 * the socket does not show. */
#include "base/alloc.h"
#include "check.h"
#include "source/http/http1.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define OK     "HTTP/1.1 206 Partial Content\r\n"
#define N_BODY 200000

static char many[N_BODY + 1]; /* a body */

/* Who reads: into pieces of 7, 14, 28, ... bytes. */
struct reader {
	char lines[4096];
	char body[N_BODY];
	size_t n_body, n_room;
	int n_heads, head_says, took_says;
};

static void on_line(void *ctx, const char *line, size_t n)
{
	struct reader *r = ctx;
	size_t had = strlen(r->lines);

	CHECK(!memchr(line, '\n', n) && !memchr(line, '\r', n));
	if (had + n + 2 < sizeof r->lines)
		snprintf(r->lines + had, sizeof r->lines - had, "%.*s|", (int)n, line);
}

static int on_head(void *ctx)
{
	struct reader *r = ctx;

	r->n_heads++;
	return r->head_says;
}

static int on_room(void *ctx, struct iovec *pieces, int n_max)
{
	struct reader *r = ctx;
	size_t at = r->n_body, n = 7;
	int i;

	for (i = 0; i < n_max && at < r->n_room; i++, n *= 2) {
		n = r->n_room - at < n ? r->n_room - at : n;
		pieces[i] = (struct iovec){r->body + at, n};
		at += n;
	}
	return i;
}

static int on_received(void *ctx, size_t n)
{
	struct reader *r = ctx;

	r->n_body += n;
	return r->took_says;
}

static const struct sfs_http1_reader ops = {on_line, on_head, on_room, on_received};

static struct reader reader;
static struct sfs_http1 *conn;
static int server;

/* What TLS does, without the secret: it takes all that has come, which the socket does not
 * show any more, and gives at most a record of it. */
#define RECORD 16384

struct tls {
	int fd;
	size_t n;
	char bytes[1 << 20];
};

static bool is_tls;

static ssize_t tls_receive(void *ctx, void *to, size_t n)
{
	struct tls *tls = ctx;
	ssize_t n_new = recv(tls->fd, tls->bytes + tls->n, sizeof tls->bytes - tls->n,
			     MSG_DONTWAIT);

	if (tls->n == 0 && n_new <= 0)
		return n_new;
	tls->n += n_new > 0 ? (size_t)n_new : 0;
	n = n < tls->n ? n : tls->n;
	n = n < RECORD ? n : RECORD;
	memcpy(to, tls->bytes, n);
	tls->n -= n;
	memmove(tls->bytes, tls->bytes + n, tls->n);
	return (ssize_t)n;
}

static ssize_t tls_send(void *ctx, const void *from, size_t n)
{
	struct tls *tls = ctx;

	return send(tls->fd, from, n < RECORD ? n : RECORD, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void tls_close(void *ctx)
{
	struct tls *tls = ctx;

	close(tls->fd);
	free(tls);
}

static const struct sfs_http1_tls tls_ops = {tls_receive, tls_send, tls_close};

static struct sfs_http1 *new_conn(int fd)
{
	struct tls *tls;

	if (!is_tls)
		return sfs_http1_new(fd);
	tls = sfs_calloc(1, sizeof *tls);
	tls->fd = fd;
	return sfs_http1_new_tls(fd, &tls_ops, tls);
}

static void ask(void)
{
	static const char text[] = "GET / HTTP/1.1\r\n\r\n";
	char got[sizeof text] = "";
	int err;

	memset(&reader, 0, sizeof reader);
	reader.n_room = N_BODY;
	sfs_http1_ask(conn, text, strlen(text));
	CHECK(sfs_http1_sends(conn));
	CHECK_EQ(sfs_http1_run(conn, &ops, &reader, &err), SFS_HTTP1_WAITS);
	CHECK(!sfs_http1_sends(conn) && !sfs_http1_is_free(conn));
	CHECK_EQ(recv(server, got, sizeof got, 0), strlen(text));
	CHECK_STR(got, text);
}

static void begin(void)
{
	int fds[2];

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	conn = new_conn(fds[0]);
	server = fds[1];
	CHECK(sfs_http1_is_free(conn));
}

static void start(void)
{
	begin();
	ask();
}

static void stop(void)
{
	sfs_http1_free(conn);
	close(server);
}

/* Run as long as there is something to read. */
static enum sfs_http1_state run(int *ret_err)
{
	enum sfs_http1_state state;
	int n_waiting = 0;

	do {
		state = sfs_http1_run(conn, &ops, &reader, ret_err);
		ioctl(sfs_http1_fd(conn), FIONREAD, &n_waiting);
	} while (state == SFS_HTTP1_WAITS && (n_waiting > 0 || sfs_http1_holds(conn)));
	return state;
}

/* What the n bytes, sent in pieces of `step`, lead to. */
static enum sfs_http1_state answer(const char *bytes, size_t n, size_t step, int *ret_err)
{
	enum sfs_http1_state state = SFS_HTTP1_WAITS;
	size_t piece;

	for (; n > 0 && state == SFS_HTTP1_WAITS; bytes += piece, n -= piece) {
		piece = step < n ? step : n;
		CHECK_EQ(send(server, bytes, piece, MSG_NOSIGNAL), piece);
		state = run(ret_err);
	}
	return state;
}

static enum sfs_http1_state answer_text(const char *text, int *ret_err)
{
	return answer(text, strlen(text), strlen(text), ret_err);
}

static void in_pieces(void)
{
	static const char head[] = OK "Content-Length: 5000\r\nETag: \"x\"\r\n\r\n";
	static const size_t steps[] = {1, 2, 3, 17, 1000, 1023, 1024, 1025, 1 << 20};
	sfs_autofree char *text = sfs_asprintf("%s%.5000s", head, many);
	size_t i;
	int err;

	start();
	for (i = 0; i < SFS_COUNT(steps); i++) {
		CHECK_EQ(answer(text, strlen(text), steps[i], &err), SFS_HTTP1_ENDED);
		CHECK_EQ(err, 0);
		CHECK_EQ(reader.n_heads, 1);
		CHECK_EQ(reader.n_body, 5000);
		CHECK(memcmp(reader.body, many, 5000) == 0);
		CHECK_STR(reader.lines,
			  "HTTP/1.1 206 Partial Content|Content-Length: 5000|"
			  "ETag: \"x\"|");
		CHECK(sfs_http1_is_free(conn));
		ask();
	}
	stop();
}

static void good(const char *text, const char *body, bool is_free)
{
	int err;

	start();
	CHECK_EQ(answer_text(text, &err), SFS_HTTP1_ENDED);
	CHECK_EQ(err, 0);
	CHECK_EQ(reader.n_body, strlen(body));
	CHECK(memcmp(reader.body, body, strlen(body)) == 0);
	CHECK_EQ(sfs_http1_is_free(conn), is_free);
	stop();
}

static void good_ones(void)
{
	good(OK "Content-Length: 3\r\n\r\nabc", "abc", true);
	good("HTTP/1.1 200\r\nContent-Length:3\r\n\r\nabc", "abc", true);
	good("HTTP/1.1 404 \nCONTENT-LENGTH:\t3 \t\n\nabc", "abc", true);
	good(OK "Content-Length: 0\r\n\r\n", "", true);
	good(OK "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc", "abc", true);
	good("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" OK
	     "Content-Length: 1\r\n\r\na",
	     "a", true);
	good(OK "Connection: Keep-Alive\r\nContent-Length: 1\r\n\r\na", "a", true);
	good(OK "Connection: close\r\nContent-Length: 1\r\n\r\na", "a", false);
	good(OK "Connection: x, close\r\nContent-Length: 1\r\n\r\na", "a", false);
	/* What follows the body is nobody's. */
	good(OK "Content-Length: 2\r\n\r\nabc", "ab", false);
	good(OK "Content-Length: 1\r\n\r\na" OK "Content-Length: 0\r\n\r\n", "a", false);
}

static void odd(const char *bytes, size_t n)
{
	int err;

	start();
	CHECK_EQ(answer(bytes, n, n, &err), SFS_HTTP1_ODD);
	CHECK_EQ(reader.n_heads, 0);
	CHECK_EQ(reader.n_body, 0);
	CHECK(!sfs_http1_is_free(conn));
	stop();
}

static void odd_ones(void)
{
	static const char *const texts[] = {
		"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na",
		"HTTP/2 200\r\nContent-Length: 1\r\n\r\na",
		"HTTP/1.1 2x0 OK\r\nContent-Length: 1\r\n\r\na",
		"HTTP/1.1 20\r\nContent-Length: 1\r\n\r\na",
		"HTTP/1.1 2000 OK\r\nContent-Length: 1\r\n\r\na",
		"HTTP/1.1 000 OK\r\nContent-Length: 1\r\n\r\na",
		"HTTP/1.1 101 Switching\r\nContent-Length: 1\r\n\r\na",
		"HTTP/1.1 204 None\r\nContent-Length: 1\r\n\r\na",
		"HTTP/1.1 304 Same\r\nContent-Length: 1\r\n\r\na",
		"http/1.1 200 OK\r\nContent-Length: 1\r\n\r\na",
		"Content-Length: 1\r\n\r\na",
		"\r\n\r\n",
		OK "\r\n", /* no length */
		OK "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		OK "Content-Length: 1\r\ntransfer-encoding: identity\r\n\r\na",
		OK "Content-Length: 1\r\nContent-Length: 2\r\n\r\na",
		OK "Content-Length: \r\n\r\n",
		OK "Content-Length: -1\r\n\r\na",
		OK "Content-Length: +1\r\n\r\na",
		OK "Content-Length: 1, 1\r\n\r\na",
		OK "Content-Length: 0x1\r\n\r\na",
		OK "Content-Length: 18446744073709551617\r\n\r\na",
		OK "Content-Length: 9223372036854775808\r\n\r\na",
		OK "Content-Length : 1\r\n\r\na",
		OK " Content-Length: 1\r\n\r\na",
		OK "Content-Length: 1\r\nTransfer-Encoding : chunked\r\n\r\na",
		OK "Content-Length: 1\r\nX: a\r\n folded: b\r\n\r\na",
		OK "X: a\r\n folded\r\nContent-Length: 1\r\n\r\na",
		OK "X: a\rContent-Length: 2\r\nContent-Length: 1\r\n\r\na",
		"HTTP/1.1 200 O\rK\r\nContent-Length: 1\r\n\r\na",
		OK "no colon\r\nContent-Length: 1\r\n\r\na",
		OK ": no name\r\nContent-Length: 1\r\n\r\na",
	};
	sfs_autofree char *line = sfs_asprintf(OK "X: %.9000s", many);
	sfs_autofree char *nul = sfs_strdup(OK "X: a?b\r\nContent-Length: 1\r\n\r\na");
	size_t i, n = strlen(nul);

	for (i = 0; i < SFS_COUNT(texts); i++)
		odd(texts[i], strlen(texts[i]));
	odd(line, strlen(line));
	*strchr(nul, '?') = 0;
	odd(nul, n);
}

/* Without an end, in good lines. */
static void endless_heads(void)
{
	static const char *const lines[] = {"X: and so on and on and on\r\n",
					    "HTTP/1.1 100 Continue\r\n\r\n"};
	enum sfs_http1_state state;
	size_t i, n;
	int err;

	for (i = 0; i < SFS_COUNT(lines); i++) {
		start();
		state = answer_text(i == 0 ? OK : lines[i], &err);
		for (n = 0; state == SFS_HTTP1_WAITS; n += strlen(lines[i])) {
			CHECK(n < 100000);
			state = answer_text(lines[i], &err);
		}
		CHECK_EQ(state, SFS_HTTP1_ODD);
		CHECK(n > 60000);
		stop();
	}
}

/* The server closes after these bytes. */
static void closes(const char *text, enum sfs_http1_state wanted, const char *why)
{
	int err = 0;

	CHECK_EQ(answer_text(text, &err), SFS_HTTP1_WAITS);
	shutdown(server, SHUT_RDWR);
	CHECK_EQ(run(&err), wanted);
	CHECK(wanted == SFS_HTTP1_STALE || err == -ECONNRESET);
	if (why)
		CHECK_HAS(sfs_http1_why(conn), why);
	CHECK(!sfs_http1_is_free(conn));
	stop();
}

static void early_ends(void)
{
	int err;

	start();
	closes("", SFS_HTTP1_LOST, "empty reply");
	start();
	closes("HTT", SFS_HTTP1_LOST, "within the head");
	start();
	closes(OK "Content-Length: 9\r\n\r\nabcd", SFS_HTTP1_LOST, "5 bytes remaining");
	CHECK_EQ(reader.n_body, 4); /* and those are good */
	start();
	CHECK_EQ(answer_text(OK "Content-Length: 0\r\n\r\n", &err), SFS_HTTP1_ENDED);
	ask();
	closes("", SFS_HTTP1_STALE, NULL);
	start();
	CHECK_EQ(answer_text(OK "Content-Length: 0\r\n\r\n", &err), SFS_HTTP1_ENDED);
	ask();
	closes("H", SFS_HTTP1_LOST, "within the head");
	/* It was made ahead: as one that was used. */
	begin();
	sfs_http1_set_ahead(conn);
	ask();
	closes("", SFS_HTTP1_STALE, NULL);
	/* Closed while nobody looked. */
	start();
	CHECK_EQ(answer_text(OK "Content-Length: 0\r\n\r\n", &err), SFS_HTTP1_ENDED);
	shutdown(server, SHUT_RDWR);
	CHECK(!sfs_http1_is_free(conn));
	sfs_http1_ask(conn, "GET", 3);
	CHECK_EQ(run(&err), SFS_HTTP1_STALE);
	stop();
}

static void unwanted(const char *text, int head_says, int took_says, int wanted,
		     bool is_free)
{
	int err;

	start();
	reader.head_says = head_says;
	reader.took_says = took_says;
	CHECK_EQ(answer_text(text, &err), SFS_HTTP1_ENDED);
	CHECK_EQ(err, wanted);
	CHECK_EQ(sfs_http1_is_free(conn), is_free);
	CHECK_EQ(reader.n_body, took_says ? 1 : 0);
	stop();
}

static void unwanted_ones(void)
{
	int err;

	unwanted(OK "Content-Length: 1\r\n\r\na", 7, 0, 7, true);
	unwanted(OK "Content-Length: 100000\r\n\r\na", 7, 0, 7, false);
	unwanted(OK "Content-Length: 0\r\n\r\n", -EIO, 0, -EIO, false);
	unwanted(OK "Content-Length: 9\r\n\r\na", 0, -EPROTO, -EPROTO, false);
	/* Its reader has no room: it is called for each byte, and they are dropped. */
	start();
	reader.n_room = 2;
	CHECK_EQ(answer_text(OK "Content-Length: 5\r\n\r\nabcde", &err), SFS_HTTP1_ENDED);
	CHECK_EQ(reader.n_body, 5);
	CHECK(memcmp(reader.body, "ab\0\0", 4) == 0);
	stop();
}

/* Two requests, one behind the other, and their responses in one go. */
static void two_behind_each_other(void)
{
	static const char text[] =
		OK "Content-Length: 3\r\n\r\nabc" OK "Content-Length: 5\r\n\r\ndefgh";
	static const char request[] = "GET /2 HTTP/1.1\r\n\r\n";
	char got[sizeof request] = "";
	size_t step, at, n;
	bool is_second;
	int err;

	for (step = 1; step <= strlen(text); step++) {
		start();
		sfs_http1_ask_too(conn, request, strlen(request));
		CHECK(sfs_http1_sends(conn));
		CHECK_EQ(run(&err), SFS_HTTP1_WAITS);
		CHECK_EQ(recv(server, got, sizeof got, 0), strlen(request));
		CHECK_STR(got, request);
		is_second = false;
		for (at = 0; at < strlen(text); at += n) {
			n = strlen(text) - at < step ? strlen(text) - at : step;
			CHECK_EQ(send(server, text + at, n, 0), n);
			if (run(&err) == SFS_HTTP1_WAITS)
				continue;
			CHECK_EQ(err, 0);
			CHECK_STR(reader.body, is_second ? "defgh" : "abc");
			if (is_second)
				continue;
			CHECK(sfs_http1_follow(conn));
			memset(&reader, 0, sizeof reader);
			reader.n_room = N_BODY;
			is_second = true;
			if (run(&err) == SFS_HTTP1_ENDED)
				CHECK_STR(reader.body, "defgh");
		}
		CHECK(is_second);
		CHECK_STR(reader.body, "defgh");
		CHECK(sfs_http1_is_free(conn));
		stop();
	}
	/* Nothing follows what says that it is the last. */
	start();
	CHECK_EQ(answer_text(OK "Connection: close\r\nContent-Length: 0\r\n\r\n", &err),
		 SFS_HTTP1_ENDED);
	CHECK(!sfs_http1_follow(conn));
	stop();
}

static void long_request(void)
{
	size_t n = 4 << 20, n_got = 0;
	sfs_autofree char *text = sfs_malloc(n), *got = sfs_malloc(n);
	ssize_t some;
	int err;

	start();
	CHECK_EQ(answer_text(OK "Content-Length: 0\r\n\r\n", &err), SFS_HTTP1_ENDED);
	memset(text, 'x', n);
	text[n - 1] = 'y';
	sfs_http1_ask(conn, text, n);
	while (n_got < n) {
		CHECK(sfs_http1_sends(conn));
		CHECK_EQ(sfs_http1_run(conn, &ops, &reader, &err), SFS_HTTP1_WAITS);
		while ((some = recv(server, got + n_got, n - n_got, MSG_DONTWAIT)) > 0)
			n_got += (size_t)some;
	}
	CHECK(!sfs_http1_sends(conn));
	CHECK(memcmp(text, got, n) == 0);
	stop();
}

/* More than one run reads, while the server waits for room. */
static void long_body(void)
{
	static const char head[] = OK "Content-Length: 200000\r\n\r\n";
	int err;

	start();
	CHECK_EQ(answer(head, strlen(head), 9, &err), SFS_HTTP1_WAITS);
	CHECK_EQ(answer(many, N_BODY, 50000, &err), SFS_HTTP1_ENDED);
	CHECK(memcmp(reader.body, many, N_BODY) == 0);
	CHECK(sfs_http1_is_free(conn));
	stop();
}

static int low_water(void)
{
	int n = 0;
	socklen_t n_size = sizeof n;

	getsockopt(sfs_http1_fd(conn), SOL_SOCKET, SO_RCVLOWAT, &n, &n_size);
	return n;
}

/* TLS may hold some of the last bytes: so who waits for these waits for any. */
static void tls_waits_for_many_bytes(void)
{
	int err;

	start();
	CHECK_EQ(answer_text(OK "Content-Length: 200000\r\n\r\n", &err), SFS_HTTP1_WAITS);
	CHECK_EQ(answer(many, 1000, 1000, &err), SFS_HTTP1_WAITS);
	CHECK_EQ(low_water(), SFS_HTTP1_LOW_WATER);
	CHECK_EQ(answer(many, 100000, 10000, &err), SFS_HTTP1_WAITS);
	CHECK_EQ(low_water(), 1);
	CHECK_EQ(answer(many, 99000, 10000, &err), SFS_HTTP1_ENDED);
	CHECK(sfs_http1_is_free(conn));
	stop();
}

static void everything(void)
{
	in_pieces();
	good_ones();
	odd_ones();
	endless_heads();
	early_ends();
	unwanted_ones();
	two_behind_each_other();
	long_request();
	long_body();
}

int main(void)
{
	size_t i;

	for (i = 0; i < N_BODY; i++)
		many[i] = (char)('a' + i * i % 23);
	everything();
	is_tls = true;
	everything();
	tls_waits_for_many_bytes();
	return 0;
}
