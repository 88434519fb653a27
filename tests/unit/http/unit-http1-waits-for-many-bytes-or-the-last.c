/* SPDX-License-Identifier: MIT */
/* Within a long body a connection is ready when many bytes have come, or the last ones, or
 * its end, however small its buffer; for any byte as soon as its owner hurries it; and for
 * the first byte of the next response. */
#include "check.h"
#include "source/http/http1.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define N_BODY	 197708 /* the first 1000, some times N_FEWER, and the last 100 */
#define N_MANY	 (64 << 10)
#define N_FEWER	 (16 << 10)
#define LONG_MS	 60000
#define HEAD(n)	 "HTTP/1.1 206 x\r\nContent-Length: " #n "\r\n\r\n"
#define OF(text) text, strlen(text)

static char body[N_BODY], got[N_BODY];
static size_t n_got;

static void on_line(void *ctx, const char *line, size_t n)
{
}

static int on_head(void *ctx)
{
	return 0;
}

static int on_room(void *ctx, struct iovec *pieces, int n_max)
{
	pieces[0] = (struct iovec){got + n_got, sizeof got - n_got};
	return 1;
}

static int on_received(void *ctx, size_t n)
{
	n_got += n;
	return 0;
}

static const struct sfs_http1_reader ops = {on_line, on_head, on_room, on_received};

static struct sfs_http1 *conn;
static int server;

/* Of the connection's socket: within that time. */
static bool is_ready(int ms)
{
	struct pollfd fd = {.fd = sfs_http1_fd(conn), .events = POLLIN};

	return poll(&fd, 1, ms) == 1;
}

static int n_waiting(void)
{
	int n = 0;

	ioctl(sfs_http1_fd(conn), FIONREAD, &n);
	return n;
}

static void serve(const char *bytes, size_t n)
{
	CHECK_EQ(send(server, bytes, n, MSG_NOSIGNAL), n);
}

/* These bytes come, and nobody is woken. */
static void lies(const char *bytes, size_t n)
{
	int n_before = n_waiting();
	const struct timespec moment = {.tv_nsec = 1000000};

	serve(bytes, n);
	while (n_waiting() < n_before + (int)n)
		nanosleep(&moment, NULL);
	CHECK(!is_ready(0));
}

static enum sfs_http1_state run(void)
{
	int err;

	CHECK(is_ready(LONG_MS));
	return sfs_http1_run(conn, &ops, NULL, &err);
}

/* All that lies in the socket. */
static void take(void)
{
	while (n_waiting() > 0)
		CHECK_EQ(run(), SFS_HTTP1_WAITS);
}

static void ask(void)
{
	char text[64];
	int err;

	n_got = 0;
	memset(got, 0, sizeof got);
	sfs_http1_ask(conn, OF("GET / HTTP/1.1\r\n\r\n"));
	CHECK_EQ(sfs_http1_run(conn, &ops, NULL, &err), SFS_HTTP1_WAITS);
	CHECK_EQ(recv(server, text, sizeof text, 0), strlen("GET / HTTP/1.1\r\n\r\n"));
}

/* buffer: of our end; 0: as large as the system has it. */
static void start(int buffer)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int listener = socket(AF_INET, SOCK_STREAM, 0), ours = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t n = sizeof address;
	const int on = 1;

	if (buffer)
		setsockopt(ours, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
	CHECK_EQ(bind(listener, (struct sockaddr *)&address, n), 0);
	CHECK_EQ(listen(listener, 1), 0);
	CHECK_EQ(getsockname(listener, (struct sockaddr *)&address, &n), 0);
	CHECK_EQ(connect(ours, (struct sockaddr *)&address, n), 0);
	server = accept(listener, NULL, NULL);
	CHECK(server >= 0);
	setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	close(listener);
	fcntl(ours, F_SETFL, O_NONBLOCK);
	conn = sfs_http1_new(ours);
	ask();
}

static void stop(void)
{
	sfs_http1_free(conn);
	if (server >= 0)
		close(server);
}

/* A body has begun, and all that came of it was taken. */
static void begin(void)
{
	CHECK(!sfs_http1_is_patient(conn));
	serve(OF(HEAD(197708)));
	serve(body, 1000);
	take();
	CHECK_EQ(n_got, 1000);
	CHECK(sfs_http1_is_patient(conn));
}

static void many(void)
{
	start(0);
	begin();
	lies(body + n_got, 1);
	lies(body + n_got + 1, N_MANY - 2);
	serve(body + n_got + N_MANY - 1, 1);
	take();
	CHECK_EQ(n_got, 1000 + N_MANY);
	stop();
}

static void the_last(void)
{
	size_t left, next;

	sfs_http1_set_low_water(conn, N_FEWER);
	begin();
	while (n_got < N_BODY - 100) {
		next = n_got + N_FEWER;
		lies(body + n_got, N_FEWER - 1);
		serve(body + next - 1, 1);
		while (n_got < next)
			CHECK_EQ(run(), SFS_HTTP1_WAITS);
	}
	for (left = 100; left > 1; left--)
		lies(body + N_BODY - left, 1);
	serve(body + N_BODY - 1, 1);
	CHECK_EQ(run(), SFS_HTTP1_ENDED);
	CHECK(memcmp(got, body, N_BODY) == 0);
	CHECK(!sfs_http1_is_patient(conn) && sfs_http1_is_free(conn));
}

static void next_response(void)
{
	ask();
	serve("H", 1);
	CHECK_EQ(run(), SFS_HTTP1_WAITS);
	serve(OF(HEAD(3) + 1));
	serve("abc", 3);
	while (n_got < 3)
		run();
	CHECK(sfs_http1_is_free(conn));
}

/* Too short to be worth a wait. */
static void short_body(void)
{
	size_t i;

	ask();
	serve(OF(HEAD(9000)));
	serve(body, 1);
	while (n_got < 1)
		CHECK_EQ(run(), SFS_HTTP1_WAITS);
	CHECK(!sfs_http1_is_patient(conn));
	for (i = 1; i < 9000; i++) {
		serve(body + i, 1);
		while (n_got <= i)
			run();
	}
	CHECK(sfs_http1_is_free(conn));
}

static void hurried(void)
{
	int i;

	start(0);
	sfs_http1_set_low_water(conn, N_FEWER);
	begin();
	lies(body + n_got, 1);
	sfs_http1_hurry(conn);
	CHECK(!sfs_http1_is_patient(conn));
	for (i = 0; i < 100; i++) {
		take();
		CHECK_EQ(n_got, 1001 + i);
		CHECK(!sfs_http1_is_patient(conn));
		serve(body + n_got, 1);
	}
	/* It is a slow one no more. */
	serve(body + n_got + 1, 2 * N_FEWER);
	while (n_waiting() < 2 * N_FEWER + 1)
		CHECK(is_ready(LONG_MS));
	take();
	CHECK(sfs_http1_is_patient(conn));
	lies(body + n_got, 1);
	stop();
}

/* After a few bytes of a body. */
static void broken_off(bool is_reset)
{
	const struct linger at_once = {.l_onoff = 1};

	start(0);
	begin();
	lies(body + n_got, 100);
	if (is_reset)
		setsockopt(server, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
	close(server);
	server = -1;
	while (run() == SFS_HTTP1_WAITS)
		;
	CHECK(n_got == 1100 || (is_reset && n_got == 1000));
	CHECK_HAS(sfs_http1_why(conn), is_reset ? "reset" : "196608 bytes remaining");
	CHECK(!sfs_http1_is_free(conn));
	stop();
}

static void small_buffer(int bytes)
{
	enum sfs_http1_state state = SFS_HTTP1_WAITS;
	size_t n_sent = 0;
	ssize_t n;

	start(bytes);
	serve(OF(HEAD(197708)));
	while (state == SFS_HTTP1_WAITS) {
		n = send(server, body + n_sent, N_BODY - n_sent, MSG_DONTWAIT);
		n_sent += n > 0 ? (size_t)n : 0;
		state = run();
	}
	CHECK_EQ(state, SFS_HTTP1_ENDED);
	CHECK(memcmp(got, body, N_BODY) == 0);
	stop();
}

int main(void)
{
	size_t i;

	for (i = 0; i < N_BODY; i++)
		body[i] = (char)('a' + i * i % 23);
	many();
	start(0);
	the_last();
	next_response();
	short_body();
	stop();
	hurried();
	broken_off(false);
	broken_off(true);
	small_buffer(1);
	small_buffer(5000);
	small_buffer(20000);
	return 0;
}
