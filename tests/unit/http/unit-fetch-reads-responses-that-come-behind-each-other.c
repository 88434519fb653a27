/* SPDX-License-Identifier: MIT */
/* Several small GETs are sent to a far server over one connection before it has answered
 * the first of them.  Each gets its own response; what a server or a user breaks off is
 * sent again, unless it had begun. */
#include "base/alloc.h"
#include "check.h"
#include "source/http/fetch.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define N	64
#define N_SMALL 8
#define FAR_MS	20 /* until a response, so that the server counts as far */

/* What the server does with the third response of a connection that gets several. */
enum fault { NONE, CLOSES, SAYS_CLOSE, IS_ODD, BREAKS_OFF, IS_CANCELLED };

struct get {
	struct sfs_get get; /* first */
	char *url;
	char body[16];
	size_t n_body;
	int n_ends, err;
	atomic_bool is_cancelled;
};

static struct sfs_fetch *fetch;
static struct get gets[N];
static atomic_bool is_needed;
static enum fault fault;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static int n_over;
static uint64_t known_wait_ns;

/* ---- the server: one thread ---- */

struct conn {
	int fd, n_answered;
	char text[65536];
	size_t n;
};

static struct conn conns[4 * N];
static int listener, n_conns, n_most_behind, n_faults;
static char *base;
static atomic_bool is_closed;

static void listen_here(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof address;

	listener = socket(AF_INET, SOCK_STREAM, 0);
	CHECK_EQ(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
	CHECK_EQ(listen(listener, 256), 0);
	CHECK_EQ(getsockname(listener, (struct sockaddr *)&address, &n), 0);
	base = sfs_asprintf("http://127.0.0.1:%d/", ntohs(address.sin_port));
}

static void say(struct conn *c, const char *text)
{
	send(c->fd, text, strlen(text), MSG_NOSIGNAL);
}

static void hang_up(struct conn *c)
{
	close(c->fd);
	c->fd = -1;
}

/* The body is the number that was asked for. */
static void answer(struct conn *c, const char *number, bool has_fault)
{
	char text[256];

	snprintf(text, sizeof text, "HTTP/1.1 206 x\r\nContent-Length: %zu\r\n%s\r\n%s",
		 strlen(number),
		 has_fault && fault == SAYS_CLOSE ? "Connection: close\r\n" : "", number);
	if (has_fault && fault == IS_ODD)
		snprintf(text, sizeof text,
			 "HTTP/1.1 206 x\r\nTransfer-Encoding: chunked\r\n\r\n"
			 "%zx\r\n%s\r\n0\r\n\r\n",
			 strlen(number), number);
	if (has_fault && fault == BREAKS_OFF)
		text[strlen(text) - 1] = 0;
	if (!has_fault || fault != CLOSES)
		say(c, text);
	if (has_fault && (fault == CLOSES || fault == BREAKS_OFF || fault == SAYS_CLOSE))
		hang_up(c);
}

/* Take one whole request from what has come. */
static bool serve_one(struct conn *c)
{
	char *end = memmem(c->text, c->n, "\r\n\r\n", 4), number[16];
	bool has_fault;

	if (c->fd < 0 || !end)
		return false;
	CHECK_EQ(sscanf(c->text, "GET /%15[0-9] HTTP/1.1\r\n", number), 1);
	c->n -= (size_t)(end + 4 - c->text);
	memmove(c->text, end + 4, c->n);
	has_fault = c->n_answered == 2 && fault != NONE && n_faults == 0;
	n_faults += has_fault;
	c->n_answered++;
	answer(c, number, has_fault);
	return true;
}

static void receive(struct conn *c)
{
	ssize_t n = recv(c->fd, c->text + c->n, sizeof c->text - c->n, 0);
	char *at;
	int n_whole = 0;

	if (n <= 0) {
		hang_up(c);
		return;
	}
	c->n += (size_t)n;
	for (at = c->text;
	     (at = memmem(at, c->n - (size_t)(at - c->text), "\r\n\r\n", 4)); at += 4)
		n_whole++;
	n_most_behind = n_whole > n_most_behind ? n_whole : n_most_behind;
}

/* It answers all that has come when nothing more comes for a while. */
static void *serve(void *arg)
{
	struct pollfd fds[4 * N + 1];
	bool is_quiet;
	int i, n;

	while (!is_closed) {
		for (i = 0; i < n_conns; i++)
			fds[i] = (struct pollfd){.fd = conns[i].fd, .events = POLLIN};
		fds[n = n_conns] = (struct pollfd){.fd = listener, .events = POLLIN};
		is_quiet = poll(fds, (nfds_t)n + 1, FAR_MS) == 0;
		for (i = 0; i < n; i++)
			if (fds[i].revents)
				receive(&conns[i]);
		for (i = 0; i < n; i++)
			while (is_quiet && serve_one(&conns[i]))
				;
		if (fds[n].revents)
			conns[n_conns++] =
				(struct conn){.fd = accept(listener, NULL, NULL)};
		CHECK(n_conns < 4 * N);
	}
	return NULL;
}

/* ---- the GETs ---- */

static void set_url(struct sfs_get *get)
{
	get->url = ((struct get *)get)->url;
}

static void start(struct sfs_get *get)
{
	get->user = get->if_match = NULL;
	get->has_user_headers = get->is_whole = false;
	get->first = 0;
	get->last = 511;
	get->late_ns = get->needed_late_ns = UINT64_MAX;
	((struct get *)get)->n_body = 0;
}

static int head(struct sfs_get *get, const struct sfs_http_headers *headers)
{
	CHECK_EQ(headers->status, 206);
	return 0;
}

static int room(struct sfs_get *get, struct iovec *pieces, int n_max)
{
	struct get *g = (struct get *)get;

	pieces[0] = (struct iovec){g->body + g->n_body, sizeof g->body - 1 - g->n_body};
	return 1;
}

static int received(struct sfs_get *get, size_t n)
{
	((struct get *)get)->n_body += n;
	return 0;
}

static int body(struct sfs_get *get, const char *bytes, size_t n)
{
	struct get *g = (struct get *)get;

	CHECK(g->n_body + n < sizeof g->body);
	memcpy(g->body + g->n_body, bytes, n);
	return received(get, n);
}

static void late(struct sfs_get *get)
{
}

static void end(struct sfs_get *get, int err, enum sfs_fetch_outcome outcome,
		const char *why)
{
	struct get *g = (struct get *)get;

	CHECK(err < 0 || known_wait_ns > 0); /* who waits for it may ask how far it was */
	g->err = err;
	g->n_ends++;
	pthread_mutex_lock(&lock);
	n_over++;
	pthread_cond_signal(&wake);
	pthread_mutex_unlock(&lock);
}

static void path_changed(void *ctx, const struct sfs_netpath *path)
{
	known_wait_ns = path->wait_ns;
}

static void add(int i)
{
	gets[i] = (struct get){.url = sfs_asprintf("%s%d", base, i)};
	gets[i].get = (struct sfs_get){.is_cancelled = &gets[i].is_cancelled,
				       .is_needed = &is_needed,
				       .is_small = true,
				       .is_urgent = true,
				       .may_follow = true,
				       .set_url = set_url,
				       .start = start,
				       .head = head,
				       .body = body,
				       .room = room,
				       .received = received,
				       .late = late,
				       .end = end};
	sfs_fetch_add(fetch, &gets[i].get, 0);
}

static void wait_for(int n)
{
	pthread_mutex_lock(&lock);
	while (n_over < n)
		pthread_cond_wait(&wake, &lock);
	pthread_mutex_unlock(&lock);
}

static void check(int i)
{
	char number[16];

	snprintf(number, sizeof number, "%d", i);
	CHECK_EQ(gets[i].n_ends, 1);
	if (gets[i].err == 0)
		CHECK_STR(gets[i].body, number);
	free(gets[i].url);
}

static int n_failed(int err)
{
	int i, n = 0;

	for (i = 0; i < N; i++)
		n += gets[i].err == err;
	return n;
}

static void run(enum fault f)
{
	struct sfs_fetch_options options = {.n_connections = 64,
					    .n_small = N_SMALL,
					    .path_changed = path_changed,
					    .connect_timeout_ms = 60000,
					    .stall_timeout_ms = 60000};
	struct sfs_error err;
	pthread_t server;
	int i;

	fault = f;
	n_over = n_conns = n_most_behind = n_faults = 0;
	known_wait_ns = 0;
	is_closed = false;
	memset(conns, 0, sizeof conns);
	pthread_create(&server, NULL, serve, NULL);
	fetch = sfs_fetch_start(&options, &err);
	CHECK(fetch != NULL);
	/* First it is learnt that the server is far, and each connection is used. */
	for (i = 0; i < N_SMALL; i++)
		add(i);
	wait_for(N_SMALL);
	for (; i < N; i++) {
		add(i);
		if (f == IS_CANCELLED && i == N / 2)
			atomic_store(&gets[N_SMALL + 2].is_cancelled, true);
	}
	if (f == IS_CANCELLED)
		sfs_fetch_wake(fetch);
	wait_for(N);
	sfs_fetch_stop(fetch);
	sfs_fetch_free(fetch);
	is_closed = true;
	pthread_join(server, NULL);
	for (i = 0; i < n_conns; i++)
		if (conns[i].fd >= 0)
			close(conns[i].fd);
	for (i = 0; i < N; i++)
		check(i);
}

int main(void)
{
	setenv("HOME", "/", true); /* no .netrc */
	unsetenv("http_proxy");
	unsetenv("all_proxy");
	unsetenv("ALL_PROXY");
	listen_here();

	run(NONE);
	CHECK_EQ(n_failed(0), N);
	CHECK_EQ(n_conns, N_SMALL);
	CHECK_EQ(n_most_behind, 8);
	run(CLOSES);
	CHECK_EQ(n_faults, 1);
	CHECK_EQ(n_failed(0), N);
	run(SAYS_CLOSE);
	CHECK_EQ(n_faults, 1);
	CHECK_EQ(n_failed(0), N);
	run(IS_ODD);
	CHECK_EQ(n_faults, 1);
	CHECK_EQ(n_failed(0), N);
	run(BREAKS_OFF);
	CHECK_EQ(n_faults, 1);
	CHECK_EQ(n_failed(0), N - 1);
	CHECK_EQ(n_failed(-ECONNRESET), 1);
	run(IS_CANCELLED);
	CHECK(n_failed(0) >= N - 1);
	CHECK_EQ(n_failed(0) + n_failed(-ECANCELED), N);
	free(base);
	close(listener);
	return 0;
}
