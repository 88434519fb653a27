/* SPDX-License-Identifier: MIT */
/* A GET that is late may drop others and itself, whichever they are; those that are left
 * have their late() called, each once. */
#include "base/alloc.h"
#include "base/clock.h"
#include "check.h"
#include "source/http/fetch.h"

#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#define N 9

static struct sfs_fetch *fetch;
static struct sfs_get *gets[N]; /* NULL: dropped */
static char *url;
static atomic_bool is_cancelled, is_needed;
static int n_started, n_late;
static unsigned dropped; /* a bit each: which the first that is late drops */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static bool is_over;

/* A server that lets others connect, and says nothing. */
static int listen_silently(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof address;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	CHECK_EQ(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
	CHECK_EQ(listen(fd, 64), 0);
	CHECK_EQ(getsockname(fd, (struct sockaddr *)&address, &n), 0);
	url = sfs_asprintf("http://127.0.0.1:%d/", ntohs(address.sin_port));
	return fd;
}

static void place(struct sfs_get *get)
{
	get->url = url;
}

/* All are late at one moment: when the last of them has begun. */
static void start(struct sfs_get *get)
{
	int i;

	get->user = get->if_match = NULL;
	get->has_user_headers = get->is_whole = false;
	get->first = 0;
	get->last = 511;
	get->late_ns = get->needed_late_ns = UINT64_MAX;
	if (++n_started < N)
		return;
	for (i = 0; i < N; i++)
		gets[i]->late_ns = gets[i]->needed_late_ns = sfs_clock_ns() + 1;
}

static int n_left(void)
{
	int i, n = 0;

	for (i = 0; i < N; i++)
		n += gets[i] != NULL;
	return n;
}

static void late(struct sfs_get *get)
{
	int i;

	if (n_late++ == 0)
		for (i = 0; i < N; i++)
			if (dropped >> i & 1) {
				sfs_fetch_drop(fetch, gets[i]);
				free(steal(&gets[i]));
			}
	if (n_late < n_left() && n_left() > 0)
		return;
	pthread_mutex_lock(&lock);
	is_over = true;
	pthread_cond_signal(&wake);
	pthread_mutex_unlock(&lock);
}

static void end(struct sfs_get *get, int err, enum sfs_fetch_outcome outcome,
		const char *why)
{
	int i;

	for (i = 0; i < N; i++)
		if (gets[i] == get)
			gets[i] = NULL;
	free(get);
}

static void path_changed(void *ctx, const struct sfs_netpath *path)
{
}

static void drop(unsigned which)
{
	struct sfs_fetch_options options = {.n_connections = 64,
					    .n_small = 64,
					    .path_changed = path_changed,
					    .connect_timeout_ms = 60000,
					    .stall_timeout_ms = 60000};
	struct sfs_error err;
	int i;

	dropped = which;
	n_started = n_late = 0;
	is_over = false;
	fetch = sfs_fetch_start(&options, &err);
	CHECK(fetch != NULL);
	for (i = 0; i < N; i++) {
		gets[i] = sfs_calloc(1, sizeof *gets[i]);
		*gets[i] = (struct sfs_get){.is_cancelled = &is_cancelled,
					    .is_needed = &is_needed,
					    .is_small = true,
					    .set_url = place,
					    .start = start,
					    .late = late,
					    .end = end};
	}
	for (i = 0; i < N; i++)
		sfs_fetch_add(fetch, gets[i], 0);
	pthread_mutex_lock(&lock);
	while (!is_over)
		pthread_cond_wait(&wake, &lock);
	pthread_mutex_unlock(&lock);
	sfs_fetch_stop(fetch);
	sfs_fetch_free(fetch);
}

int main(void)
{
	int fd = listen_silently();
	unsigned which;

	/* None, each one, all but one, all, every other. */
	drop(0);
	for (which = 1; which < 1 << N; which <<= 1) {
		drop(which);
		drop(((1 << N) - 1) & ~which);
	}
	drop((1 << N) - 1);
	drop(0x155);
	drop(0x0aa);
	free(url);
	close(fd);
	return 0;
}
