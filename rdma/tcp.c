/* SPDX-License-Identifier: MIT */
/* How this works: batch number seq lies in slot seq % n_slots until the receiver has
 * credited it, so that it can be sent again over the next connection.  A thread of its
 * own runs the socket: connect, HELLO, REPLY, then a loop around poll() that writes what
 * next_output() chooses and reads credits.  Whatever goes wrong with a connection makes a
 * new one; only what the next one would meet as well is final: a refusal, a BYE with a
 * reason, or no receiver for give_up_ms.
 *
 * The receiver may have batches of this stream already, from a process that was killed.
 * Those are decoded again, and not sent: which samples are good is known by decoding.
 *
 * Each side says something at least every 2 s (PING), and takes a peer that was silent
 * for 10 s for dead.  There is no TCP_USER_TIMEOUT: it would end connections whose
 * receiver is only full. */
#include "transport.h"

#include "socket.h"
#include "wire.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/cond.h"
#include "base/log.h"
#include "base/rng.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define BACKOFF_MIN_MS 100
#define BACKOFF_MAX_MS 5000

struct sfs_transport {
	char *target;
	struct shufflefs_layout layout;
	uint32_t n_slots, give_up_ms;
	bool has_crc;
	uint64_t session, stride;
	uint32_t process;
	unsigned char *memory;
	struct sfs_batch_info *infos; /* of the slots */
	uint32_t *crcs;
	int wake_fd;
	pthread_t thread;

	pthread_mutex_t lock; /* guards: */
	pthread_cond_t changed;
	uint64_t n_sent, credited; /* batches; both only grow */
	uint64_t skipped;	   /* batches that the receiver had when this began */
	uint64_t n_connections;
	bool is_finishing, is_stopping;
	bool has_ended;			 /* the receiver knows the end, and has all */
	int error;			 /* final; */
	struct sfs_error why;		 /* and its sentence */
	char failure[SFS_WIRE_TEXT_MAX]; /* of the stream, to be told; "" */

	/* The thread's: */
	int fd;
	uint64_t next, highest; /* batch to write; every one below was written once */
	uint32_t window;
	uint64_t heard_ns, said_ns, lost_ns;
	bool has_said_layout, has_said_end, has_said_bye;
	unsigned char head[SFS_WIRE_MESSAGE_MAX]; /* going out */
	size_t n_head, head_at;
	uint64_t n_data, data_at; /* of batch `next`, behind it */
	unsigned char in[SFS_WIRE_MESSAGE_MAX];
	size_t n_in;
};

static void wake(struct sfs_transport *t)
{
	eventfd_write(t->wake_fd, 1);
}

static void fail_for_good(struct sfs_transport *t, int error, const struct sfs_error *why)
{
	pthread_mutex_lock(&t->lock);
	t->error = error;
	sfs_error_set(&t->why, error, "%s: %s", t->target, why->text);
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
}

static bool is_stopping(struct sfs_transport *t)
{
	bool is;

	pthread_mutex_lock(&t->lock);
	is = t->is_stopping;
	pthread_mutex_unlock(&t->lock);
	return is;
}

/* Wait for `events` of fd (-1: none), for close(), or until `until_ns`.  0: an event;
 * -ETIMEDOUT; -ECANCELED. */
static int wait_for(struct sfs_transport *t, short events, uint64_t until_ns)
{
	struct pollfd fds[2] = {{.fd = t->fd, .events = events},
				{.fd = t->wake_fd, .events = POLLIN}};
	eventfd_t n;

	for (;;) {
		uint64_t now = sfs_clock_ns();

		if (is_stopping(t))
			return -ECANCELED;
		if (now >= until_ns)
			return -ETIMEDOUT;
		poll(fds, 2, (int)((until_ns - now) / SFS_NS_PER_MS) + 1);
		if (fds[1].revents)
			eventfd_read(t->wake_fd, &n);
		if (fds[0].revents)
			return 0;
	}
}

/* All of them, during the handshake. */
static int exchange(struct sfs_transport *t, unsigned char *bytes, size_t n, bool is_out,
		    struct sfs_error *err)
{
	uint64_t until_ns = sfs_clock_ns() + SFS_TCP_DEAD_NS;
	size_t at = 0;
	ssize_t got;
	int ret;

	while (at < n) {
		ret = wait_for(t, is_out ? POLLOUT : POLLIN, until_ns);
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

	ret = sfs_socket_connect(t->target, &t->fd, err);
	if (ret < 0)
		return ret;
	ret = wait_for(t, POLLOUT, sfs_clock_ns() + SFS_TCP_DEAD_NS);
	if (ret == 0) {
		getsockopt(t->fd, SOL_SOCKET, SO_ERROR, &error, &n);
		ret = -error;
	}
	if (ret < 0)
		return sfs_error_set(err, ret, "%s", strerror(-ret));
	return 0;
}

/* -ECONNABORTED: for good. */
static int take_reply(struct sfs_transport *t, const struct sfs_wire_reply *reply,
		      struct sfs_error *err)
{
	int ret = 0;

	if (reply->code == SFS_WIRE_REFUSE)
		return sfs_error_set(err, -ECONNABORTED, "the receiver refuses: %s",
				     reply->text);
	if (reply->code == SFS_WIRE_BUSY)
		return sfs_error_set(err, -EBUSY, "the receiver is busy: %s",
				     reply->text);
	pthread_mutex_lock(&t->lock);
	if (t->n_connections == 0 && reply->resume > 0)
		t->credited = t->skipped = reply->resume;
	if (reply->session != t->session || reply->resume < t->credited ||
	    (reply->resume > t->n_sent && reply->resume > t->skipped))
		ret = sfs_error_set(err, -ECONNABORTED,
				    "the receiver wants batch %llu, and this sender has "
				    "%llu to %llu",
				    (unsigned long long)reply->resume,
				    (unsigned long long)t->credited,
				    (unsigned long long)t->n_sent);
	else
		t->n_connections++;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
	t->next = reply->resume;
	if (t->highest < t->next)
		t->highest = t->next;
	t->window = reply->window;
	return ret;
}

static int say_hello(struct sfs_transport *t, struct sfs_error *err)
{
	unsigned char bytes[SFS_WIRE_REPLY_BYTES + SFS_WIRE_TEXT_MAX];
	struct sfs_wire_hello hello = {.session = t->session,
				       .process = t->process,
				       .slot_bytes = t->layout.slot_bytes,
				       .layout_hash = sfs_layout_hash(&t->layout)};
	struct sfs_wire_reply reply;
	int ret, n;

	pthread_mutex_lock(&t->lock);
	hello.oldest = t->credited;
	pthread_mutex_unlock(&t->lock);
	sfs_wire_put_hello(&hello, bytes);
	ret = exchange(t, bytes, SFS_WIRE_HELLO_BYTES, true, err);
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
	if (sfs_wire_get_reply(bytes, (size_t)n, &reply, err) < 0)
		return -ECONNABORTED;
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
		return sfs_error_set(err, -EPROTO, "an end that was never sent");
	if (m.seq > t->highest)
		return sfs_error_set(err, -EPROTO, "a credit for what was never sent");
	pthread_mutex_lock(&t->lock);
	if (m.seq > t->credited)
		t->credited = m.seq;
	t->has_ended |= m.kind == SFS_WIRE_ENDED;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
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
	t->n_head = sfs_wire_put(m, &t->layout, t->head);
	t->head_at = 0;
	t->n_data = m->n_bytes;
	t->data_at = 0;
}

static void say_batch(struct sfs_transport *t)
{
	uint32_t i = (uint32_t)(t->next % t->n_slots);
	struct sfs_wire_message m = {.kind = SFS_WIRE_BATCH,
				     .seq = t->next,
				     .info = t->infos[i],
				     .crc = t->crcs[i]};

	m.n_bytes = sfs_wire_data_bytes(&t->layout, m.info.n_samples);
	say(t, &m);
}

/* What is to be written next, if anything. */
static bool next_output(struct sfs_transport *t)
{
	struct sfs_wire_message m = {.kind = 0};
	uint64_t n_sent, credited;
	bool is_finishing, has_ended;

	pthread_mutex_lock(&t->lock);
	n_sent = t->n_sent;
	credited = t->credited;
	is_finishing = t->is_finishing;
	has_ended = t->has_ended;
	memcpy(m.text, t->failure, sizeof m.text);
	pthread_mutex_unlock(&t->lock);
	if (!t->has_said_layout) {
		t->has_said_layout = true;
		m.kind = SFS_WIRE_LAYOUT;
	} else if ((m.text[0] || has_ended) && !t->has_said_bye) {
		t->has_said_bye = true;
		m.kind = SFS_WIRE_BYE;
	} else if (t->next < n_sent && t->next - credited < t->window) {
		say_batch(t);
		return true;
	} else if (is_finishing && t->next == n_sent && !t->has_said_end) {
		t->has_said_end = true;
		m.kind = SFS_WIRE_END;
		m.seq = n_sent;
	} else if (sfs_clock_ns() - t->said_ns >= SFS_TCP_PING_NS) {
		m.kind = SFS_WIRE_PING;
	} else {
		return false;
	}
	say(t, &m);
	return true;
}

static int gather(struct sfs_transport *t, struct iovec *iov)
{
	uint32_t slot = (uint32_t)(t->next % t->n_slots);
	uint64_t from = t->data_at, n, offset;
	int i = 0;

	if (t->head_at < t->n_head)
		iov[i++] = (struct iovec){t->head + t->head_at, t->n_head - t->head_at};
	if (t->n_data == 0)
		return i;
	for (; (n = sfs_wire_piece(&t->layout, t->infos[slot].n_samples, from, &offset)) >
	       0;
	     from += n)
		iov[i++] = (struct iovec){t->memory + slot * t->stride + offset, n};
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

static int stream(struct sfs_transport *t, struct sfs_error *err)
{
	struct pollfd fds[2] = {{.fd = t->fd}, {.fd = t->wake_fd, .events = POLLIN}};
	eventfd_t n;
	int ret;

	t->heard_ns = sfs_clock_ns();
	for (;;) {
		ret = write_some(t, err);
		if (ret < 0)
			return ret;
		if (is_stopping(t) && (ret == 0 || t->has_said_bye))
			return -ECANCELED;
		fds[0].events = (short)(POLLIN | (ret > 0 ? POLLOUT : 0));
		poll(fds, 2, 500);
		if (fds[1].revents)
			eventfd_read(t->wake_fd, &n);
		ret = read_some(t, err);
		if (ret < 0)
			return ret;
		if (sfs_clock_ns() - t->heard_ns > SFS_TCP_DEAD_NS)
			return sfs_error_set(err, -ETIMEDOUT,
					     "the receiver was silent for 10 s");
	}
}

static int one_connection(struct sfs_transport *t, struct sfs_error *err)
{
	int ret;

	t->n_head = t->head_at = t->n_in = 0;
	t->n_data = t->data_at = 0;
	t->has_said_layout = t->has_said_end = t->has_said_bye = false;
	ret = connect_one(t, err);
	if (ret == 0)
		ret = say_hello(t, err);
	if (ret == 0) {
		ret = stream(t, err);
		t->lost_ns = sfs_clock_ns();
	}
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
	return ret;
}

static void *run_socket(void *arg)
{
	struct sfs_transport *t = arg;
	struct sfs_error err = {""};
	uint64_t backoff_ms = BACKOFF_MIN_MS, before;
	struct sfs_rng rng;
	int ret;

	sfs_rng_init(&rng, &t->session, 1);
	t->lost_ns = sfs_clock_ns();
	for (;;) {
		before = t->lost_ns;
		ret = one_connection(t, &err);
		if (ret == -ECANCELED)
			return NULL;
		if (t->give_up_ms > 0 && ret != -ECONNABORTED &&
		    sfs_clock_ns() - t->lost_ns >= t->give_up_ms * SFS_NS_PER_MS)
			ret = sfs_error_wrap(&err, -ECONNABORTED, "no receiver for %u ms",
					     t->give_up_ms);
		if (ret == -ECONNABORTED) {
			fail_for_good(t, -EPIPE, &err);
			return NULL;
		}
		if (t->lost_ns != before) {
			sfs_warning("%s: %s; connecting again", t->target, err.text);
			backoff_ms = BACKOFF_MIN_MS;
		}
		wait_for(t, 0,
			 sfs_clock_ns() +
				 (backoff_ms / 2 + sfs_rng_below(&rng, backoff_ms)) *
					 SFS_NS_PER_MS);
		backoff_ms =
			backoff_ms * 2 < BACKOFF_MAX_MS ? backoff_ms * 2 : BACKOFF_MAX_MS;
	}
}

static int tcp_open(const struct sfs_transport_settings *settings,
		    const struct shufflefs_layout *layout, struct sfs_transport **ret,
		    struct sfs_error *err)
{
	struct sfs_transport *t;
	void *memory;
	uint64_t stride = (layout->slot_bytes + 4095) / 4096 * 4096;
	int check = sfs_socket_check(settings->target, err);

	if (check < 0)
		return check;
	memory = mmap(NULL, stride * settings->n_slots, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return sfs_error_set(err, -ENOMEM, "no memory for %u slots of %llu bytes",
				     settings->n_slots, (unsigned long long)stride);
	t = sfs_calloc(1, sizeof *t);
	t->target = sfs_strdup(settings->target);
	t->layout = *layout;
	t->n_slots = settings->n_slots;
	t->give_up_ms = settings->give_up_ms;
	t->has_crc = settings->has_crc;
	t->stride = stride;
	t->memory = memory;
	t->infos = sfs_calloc(t->n_slots, sizeof *t->infos);
	t->crcs = sfs_calloc(t->n_slots, sizeof *t->crcs);
	t->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	t->fd = -1;
	if (getrandom(&t->process, sizeof t->process, 0) != sizeof t->process)
		t->process = (uint32_t)getpid();
	t->session = sfs_transport_session(settings);
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->changed, NULL);
	pthread_create(&t->thread, NULL, run_socket, t);
	*ret = t;
	return 0;
}

/* With the lock. */
static bool has_room(const struct sfs_transport *t)
{
	return t->n_sent < t->credited + t->n_slots;
}

static bool has_arrived(const struct sfs_transport *t)
{
	return t->has_ended && t->n_sent <= t->credited;
}

static int wait_until(struct sfs_transport *t,
		      bool (*is_so)(const struct sfs_transport *t), int timeout_ms,
		      struct sfs_error *err)
{
	uint64_t until_ns =
		timeout_ms < 0 ? UINT64_MAX
			       : sfs_clock_ns() + (uint64_t)timeout_ms * SFS_NS_PER_MS;
	int ret = 0;

	pthread_mutex_lock(&t->lock);
	while (t->error == 0 && !is_so(t) && ret == 0)
		if (!sfs_cond_wait_until(&t->changed, &t->lock, until_ns))
			ret = -ETIMEDOUT;
	if (is_so(t))
		ret = 0;
	if (t->error < 0)
		ret = sfs_error_set(err, t->error, "%s", t->why.text);
	pthread_mutex_unlock(&t->lock);
	return ret;
}

static int tcp_take(struct sfs_transport *t, int timeout_ms, void **ret_slot,
		    struct sfs_error *err)
{
	int ret = wait_until(t, has_room, timeout_ms, err);

	if (ret == 0) /* n_sent is only this thread's to change */
		*ret_slot = t->memory + t->n_sent % t->n_slots * t->stride;
	return ret;
}

static int tcp_send(struct sfs_transport *t, const struct sfs_batch_info *info,
		    struct sfs_error *err)
{
	uint32_t i = (uint32_t)(t->n_sent % t->n_slots);
	int ret = 0;

	t->infos[i] = *info;
	t->crcs[i] = t->has_crc ? sfs_wire_crc(&t->layout, info->n_samples,
					       t->memory + i * t->stride)
				: 0;
	pthread_mutex_lock(&t->lock);
	t->n_sent++;
	if (t->error < 0)
		ret = sfs_error_set(err, t->error, "%s", t->why.text);
	pthread_mutex_unlock(&t->lock);
	wake(t);
	return ret;
}

/* Does the receiver have more than there is? */
static bool is_short(struct sfs_transport *t, struct sfs_error *err)
{
	bool is;

	pthread_mutex_lock(&t->lock);
	is = t->n_sent < t->skipped;
	if (is)
		sfs_error_set(err, -ESTALE,
			      "the receiver has %llu batches of this stream, which has "
			      "only %llu now: the files have changed",
			      (unsigned long long)t->skipped,
			      (unsigned long long)t->n_sent);
	pthread_mutex_unlock(&t->lock);
	return is;
}

static int tcp_finish(struct sfs_transport *t, int timeout_ms, struct sfs_error *err)
{
	pthread_mutex_lock(&t->lock);
	t->is_finishing = true;
	pthread_mutex_unlock(&t->lock);
	wake(t);
	if (is_short(t, err))
		return -ESTALE;
	return wait_until(t, has_arrived, timeout_ms, err);
}

static void tcp_fail(struct sfs_transport *t, const char *why)
{
	pthread_mutex_lock(&t->lock);
	snprintf(t->failure, sizeof t->failure, "%s", why);
	pthread_mutex_unlock(&t->lock);
	wake(t);
}

static void tcp_close(struct sfs_transport *t)
{
	pthread_mutex_lock(&t->lock);
	if (!has_arrived(t) && !t->failure[0])
		snprintf(t->failure, sizeof t->failure,
			 "the sender was closed before the end of its stream");
	t->is_stopping = true;
	pthread_mutex_unlock(&t->lock);
	wake(t);
	pthread_join(t->thread, NULL);
	munmap(t->memory, t->stride * t->n_slots);
	close(t->wake_fd);
	pthread_mutex_destroy(&t->lock);
	pthread_cond_destroy(&t->changed);
	free(t->infos);
	free(t->crcs);
	free(t->target);
	free(t);
}

static void tcp_describe(struct sfs_transport *t, struct sfs_json_writer *json)
{
	pthread_mutex_lock(&t->lock);
	sfs_json_put_uint(json, "sent", t->n_sent);
	sfs_json_put_uint(json, "consumed", t->credited);
	sfs_json_put_uint(json, "skipped", t->skipped);
	sfs_json_put_uint(json, "connections", t->n_connections);
	pthread_mutex_unlock(&t->lock);
}

const struct sfs_transport_ops sfs_tcp_ops = {.version = SFS_TRANSPORT_VERSION,
					      .schemes = "tcp",
					      .open = tcp_open,
					      .take = tcp_take,
					      .send = tcp_send,
					      .finish = tcp_finish,
					      .fail = tcp_fail,
					      .close = tcp_close,
					      .describe = tcp_describe};
