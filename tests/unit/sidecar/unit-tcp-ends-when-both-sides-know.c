/* SPDX-License-Identifier: MIT */
/* A sender sends what the receiver does not have yet.  It has sent all when the receiver
 * has said that it knows the end: if the connection breaks before, the sender connects
 * again and asks.  A failure is told behind the batches before it.  A receiver fails at
 * once when a sender has failed, and gives up one that left or vanished, also before its
 * first batch.  Closing a sender waits for no receiver that stands still. */
#include "check.h"
#include "transport/receiver.h"
#include "transport/transport.h"
#include "transport/wire.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
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

static void say_why(int fd, enum sfs_wire_kind kind, uint64_t seq, const char *why)
{
	struct sfs_wire_message m = {.kind = kind, .seq = seq};
	unsigned char bytes[SFS_WIRE_MESSAGE_MAX];
	size_t n;

	snprintf(m.text, sizeof m.text, "%s", why);
	n = sfs_wire_put(&m, &layout, bytes);
	CHECK_EQ(send(fd, bytes, n, MSG_NOSIGNAL), n);
}

static void say(int fd, enum sfs_wire_kind kind, uint64_t seq)
{
	say_why(fd, kind, seq, "");
}

static int greet(int listen_fd, uint64_t resume)
{
	unsigned char bytes[SFS_WIRE_REPLY_BYTES + SFS_WIRE_TEXT_MAX];
	struct sfs_wire_reply reply = {
		.resume = resume, .consumed = resume, .window = 2};
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
	CHECK_EQ(hear(fd, &m), SFS_WIRE_BYE);
	CHECK_STR(m.text, "");
	close(fd); /* that is no reason to connect again, however late close() is */
	CHECK_EQ(poll(&(struct pollfd){.fd = listen_fd, .events = POLLIN}, 1, 500), 0);
	sfs_tcp_ops.close(t);
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

/* The last batch goes out when the first is credited, and the failure behind it. */
static void check_failure(void)
{
	struct sfs_wire_message m;
	struct sfs_transport *t;
	pthread_t sender;
	uint16_t port;
	int fd, listen_fd = listen_at(&port);

	t = open_sender(port);
	pthread_create(&sender, NULL, send_all, t);
	fd = greet(listen_fd, 0);
	CHECK_EQ(hear(fd, &m), SFS_WIRE_BATCH);
	CHECK_EQ(hear(fd, &m), SFS_WIRE_BATCH);
	say(fd, SFS_WIRE_CREDIT, 1);
	pthread_join(sender, NULL);
	close(fd); /* (what was not credited comes again) */
	fd = greet(listen_fd, 1);
	CHECK_EQ(hear(fd, &m), SFS_WIRE_BATCH);
	CHECK_EQ(hear(fd, &m), SFS_WIRE_BATCH);
	CHECK_EQ(m.seq, 2);
	sfs_tcp_ops.fail(t, "its disk is full");
	CHECK_EQ(hear(fd, &m), SFS_WIRE_BYE);
	CHECK_STR(m.text, "its disk is full");
	CHECK(m.has_failed);
	CHECK_EQ(sfs_tcp_ops.wait_told(t, 50), -ETIMEDOUT);
	say_why(fd, SFS_WIRE_BYE, 0, "sender 0 has failed");
	CHECK_EQ(sfs_tcp_ops.wait_told(t, 30000), -EPIPE);
	sfs_tcp_ops.close(t);
	close(fd);
	close(listen_fd);
}

static atomic_bool is_closed;

static void *ping(void *fd)
{
	while (!is_closed) {
		say(*(int *)fd, SFS_WIRE_PING, 0);
		usleep(100000);
	}
	return NULL;
}

/* A batch that the receiver does not read fills the socket. */
static void check_close(void)
{
	struct shufflefs_layout small = layout;
	struct sfs_row row = {.name = "a", .dtype = "u1", .rank = 1, .dims = {64 << 20}};
	struct sfs_batch_info info = {.end = 1, .n_samples = 1};
	unsigned char byte;
	struct sfs_transport *t;
	struct sfs_error err;
	pthread_t pinger;
	void *slot;
	uint16_t port;
	int fd, listen_fd = listen_at(&port);

	layout = (struct shufflefs_layout){.n_samples = 1};
	CHECK_EQ(sfs_layout_add(&layout, &row, &err), 0);
	t = open_sender(port);
	fd = greet(listen_fd, 0);
	CHECK_EQ(sfs_tcp_ops.take(t, 30000, &slot, &err), 0);
	CHECK_EQ(sfs_tcp_ops.send(t, &info, &err), 0);
	get(fd, &byte, 1);
	pthread_create(&pinger, NULL, ping, &fd);
	sfs_tcp_ops.close(t);
	is_closed = true;
	pthread_join(pinger, NULL);
	close(fd);
	close(listen_fd);
	layout = small;
}

/* ---- a receiver that gives up ---- */

/* A sender without a batch: it vanishes, leaves or fails. */
enum fate { VANISHES, LEAVES, FAILS };

static int send_nothing(const char *url, enum fate fate)
{
	struct sfs_wire_hello hello = {.session = 5,
				       .slot_bytes = layout.slot_bytes,
				       .layout_hash = sfs_layout_hash(&layout)};
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sfs_wire_message bye = {.kind = SFS_WIRE_BYE,
				       .text = "its disk is full",
				       .has_failed = fate == FAILS};
	unsigned char bytes[SFS_WIRE_MESSAGE_MAX];
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	size_t n;

	to.sin_port = htons((uint16_t)atoi(strstr(url, "127.0.0.1:") + 10));
	CHECK_EQ(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
	sfs_wire_put_hello(&hello, bytes);
	CHECK_EQ(send(fd, bytes, SFS_WIRE_HELLO_BYTES, 0), SFS_WIRE_HELLO_BYTES);
	say(fd, SFS_WIRE_LAYOUT, 0);
	n = sfs_wire_put(&bye, &layout, bytes);
	if (fate != VANISHES)
		CHECK_EQ(send(fd, bytes, n, 0), n);
	shutdown(fd, SHUT_WR);
	return fd;
}

/* A connection of `process`; returns the receiver's answer. */
static struct sfs_wire_reply ask(uint16_t port, uint32_t process, int *ret_fd)
{
	struct sfs_wire_hello hello = {.session = 5,
				       .process = process,
				       .slot_bytes = layout.slot_bytes,
				       .layout_hash = sfs_layout_hash(&layout)};
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons(port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	unsigned char bytes[SFS_WIRE_REPLY_BYTES + SFS_WIRE_TEXT_MAX];
	struct sfs_wire_reply reply = {.session = 0};
	struct sfs_error err = {""};
	int fd = socket(AF_INET, SOCK_STREAM, 0), n;

	CHECK_EQ(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
	sfs_wire_put_hello(&hello, bytes);
	CHECK_EQ(send(fd, bytes, SFS_WIRE_HELLO_BYTES, 0), SFS_WIRE_HELLO_BYTES);
	get(fd, bytes, SFS_WIRE_PREFIX_BYTES);
	n = sfs_wire_check_prefix(bytes, "receiver", &err);
	get(fd, bytes + SFS_WIRE_PREFIX_BYTES, (size_t)n - SFS_WIRE_PREFIX_BYTES);
	CHECK_EQ(sfs_wire_get_reply(bytes, (size_t)n, &reply, &err), 0);
	*ret_fd = fd;
	return reply;
}

static void *receive(void *receiver)
{
	struct sfs_error err = {""};

	CHECK_EQ(sfs_tcp_receiver_ops.run(receiver, &err), -ECANCELED);
	return NULL;
}

/* No trainer takes batches, so the connection that waits for a slot is not read; it is
 * closed, and a successor asks. */
static void check_successor_of_one_that_waits(void)
{
	struct sfs_receiver_settings settings = {.source = "tcp://127.0.0.1:0",
						 .n_senders = 1};
	struct sfs_wire_message m = {.kind = SFS_WIRE_BATCH,
				     .info = {.end = 4, .n_samples = 4},
				     .n_bytes = 400};
	struct sfs_strbuf text = {.s = NULL};
	struct sfs_json_writer json = {.text = &text};
	unsigned char bytes[SFS_WIRE_MESSAGE_MAX] = {0};
	struct sfs_receiver *receiver;
	struct sfs_error err = {""};
	struct sfs_wire_reply reply;
	pthread_t thread;
	char path[64];
	uint16_t port;
	int fd, successor;

	snprintf(path, sizeof path, "/tmp/unit-tcp-waits.%d", (int)getpid());
	settings.ring = (struct sfs_ring_settings){.path = path, .n_slots = 2};
	settings.stop_fd = eventfd(0, 0);
	CHECK_EQ(sfs_tcp_receiver_ops.open(&settings, &receiver, &err), 0);
	sfs_tcp_receiver_ops.describe(receiver, &json);
	port = (uint16_t)atoi(strstr(text.s, "127.0.0.1:") + 10);
	pthread_create(&thread, NULL, receive, receiver);
	CHECK_EQ(ask(port, 1, &fd).code, SFS_WIRE_ACCEPT);
	say(fd, SFS_WIRE_LAYOUT, 0);
	for (m.seq = 0; m.seq < 3; m.seq++) {
		size_t n = sfs_wire_put(&m, &layout, bytes);

		CHECK_EQ(send(fd, bytes, n, 0), n);
		memset(bytes, 0, 400);
		CHECK_EQ(send(fd, bytes, 400, 0), 400);
	}
	while (ask(port, 2, &successor).code == SFS_WIRE_ACCEPT)
		close(successor); /* (it has not read the layout yet) */
	close(successor);
	close(fd);
	do {
		reply = ask(port, 2, &successor);
		close(successor);
	} while (reply.code != SFS_WIRE_ACCEPT);
	CHECK_EQ(reply.resume, 2);
	eventfd_write(settings.stop_fd, 1);
	pthread_join(thread, NULL);
	sfs_tcp_receiver_ops.close(receiver);
	close(settings.stop_fd);
	sfs_strbuf_done(&text);
}

static void check_give_up(enum fate fate, const char *why)
{
	struct sfs_receiver_settings settings = {.source = "tcp://127.0.0.1:0",
						 .n_senders = 1,
						 .give_up_ms =
							 fate == FAILS ? 60000 : 200};
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
	fd = send_nothing(text.s, fate);
	CHECK_EQ(sfs_tcp_receiver_ops.run(receiver, &err),
		 fate == FAILS ? -EIO : -ETIMEDOUT);
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
	check_failure();
	check_close();
	check_successor_of_one_that_waits();
	check_give_up(FAILS, "has failed: its disk is full");
	check_give_up(LEAVES,
		      "sender 0 has left: its disk is full, and did not come back");
	check_give_up(VANISHES, "sender 0 was lost, and did not come back in 0.2 s");
	return 0;
}
