/* SPDX-License-Identifier: MIT */
/* With a secret, a peer that has none, or another, that replays a recorded handshake,
 * echoes a challenge, skips the proof, breaks off or trickles is refused and counted, and
 * has no session; after a thousand half-open handshakes a sender with the secret gets in.
 * And a sender gives no batch to a receiver that asks for no secret, or does not have
 * it.
 */
#include "check.h"
#include "transport/auth.h"
#include "transport/receiver.h"
#include "transport/wire.h"

#include "shufflefs/ring.h"

#include "base/alloc.h"

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define N_FLOOD 1000
#define N_OPEN	100 /* of them at once */

static struct shufflefs_layout layout = {.n_samples = 4};
static struct sfs_secret ours, other;
static struct sfs_receiver *receiver;
static uint16_t port;
static char path[64];

static uint64_t count(const char *name)
{
	struct sfs_strbuf text = {.s = NULL};
	struct sfs_json_writer json = {.text = &text};
	const char *found;
	uint64_t n;

	sfs_tcp_receiver_ops.describe(receiver, &json);
	found = strstr(text.s, name);
	CHECK(found);
	n = strtoull(found + strlen(name), NULL, 10);
	sfs_strbuf_done(&text);
	return n;
}

static int dial(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons(port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct timeval patience = {.tv_sec = 60};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	CHECK_EQ(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
	CHECK_EQ(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
	return fd;
}

static void put(int fd, const void *bytes, size_t n)
{
	CHECK_EQ(send(fd, bytes, n, MSG_NOSIGNAL), n);
}

static void say_hello(int fd, bool has_secret,
		      unsigned char bytes[SFS_WIRE_HELLO_BYTES])
{
	struct sfs_wire_hello hello = {.session = 5,
				       .slot_bytes = layout.slot_bytes,
				       .layout_hash = sfs_layout_hash(&layout),
				       .has_secret = has_secret};

	sfs_wire_put_hello(&hello, bytes);
	put(fd, bytes, SFS_WIRE_HELLO_BYTES);
}

static void hear(int fd, struct sfs_wire_reply *ret)
{
	unsigned char bytes[SFS_WIRE_REPLY_BYTES + SFS_WIRE_TEXT_MAX];
	struct sfs_error err = {""};
	int n;

	CHECK_EQ(recv(fd, bytes, SFS_WIRE_PREFIX_BYTES, MSG_WAITALL),
		 SFS_WIRE_PREFIX_BYTES);
	n = sfs_wire_check_prefix(bytes, "receiver", &err);
	CHECK(n > SFS_WIRE_PREFIX_BYTES);
	n -= SFS_WIRE_PREFIX_BYTES;
	CHECK_EQ(recv(fd, bytes + SFS_WIRE_PREFIX_BYTES, (size_t)n, MSG_WAITALL), n);
	CHECK_EQ(sfs_wire_get_reply(bytes, (size_t)n + SFS_WIRE_PREFIX_BYTES, ret, &err),
		 0);
}

static void expect_end(int fd)
{
	char bytes[4096];
	ssize_t n;

	while ((n = recv(fd, bytes, sizeof bytes, 0)) > 0)
		;
	CHECK(n == 0 || errno == ECONNRESET);
	close(fd);
}

static void expect_refusal(int fd, const char *words)
{
	struct sfs_wire_reply reply;

	hear(fd, &reply);
	CHECK_EQ(reply.code, SFS_WIRE_REFUSE);
	CHECK_HAS(reply.text, words);
	expect_end(fd);
}

/* A new connection, to where its PROOF is next. */
static int begin(const struct sfs_secret *secret,
		 unsigned char proof[SFS_WIRE_PROOF_BYTES],
		 struct sfs_wire_reply *ret_challenge)
{
	unsigned char hello[SFS_WIRE_HELLO_BYTES], nonce[SFS_WIRE_NONCE_BYTES] = {9};
	struct sfs_error err = {""};
	struct sfs_auth auth;
	int fd = dial();

	say_hello(fd, true, hello);
	hear(fd, ret_challenge);
	CHECK_EQ(ret_challenge->code, SFS_WIRE_CHALLENGE);
	CHECK_EQ(sfs_auth_answer(&auth, "tcp", secret, hello, ret_challenge, nonce, proof,
				 &err),
		 1);
	return fd;
}

static void come_without(void)
{
	unsigned char bytes[SFS_WIRE_HELLO_BYTES];
	int fd = dial();

	say_hello(fd, false, bytes);
	expect_refusal(fd, "recv has a secret, and the sender has none");
	fd = dial();
	put(fd, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 35);
	expect_refusal(fd, "the peer is not a shufflefs-sidecar");
	fd = dial(); /* as one of the version before */
	say_hello(fd, false, bytes);
	expect_refusal(fd, "the sender has none");
	fd = dial();
	bytes[4] = 1;
	put(fd, bytes, sizeof bytes);
	expect_refusal(fd, "version 1");
	fd = dial();
	put(fd, bytes, 20);
	close(fd);
	CHECK_EQ(count("\"connections\":"), 0);
}

static void come_with_another(void)
{
	unsigned char proof[SFS_WIRE_PROOF_BYTES], recorded[SFS_WIRE_PROOF_BYTES];
	struct sfs_wire_message m = {.kind = SFS_WIRE_LAYOUT};
	unsigned char bytes[SFS_WIRE_MESSAGE_MAX];
	struct sfs_wire_reply reply;
	struct sfs_wire_proof echo;
	int fd = begin(&other, proof, &reply);

	put(fd, proof, sizeof proof);
	expect_refusal(fd, "sender and recv have different secrets");
	fd = begin(&ours, recorded, &reply);
	put(fd, recorded, sizeof recorded);
	hear(fd, &reply);
	CHECK_EQ(reply.code, SFS_WIRE_ACCEPT);
	CHECK(reply.has_tag);
	close(fd);
	fd = begin(&ours, proof, &reply); /* a replay */
	put(fd, recorded, sizeof recorded);
	expect_refusal(fd, "sender and recv have different secrets");
	fd = begin(&ours, proof, &reply); /* its own challenge */
	memcpy(echo.nonce, reply.nonce, sizeof echo.nonce);
	memcpy(echo.tag, reply.nonce, sizeof echo.tag);
	sfs_wire_put_proof(&echo, proof);
	put(fd, proof, sizeof proof);
	expect_refusal(fd, "sender and recv have different secrets");
	fd = begin(&ours, proof, &reply); /* no proof at all */
	put(fd, bytes, sfs_wire_put(&m, &layout, bytes));
	expect_refusal(fd, "the peer is not a shufflefs-sidecar");
	fd = begin(&ours, proof, &reply); /* half of it */
	put(fd, proof, 40);
	close(fd);
	CHECK_EQ(count("\"connections\":"), 0);
}

/* Always a hundred of them are open. */
static void flood(int fds[N_OPEN])
{
	unsigned char hello[SFS_WIRE_HELLO_BYTES];
	int i;

	for (i = 0; i < N_FLOOD; i++) {
		if (i >= N_OPEN)
			close(fds[i % N_OPEN]);
		fds[i % N_OPEN] = dial();
		say_hello(fds[i % N_OPEN], true, hello);
	}
}

static void *receive(void *arg)
{
	struct sfs_error err = {""};

	CHECK_EQ(sfs_tcp_receiver_ops.run(receiver, &err), 0);
	return arg;
}

static void *consume(void *arg)
{
	struct shufflefs_ring *ring;
	struct shufflefs_batch b;
	int i;

	CHECK_EQ(shufflefs_ring_attach(path, 60000, &ring), 0);
	for (i = 0; shufflefs_ring_next(ring, 60000, &b) == 1; i++)
		CHECK_EQ(shufflefs_ring_release(ring, b.seq), 0);
	CHECK_EQ(i, 1);
	shufflefs_ring_detach(ring);
	return arg;
}

/* Send one batch.  What finish() says. */
static int send_one(int to, const struct sfs_secret *secret, struct sfs_error *err)
{
	sfs_autofree char *target = sfs_asprintf("tcp://127.0.0.1:%d", to);
	struct sfs_transport_settings settings = {
		.target = target, .n_slots = 2, .give_up_ms = 60000, .secret = secret};
	struct sfs_batch_info info = {.end = 4, .n_samples = 4};
	struct sfs_transport *t;
	void *slot;
	int ret;

	CHECK_EQ(sfs_tcp_ops.open(&settings, &layout, &t, err), 0);
	ret = sfs_tcp_ops.take(t, 60000, &slot, err);
	if (ret == 0) {
		memset(slot, 1, layout.slot_bytes);
		sfs_tcp_ops.send(t, &info, err);
		ret = sfs_tcp_ops.finish(t, 60000, err);
	}
	sfs_tcp_ops.close(t);
	return ret;
}

/* ---- a receiver that lies */

static int listen_fd;
static enum { ACCEPTS_ALL, REFLECTS } lie;

static void *serve_one(void *arg)
{
	unsigned char bytes[SFS_WIRE_REPLY_BYTES + SFS_WIRE_TEXT_MAX];
	unsigned char hello[SFS_WIRE_HELLO_BYTES], proof[SFS_WIRE_PROOF_BYTES];
	struct sfs_wire_reply reply = {.session = 0, .code = SFS_WIRE_CHALLENGE};
	struct sfs_wire_hello said;
	struct sfs_error err = {""};
	int fd = accept(listen_fd, NULL, NULL);

	CHECK_EQ(recv(fd, hello, sizeof hello, MSG_WAITALL), sizeof hello);
	CHECK_EQ(sfs_wire_get_hello(hello, sizeof hello, &said, &err), 0);
	if (lie == REFLECTS) {
		put(fd, bytes, sfs_wire_put_reply(&reply, bytes));
		CHECK_EQ(recv(fd, proof, sizeof proof, MSG_WAITALL), sizeof proof);
		memcpy(reply.tag, proof + 40, sizeof reply.tag);
		reply.has_tag = true;
	}
	reply.session = said.session;
	reply.code = SFS_WIRE_ACCEPT;
	reply.window = 2;
	put(fd, bytes, sfs_wire_put_reply(&reply, bytes));
	CHECK(recv(fd, bytes, 1, 0) <= 0); /* no batch, and no layout */
	close(fd);
	return arg;
}

static void meet_liars(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	static const char *const words[] = {
		[ACCEPTS_ALL] = "accepts without a secret",
		[REFLECTS] = "the receiver does not have the secret"};
	socklen_t n = sizeof at;
	struct sfs_error err = {""};
	pthread_t thread;

	listen_fd = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(bind(listen_fd, (void *)&at, n) == 0 && listen(listen_fd, 5) == 0);
	getsockname(listen_fd, (void *)&at, &n);
	for (lie = ACCEPTS_ALL; lie <= REFLECTS; lie++) {
		pthread_create(&thread, NULL, serve_one, NULL);
		CHECK(send_one(ntohs(at.sin_port), &ours, &err) < 0);
		CHECK_HAS(err.text, words[lie]);
		pthread_join(thread, NULL);
	}
	close(listen_fd);
}

int main(void)
{
	struct sfs_row row = {.name = "a", .dtype = "u1", .rank = 1, .dims = {100}};
	struct sfs_receiver_settings settings = {.source = "tcp://127.0.0.1:0",
						 .n_senders = 1,
						 .secret = &ours};
	int fds[N_OPEN], i, slow;
	struct sfs_error err = {""};
	pthread_t threads[2];

	CHECK_EQ(sfs_layout_add(&layout, &row, &err), 0);
	CHECK_EQ(sfs_secret_make("a secret of both ends", 21, &ours, &err), 0);
	CHECK_EQ(sfs_secret_make("a secret of another", 19, &other, &err), 0);
	meet_liars();
	snprintf(path, sizeof path, "/tmp/unit-tcp-strangers.%d", (int)getpid());
	settings.ring = (struct sfs_ring_settings){.path = path, .n_slots = 2};
	settings.stop_fd = eventfd(0, 0);
	CHECK_EQ(sfs_tcp_receiver_ops.open(&settings, &receiver, &err), 0);
	port = (uint16_t)count("tcp://127.0.0.1:");
	pthread_create(&threads[0], NULL, receive, NULL);
	pthread_create(&threads[1], NULL, consume, NULL);
	slow = dial();
	put(slow, "SFS", 3);
	come_without();
	come_with_another();
	expect_end(slow); /* (its 10 s are over) */
	flood(fds);
	CHECK(send_one(port, &other, &err) < 0);
	CHECK_HAS(err.text, "the receiver refused: sender and recv have different");
	CHECK(send_one(port, NULL, &err) < 0);
	CHECK_HAS(err.text, "the sender has none");
	CHECK_EQ(count("\"connections\":"), 0);
	CHECK_EQ(send_one(port, &ours, &err), 0);
	CHECK_EQ(count("\"connections\":"), 1);
	for (i = 0; i < N_OPEN; i++)
		close(fds[i]);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	CHECK(count("\"refused\":") > N_FLOOD - N_OPEN);
	CHECK_EQ(sfs_tcp_receiver_ops.refused(receiver), count("\"refused\":"));
	sfs_tcp_receiver_ops.close(receiver);
	close(settings.stop_fd);
	return 0;
}
