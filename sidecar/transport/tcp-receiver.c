/* SPDX-License-Identifier: MIT */
/* How this works: one thread polls the listener, all connections, and an eventfd which is
 * written when consumers have released batches (sessions.h).  Each connection that is in
 * the middle of a batch has a slot of the ring of its own, and reads straight into it; a
 * batch is published when its last byte is there, so a connection that breaks leaves only
 * an unused slot, which the next batch gets.  A connection that waits for a slot is not
 * read, and not taken for dead; one in the middle of a batch must bring 64 KiB in 10 s.
 *
 * tcp-receiver-connections.c has who connects and leaves. */
#include "transport/receive-loop.h"
#include "transport/tcp-receiver-internal.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define PROGRESS_BYTES 65536 /* in SFS_TCP_DEAD_NS */

static int take_layout(struct sfs_receiver *r, struct sfs_tcp_connection *c,
		       const struct shufflefs_layout *layout, struct sfs_error *err)
{
	if (c->session)
		return sfs_error_set(err, -EPROTO, "it sent a second layout");
	return sfs_sessions_begin(&r->sessions, &c->hello, layout, c, &c->session, err);
}

/* Its data follow. */
static int take_batch(struct sfs_tcp_connection *c, struct sfs_error *err)
{
	int ret = sfs_sessions_expect(c->session, c->batch.seq, err);

	if (ret < 0)
		return ret;
	c->has_batch = true;
	c->wants_slot = ret == 0;
	c->data_at = 0;
	return 0;
}

static int take_message(struct sfs_receiver *r, struct sfs_tcp_connection *c,
			struct sfs_error *err)
{
	struct shufflefs_layout layout;
	int ret = sfs_wire_get(c->in, c->n_in, c->session ? &r->sessions.layout : NULL,
			       &c->batch, &layout, err);

	if (ret < 0)
		return ret;
	if (c->batch.kind == SFS_WIRE_LAYOUT)
		return take_layout(r, c, &layout, err);
	if (c->batch.kind == SFS_WIRE_PING)
		return 0;
	if (!c->session)
		return sfs_error_set(err, -EPROTO,
				     "it sent a message before the layout");
	switch (c->batch.kind) {
	case SFS_WIRE_BATCH: return take_batch(c, err);
	case SFS_WIRE_END: return sfs_sessions_end(c->session, c->batch.seq, err);
	case SFS_WIRE_BYE:
		return sfs_sessions_bye(&r->sessions, c->session, &c->batch, c->peer,
					c->has_said_ended, err);
	default: return sfs_error_set(err, -EPROTO,
				      "it sent a message that only receivers send");
	}
}

static int end_batch(struct sfs_receiver *r, struct sfs_tcp_connection *c,
		     struct sfs_error *err)
{
	int ret = sfs_sessions_publish(&r->sessions, c->session, &c->batch, c->slot, err);

	c->has_batch = false;
	if (ret == 0)
		c->slot = NULL;
	return ret < 0 ? ret : 0;
}

/* Into the slot; or, of a batch that is here already, nowhere. */
static ssize_t read_data(struct sfs_receiver *r, struct sfs_tcp_connection *c)
{
	static unsigned char nowhere[65536]; /* (one thread) */
	struct iovec iov[SHUFFLEFS_TENSORS_MAX];
	uint64_t from = c->data_at, n, offset;
	int n_iov = 0;

	if (!c->slot) {
		n = c->batch.n_bytes - c->data_at;
		return recv(c->fd, nowhere, n < sizeof nowhere ? n : sizeof nowhere, 0);
	}
	for (; (n = sfs_wire_piece(&r->sessions.layout, c->batch.info.n_samples, from,
				   &offset)) > 0;
	     from += n)
		iov[n_iov++] = (struct iovec){(unsigned char *)c->slot + offset, n};
	return readv(c->fd, iov, n_iov);
}

/* How many bytes of `in` are wanted; < 0: with an error. */
static int tcp_wanted(struct sfs_tcp_connection *c, struct sfs_error *err)
{
	if (c->is_stranger)
		return c->n_in < SFS_WIRE_PREFIX_BYTES
			       ? SFS_WIRE_PREFIX_BYTES
			       : sfs_wire_check_prefix(c->in, "sender", err);
	return c->n_in < SFS_WIRE_HEADER_BYTES ? SFS_WIRE_HEADER_BYTES
					       : sfs_wire_check_header(c->in, err);
}

static void tcp_heard(struct sfs_tcp_connection *c, size_t n, bool is_whole)
{
	c->n_since_heard += n;
	if (is_whole || c->n_since_heard >= PROGRESS_BYTES) {
		c->n_since_heard = 0;
		c->heard_ns = sfs_clock_ns();
	}
}

static int get_slot(struct sfs_receiver *r, struct sfs_tcp_connection *c)
{
	struct sfs_error err = {""};
	int ret = 0;

	if (r->n_spare > 0)
		c->slot = r->spare[--r->n_spare];
	else
		ret = sfs_ring_take(r->sessions.ring, 0, &c->slot, &err);
	if (ret == -ETIMEDOUT)
		return ret;
	if (ret < 0)
		sfs_sessions_fail(&r->sessions, ret, err.text);
	c->wants_slot = ret < 0;
	c->heard_ns = sfs_clock_ns();
	return ret;
}

/* One recv().  1: go on; 0: nothing more now; < 0: with an error. */
static int read_step(struct sfs_receiver *r, struct sfs_tcp_connection *c,
		     struct sfs_error *err)
{
	ssize_t got;
	int n = 0, ret = 0;

	if (c->wants_slot && get_slot(r, c) < 0)
		return 0;
	if (c->has_batch) {
		got = read_data(r, c);
	} else {
		n = tcp_wanted(c, err);
		if (n < 0)
			return c->is_stranger
				       ? sfs_tcp_receiver_refuse(c, SFS_WIRE_REFUSE,
								 err->text, err)
				       : n;
		got = recv(c->fd, c->in + c->n_in, (size_t)n - c->n_in, 0);
	}
	if (got == 0)
		return sfs_error_set(err, -ECONNRESET,
				     "the sender closed the connection");
	if (got < 0)
		return errno == EAGAIN || errno == EINTR
			       ? 0
			       : sfs_error_set(err, -errno, "%s", strerror(errno));
	if (c->has_batch) {
		c->data_at += (uint64_t)got;
		if (c->data_at == c->batch.n_bytes)
			ret = end_batch(r, c, err);
		tcp_heard(c, (size_t)got, !c->has_batch);
		return ret < 0 ? ret : 1;
	}
	c->n_in += (size_t)got;
	n = tcp_wanted(c, err);
	if (n < 0)
		return c->is_stranger ? sfs_tcp_receiver_refuse(c, SFS_WIRE_REFUSE,
								err->text, err)
				      : n;
	if (c->n_in < (size_t)n)
		return 1;
	ret = !c->is_stranger ? take_message(r, c, err)
	      : c->must_prove ? sfs_tcp_receiver_take_proof(r, c, err)
			      : sfs_tcp_receiver_take_hello(r, c, err);
	c->n_in = 0;
	if (!c->is_stranger)
		tcp_heard(c, 0, true);
	return ret < 0 ? ret : 1;
}

static void tcp_serve(struct sfs_receiver *r, struct sfs_tcp_connection *c)
{
	struct sfs_error err = {""};
	bool is_done;
	int i, ret = 1;

	for (i = 0; i < 64 && ret > 0 && r->sessions.error == 0; i++)
		ret = read_step(r, c, &err);
	if (ret >= 0)
		return;
	is_done = c->session && sfs_session_is_done(c->session);
	if (is_done && ret == -ECONNRESET)
		sfs_tcp_receiver_forget(r, c);
	else
		sfs_tcp_receiver_drop(r, c, err.text);
}

static void give_credit(struct sfs_tcp_connection *c)
{
	const struct sfs_session *s = c->session;
	struct sfs_wire_message m = {.kind = SFS_WIRE_CREDIT, .seq = s->credited};

	if (s->credited != c->credit_said)
		sfs_tcp_receiver_say(c, &m);
	c->credit_said = s->credited;
	if (!sfs_session_is_done(s) || c->has_said_ended)
		return;
	m.kind = SFS_WIRE_ENDED;
	sfs_tcp_receiver_say(c, &m);
	c->has_said_ended = true;
}

static void give_credits(struct sfs_receiver *r)
{
	int i;

	sfs_sessions_credit(&r->sessions);
	for (i = 0; i < SFS_TCP_CONNECTIONS; i++) {
		struct sfs_tcp_connection *c = &r->connections[i];

		if (c->fd >= 0 && c->session && c->session->must_rewind)
			sfs_tcp_receiver_forget(r, c);
		else if (c->fd >= 0 && c->session)
			give_credit(c);
	}
}

/* Who says nothing is dead, and who was lost for too long has failed. */
static void look_at_times(struct sfs_receiver *r)
{
	struct sfs_wire_message ping = {.kind = SFS_WIRE_PING};
	uint64_t now = sfs_clock_ns();
	int i;

	for (i = 0; i < SFS_TCP_CONNECTIONS; i++) {
		struct sfs_tcp_connection *c = &r->connections[i];

		if (c->fd >= 0 && !c->wants_slot &&
		    sfs_clock_between(c->heard_ns, now) > SFS_TCP_DEAD_NS)
			sfs_tcp_receiver_drop(
				r, c,
				c->is_stranger ? "it did not say who it is within 10 s"
					       : "it was silent for 10 s");
		else if (c->fd >= 0 && c->session &&
			 sfs_clock_between(c->said_ns, now) > SFS_TCP_PING_NS)
			sfs_tcp_receiver_say(c, &ping);
	}
	sfs_sessions_look(&r->sessions);
}

static int poll_all(struct sfs_receiver *r)
{
	struct pollfd fds[SFS_TCP_CONNECTIONS + 3] = {
		{.fd = r->sessions.settings.stop_fd, .events = POLLIN},
		{.fd = r->sessions.wake_fd, .events = POLLIN},
		{.fd = r->listen_fd, .events = POLLIN}};
	int i, timeout_ms = 500, n_fds = 3;
	eventfd_t n;

	if (r->has_no_file) { /* it would be ready again at once */
		fds[2].fd = -1;
		timeout_ms = 100;
		r->has_no_file = false;
	}

	for (i = 0; i < SFS_TCP_CONNECTIONS; i++) {
		struct sfs_tcp_connection *c = &r->connections[i];

		fds[i + 3] = (struct pollfd){.fd = c->wants_slot ? -1 : c->fd,
					     .events = POLLIN};
		if (c->fd >= 0) /* poll() takes no more than may be open */
			n_fds = i + 4;
		if (c->fd >= 0 && c->wants_slot)
			timeout_ms = 5; /* a slot may be free before it is credited */
	}
	poll(fds, (nfds_t)n_fds, timeout_ms);
	if (fds[0].revents)
		return -ECANCELED;
	if (fds[1].revents)
		eventfd_read(r->sessions.wake_fd, &n);
	for (i = 0; i < SFS_TCP_CONNECTIONS; i++)
		if (r->connections[i].fd >= 0 &&
		    (fds[i + 3].revents || r->connections[i].wants_slot))
			tcp_serve(r, &r->connections[i]);
	if (fds[2].revents)
		sfs_tcp_receiver_accept(r);
	return 0;
}

static int tcp_poll(struct sfs_receiver *r)
{
	int ret = poll_all(r);

	give_credits(r);
	return ret;
}

static void say_to_all(struct sfs_receiver *r, const struct sfs_wire_message *m)
{
	int i;

	for (i = 0; i < SFS_TCP_CONNECTIONS; i++)
		if (r->connections[i].fd >= 0 && !r->connections[i].is_stranger)
			sfs_tcp_receiver_say(&r->connections[i], m);
}

static int tcp_run(struct sfs_receiver *r, struct sfs_error *err)
{
	static const struct sfs_receive_ops ops = {.poll = tcp_poll,
						   .look_at_times = look_at_times,
						   .say = say_to_all};

	return sfs_receive_loop_run(&r->sessions, &ops, r, err);
}

/* Whom does it listen to?  Closes it if it may not. */
static int check_address(const struct sfs_receiver_settings *settings, int fd,
			 struct sfs_error *err)
{
	struct sockaddr_storage at = {.ss_family = AF_UNSPEC};
	socklen_t n = sizeof at;
	int ret;

	getsockname(fd, (struct sockaddr *)&at, &n);
	ret = sfs_guard_check(settings, sfs_guard_is_loopback((struct sockaddr *)&at),
			      err);
	if (ret < 0)
		close(fd);
	return ret;
}

static int tcp_open(const struct sfs_receiver_settings *settings,
		    struct sfs_receiver **ret, struct sfs_error *err)
{
	struct sfs_receiver *r;
	uint16_t port;
	int i, fd, error = sfs_socket_listen(settings->source, &fd, &port, err);
	const char *colon = strrchr(settings->source, ':');

	if (error == 0)
		error = check_address(settings, fd, err);
	if (error < 0)
		return error;
	r = sfs_calloc(1, sizeof *r);
	r->source = sfs_asprintf("%.*s:%u", (int)(colon - settings->source),
				 settings->source, port);
	r->listen_fd = fd;
	for (i = 0; i < SFS_TCP_CONNECTIONS; i++)
		r->connections[i].fd = -1;
	sfs_sessions_open(&r->sessions, settings);
	*ret = r;
	return 0;
}

static struct sfs_ring *tcp_ring(struct sfs_receiver *r)
{
	return r->sessions.ring;
}

static void tcp_describe(struct sfs_receiver *r, struct sfs_json_writer *json)
{
	sfs_receive_loop_describe(&r->sessions, r->source, r->guard.n, json);
}

static uint64_t tcp_refused(struct sfs_receiver *r)
{
	return r->guard.n;
}

static void tcp_close(struct sfs_receiver *r)
{
	int i;

	for (i = 0; i < SFS_TCP_CONNECTIONS; i++)
		if (r->connections[i].fd >= 0)
			close(r->connections[i].fd);
	close(r->listen_fd);
	sfs_sessions_close(&r->sessions);
	free(r->source);
	free(r);
}

const struct sfs_receiver_ops sfs_tcp_receiver_ops = {.version = SFS_RECEIVER_VERSION,
						      .schemes = "tcp",
						      .open = tcp_open,
						      .run = tcp_run,
						      .ring = tcp_ring,
						      .describe = tcp_describe,
						      .close = tcp_close,
						      .refused = tcp_refused};
