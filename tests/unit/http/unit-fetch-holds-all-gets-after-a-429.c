/* SPDX-License-Identifier: MIT */
/* After a 429 that says when to ask again, none of the GETs that wait for its server is
 * sent before, but the one that is of no use later. */
#include "base/alloc.h"
#include "base/clock.h"
#include "check.h"
#include "source/http/fetch.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define N	  6
#define HURRIED	  4 /* the one that cannot wait */
#define AFTER_S	  2
#define N_BYTES	  512
#define REFUSAL	  "HTTP/1.1 429 Too Many Requests\r\nRateLimit: \"api\";r=0;t=2\r\n"
#define NO_LENGTH "Content-Length: 0\r\n\r\n"

static char *url;
static int listener;
static atomic_bool is_cancelled, is_needed;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static int n_ended, n_refused, n_asked;
static struct {
	int which;
	uint64_t ns;
} asked[N + 1];

static void begin_listening(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof address;

	listener = socket(AF_INET, SOCK_STREAM, 0);
	CHECK_EQ(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
	CHECK_EQ(listen(listener, 64), 0);
	CHECK_EQ(getsockname(listener, (struct sockaddr *)&address, &n), 0);
	url = sfs_asprintf("http://127.0.0.1:%d/", ntohs(address.sin_port));
}

/* The GETs are told apart by where their ranges begin. */
static void answer(int fd, const char *request)
{
	const char *range = strstr(request, "bytes=");
	char head[160], zeros[N_BYTES] = {0};
	int which = range ? atoi(range + 6) : -1, n;
	bool is_first;

	pthread_mutex_lock(&lock);
	CHECK(n_asked < N + 1);
	is_first = n_asked == 0;
	asked[n_asked].which = which;
	asked[n_asked++].ns = sfs_clock_ns();
	pthread_mutex_unlock(&lock);
	if (is_first) {
		n = snprintf(head, sizeof head, REFUSAL NO_LENGTH);
		CHECK_EQ(write(fd, head, (size_t)n), n);
		return;
	}
	n = snprintf(head, sizeof head,
		     "HTTP/1.1 206 Partial Content\r\nContent-Length: %d\r\n"
		     "Content-Range: bytes %d-%d/9999\r\n\r\n",
		     N_BYTES, which, which + N_BYTES - 1);
	CHECK_EQ(write(fd, head, (size_t)n), n);
	CHECK_EQ(write(fd, zeros, N_BYTES), N_BYTES);
}

/* One connection at a time; the client keeps the first. */
static void *serve(void *arg)
{
	char request[4096];
	size_t n;
	ssize_t more;
	int fd;

	while ((fd = accept(listener, NULL, NULL)) >= 0) {
		n = 0;
		while ((more = read(fd, request + n, sizeof request - 1 - n)) > 0) {
			n += (size_t)more;
			request[n] = 0;
			if (!strstr(request, "\r\n\r\n"))
				continue;
			answer(fd, request);
			n = 0;
		}
		close(fd);
	}
	return NULL;
}

static void place(struct sfs_get *get)
{
	get->url = url;
}

static struct sfs_get gets[N];

static void start(struct sfs_get *get)
{
	get->user = get->if_match = NULL;
	get->has_user_headers = get->is_whole = false;
	get->first = (uint64_t)(get - gets);
	get->last = get->first + N_BYTES - 1;
}

static int head(struct sfs_get *get, const struct sfs_http_headers *headers)
{
	return 0;
}

static int body(struct sfs_get *get, const char *bytes, size_t n)
{
	return 0;
}

static int room(struct sfs_get *get, struct iovec *pieces, int n_max)
{
	return 0;
}

static int received(struct sfs_get *get, size_t n)
{
	return 0;
}

static void end(struct sfs_get *get, int err, enum sfs_fetch_outcome outcome,
		const char *why)
{
	CHECK_EQ(err, 0);
	pthread_mutex_lock(&lock);
	n_refused += get->response.headers.status == 429;
	n_ended++;
	pthread_cond_signal(&wake);
	pthread_mutex_unlock(&lock);
}

static void path_changed(void *ctx, const struct sfs_netpath *path)
{
}

int main(void)
{
	const struct sfs_fetch_options options = {.n_connections = 1,
						  .n_small = 1,
						  .path_changed = path_changed,
						  .connect_timeout_ms = 60000,
						  .stall_timeout_ms = 60000};
	struct sfs_fetch *fetch;
	struct sfs_error err;
	pthread_t server;
	int i;

	begin_listening();
	CHECK_EQ(pthread_create(&server, NULL, serve, NULL), 0);
	fetch = sfs_fetch_start(&options, &err);
	CHECK(fetch != NULL);
	for (i = 0; i < N; i++)
		gets[i] = (struct sfs_get){.is_cancelled = &is_cancelled,
					   .is_needed = &is_needed,
					   .set_url = place,
					   .start = start,
					   .head = head,
					   .body = body,
					   .room = room,
					   .received = received,
					   .end = end};
	gets[HURRIED].latest_ns = sfs_clock_ns() + 1;
	for (i = 0; i < N; i++)
		sfs_fetch_add(fetch, &gets[i], 0);
	pthread_mutex_lock(&lock);
	while (n_ended < N)
		pthread_cond_wait(&wake, &lock);
	pthread_mutex_unlock(&lock);
	sfs_fetch_stop(fetch);
	sfs_fetch_free(fetch);
	shutdown(listener, SHUT_RDWR);
	CHECK_EQ(pthread_join(server, NULL), 0);
	close(listener);

	CHECK_EQ(n_refused, 1);
	CHECK_EQ(n_asked, N);
	CHECK_EQ(asked[1].which, HURRIED);
	for (i = 2; i < N; i++)
		CHECK(asked[i].ns >= asked[0].ns + AFTER_S * SFS_NS_PER_S);
	free(url);
	return 0;
}
