/* SPDX-License-Identifier: MIT */
/* How this works: three phases, SEND, HEAD, BODY.  The head is received in pieces of
 * a KiB into a small buffer, so that at most that much of the body comes along and
 * must be copied; all else of the body is received by readv() into the reader's
 * memory, where libcurl would have it in a buffer first.
 *
 * Invariant: n_left bytes of the body are still in the socket or in line[], and never
 * is more received than that, but for what line[] has of the response to a request that
 * was sent behind.  What else follows a body is nobody's, so a connection with bytes left
 * over is not used again.
 *
 * Within a body, the socket is ready when some KiB have come, or its last bytes, or
 * the connection's end: a server that sends small pieces would wake us for each of them.
 * That is worth a wait of moments only, and who polls knows when it is over
 * (sfs_http1_hurry()).
 *
 * TLS holds what has come of a record, which the socket does not show.  So from there all
 * is received until it says that there is no more, or that is remembered.
 *
 * We are strict on purpose.  What is unusual in a head is odd before its reader sees
 * the end of it, and libcurl, which knows fifty years of servers, asks again. */
#include "source/http/http1.h"

#include "base/alloc.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define HEAD_PIECE  1024u
#define MAX_LINE    8192u
#define MAX_HEAD    (64u << 10) /* of all heads of a response, 1xx too */
#define MAX_READ    (1u << 20)
#define MAX_DROPPED (64u << 10) /* of an unwanted body, to keep the connection */
#define MAX_HELD    (40u << 10) /* by TLS: a part of a record, which has 16 KiB */
#define N_PIECES    64

enum phase { SEND, HEAD, BODY, OVER };

struct sfs_http1 {
	int fd;
	const struct sfs_http1_tls *ops; /* NULL: the socket itself */
	void *tls;
	bool holds; /* TLS may have more */
	enum phase phase;
	bool was_used; /* a response came over it before */
	bool is_kept;  /* it may be used again after this response */
	char *request;
	size_t n_request, n_sent;

	/* The response that is read. */
	int status; /* 0: its first line has not come */
	bool is_odd, has_length;
	bool has_rest;		     /* line[] has what came behind the response before */
	uint64_t n_left, n_received; /* of the body; in all, with heads */
	int err;		     /* what its reader returned */
	bool is_hurried;	     /* its body comes slowly: no low-water mark */

	int most_low_water, low_water; /* in a body; and what the socket has */
	size_t n_line, n_used; /* received into line[], and dealt with */
	char line[MAX_LINE];
	char why[96];
};

struct sfs_http1 *sfs_http1_new(int fd)
{
	struct sfs_http1 *c = sfs_calloc(1, sizeof *c);

	c->fd = fd;
	c->phase = OVER;
	c->is_kept = true;
	c->most_low_water = SFS_HTTP1_LOW_WATER;
	c->low_water = 1;
	return c;
}

struct sfs_http1 *sfs_http1_new_tls(int fd, const struct sfs_http1_tls *ops, void *tls)
{
	struct sfs_http1 *c = sfs_http1_new(fd);

	c->ops = ops;
	c->tls = tls;
	return c;
}

void sfs_http1_free(struct sfs_http1 *c)
{
	if (!c)
		return;
	if (c->ops)
		c->ops->close(c->tls);
	else
		close(c->fd);
	free(c->request);
	free(c);
}

void sfs_http1_set_ahead(struct sfs_http1 *c)
{
	c->was_used = true;
}

static void begin_response(struct sfs_http1 *c)
{
	c->n_line -= c->n_used;
	memmove(c->line, c->line + c->n_used, c->n_line);
	c->n_used = 0;
	c->has_rest = c->n_line > 0;
	c->status = c->err = 0;
	c->is_odd = c->has_length = c->is_hurried = false;
	c->n_left = 0;
	c->n_received = c->n_line;
}

void sfs_http1_ask(struct sfs_http1 *c, const char *text, size_t n)
{
	free(c->request);
	c->request = sfs_strndup(text, n);
	c->n_request = n;
	c->n_sent = 0;
	c->phase = SEND;
	begin_response(c);
}

void sfs_http1_ask_too(struct sfs_http1 *c, const char *text, size_t n)
{
	c->request = sfs_realloc(c->request, c->n_request + n);
	memcpy(c->request + c->n_request, text, n);
	c->n_request += n;
	c->phase = SEND;
}

bool sfs_http1_follow(struct sfs_http1 *c)
{
	if (c->phase != OVER || !c->is_kept)
		return false;
	c->phase = HEAD;
	begin_response(c);
	return true;
}

int sfs_http1_fd(const struct sfs_http1 *c)
{
	return c->fd;
}

bool sfs_http1_sends(const struct sfs_http1 *c)
{
	return c->phase == SEND;
}

bool sfs_http1_holds(const struct sfs_http1 *c)
{
	return c->holds && c->phase != SEND;
}

const char *sfs_http1_why(const struct sfs_http1 *c)
{
	return c->why;
}

/* Has it neither bytes nor an end?  (What TLS says besides, as a ticket, is no bytes.) */
static bool is_silent(struct sfs_http1 *c)
{
	char byte;
	ssize_t n = c->ops ? c->ops->receive(c->tls, &byte, 1)
			   : recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	return n < 0 && errno == EAGAIN;
}

bool sfs_http1_is_free(struct sfs_http1 *c)
{
	return c->phase == OVER && c->is_kept && c->n_used == c->n_line && is_silent(c);
}

/* ---- the socket, or TLS ---- */

/* As much as there is.  What went wrong after some bytes is seen the next time. */
static ssize_t receive_tls(struct sfs_http1 *c, const struct iovec *pieces, int n_pieces)
{
	size_t n_all = 0, at;
	ssize_t n;
	int i;

	c->holds = false;
	for (i = 0; i < n_pieces; i++)
		for (at = 0; at < pieces[i].iov_len; at += (size_t)n) {
			n = c->ops->receive(c->tls, (char *)pieces[i].iov_base + at,
					    pieces[i].iov_len - at);
			if (n <= 0)
				return n_all > 0 ? (ssize_t)n_all : n;
			n_all += (size_t)n;
		}
	c->holds = true;
	return (ssize_t)n_all;
}

static ssize_t receive(struct sfs_http1 *c, const struct iovec *pieces, int n_pieces)
{
	return c->ops ? receive_tls(c, pieces, n_pieces)
		      : readv(c->fd, pieces, n_pieces);
}

/* The kernel takes less if the socket's buffer is small, and a socket that has not that
 * much room is ready sooner. */
static void set_low_water(struct sfs_http1 *c, int n)
{
	if (n != c->low_water &&
	    setsockopt(c->fd, SOL_SOCKET, SO_RCVLOWAT, &n, sizeof n) == 0)
		c->low_water = n;
}

/* A short body is not worth the calls.  Near the end of one over TLS, the socket may never
 * have as much as is left, since TLS holds some of it. */
static void fit_low_water(struct sfs_http1 *c)
{
	uint64_t n_held = c->ops ? MAX_HELD : 0;
	bool is_short = c->n_left < (uint64_t)c->most_low_water + n_held;

	if (c->is_hurried || (is_short && (c->ops || c->low_water == 1)))
		set_low_water(c, 1);
	else
		set_low_water(c, is_short ? (int)c->n_left : c->most_low_water);
}

void sfs_http1_set_low_water(struct sfs_http1 *c, int n_bytes)
{
	c->most_low_water = n_bytes;
}

bool sfs_http1_is_patient(const struct sfs_http1 *c)
{
	return c->low_water > 1;
}

void sfs_http1_hurry(struct sfs_http1 *c)
{
	c->is_hurried = true;
	set_low_water(c, 1);
}

static enum sfs_http1_state over(struct sfs_http1 *c, enum sfs_http1_state state, int err)
{
	c->phase = OVER;
	c->is_kept = c->is_kept && state == SFS_HTTP1_ENDED && err >= 0;
	c->was_used = true;
	c->err = err;
	if (c->is_kept)
		set_low_water(c, 1);
	return state;
}

/* `err`: an errno, or 0: the server closed. */
static enum sfs_http1_state lose(struct sfs_http1 *c, int err)
{
	if (c->n_received == 0 && c->was_used)
		return over(c, SFS_HTTP1_STALE, 0);
	if (err)
		snprintf(c->why, sizeof c->why, "%s", strerror(err));
	else if (c->n_received == 0)
		snprintf(c->why, sizeof c->why, "empty reply from server");
	else if (c->phase == HEAD)
		snprintf(c->why, sizeof c->why, "connection closed within the head");
	else
		snprintf(c->why, sizeof c->why,
			 "connection closed with %llu bytes remaining to read",
			 (unsigned long long)c->n_left);
	return over(c, SFS_HTTP1_LOST, -ECONNRESET);
}

/* The result of a system call that went wrong: wait, or the connection's end. */
static enum sfs_http1_state judge(struct sfs_http1 *c, ssize_t n)
{
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return SFS_HTTP1_WAITS;
	return lose(c, n < 0 ? errno : 0);
}

static enum sfs_http1_state send_request(struct sfs_http1 *c)
{
	const char *text = c->request + c->n_sent;
	size_t n_left = c->n_request - c->n_sent;
	ssize_t n = c->ops ? c->ops->send(c->tls, text, n_left)
			   : send(c->fd, text, n_left, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (n < 0)
		return judge(c, n);
	c->n_sent += (size_t)n;
	if (c->n_sent == c->n_request)
		c->phase = HEAD;
	return SFS_HTTP1_WAITS;
}

/* ---- the head ---- */

/* "HTTP/1.1 206" and whatever reason. */
static void take_status(struct sfs_http1 *c, const char *s, size_t n)
{
	if (n < 12 || memcmp(s, "HTTP/1.1 ", 9) != 0 || !isdigit((unsigned char)s[9]) ||
	    !isdigit((unsigned char)s[10]) || !isdigit((unsigned char)s[11]) ||
	    (n > 12 && s[12] != ' ')) {
		c->is_odd = true;
		return;
	}
	c->status = (s[9] - '0') * 100 + (s[10] - '0') * 10 + (s[11] - '0');
	/* Without a body whatever their length says; or no response at all. */
	if (c->status < 100 || c->status == 101 || c->status == 204 || c->status == 304)
		c->is_odd = true;
}

static bool is_name(const char *s, size_t n, const char *name)
{
	return n == strlen(name) && strncasecmp(s, name, n) == 0;
}

/* Digits only, and the same if it is said twice. */
static void take_length(struct sfs_http1 *c, const char *s, size_t n)
{
	uint64_t v = 0;
	size_t i;

	for (i = 0; i < n && isdigit((unsigned char)s[i]); i++)
		v = v * 10 + (uint64_t)(s[i] - '0');
	if (n == 0 || n > 18 || i < n || (c->has_length && v != c->n_left))
		c->is_odd = true;
	c->has_length = true;
	c->n_left = v;
}

static void take_field(struct sfs_http1 *c, const char *s, size_t n)
{
	const char *colon = memchr(s, ':', n);
	size_t n_name = colon ? (size_t)(colon - s) : 0, i;

	for (i = 0; i < n_name; i++)
		if (isspace((unsigned char)s[i]))
			n_name = 0;
	if (n_name == 0) {
		c->is_odd = true;
		return;
	}
	for (n -= n_name + 1, colon++; n > 0 && (*colon == ' ' || *colon == '\t'); n--)
		colon++;
	while (n > 0 && (colon[n - 1] == ' ' || colon[n - 1] == '\t'))
		n--;
	if (is_name(s, n_name, "content-length"))
		take_length(c, colon, n);
	else if (is_name(s, n_name, "transfer-encoding"))
		c->is_odd = true;
	else if (is_name(s, n_name, "connection") && !is_name(colon, n, "keep-alive"))
		c->is_kept = false;
}

/* A whole line, without its end.  true: it was the empty one, after a final head. */
static bool take_line(struct sfs_http1 *c, const char *s, size_t n)
{
	if (memchr(s, 0, n) || memchr(s, '\r', n))
		c->is_odd = true;
	else if (n > 0 && c->status == 0)
		take_status(c, s, n);
	else if (n > 0)
		take_field(c, s, n);
	else if (c->status == 0)
		c->is_odd = true;
	else if (c->status >= 200)
		return true;
	else
		c->status = 0; /* 1xx: the response is yet to come */
	return false;
}

/* Deal with the whole lines of line[].  true: the head is whole. */
static bool take_lines(struct sfs_http1 *c, const struct sfs_http1_reader *ops,
		       void *reader)
{
	bool is_whole = false;
	const char *s, *lf;
	size_t n;

	while (!is_whole && !c->is_odd) {
		s = c->line + c->n_used;
		lf = memchr(s, '\n', c->n_line - c->n_used);
		if (!lf)
			break;
		n = (size_t)(lf - s);
		c->n_used += n + 1;
		if (n > 0 && s[n - 1] == '\r')
			n--;
		is_whole = take_line(c, s, n);
		if (!c->is_odd && n > 0)
			ops->line(reader, s, n);
	}
	if (!is_whole) {
		memmove(c->line, c->line + c->n_used, c->n_line - c->n_used);
		c->n_line -= c->n_used;
		c->n_used = 0;
	}
	return is_whole;
}

static enum sfs_http1_state begin_body(struct sfs_http1 *c,
				       const struct sfs_http1_reader *ops, void *reader)
{
	if (!c->has_length)
		return over(c, SFS_HTTP1_ODD, 0);
	c->phase = BODY;
	c->err = ops->head(reader);
	if (c->err == 0 || (c->err > 0 && c->n_left <= MAX_DROPPED))
		return SFS_HTTP1_WAITS;
	c->is_kept = false;
	return over(c, SFS_HTTP1_ENDED, c->err);
}

static enum sfs_http1_state read_head(struct sfs_http1 *c,
				      const struct sfs_http1_reader *ops, void *reader)
{
	size_t room = MAX_LINE - c->n_line;
	const struct iovec piece = {c->line + c->n_line,
				    room < HEAD_PIECE ? room : HEAD_PIECE};
	ssize_t n = 0;

	if (!c->has_rest) {
		n = receive(c, &piece, 1);
		if (n <= 0)
			return judge(c, n);
	}
	c->has_rest = false;
	c->n_line += (size_t)n;
	c->n_received += (uint64_t)n;
	if (take_lines(c, ops, reader))
		return begin_body(c, ops, reader);
	if (c->is_odd || c->n_line == MAX_LINE || c->n_received > MAX_HEAD)
		return over(c, SFS_HTTP1_ODD, 0);
	return SFS_HTTP1_WAITS;
}

/* ---- the body ---- */

/* As many of the pieces as `n` bytes fill, and the last of them clipped. */
static int clip(struct iovec *pieces, int n_pieces, uint64_t n)
{
	int i;

	for (i = 0; i < n_pieces && n > 0; i++) {
		if (pieces[i].iov_len > n)
			pieces[i].iov_len = n;
		n -= pieces[i].iov_len;
	}
	return i;
}

/* The bytes of the body that came with the head. */
static size_t copy_rest(struct sfs_http1 *c, const struct iovec *pieces, int n_pieces)
{
	size_t n, n_all = 0;
	int i;

	for (i = 0; i < n_pieces; i++) {
		n = c->n_line - c->n_used;
		n = n < pieces[i].iov_len ? n : pieces[i].iov_len;
		memcpy(pieces[i].iov_base, c->line + c->n_used, n);
		c->n_used += n;
		n_all += n;
	}
	return n_all;
}

static enum sfs_http1_state read_body(struct sfs_http1 *c,
				      const struct sfs_http1_reader *ops, void *reader)
{
	struct iovec pieces[N_PIECES];
	char nowhere[4096];
	int n_pieces, err;
	ssize_t n;

	if (c->n_left == 0)
		return over(c, SFS_HTTP1_ENDED, c->err);
	n_pieces = c->err > 0 ? 0 : ops->room(reader, pieces, N_PIECES);
	if (n_pieces == 0) {
		pieces[0] = (struct iovec){nowhere, sizeof nowhere};
		n_pieces = 1;
	}
	n_pieces = clip(pieces, n_pieces, c->n_left < MAX_READ ? c->n_left : MAX_READ);
	if (c->n_used < c->n_line)
		n = (ssize_t)copy_rest(c, pieces, n_pieces);
	else
		n = receive(c, pieces, n_pieces);
	if (n <= 0)
		return judge(c, n);
	c->n_left -= (uint64_t)n;
	c->n_received += (uint64_t)n;
	err = c->err > 0 ? 0 : ops->received(reader, (size_t)n);
	if (err < 0)
		return over(c, SFS_HTTP1_ENDED, err);
	if (c->n_left == 0)
		return over(c, SFS_HTTP1_ENDED, c->err);
	c->is_hurried = c->is_hurried && n < c->most_low_water;
	fit_low_water(c);
	return SFS_HTTP1_WAITS;
}

enum sfs_http1_state sfs_http1_run(struct sfs_http1 *c,
				   const struct sfs_http1_reader *ops, void *reader,
				   int *ret_err)
{
	enum sfs_http1_state state = SFS_HTTP1_WAITS;
	bool had_head = c->phase == BODY;

	if (c->phase == SEND)
		state = send_request(c);
	else if (c->phase == HEAD)
		state = read_head(c, ops, reader);
	if (c->phase == BODY)
		state = read_body(c, ops, reader);
	/* What came with the head was copied: now the socket itself. */
	if (c->phase == BODY && !had_head)
		state = read_body(c, ops, reader);
	*ret_err = c->err;
	return state;
}
