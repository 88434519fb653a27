/* SPDX-License-Identifier: MIT */
/* A long body that comes byte by byte is seen byte by byte, at its beginning, in its middle
 * and at its end; so is what came before a server broke off, or fell silent. */
#include "base/alloc.h"
#include "check.h"
#include "source/http/fetch.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define N_BODY	400000
#define N_DRIPS	50
#define N_LAST	100

static char body_of_all[N_BODY];
static char *url;
static int listener, server;
static struct sfs_fetch *fetch;
static atomic_bool is_needed, is_cancelled;

/* What the GET has got. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static char got[N_BODY];
static size_t n_got;
static bool is_over;
static int result;
static char said[128];

/* ---- the GET, on the fetch thread ---- */

static void set_url(struct sfs_get *get)
{
	get->url = url;
}

static void start(struct sfs_get *get)
{
	get->user = get->if_match = NULL;
	get->has_user_headers = get->is_whole = false;
	get->first = 0;
	get->last = N_BODY - 1;
	get->late_ns = get->needed_late_ns = UINT64_MAX;
}

static int head(struct sfs_get *get, const struct sfs_http_headers *headers)
{
	return 0;
}

static int room(struct sfs_get *get, struct iovec *pieces, int n_max)
{
	pieces[0] = (struct iovec){got + n_got, sizeof got - n_got};
	return 1;
}

static int received(struct sfs_get *get, size_t n)
{
	pthread_mutex_lock(&lock);
	n_got += n;
	pthread_cond_signal(&wake);
	pthread_mutex_unlock(&lock);
	return 0;
}

static int body(struct sfs_get *get, const char *bytes, size_t n)
{
	memcpy(got + n_got, bytes, n);
	return received(get, n);
}

static void late(struct sfs_get *get)
{
}

static void end(struct sfs_get *get, int err, enum sfs_fetch_outcome outcome,
		const char *why)
{
	pthread_mutex_lock(&lock);
	result = err;
	snprintf(said, sizeof said, "%s", why);
	is_over = true;
	pthread_cond_signal(&wake);
	pthread_mutex_unlock(&lock);
}

static void path_changed(void *ctx, const struct sfs_netpath *path)
{
}

static struct sfs_get the_get;

static void begin(unsigned stall_timeout_ms)
{
	struct sfs_fetch_options options = {.n_connections = 8,
					    .n_small = 8,
					    .path_changed = path_changed,
					    .connect_timeout_ms = 60000,
					    .stall_timeout_ms = stall_timeout_ms};
	struct sfs_error err;

	n_got = 0;
	is_over = false;
	result = 1;
	fetch = sfs_fetch_start(&options, &err);
	CHECK(fetch != NULL);
	the_get = (struct sfs_get){.is_cancelled = &is_cancelled,
				   .is_needed = &is_needed,
				   .set_url = set_url,
				   .start = start,
				   .head = head,
				   .body = body,
				   .room = room,
				   .received = received,
				   .late = late,
				   .end = end};
	sfs_fetch_add(fetch, &the_get, 0);
}

/* ---- the server: this thread ---- */

static void take_request(void)
{
	char text[4096] = "";
	size_t n = 0;
	ssize_t some;
	const int on = 1;

	server = accept(listener, NULL, NULL);
	CHECK(server >= 0);
	setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	while (!strstr(text, "\r\n\r\n")) {
		some = recv(server, text + n, sizeof text - 1 - n, 0);
		CHECK(some > 0);
		n += (size_t)some;
	}
	n = (size_t)snprintf(text, sizeof text,
			     "HTTP/1.1 206 x\r\nContent-Length: %d\r\n\r\n", N_BODY);
	CHECK_EQ(send(server, text, n, MSG_NOSIGNAL), n);
}

static void wait_until_got(size_t n)
{
	pthread_mutex_lock(&lock);
	while (n_got < n && !is_over)
		pthread_cond_wait(&wake, &lock);
	CHECK(n_got >= n);
	pthread_mutex_unlock(&lock);
}

/* Up to byte n, and wait until all of it is seen. */
static void serve_to(size_t n)
{
	size_t at = n_got;
	ssize_t some;

	for (; at < n; at += (size_t)some) {
		some = send(server, body_of_all + at, n - at, MSG_NOSIGNAL);
		CHECK(some > 0);
	}
	wait_until_got(n);
}

static void drip(int n)
{
	for (; n > 0; n--)
		serve_to(n_got + 1);
}

static void finish(void)
{
	pthread_mutex_lock(&lock);
	while (!is_over)
		pthread_cond_wait(&wake, &lock);
	pthread_mutex_unlock(&lock);
	sfs_fetch_stop(fetch);
	sfs_fetch_free(fetch);
	CHECK(memcmp(got, body_of_all, n_got) == 0);
	if (server >= 0)
		close(server);
}

static void slow(void)
{
	begin(60000);
	take_request();
	drip(N_DRIPS);
	serve_to(N_BODY / 2);
	drip(N_DRIPS);
	serve_to(N_BODY - N_LAST);
	drip(N_LAST);
	finish();
	CHECK_EQ(result, 0);
	CHECK_EQ(n_got, N_BODY);
}

/* The last bytes come late, and at once. */
static void late_end(void)
{
	begin(60000);
	take_request();
	serve_to(N_BODY - N_LAST);
	serve_to(N_BODY);
	finish();
	CHECK_EQ(result, 0);
}

static void breaks_off(size_t at)
{
	begin(60000);
	take_request();
	serve_to(at);
	close(server);
	server = -1;
	finish();
	CHECK_EQ(result, -ECONNRESET);
	CHECK_EQ(n_got, at);
	CHECK_HAS(said, "bytes remaining to read");
}

/* With a few bytes in the socket. */
static void falls_silent(void)
{
	begin(300);
	take_request();
	CHECK_EQ(send(server, body_of_all, 1000, MSG_NOSIGNAL), 1000);
	finish();
	CHECK_EQ(result, -ETIMEDOUT);
	CHECK_EQ(n_got, 1000);
	CHECK_HAS(said, "no byte in 300 ms");
}

int main(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof address;
	size_t i;

	setenv("HOME", "/", true); /* no .netrc */
	unsetenv("http_proxy");
	unsetenv("all_proxy");
	unsetenv("ALL_PROXY");
	for (i = 0; i < N_BODY; i++)
		body_of_all[i] = (char)('a' + i * i % 23);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	CHECK_EQ(bind(listener, (struct sockaddr *)&address, n), 0);
	CHECK_EQ(listen(listener, 8), 0);
	CHECK_EQ(getsockname(listener, (struct sockaddr *)&address, &n), 0);
	url = sfs_asprintf("http://127.0.0.1:%d/", ntohs(address.sin_port));

	slow();
	late_end();
	breaks_off(1);
	breaks_off(N_BODY / 2 + 1);
	breaks_off(N_BODY - 1);
	falls_silent();
	close(listener);
	free(url);
	return 0;
}
