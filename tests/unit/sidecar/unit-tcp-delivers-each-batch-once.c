/* SPDX-License-Identifier: MIT */
/* Over connections that break at any byte, each batch comes out of the ring once, in
 * order, and with its bytes; and both ends then end without an error. */
#include "check.h"
#include "transport/receiver.h"
#include "transport/transport.h"

#include "base/rng.h"
#include "shufflefs/ring.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define N_BATCHES 100

static struct shufflefs_layout layout = {.n_samples = 64};
static char path[64];
static atomic_int n_cuts;
static int relay_fd;
static uint16_t port; /* of the receiver */

static void fill(unsigned char *slot, uint64_t number)
{
	struct sfs_rng rng;
	uint64_t i;

	sfs_rng_init(&rng, &number, 1);
	for (i = 0; i < 64 * 100; i++)
		slot[i] = (unsigned char)sfs_rng_next(&rng);
}

/* Cuts each connection after some thousand bytes, until it has cut 30. */
static void *relay(void *arg)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons(port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	static unsigned char bytes[4096];
	struct sfs_rng rng = {7};
	int fds[2], i;

	while ((fds[0] = accept(relay_fd, NULL, NULL)) >= 0) {
		int64_t left =
			n_cuts < 30 ? (int64_t)sfs_rng_below(&rng, 60000) : 1 << 30;

		fds[1] = socket(AF_INET, SOCK_STREAM, 0);
		CHECK_EQ(connect(fds[1], (struct sockaddr *)&to, sizeof to), 0);
		for (ssize_t n = 1; n > 0 && left > 0;) {
			struct pollfd p[2] = {{fds[0], POLLIN, 0}, {fds[1], POLLIN, 0}};

			poll(p, 2, -1);
			i = p[0].revents ? 0 : 1;
			n = recv(fds[i], bytes, sizeof bytes, 0);
			n = n > left ? left : n;
			left -= n;
			if (n > 0 && send(fds[!i], bytes, (size_t)n, MSG_NOSIGNAL) < 0)
				break;
		}
		n_cuts += left <= 0;
		close(fds[0]);
		close(fds[1]);
	}
	return arg;
}

static uint16_t port_of(struct sfs_receiver *receiver)
{
	struct sfs_strbuf text = {.s = NULL};
	struct sfs_json_writer json = {.text = &text};
	uint16_t found;

	sfs_tcp_receiver_ops.describe(receiver, &json);
	CHECK_HAS(text.s, "tcp://127.0.0.1:");
	found = (uint16_t)atoi(strstr(text.s, "127.0.0.1:") + strlen("127.0.0.1:"));
	sfs_strbuf_done(&text);
	return found;
}

static void *receive(void *receiver)
{
	struct sfs_error err = {""};
	int ret = sfs_tcp_receiver_ops.run(receiver, &err);

	if (ret < 0)
		fprintf(stderr, "receiver: %s\n", err.text);
	CHECK_EQ(ret, 0);
	return NULL;
}

static void *consume(void *arg)
{
	static unsigned char expected[64 * 100];
	struct shufflefs_ring *ring;
	struct shufflefs_batch b;
	uint64_t i;

	CHECK_EQ(shufflefs_ring_attach(path, 30000, &ring), 0);
	for (i = 0; shufflefs_ring_next(ring, 30000, &b) == 1; i++) {
		fill(expected, i);
		CHECK_EQ(b.first, i * 64);
		CHECK_EQ(b.n_samples, i == N_BATCHES - 1 ? 5 : 64);
		CHECK(memcmp(b.data, expected, b.n_samples * 100) == 0);
		CHECK_EQ(shufflefs_ring_release(ring, b.seq), 0);
	}
	CHECK_EQ(i, N_BATCHES);
	shufflefs_ring_detach(ring);
	return arg;
}

static void produce(const char *target)
{
	struct sfs_transport_settings settings = {.target = target,
						  .n_slots = 3,
						  .give_up_ms = 30000,
						  .has_crc = true};
	struct sfs_batch_info info = {.n_samples = 64};
	struct sfs_transport *t;
	struct sfs_error err;
	void *slot;
	uint64_t i;

	CHECK_EQ(sfs_tcp_ops.open(&settings, &layout, &t, &err), 0);
	for (i = 0; i < N_BATCHES; i++) {
		CHECK_EQ(sfs_tcp_ops.take(t, 30000, &slot, &err), 0);
		fill(slot, i);
		info.first = i * 64;
		info.end = info.first + 64;
		info.n_samples = i == N_BATCHES - 1 ? 5 : 64;
		CHECK_EQ(sfs_tcp_ops.send(t, &info, &err), 0);
	}
	CHECK_EQ(sfs_tcp_ops.finish(t, 30000, &err), 0);
	sfs_tcp_ops.close(t);
}

int main(void)
{
	struct sfs_row row = {.name = "a", .dtype = "u1", .rank = 1, .dims = {100}};
	struct sfs_receiver_settings settings = {.source = "tcp://127.0.0.1:0",
						 .n_senders = 1};
	struct sockaddr_in at = {.sin_family = AF_INET};
	socklen_t n = sizeof at;
	pthread_t threads[3];
	struct sfs_receiver *receiver;
	struct sfs_error err;
	char target[64];

	CHECK_EQ(sfs_layout_add(&layout, &row, &err), 0);
	snprintf(path, sizeof path, "/tmp/unit-tcp.%d", (int)getpid());
	settings.ring = (struct sfs_ring_settings){.path = path, .n_slots = 2};
	settings.stop_fd = eventfd(0, 0);
	CHECK_EQ(sfs_tcp_receiver_ops.open(&settings, &receiver, &err), 0);
	port = port_of(receiver);
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	relay_fd = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(bind(relay_fd, (void *)&at, n) == 0 && listen(relay_fd, 5) == 0);
	getsockname(relay_fd, (void *)&at, &n);
	snprintf(target, sizeof target, "tcp://127.0.0.1:%d", ntohs(at.sin_port));
	pthread_create(&threads[0], NULL, relay, NULL);
	pthread_create(&threads[1], NULL, receive, receiver);
	pthread_create(&threads[2], NULL, consume, NULL);
	produce(target);
	pthread_join(threads[1], NULL);
	pthread_join(threads[2], NULL);
	sfs_tcp_receiver_ops.close(receiver);
	CHECK(n_cuts >= 5);
	shutdown(relay_fd, SHUT_RDWR);
	pthread_join(threads[0], NULL);
	return 0;
}
