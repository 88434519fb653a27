/* SPDX-License-Identifier: MIT */
/* How this works: three phases, SEND, HEAD, BODY.  The head is received in pieces of
 * a KiB into a small buffer, so that at most that much of the body comes along and
 * must be copied; all else of the body is received by readv() into the reader's
 * memory, where libcurl would have it in a buffer first.
 *
 * Invariant: n_left bytes of the body are still in the socket or in line[], and never
 * is more received than that.  What follows a body is nobody's, so a wire with bytes
 * left over is not used again.
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
#define MAX_HEAD    (64u << 10) /* of all heads of an answer, 1xx too */
#define MAX_READ    (1u << 20)
#define MAX_DROPPED (64u << 10) /* of an unwanted body, to keep the connection */
#define N_PIECES    64

enum phase { SEND, HEAD, BODY, OVER };

struct sfs_http1 {
	int fd;
	enum phase phase;
	bool was_used; /* an answer came over it before */
	bool is_kept;  /* it may be used again after this answer */
	char *request;
	size_t n_request, n_sent;

	/* Of the answer that is read. */
	int status; /* 0: its first line has not come */
	bool is_odd, has_length;
	uint64_t n_left, n_received; /* of the body; in all, with heads */
	int err;		     /* what its reader said */

	size_t n_line, n_used; /* received into line[], and dealt with */
	char line[MAX_LINE];
	char why[96];
};

struct sfs_http1 *sfs_http1_new(int fd)
{
	struct sfs_http1 *w = sfs_calloc(1, sizeof *w);

	w->fd = fd;
	w->phase = OVER;
	w->is_kept = true;
	return w;
}

void sfs_http1_free(struct sfs_http1 *w)
{
	if (!w)
		return;
	close(w->fd);
	free(w->request);
	free(w);
}

void sfs_http1_ask(struct sfs_http1 *w, const char *text, size_t n)
{
	free(w->request);
	w->request = sfs_strndup(text, n);
	w->n_request = n;
	w->n_sent = 0;
	w->phase = SEND;
	w->status = w->err = 0;
	w->is_odd = w->has_length = false;
	w->n_left = w->n_received = 0;
	w->n_line = w->n_used = 0;
}

int sfs_http1_fd(const struct sfs_http1 *w)
{
	return w->fd;
}

bool sfs_http1_sends(const struct sfs_http1 *w)
{
	return w->phase == SEND;
}

const char *sfs_http1_why(const struct sfs_http1 *w)
{
	return w->why;
}

bool sfs_http1_is_free(struct sfs_http1 *w)
{
	char byte;

	return w->phase == OVER && w->is_kept && w->n_used == w->n_line &&
	       recv(w->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

static enum sfs_http1_state over(struct sfs_http1 *w, enum sfs_http1_state state, int err)
{
	w->phase = OVER;
	w->is_kept = w->is_kept && state == SFS_HTTP1_ENDED && err >= 0;
	w->was_used = true;
	w->err = err;
	return state;
}

/* `err`: an errno, or 0: the server closed. */
static enum sfs_http1_state lose(struct sfs_http1 *w, int err)
{
	if (w->n_received == 0 && w->was_used)
		return over(w, SFS_HTTP1_STALE, 0);
	if (err)
		snprintf(w->why, sizeof w->why, "%s", strerror(err));
	else if (w->n_received == 0)
		snprintf(w->why, sizeof w->why, "empty reply from server");
	else if (w->phase == HEAD)
		snprintf(w->why, sizeof w->why, "connection closed within the head");
	else
		snprintf(w->why, sizeof w->why,
			 "connection closed with %llu bytes remaining to read",
			 (unsigned long long)w->n_left);
	return over(w, SFS_HTTP1_LOST, -ECONNRESET);
}

/* The result of a system call that went wrong: wait, or the connection's end. */
static enum sfs_http1_state judge(struct sfs_http1 *w, ssize_t n)
{
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return SFS_HTTP1_WAITS;
	return lose(w, n < 0 ? errno : 0);
}

static enum sfs_http1_state send_request(struct sfs_http1 *w)
{
	ssize_t n = send(w->fd, w->request + w->n_sent, w->n_request - w->n_sent,
			 MSG_NOSIGNAL | MSG_DONTWAIT);

	if (n < 0)
		return judge(w, n);
	w->n_sent += (size_t)n;
	if (w->n_sent == w->n_request)
		w->phase = HEAD;
	return SFS_HTTP1_WAITS;
}

/* ---- the head ---- */

/* "HTTP/1.1 206" and whatever reason. */
static void take_status(struct sfs_http1 *w, const char *s, size_t n)
{
	if (n < 12 || memcmp(s, "HTTP/1.1 ", 9) != 0 || !isdigit((unsigned char)s[9]) ||
	    !isdigit((unsigned char)s[10]) || !isdigit((unsigned char)s[11]) ||
	    (n > 12 && s[12] != ' ')) {
		w->is_odd = true;
		return;
	}
	w->status = (s[9] - '0') * 100 + (s[10] - '0') * 10 + (s[11] - '0');
	/* Without a body whatever their length says; or no answer at all. */
	if (w->status < 100 || w->status == 101 || w->status == 204 || w->status == 304)
		w->is_odd = true;
}

static bool is_name(const char *s, size_t n, const char *name)
{
	return n == strlen(name) && strncasecmp(s, name, n) == 0;
}

/* Digits only, and the same if it is said twice. */
static void take_length(struct sfs_http1 *w, const char *s, size_t n)
{
	uint64_t v = 0;
	size_t i;

	for (i = 0; i < n && isdigit((unsigned char)s[i]); i++)
		v = v * 10 + (uint64_t)(s[i] - '0');
	if (n == 0 || n > 18 || i < n || (w->has_length && v != w->n_left))
		w->is_odd = true;
	w->has_length = true;
	w->n_left = v;
}

static void take_field(struct sfs_http1 *w, const char *s, size_t n)
{
	const char *colon = memchr(s, ':', n);
	size_t n_name = colon ? (size_t)(colon - s) : 0, i;

	for (i = 0; i < n_name; i++)
		if (isspace((unsigned char)s[i]))
			n_name = 0;
	if (n_name == 0) {
		w->is_odd = true;
		return;
	}
	for (n -= n_name + 1, colon++; n > 0 && (*colon == ' ' || *colon == '\t'); n--)
		colon++;
	while (n > 0 && (colon[n - 1] == ' ' || colon[n - 1] == '\t'))
		n--;
	if (is_name(s, n_name, "content-length"))
		take_length(w, colon, n);
	else if (is_name(s, n_name, "transfer-encoding"))
		w->is_odd = true;
	else if (is_name(s, n_name, "connection") && !is_name(colon, n, "keep-alive"))
		w->is_kept = false;
}

/* A whole line, without its end.  true: it was the empty one, behind a final head. */
static bool take_line(struct sfs_http1 *w, const char *s, size_t n)
{
	if (memchr(s, 0, n) || memchr(s, '\r', n))
		w->is_odd = true;
	else if (n > 0 && w->status == 0)
		take_status(w, s, n);
	else if (n > 0)
		take_field(w, s, n);
	else if (w->status == 0)
		w->is_odd = true;
	else if (w->status >= 200)
		return true;
	else
		w->status = 0; /* 1xx: the answer is yet to come */
	return false;
}

/* Deal with the whole lines of line[].  true: the head is whole. */
static bool take_lines(struct sfs_http1 *w, const struct sfs_http1_reader *ops,
		       void *reader)
{
	bool is_whole = false;
	const char *s, *lf;
	size_t n;

	while (!is_whole && !w->is_odd) {
		s = w->line + w->n_used;
		lf = memchr(s, '\n', w->n_line - w->n_used);
		if (!lf)
			break;
		n = (size_t)(lf - s);
		w->n_used += n + 1;
		if (n > 0 && s[n - 1] == '\r')
			n--;
		is_whole = take_line(w, s, n);
		if (!w->is_odd && n > 0)
			ops->line(reader, s, n);
	}
	if (!is_whole) {
		memmove(w->line, w->line + w->n_used, w->n_line - w->n_used);
		w->n_line -= w->n_used;
		w->n_used = 0;
	}
	return is_whole;
}

static enum sfs_http1_state begin_body(struct sfs_http1 *w,
				       const struct sfs_http1_reader *ops, void *reader)
{
	if (!w->has_length)
		return over(w, SFS_HTTP1_ODD, 0);
	w->phase = BODY;
	w->err = ops->head(reader);
	if (w->err == 0 || (w->err > 0 && w->n_left <= MAX_DROPPED))
		return SFS_HTTP1_WAITS;
	w->is_kept = false;
	return over(w, SFS_HTTP1_ENDED, w->err);
}

static enum sfs_http1_state read_head(struct sfs_http1 *w,
				      const struct sfs_http1_reader *ops, void *reader)
{
	size_t room = MAX_LINE - w->n_line;
	ssize_t n = recv(w->fd, w->line + w->n_line,
			 room < HEAD_PIECE ? room : HEAD_PIECE, MSG_DONTWAIT);

	if (n <= 0)
		return judge(w, n);
	w->n_line += (size_t)n;
	w->n_received += (uint64_t)n;
	if (take_lines(w, ops, reader))
		return begin_body(w, ops, reader);
	if (w->is_odd || w->n_line == MAX_LINE || w->n_received > MAX_HEAD)
		return over(w, SFS_HTTP1_ODD, 0);
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
static size_t copy_rest(struct sfs_http1 *w, const struct iovec *pieces, int n_pieces)
{
	size_t n, n_all = 0;
	int i;

	for (i = 0; i < n_pieces; i++) {
		n = w->n_line - w->n_used;
		n = n < pieces[i].iov_len ? n : pieces[i].iov_len;
		memcpy(pieces[i].iov_base, w->line + w->n_used, n);
		w->n_used += n;
		n_all += n;
	}
	return n_all;
}

static enum sfs_http1_state read_body(struct sfs_http1 *w,
				      const struct sfs_http1_reader *ops, void *reader)
{
	struct iovec pieces[N_PIECES];
	char nowhere[4096];
	int n_pieces, err;
	ssize_t n;

	if (w->n_left == 0)
		return over(w, SFS_HTTP1_ENDED, w->err);
	n_pieces = w->err > 0 ? 0 : ops->room(reader, pieces, N_PIECES);
	if (n_pieces == 0) {
		pieces[0] = (struct iovec){nowhere, sizeof nowhere};
		n_pieces = 1;
	}
	n_pieces = clip(pieces, n_pieces, w->n_left < MAX_READ ? w->n_left : MAX_READ);
	if (w->n_used < w->n_line)
		n = (ssize_t)copy_rest(w, pieces, n_pieces);
	else
		n = readv(w->fd, pieces, n_pieces);
	if (n <= 0)
		return judge(w, n);
	w->n_left -= (uint64_t)n;
	w->n_received += (uint64_t)n;
	err = w->err > 0 ? 0 : ops->took(reader, (size_t)n);
	if (err < 0)
		return over(w, SFS_HTTP1_ENDED, err);
	return w->n_left == 0 ? over(w, SFS_HTTP1_ENDED, w->err) : SFS_HTTP1_WAITS;
}

enum sfs_http1_state sfs_http1_run(struct sfs_http1 *w,
				   const struct sfs_http1_reader *ops, void *reader,
				   int *ret_err)
{
	enum sfs_http1_state state = SFS_HTTP1_WAITS;
	bool had_head = w->phase == BODY;

	if (w->phase == SEND)
		state = send_request(w);
	else if (w->phase == HEAD)
		state = read_head(w, ops, reader);
	if (w->phase == BODY)
		state = read_body(w, ops, reader);
	/* What came with the head was copied: now the socket itself. */
	if (w->phase == BODY && !had_head)
		state = read_body(w, ops, reader);
	*ret_err = w->err;
	return state;
}
