/* SPDX-License-Identifier: MIT */
/* A peer that speaks another protocol, lies about lengths or numbers, breaks off, or only
 * connects, is refused or dropped, and keeps no good sender waiting; the ring has what
 * good senders send, once, and ends.
 */
#include "check.h"
#include "transport/receiver.h"
#include "transport/wire.h"

#include "shufflefs/ring.h"

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define N_IDLE 64 /* connections that a receiver takes */

static struct shufflefs_layout layout = {.n_samples = 4};
static struct sfs_receiver *receiver;
static uint16_t port;
static char path[64];

/* Are these words in what the receiver has to tell? */
static bool tells(const char *words)
{
	struct sfs_strbuf text = {.s = NULL};
	struct sfs_json_writer json = {.text = &text};
	const char *found;
	bool is_so;

	sfs_tcp_receiver_ops.describe(receiver, &json);
	found = strstr(text.s, "127.0.0.1:");
	CHECK(found);
	port = (uint16_t)atoi(found + strlen("127.0.0.1:"));
	is_so = strstr(text.s, words) != NULL;
	sfs_strbuf_done(&text);
	return is_so;
}

static int dial(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons(port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct timeval patience = {.tv_sec = 20};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	CHECK_EQ(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
	CHECK_EQ(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
	return fd;
}

static void put(int fd, const void *bytes, size_t n)
{
	CHECK_EQ(send(fd, bytes, n, MSG_NOSIGNAL), n);
}

static void say(int fd, enum sfs_wire_kind kind, uint64_t seq, uint64_t n_bytes)
{
	struct sfs_wire_message m = {.kind = kind, .seq = seq, .n_bytes = n_bytes};
	unsigned char bytes[SFS_WIRE_MESSAGE_MAX];

	m.info = (struct sfs_batch_info){.first = 0, .end = 4, .n_samples = 4};
	put(fd, bytes, sfs_wire_put(&m, &layout, bytes));
}

static void say_batch(int fd, uint64_t seq)
{
	static unsigned char data[400];

	say(fd, SFS_WIRE_BATCH, seq, sizeof data);
	put(fd, data, sizeof data);
}

/* A new connection of a session, which is wanted from batch `resume` on. */
static int greet(uint64_t session, uint64_t resume)
{
	struct sfs_wire_hello hello = {.session = session,
				       .slot_bytes = layout.slot_bytes,
				       .layout_hash = sfs_layout_hash(&layout)};
	unsigned char bytes[SFS_WIRE_REPLY_BYTES];
	struct sfs_wire_reply reply;
	struct sfs_error err = {""};
	int fd = dial();

	sfs_wire_put_hello(&hello, bytes);
	put(fd, bytes, SFS_WIRE_HELLO_BYTES);
	CHECK_EQ(recv(fd, bytes, sizeof bytes, MSG_WAITALL), sizeof bytes);
	CHECK_EQ(sfs_wire_get_reply(bytes, sizeof bytes, &reply, &err), 0);
	CHECK_EQ(reply.code, SFS_WIRE_ACCEPT);
	CHECK_EQ(reply.resume, resume);
	return fd;
}

/* The receiver closes it, whatever it has said before; fails if it does not. */
static void expect_end(int fd)
{
	char bytes[4096];
	ssize_t n;

	while ((n = recv(fd, bytes, sizeof bytes, 0)) > 0)
		;
	CHECK(n == 0 || errno == ECONNRESET);
	close(fd);
}

static void *receive(void *arg)
{
	struct sfs_error err = {""};
	int ret = sfs_tcp_receiver_ops.run(receiver, &err);

	if (ret < 0)
		fprintf(stderr, "receiver: %s\n", err.text);
	CHECK_EQ(ret, 0);
	return arg;
}

static void *consume(void *arg)
{
	struct shufflefs_ring *ring;
	struct shufflefs_batch b;
	int i;

	CHECK_EQ(shufflefs_ring_attach(path, 30000, &ring), 0);
	for (i = 0; shufflefs_ring_next(ring, 30000, &b) == 1; i++)
		CHECK_EQ(shufflefs_ring_release(ring, b.seq), 0);
	CHECK_EQ(i, 3);
	shufflefs_ring_detach(ring);
	return arg;
}

static void speak_otherwise(void)
{
	unsigned char header[SFS_WIRE_HEADER_BYTES];
	int fd = dial();

	put(fd, "GET / HTTP/1.1\r\n\r\n", 18);
	expect_end(fd);
	fd = greet(90, 0); /* no kind, and no length, that there is */
	memset(header, 0xff, sizeof header);
	put(fd, header, sizeof header);
	expect_end(fd);
	fd = greet(91, 0);
	say(fd, SFS_WIRE_BATCH, 0, 400); /* before its layout */
	expect_end(fd);
}

static void lie_about_batches(void)
{
	int fd = greet(92, 0);

	say(fd, SFS_WIRE_LAYOUT, 0, 0);
	say(fd, SFS_WIRE_BATCH, 0, 1ULL << 60);
	expect_end(fd);
	fd = greet(92, 0);
	say(fd, SFS_WIRE_LAYOUT, 0, 0);
	say(fd, SFS_WIRE_BATCH, 7, 400);
	expect_end(fd);
	fd = greet(92, 0);
	say(fd, SFS_WIRE_LAYOUT, 0, 0);
	say(fd, SFS_WIRE_END, 7, 0);
	expect_end(fd);
}

/* A session that breaks off in a batch, ends, and repeats what it has sent. */
static void send_and_repeat(void)
{
	int fd = greet(1, 0);

	say(fd, SFS_WIRE_LAYOUT, 0, 0);
	say(fd, SFS_WIRE_BATCH, 0, 400);
	put(fd, "half", 4);
	close(fd);
	fd = greet(1, 0);
	say(fd, SFS_WIRE_LAYOUT, 0, 0);
	say_batch(fd, 0);
	say_batch(fd, 1);
	say(fd, SFS_WIRE_END, 2, 0);
	shutdown(fd, SHUT_WR);
	expect_end(fd);
	CHECK(tells("\"received\":2"));
	fd = greet(1, 2);
	say(fd, SFS_WIRE_LAYOUT, 0, 0);
	say_batch(fd, 1);
	say(fd, SFS_WIRE_END, 2, 0);
	say(fd, SFS_WIRE_BYE, 0, 0);
	shutdown(fd, SHUT_WR);
	expect_end(fd);
	CHECK(tells("\"repeated\":1"));
}

/* The one that has said nothing for longest makes room for the next. */
static void only_connect(void)
{
	int fds[N_IDLE], i;

	for (i = 0; i < N_IDLE; i++)
		fds[i] = dial();
	send_and_repeat();
	expect_end(fds[0]);
	for (i = 1; i < N_IDLE; i++)
		close(fds[i]);
}

/* The connection stays: the receiver ends by itself. */
static int send_one(void)
{
	int fd = greet(2, 0);

	say(fd, SFS_WIRE_LAYOUT, 0, 0);
	say_batch(fd, 0);
	say(fd, SFS_WIRE_END, 1, 0);
	return fd;
}

int main(void)
{
	struct sfs_row row = {.name = "a", .dtype = "u1", .rank = 1, .dims = {100}};
	struct sfs_receiver_settings settings = {.source = "tcp://127.0.0.1:0",
						 .n_senders = 2};
	pthread_t threads[2];
	struct sfs_error err = {""};
	int fd;

	CHECK_EQ(sfs_layout_add(&layout, &row, &err), 0);
	snprintf(path, sizeof path, "/tmp/unit-tcp-hostile.%d", (int)getpid());
	settings.ring = (struct sfs_ring_settings){.path = path, .n_slots = 2};
	settings.stop_fd = eventfd(0, 0);
	CHECK_EQ(sfs_tcp_receiver_ops.open(&settings, &receiver, &err), 0);
	CHECK(tells("tcp://127.0.0.1:"));
	pthread_create(&threads[0], NULL, receive, NULL);
	pthread_create(&threads[1], NULL, consume, NULL);
	speak_otherwise();
	lie_about_batches();
	only_connect();
	fd = send_one();
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	sfs_tcp_receiver_ops.close(receiver);
	close(settings.stop_fd);
	close(fd);
	return 0;
}
