/* SPDX-License-Identifier: MIT */
/* The wire that was used last is used next, for its own origin only; what is closed, old
 * or in use is not kept, nor given what was kept before some moment; an origin that was
 * odd is left alone for a while. */
#include "base/alloc.h"
#include "base/clock.h"
#include "check.h"
#include "source/http/conncache.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#define N 4

static struct sfs_http1 *wires_of_test[N];
static int servers[N];

static void connect_all(void)
{
	int i, fds[2];

	for (i = 0; i < N; i++) {
		CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
		fcntl(fds[0], F_SETFL, O_NONBLOCK);
		wires_of_test[i] = sfs_http1_new(fds[0]);
		servers[i] = fds[1];
	}
}

static void close_all(void)
{
	int i;

	for (i = 0; i < N; i++)
		close(servers[i]);
}

/* Has our end of the i-th been closed? */
static bool is_closed(int i)
{
	char byte;

	ssize_t n = recv(servers[i], &byte, 1, MSG_DONTWAIT);

	return n == 0 || (n < 0 && errno == ECONNRESET);
}

static void last_first(void)
{
	struct sfs_conncache *w = sfs_conncache_new(3);
	int i;

	connect_all();
	for (i = 0; i < N; i++)
		sfs_conncache_put(w, i == 2 ? "b" : "a", wires_of_test[i], 0);
	CHECK(is_closed(0)); /* there was room for three */
	CHECK(sfs_conncache_get(w, "c", 0, 0) == NULL);
	CHECK(sfs_conncache_get(w, "a", 0, 0) == wires_of_test[3]);
	CHECK(sfs_conncache_get(w, "b", 0, 0) == wires_of_test[2]);
	CHECK(sfs_conncache_get(w, "b", 0, 0) == NULL);
	CHECK(!is_closed(1));
	sfs_conncache_free(w);
	CHECK(is_closed(1));
	sfs_http1_free(wires_of_test[2]);
	sfs_http1_free(wires_of_test[3]);
	close_all();
}

static void not_kept(void)
{
	struct sfs_conncache *w = sfs_conncache_new(N);

	connect_all();
	sfs_http1_ask(wires_of_test[0], "x", 1); /* its answer is still to come */
	sfs_conncache_put(w, "a", wires_of_test[0], 0);
	CHECK(sfs_conncache_get(w, "a", 0, 0) == NULL);
	CHECK(is_closed(0));
	sfs_conncache_put(w, "a", wires_of_test[1], 0);
	shutdown(servers[1], SHUT_RDWR);
	CHECK(sfs_conncache_get(w, "a", 0, 0) == NULL);
	sfs_conncache_put(w, "a", wires_of_test[2], 0);
	CHECK_EQ(send(servers[2], "x", 1, 0), 1); /* which nobody asked for */
	CHECK(sfs_conncache_get(w, "a", 0, 0) == NULL);
	CHECK(is_closed(2));
	sfs_conncache_put(w, "a", wires_of_test[3], 0);
	CHECK(sfs_conncache_get(w, "a", 0, 600 * SFS_NS_PER_S) == NULL);
	CHECK(is_closed(3));
	sfs_conncache_free(w);
	close_all();
}

static void since(void)
{
	struct sfs_conncache *w = sfs_conncache_new(N);
	int i;

	connect_all();
	for (i = 0; i < N; i++)
		sfs_conncache_put(w, i == 0 ? "b" : "a", wires_of_test[i], (uint64_t)i);
	CHECK(sfs_conncache_get(w, "a", 3, 4) == wires_of_test[3]);
	CHECK(sfs_conncache_get(w, "a", 3, 4) == NULL);
	CHECK(is_closed(1));
	CHECK(is_closed(2));
	CHECK(!is_closed(0)); /* another server's */
	sfs_conncache_free(w);
	sfs_http1_free(wires_of_test[3]);
	close_all();
}

static void avoided(void)
{
	struct sfs_conncache *w = sfs_conncache_new(1);
	uint64_t now = 5 * SFS_NS_PER_S;
	char name[16];
	int i;

	CHECK(!sfs_conncache_is_avoided(w, "a", now));
	sfs_conncache_avoid(w, "a", now);
	CHECK(sfs_conncache_is_avoided(w, "a", now));
	CHECK(sfs_conncache_is_avoided(w, "a", now + 50 * SFS_NS_PER_S));
	CHECK(!sfs_conncache_is_avoided(w, "b", now));
	CHECK(!sfs_conncache_is_avoided(w, "a", now + 70 * SFS_NS_PER_S));
	sfs_conncache_avoid(w, "a", now + 70 * SFS_NS_PER_S);
	CHECK(sfs_conncache_is_avoided(w, "a", now + 80 * SFS_NS_PER_S));
	for (i = 0; i < 100; i++) {
		snprintf(name, sizeof name, "%d", i);
		sfs_conncache_avoid(w, name, now);
		CHECK(sfs_conncache_is_avoided(w, name, now));
	}
	sfs_conncache_free(w);
}

int main(void)
{
	last_first();
	not_kept();
	since();
	avoided();
	return 0;
}
