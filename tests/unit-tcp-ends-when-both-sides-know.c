/* SPDX-License-Identifier: MIT */
/* A sender sends what the receiver does not have yet.  It has sent all when the receiver
 * has said that it knows the end: if the connection breaks before, the sender connects
 * again and asks.  A receiver gives up a sender that failed or vanished before its first
 * batch, too. */
#include "check.h"
#include "receiver.h"
#include "transport.h"
#include "wire.h"

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define N_BATCHES 3

static struct shufflefs_layout layout = {.n_samples = 4};

/* ---- a receiver that the test plays ---- */

static int listen_at(uint16_t *ret_port)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof at;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	CHECK(bind(fd, (void *)&at, n) == 0 && listen(fd, 5) == 0);
	getsockname(fd, (void *)&at, &n);
	*ret_port = ntohs(at.sin_port);
	return fd;
}

static void get(int fd, void *bytes, size_t n)
{
	if (n > 0) /* (else it would wait) */
		CHECK_EQ(recv(fd, bytes, n, MSG_WAITALL), n);
}

/* The next message of a sender; the bytes of a batch are passed over. */
static enum sfs_wire_kind hear(int fd, struct sfs_wire_message *ret)
{
	unsigned char bytes[SFS_WIRE_MESSAGE_MAX], data[4096];
	struct shufflefs_layout unused;
	struct sfs_error err = {""};
	int n;

	do {
		get(fd, bytes, SFS_WIRE_HEADER_BYTES);
		n = sfs_wire_check_header(bytes, &err);
		CHECK(n > 0);
		get(fd, bytes + SFS_WIRE_HEADER_BYTES, (size_t)n - SFS_WIRE_HEADER_BYTES);
		CHECK_EQ(sfs_wire_get(bytes, (size_t)n, &layout, ret, &unused, &err), 0);
	} while (ret->kind == SFS_WIRE_PING);
	if (ret->kind == SFS_WIRE_BATCH)
		get(fd, data, ret->n_bytes);
	return ret->kind;
}

static void say(int fd, enum sfs_wire_kind kind, uint64_t seq)
{
	struct sfs_wire_message m = {.kind = kind, .seq = seq};
	unsigned char bytes[SFS_WIRE_MESSAGE_MAX];
	size_t n = sfs_wire_put(&m, &layout, bytes);

	CHECK_EQ(send(fd, bytes, n, MSG_NOSIGNAL), n);
}

static int greet(int listen_fd, uint64_t resume)
{
	unsigned char bytes[SFS_WIRE_REPLY_BYTES + SFS_WIRE_TEXT_MAX];
	struct sfs_wire_reply reply = {.resume = resume, .window = 2};
	struct sfs_wire_hello hello;
	struct sfs_wire_message m;
	struct sfs_error err = {""};
	int fd = accept(listen_fd, NULL, NULL);
	size_t n;

	get(fd, bytes, SFS_WIRE_HELLO_BYTES);
	CHECK_EQ(sfs_wire_get_hello(bytes, SFS_WIRE_HELLO_BYTES, &hello, &err), 0);
	reply.session = hello.session;
	n = sfs_wire_put_reply(&reply, bytes);
	CHECK_EQ(send(fd, bytes, n, MSG_NOSIGNAL), n);
	CHECK_EQ(hear(fd, &m), SFS_WIRE_LAYOUT);
	return fd;
}

static struct sfs_transport *open_sender(uint16_t port)
{
	struct sfs_transport_settings settings = {.n_slots = 2, .give_up_ms = 30000};
	struct sfs_transport *t;
	struct sfs_error err;
	char target[64];

	snprintf(target, sizeof target, "tcp://127.0.0.1:%d", port);
	settings.target = target;
	CHECK_EQ(sfs_tcp_ops.open(&settings, &layout, &t, &err), 0);
	return t;
}

static void *send_all(void *arg)
{
	struct sfs_transport *t = arg;
	struct sfs_batch_info info = {.end = 4, .n_samples = 4};
	struct sfs_error err;
	void *slot;
	int i;

	for (i = 0; i < N_BATCHES; i++) {
		CHECK_EQ(sfs_tcp_ops.take(t, 30000, &slot, &err), 0);
		memset(slot, i, layout.slot_bytes);
		CHECK_EQ(sfs_tcp_ops.send(t, &info, &err), 0);
	}
	return NULL;
}

static void check_end(void)
{
	struct sfs_wire_message m;
	struct sfs_transport *t;
	struct sfs_error err;
	pthread_t sender;
	uint16_t port;
	int i, fd, listen_fd = listen_at(&port);

	t = open_sender(port);
	pthread_create(&sender, NULL, send_all, t);
	fd = greet(listen_fd, 0);
	for (i = 0; i < N_BATCHES; i++) {
		CHECK_EQ(hear(fd, &m), SFS_WIRE_BATCH);
		CHECK_EQ(m.seq, i);
		say(fd, SFS_WIRE_CREDIT, (uint64_t)i + 1);
	}
	pthread_join(sender, NULL);
	close(fd); /* all was credited, and no END was heard */
	CHECK_EQ(sfs_tcp_ops.finish(t, 0, &err), -ETIMEDOUT);
	fd = greet(listen_fd, N_BATCHES);
	CHECK_EQ(hear(fd, &m), SFS_WIRE_END);
	CHECK_EQ(m.seq, N_BATCHES);
	CHECK_EQ(sfs_tcp_ops.finish(t, 50, &err), -ETIMEDOUT);
	say(fd, SFS_WIRE_ENDED, N_BATCHES);
	CHECK_EQ(sfs_tcp_ops.finish(t, 30000, &err), 0);
	sfs_tcp_ops.close(t);
	CHECK_EQ(hear(fd, &m), SFS_WIRE_BYE);
	CHECK_STR(m.text, "");
	close(fd);
	close(listen_fd);
}

/* The receiver has batches already: from a process that was killed. */
static void check_successor(uint64_t n_there)
{
	struct sfs_wire_message m;
	struct sfs_transport *t;
	struct sfs_error err;
	pthread_t sender;
	uint16_t port;
	int fd, listen_fd = listen_at(&port);

	t = open_sender(port);
	pthread_create(&sender, NULL, send_all, t);
	fd = greet(listen_fd, n_there);
	for (uint64_t i = n_there; i < N_BATCHES; i++) {
		CHECK_EQ(hear(fd, &m), SFS_WIRE_BATCH);
		CHECK_EQ(m.seq, i);
		say(fd, SFS_WIRE_CREDIT, i + 1);
	}
	pthread_join(sender, NULL);
	if (n_there > N_BATCHES) {
		CHECK_EQ(sfs_tcp_ops.finish(t, 30000, &err), -ESTALE);
		CHECK_HAS(err.text, "has 7 batches of this stream, which has only 3 now");
	} else {
		CHECK_EQ(sfs_tcp_ops.finish(t, 0, &err), -ETIMEDOUT);
		CHECK_EQ(hear(fd, &m), SFS_WIRE_END);
		say(fd, SFS_WIRE_ENDED, N_BATCHES);
		CHECK_EQ(sfs_tcp_ops.finish(t, 30000, &err), 0);
	}
	sfs_tcp_ops.close(t);
	close(fd);
	close(listen_fd);
}

/* ---- a receiver that gives up ---- */

/* A sender without a batch; it has failed if it says so. */
static int send_nothing(const char *url, bool fails)
{
	struct sfs_wire_hello hello = {.session = 5,
				       .slot_bytes = layout.slot_bytes,
				       .layout_hash = sfs_layout_hash(&layout)};
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sfs_wire_message bye = {.kind = SFS_WIRE_BYE, .text = "its disk is full"};
	unsigned char bytes[SFS_WIRE_MESSAGE_MAX];
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	size_t n;

	to.sin_port = htons((uint16_t)atoi(strstr(url, "127.0.0.1:") + 10));
	CHECK_EQ(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
	sfs_wire_put_hello(&hello, bytes);
	CHECK_EQ(send(fd, bytes, SFS_WIRE_HELLO_BYTES, 0), SFS_WIRE_HELLO_BYTES);
	say(fd, SFS_WIRE_LAYOUT, 0);
	n = sfs_wire_put(&bye, &layout, bytes);
	if (fails)
		CHECK_EQ(send(fd, bytes, n, 0), n);
	shutdown(fd, SHUT_WR);
	return fd;
}

static void check_give_up(bool fails, const char *why)
{
	struct sfs_receiver_settings settings = {.source = "tcp://127.0.0.1:0",
						 .n_senders = 1,
						 .give_up_ms = 200};
	struct sfs_strbuf text = {.s = NULL};
	struct sfs_json_writer json = {.text = &text};
	struct sfs_receiver *receiver;
	struct sfs_error err = {""};
	char path[64];
	int fd;

	snprintf(path, sizeof path, "/tmp/unit-tcp-ends.%d", (int)getpid());
	settings.ring = (struct sfs_ring_settings){.path = path, .n_slots = 2};
	settings.stop_fd = eventfd(0, 0);
	CHECK_EQ(sfs_tcp_receiver_ops.open(&settings, &receiver, &err), 0);
	sfs_tcp_receiver_ops.describe(receiver, &json);
	fd = send_nothing(text.s, fails);
	CHECK_EQ(sfs_tcp_receiver_ops.run(receiver, &err), -ETIMEDOUT);
	CHECK_HAS(err.text, why);
	sfs_tcp_receiver_ops.close(receiver);
	close(settings.stop_fd);
	close(fd);
	sfs_strbuf_done(&text);
}

int main(void)
{
	struct sfs_row row = {.name = "a", .dtype = "u1", .rank = 1, .dims = {100}};
	struct sfs_error err;

	CHECK_EQ(sfs_layout_add(&layout, &row, &err), 0);
	check_end();
	check_successor(2);
	check_successor(N_BATCHES);
	check_successor(7);
	check_give_up(true,
		      "sender 0 has failed: its disk is full, and did not come back");
	check_give_up(false, "sender 0 was lost, and did not come back in 200 ms");
	return 0;
}
