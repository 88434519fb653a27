/* SPDX-License-Identifier: MIT */
/* What a server sends over a wire.  The first byte is how much of it comes at a time;
 * whether it comes at once or in pieces, the same is read. */
#include "fuzz.h"

#include "source/http/http1.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_BODY 65536

struct seen {
	enum sfs_http1_state state;
	int err, n_heads;
	bool is_free;
	size_t n_lines, n_body;
	char lines[MAX_BODY], body[MAX_BODY];
};

static void on_line(void *ctx, const char *line, size_t n)
{
	struct seen *s = ctx;

	MUST(s->n_heads == 0 && n > 0);
	MUST(!memchr(line, '\n', n) && !memchr(line, '\r', n) && !memchr(line, 0, n));
	MUST(s->n_lines + n <= sizeof s->lines);
	memcpy(s->lines + s->n_lines, line, n);
	s->n_lines += n;
}

/* A line with an F: an error; with a U: not wanted. */
static int on_head(void *ctx)
{
	struct seen *s = ctx;

	MUST(s->n_heads++ == 0);
	return memchr(s->lines, 'F', s->n_lines)   ? -5
	       : memchr(s->lines, 'U', s->n_lines) ? 5
						   : 0;
}

static int on_room(void *ctx, struct iovec *pieces, int n_max)
{
	struct seen *s = ctx;
	size_t at = s->n_body, n = 1;
	int i;

	MUST(s->n_heads == 1);
	for (i = 0; i < n_max && at < MAX_BODY; i++, at += n, n = 3 * n) {
		n = MAX_BODY - at < n ? MAX_BODY - at : n;
		pieces[i] = (struct iovec){s->body + at, n};
	}
	return i;
}

static int on_received(void *ctx, size_t n)
{
	struct seen *s = ctx;

	MUST(n > 0 && s->n_body + n <= MAX_BODY);
	s->n_body += n;
	return 0;
}

static void run(struct sfs_http1 *conn, struct seen *s)
{
	static const struct sfs_http1_reader ops = {on_line, on_head, on_room,
						    on_received};
	int n_waiting = 0;

	do {
		s->state = sfs_http1_run(conn, &ops, s, &s->err);
		ioctl(sfs_http1_fd(conn), FIONREAD, &n_waiting);
	} while (s->state == SFS_HTTP1_WAITS && n_waiting > 0);
}

static struct seen *see(const uint8_t *p, size_t n, size_t step)
{
	struct seen *s = calloc(1, sizeof *s);
	struct sfs_http1 *conn;
	size_t piece;
	int fds[2], err = 0;

	MUST(s && socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	conn = sfs_http1_new(fds[0]);
	sfs_http1_ask(conn, "GET", 3);
	MUST(sfs_http1_run(conn, NULL, NULL, &err) == SFS_HTTP1_WAITS);
	for (; n > 0 && s->state == SFS_HTTP1_WAITS; p += piece, n -= piece) {
		piece = step < n ? step : n;
		MUST(send(fds[1], p, piece, MSG_NOSIGNAL) == (ssize_t)piece);
		run(conn, s);
	}
	s->is_free = sfs_http1_is_free(conn);
	shutdown(fds[1], SHUT_RDWR);
	if (s->state == SFS_HTTP1_WAITS)
		run(conn, s);
	MUST(s->state != SFS_HTTP1_WAITS && s->state != SFS_HTTP1_STALE);
	MUST(s->state != SFS_HTTP1_ODD || s->n_heads == 0);
	MUST(s->state == SFS_HTTP1_ENDED || !s->is_free);
	MUST(s->state != SFS_HTTP1_ENDED || s->n_heads == 1);
	sfs_http1_free(conn);
	close(fds[1]);
	return s;
}

/* An answer's body is in what was sent, as it is. */
static void must_be_of(const struct seen *s, const uint8_t *p, size_t n)
{
	MUST(s->n_body == 0 || memmem(p, n, s->body, s->n_body) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct fuzz_in in = {data, n};
	size_t step = 1 + fuzz_byte(&in) * 5;
	struct seen *whole, *pieces;

	if (in.n > 60000)
		return 0;
	if (in.n > 4000)
		step += 400;
	whole = see(in.p, in.n, in.n + 1);
	pieces = see(in.p, in.n, step);
	must_be_of(whole, in.p, in.n);
	MUST(whole->state == pieces->state && whole->n_heads == pieces->n_heads);
	MUST(whole->n_body == pieces->n_body && whole->n_lines == pieces->n_lines);
	MUST(memcmp(whole->body, pieces->body, whole->n_body) == 0);
	MUST(memcmp(whole->lines, pieces->lines, whole->n_lines) == 0);
	MUST(whole->state != SFS_HTTP1_ENDED || whole->err == pieces->err);
	free(whole);
	free(pieces);
	return 0;
}
