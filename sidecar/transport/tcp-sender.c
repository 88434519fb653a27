/* SPDX-License-Identifier: MIT */
/* How this works: the outbox holds the batches.  A thread of its own runs the socket:
 * connect, HELLO (with a secret CHALLENGE and PROOF: auth.h), REPLY, then a loop around
 * poll() that writes what next_output() chooses and reads credits.  Whatever goes wrong
 * with a connection makes a new one; only what the next one would meet as well is final:
 * a refusal, a receiver that does not have the secret, a BYE with a reason, or no receiver
 * for give_up_ms.
 *
 * A stream that fails is told behind its last batch, and the receiver answers with its
 * own BYE.  A sender that only leaves says so at once, and what it has not sent is its
 * successor's.
 *
 * Each side says something at least every 2 s (PING), and takes a peer that was silent
 * for 10 s for dead.  There is no TCP_USER_TIMEOUT: it would end connections whose
 * receiver is only full. */
#include "transport/auth.h"
#include "transport/outbox.h"
#include "transport/reconnect.h"
#include "transport/secret.h"
#include "transport/socket.h"
#include "transport/transport.h"
#include "transport/wire.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/threadpool.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define CLOSE_NS (SFS_NS_PER_S / 2) /* a full socket is waited for this long */

struct sfs_transport {
	struct sfs_outbox box;
	pthread_t thread;

	/* The thread's: */
	int fd;
	uint64_t n_attempts;	/* to connect, also in vain */
	uint64_t next, highest; /* batch to write; every one below was written once */
	uint32_t window;
	uint64_t heard_ns, said_ns;
	struct sfs_patience patience;
	bool has_said_layout, has_said_end, has_said_bye;
	unsigned char head[SFS_WIRE_MESSAGE_MAX]; /* going out */
	size_t n_head, head_at;
	uint64_t n_data, data_at; /* of batch `next`, behind it */
	unsigned char in[SFS_WIRE_MESSAGE_MAX];
	size_t n_in;
};

/* All of them, during the handshake. */
static int exchange(struct sfs_transport *t, unsigned char *bytes, size_t n, bool is_out,
		    struct sfs_error *err)
{
	uint64_t until_ns = sfs_clock_ns() + SFS_TCP_DEAD_NS;
	size_t at = 0;
	ssize_t got;
	int ret;

	while (at < n) {
		ret = sfs_outbox_wait_for(&t->box, t->fd, is_out ? POLLOUT : POLLIN,
					  until_ns);
		if (ret < 0)
			return sfs_error_set(err, ret, "the receiver does not answer");
		got = is_out ? send(t->fd, bytes + at, n - at, MSG_NOSIGNAL)
			     : recv(t->fd, bytes + at, n - at, 0);
		if (got == 0)
			return sfs_error_set(err, -ECONNRESET,
					     "the receiver closed the connection");
		if (got < 0 && errno != EAGAIN && errno != EINTR)
			return sfs_error_set(err, -errno, "%s", strerror(errno));
		at += got > 0 ? (size_t)got : 0;
	}
	return 0;
}

static int connect_one(struct sfs_transport *t, struct sfs_error *err)
{
	int error = 0, ret;
	socklen_t n = sizeof error;

	ret = sfs_socket_connect(t->box.target, t->n_attempts++, &t->fd, err);
	if (ret < 0)
		return ret;
	ret = sfs_outbox_wait_for(&t->box, t->fd, POLLOUT,
				  sfs_clock_ns() + SFS_TCP_DEAD_NS);
	if (ret == 0) {
		getsockopt(t->fd, SOL_SOCKET, SO_ERROR, &error, &n);
		ret = -error;
	}
	if (ret < 0)
		return sfs_error_set(err, ret, "%s", strerror(-ret));
	return 0;
}

static int take_reply(struct sfs_transport *t, const struct sfs_wire_reply *reply,
		      struct sfs_error *err)
{
	int ret = sfs_outbox_take_reply(&t->box, reply, err);

	if (ret < 0)
		return ret;
	t->next = reply->resume;
	if (t->highest < t->next)
		t->highest = t->next;
	t->window = reply->window;
	return 0;
}

/* Say HELLO or PROOF, and hear the answer. */
static int ask(struct sfs_transport *t, unsigned char *question, size_t n_question,
	       struct sfs_wire_reply *ret_reply, struct sfs_error *err)
{
	unsigned char bytes[SFS_WIRE_REPLY_BYTES + SFS_WIRE_TEXT_MAX];
	int ret, n;

	ret = exchange(t, question, n_question, true, err);
	if (ret == 0)
		ret = exchange(t, bytes, SFS_WIRE_PREFIX_BYTES, false, err);
	if (ret < 0)
		return ret;
	n = sfs_wire_check_prefix(bytes, "receiver", err);
	if (n < 0)
		return -ECONNABORTED;
	ret = exchange(t, bytes + SFS_WIRE_PREFIX_BYTES,
		       (size_t)n - SFS_WIRE_PREFIX_BYTES, false, err);
	if (ret < 0)
		return ret;
	return sfs_wire_get_reply(bytes, (size_t)n, ret_reply, err) < 0 ? -ECONNABORTED
									: 0;
}

static int say_hello(struct sfs_transport *t, struct sfs_error *err)
{
	unsigned char bytes[SFS_WIRE_HELLO_BYTES], proof[SFS_WIRE_PROOF_BYTES];
	unsigned char nonce[SFS_WIRE_NONCE_BYTES];
	struct sfs_wire_hello hello = sfs_outbox_hello(&t->box);
	struct sfs_wire_reply reply;
	struct sfs_auth auth;
	int ret, must_prove;

	sfs_wire_put_hello(&hello, bytes);
	ret = ask(t, bytes, sizeof bytes, &reply, err);
	if (ret < 0)
		return ret;
	sfs_secret_nonce(nonce);
	must_prove = sfs_auth_answer(&auth, "tcp", t->box.secret, bytes, &reply, nonce,
				     proof, err);
	if (must_prove < 0)
		return -ECONNABORTED;
	if (must_prove) {
		ret = ask(t, proof, sizeof proof, &reply, err);
		if (ret < 0)
			return ret;
		if (sfs_auth_check_reply(&auth, t->box.secret, &reply, err) < 0)
			return -ECONNABORTED;
	}
	return take_reply(t, &reply, err);
}

static int read_message(struct sfs_transport *t, size_t n, struct sfs_error *err)
{
	struct sfs_wire_message m;
	struct shufflefs_layout unused;
	int ret = sfs_wire_get(t->in, n, NULL, &m, &unused, err);

	if (ret < 0)
		return ret;
	if (m.kind == SFS_WIRE_BYE)
		return m.text[0] ? sfs_error_set(err, -ECONNABORTED,
						 "the receiver has ended: %s", m.text)
				 : sfs_error_set(err, -ECONNRESET,
						 "the receiver was stopped");
	if (m.kind != SFS_WIRE_CREDIT && m.kind != SFS_WIRE_ENDED)
		return 0;
	if (m.kind == SFS_WIRE_ENDED && !t->has_said_end)
		return sfs_error_set(err, -EPROTO,
				     "it acknowledged an end that was never sent");
	if (m.seq > t->highest)
		return sfs_error_set(err, -EPROTO,
				     "it acknowledged batches that were never sent");
	sfs_outbox_take_credit(&t->box, m.seq, m.kind == SFS_WIRE_ENDED);
	return 0;
}

static int read_some(struct sfs_transport *t, struct sfs_error *err)
{
	size_t wanted = SFS_WIRE_HEADER_BYTES;
	ssize_t got;
	int ret;

	for (;;) {
		if (t->n_in >= SFS_WIRE_HEADER_BYTES) {
			ret = sfs_wire_check_header(t->in, err);
			if (ret < 0)
				return ret;
			wanted = (size_t)ret;
		}
		if (t->n_in == wanted) {
			ret = read_message(t, wanted, err);
			if (ret < 0)
				return ret;
			t->n_in = 0;
			wanted = SFS_WIRE_HEADER_BYTES;
		}
		got = recv(t->fd, t->in + t->n_in, wanted - t->n_in, 0);
		if (got == 0)
			return sfs_error_set(err, -ECONNRESET,
					     "the receiver closed the connection");
		if (got < 0)
			return errno == EAGAIN || errno == EINTR
				       ? 0
				       : sfs_error_set(err, -errno, "%s",
						       strerror(errno));
		t->n_in += (size_t)got;
		t->heard_ns = sfs_clock_ns();
	}
}

static void say(struct sfs_transport *t, const struct sfs_wire_message *m)
{
	t->n_head = sfs_wire_put(m, &t->box.layout, t->head);
	t->head_at = 0;
	t->n_data = m->n_bytes;
	t->data_at = 0;
}

static void say_batch(struct sfs_transport *t)
{
	uint32_t i = (uint32_t)(t->next % t->box.n_slots);
	struct sfs_wire_message m = {.kind = SFS_WIRE_BATCH,
				     .seq = t->next,
				     .info = t->box.infos[i],
				     .crc = t->box.crcs[i]};

	m.n_bytes = sfs_wire_data_bytes(&t->box.layout, m.info.n_samples);
	say(t, &m);
}

/* What is to be written next, if anything. */
static bool next_output(struct sfs_transport *t)
{
	struct sfs_wire_message m = {.kind = 0};
	struct sfs_outbox_state state;

	sfs_outbox_look(&t->box, &state);
	if (!t->has_said_layout) {
		t->has_said_layout = true;
		m.kind = SFS_WIRE_LAYOUT;
	} else if (!t->has_said_bye && sfs_outbox_must_say_bye(&state, t->next)) {
		t->has_said_bye = true;
		m.kind = SFS_WIRE_BYE;
		m.has_failed = state.has_failed;
		memcpy(m.text, state.failure, sizeof m.text);
	} else if (t->next < state.n_sent && t->next - state.credited < t->window) {
		say_batch(t);
		return true;
	} else if (state.is_finishing && t->next == state.n_sent && !t->has_said_end) {
		t->has_said_end = true;
		m.kind = SFS_WIRE_END;
		m.seq = state.n_sent;
	} else if (sfs_clock_between(t->said_ns, sfs_clock_ns()) >= SFS_TCP_PING_NS) {
		m.kind = SFS_WIRE_PING;
	} else {
		return false;
	}
	say(t, &m);
	return true;
}

static int gather(struct sfs_transport *t, struct iovec *iov)
{
	uint32_t slot = (uint32_t)(t->next % t->box.n_slots);
	uint64_t from = t->data_at, n, offset;
	int i = 0;

	if (t->head_at < t->n_head)
		iov[i++] = (struct iovec){t->head + t->head_at, t->n_head - t->head_at};
	if (t->n_data == 0)
		return i;
	for (; (n = sfs_wire_piece(&t->box.layout, t->box.infos[slot].n_samples, from,
				   &offset)) > 0;
	     from += n)
		iov[i++] =
			(struct iovec){t->box.memory + slot * t->box.stride + offset, n};
	return i;
}

static void wrote(struct sfs_transport *t, size_t n)
{
	size_t n_of_head = t->n_head - t->head_at;

	if (n_of_head > n)
		n_of_head = n;
	t->head_at += n_of_head;
	t->data_at += n - n_of_head;
	if (t->head_at < t->n_head || t->data_at < t->n_data)
		return;
	if (t->n_data > 0)
		t->next++;
	if (t->highest < t->next)
		t->highest = t->next;
	t->n_head = t->head_at = 0;
	t->n_data = t->data_at = 0;
}

/* 1: the socket is full; 0: there is nothing to write. */
static int write_some(struct sfs_transport *t, struct sfs_error *err)
{
	struct iovec iov[SHUFFLEFS_TENSORS_MAX + 1];
	struct msghdr message = {.msg_iov = iov};
	ssize_t n;

	for (;;) {
		if (t->n_head == 0 && !next_output(t))
			return 0;
		message.msg_iovlen = (size_t)gather(t, iov);
		n = sendmsg(t->fd, &message, MSG_NOSIGNAL);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR
				       ? 1
				       : sfs_error_set(err, -errno, "%s",
						       strerror(errno));
		t->said_ns = sfs_clock_ns();
		wrote(t, (size_t)n);
	}
}

/* The connection is broken; what the receiver has said before says why. */
static int read_last_words(struct sfs_transport *t, int ret, struct sfs_error *err)
{
	struct sfs_error said;

	if (read_some(t, &said) != -ECONNABORTED)
		return ret;
	*err = said;
	return -ECONNABORTED;
}

/* May it be closed?  All is said that can be; or the socket is full for too long. */
static bool may_close(struct sfs_transport *t, bool is_full, uint64_t *since_ns)
{
	uint64_t now = sfs_clock_ns();

	if (!sfs_outbox_is_stopping(&t->box))
		return false;
	if (*since_ns == 0)
		*since_ns = now;
	return !is_full || sfs_clock_between(*since_ns, now) >= CLOSE_NS;
}

static int stream(struct sfs_transport *t, struct sfs_error *err)
{
	struct pollfd fds[2] = {{.fd = t->fd}, {.fd = t->box.wake_fd, .events = POLLIN}};
	uint64_t stopping_ns = 0;
	eventfd_t n;
	int ret;

	for (;;) {
		ret = write_some(t, err);
		if (ret < 0)
			return read_last_words(t, ret, err);
		if (may_close(t, ret > 0, &stopping_ns))
			return -ECANCELED;
		fds[0].events = (short)(POLLIN | (ret > 0 ? POLLOUT : 0));
		poll(fds, 2, stopping_ns ? 100 : 500);
		if (fds[1].revents)
			eventfd_read(t->box.wake_fd, &n);
		ret = read_some(t, err);
		if (ret < 0)
			return ret;
		if (sfs_clock_between(t->heard_ns, sfs_clock_ns()) > SFS_TCP_DEAD_NS)
			return sfs_error_set(err, -ETIMEDOUT,
					     "the receiver was silent for 10 s");
	}
}

static int tcp_connect(struct sfs_transport *t, struct sfs_error *err)
{
	int ret;

	t->n_head = t->head_at = t->n_in = 0;
	t->n_data = t->data_at = 0;
	t->has_said_layout = t->has_said_end = t->has_said_bye = false;
	ret = connect_one(t, err);
	return ret < 0 ? ret : say_hello(t, err);
}

static void tcp_disconnect(struct sfs_transport *t)
{
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
}

static void *run_socket(void *arg)
{
	static const struct sfs_reconnect how = {tcp_connect, stream, tcp_disconnect};
	struct sfs_transport *t = arg;

	sfs_reconnect_run(&how, t, &t->box, &t->patience, &t->heard_ns);
	return NULL;
}

static int tcp_open(const struct sfs_transport_settings *settings,
		    const struct shufflefs_layout *layout, struct sfs_transport **ret,
		    struct sfs_error *err)
{
	struct sfs_transport *t;
	int error = sfs_socket_check(settings->target, err);

	if (error < 0)
		return error;
	t = sfs_calloc(1, sizeof *t);
	error = sfs_outbox_open(&t->box, settings, layout, err);
	if (error < 0) {
		free(t);
		return error;
	}
	t->fd = -1;
	t->thread = sfs_thread_start("tcp-sender", run_socket, t);
	*ret = t;
	return 0;
}

static int tcp_take(struct sfs_transport *t, int timeout_ms, void **ret_slot,
		    struct sfs_error *err)
{
	return sfs_outbox_take(&t->box, timeout_ms, ret_slot, err);
}

static int tcp_send(struct sfs_transport *t, const struct sfs_batch_info *info,
		    struct sfs_error *err)
{
	return sfs_outbox_send(&t->box, info, err);
}

static int tcp_finish(struct sfs_transport *t, int timeout_ms, struct sfs_error *err)
{
	return sfs_outbox_finish(&t->box, timeout_ms, err);
}

static void tcp_fail(struct sfs_transport *t, const char *why)
{
	sfs_outbox_fail(&t->box, why);
}

static void tcp_leave(struct sfs_transport *t, const char *why)
{
	sfs_outbox_leave(&t->box, why);
}

static int tcp_wait_told(struct sfs_transport *t, int timeout_ms)
{
	return sfs_outbox_wait_told(&t->box, timeout_ms);
}

static int tcp_check(struct sfs_transport *t, struct sfs_error *err)
{
	return sfs_outbox_check(&t->box, err);
}

static void tcp_close(struct sfs_transport *t)
{
	sfs_outbox_stop(&t->box);
	pthread_join(t->thread, NULL);
	sfs_outbox_close(&t->box);
	free(t);
}

static void tcp_describe(struct sfs_transport *t, struct sfs_json_writer *json)
{
	sfs_outbox_describe(&t->box, json);
}

const struct sfs_transport_ops sfs_tcp_ops = {.version = SFS_TRANSPORT_VERSION,
					      .schemes = "tcp",
					      .open = tcp_open,
					      .take = tcp_take,
					      .send = tcp_send,
					      .finish = tcp_finish,
					      .fail = tcp_fail,
					      .leave = tcp_leave,
					      .wait_told = tcp_wait_told,
					      .check = tcp_check,
					      .close = tcp_close,
					      .describe = tcp_describe};
