/* SPDX-License-Identifier: MIT */
/* How this works: one thread polls the listener, all connections, and an eventfd which a
 * second thread writes when consumers have released batches.  Each connection that is in
 * the middle of a batch has a slot of the ring of its own, and reads straight into it; a
 * batch is published when its last byte is there, so a connection that breaks leaves only
 * an unused slot, which the next batch gets.  A session outlives its connections: it says
 * which batch is wanted next; one that has brought none and is lost never counted.  A
 * connection that waits for a slot is not read, and not taken for dead; one in the middle
 * of a batch must bring 64 KiB every 10 s.
 *
 * If a receiver died here, and trainers that it had live, their ring tells which sessions
 * there were, and what is wanted next.
 *
 * `published` maps the ring's numbers to (session, seq): what was consumed is credited.
 */
#include "receiver.h"

#include "socket.h"
#include "wire.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define CONNECTIONS_MAX 64
#define SESSIONS_MAX	512
#define SLOTS_MAX	64
#define PROGRESS_BYTES	65536	       /* in SFS_TCP_DEAD_NS */
#define LINGER_NS	10000000000ULL /* more than a sender waits between two attempts */

struct session {
	uint64_t id, expected, credited, end, lost_ns;
	uint32_t number;
	bool has_end, has_brought;     /* a batch */
	bool has_left;		       /* it knows that all has arrived */
	struct connection *connection; /* NULL: lost, or ended */
	char why[SFS_WIRE_TEXT_MAX];   /* it failed, as it said; "" */
};

struct connection {
	int fd; /* -1: free */
	char peer[64];
	struct session *session; /* NULL before its layout came */
	struct sfs_wire_hello hello;
	bool has_hello, wants_slot, has_batch, has_said_ended;
	uint64_t heard_ns, said_ns, n_since_heard, credit_said;
	unsigned char in[SFS_WIRE_MESSAGE_MAX];
	size_t n_in;
	struct sfs_wire_message batch; /* has_batch: its data are coming */
	void *slot;		       /* NULL: they are dropped */
	uint64_t data_at;
};

struct sfs_receiver {
	struct sfs_receiver_settings settings;
	char *source, *path;
	int listen_fd, wake_fd;
	_Atomic(struct sfs_ring *) ring;
	struct shufflefs_layout layout;
	struct connection connections[CONNECTIONS_MAX];
	struct session *sessions[SESSIONS_MAX];
	uint32_t n_sessions;
	void *spare[SLOTS_MAX]; /* taken, and not filled */
	uint32_t n_spare;
	struct {
		struct session *session;
		uint64_t seq;
	} published[SLOTS_MAX]; /* by the ring's number */
	uint64_t n_published, n_consumed;
	int error; /* of all; final */
	struct sfs_error why;
	_Atomic uint64_t n_received, n_repeated, n_connections;
	pthread_t watcher;
	bool has_watcher;
	atomic_bool is_stopping;
};

static void fail(struct sfs_receiver *r, int error, const char *why)
{
	if (r->error == 0) {
		r->error = error;
		sfs_error_set(&r->why, error, "%s", why);
	}
}

/* Tell run() when consumers have released something. */
static void *watch_ring(void *arg)
{
	struct sfs_receiver *r = arg;
	struct sfs_error err = {""};
	uint64_t seen = 0;
	int ret;

	while (!r->is_stopping) {
		ret = sfs_ring_wait_consumed(r->ring, seen, 100, &err);
		if (ret == -ETIMEDOUT)
			continue;
		seen = sfs_ring_consumed(r->ring);
		eventfd_write(r->wake_fd, 1);
		if (ret < 0)
			break; /* run() will meet the same error */
	}
	return NULL;
}

static void say(struct connection *c, const struct sfs_wire_message *m)
{
	unsigned char bytes[SFS_WIRE_MESSAGE_MAX];
	size_t n = sfs_wire_put(m, NULL, bytes);

	/* What does not fit into the socket's buffer whole would break the stream: the
	 * peer does not read, and gets a new connection. */
	if (send(c->fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)n)
		shutdown(c->fd, SHUT_RDWR);
	c->said_ns = sfs_clock_ns();
}

static void reply(struct connection *c, const struct sfs_wire_reply *reply)
{
	unsigned char bytes[SFS_WIRE_REPLY_BYTES + SFS_WIRE_TEXT_MAX];
	size_t n = sfs_wire_put_reply(reply, bytes);

	if (send(c->fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)n)
		shutdown(c->fd, SHUT_RDWR);
	c->said_ns = sfs_clock_ns();
}

static void forget(struct sfs_receiver *r, struct connection *c)
{
	struct session *s = c->session;

	if (c->slot)
		r->spare[r->n_spare++] = c->slot;
	close(c->fd);
	memset(c, 0, sizeof *c);
	c->fd = -1;
	if (s) {
		s->connection = NULL;
		s->lost_ns = sfs_clock_ns();
	}
}

static void drop(struct sfs_receiver *r, struct connection *c, const char *why)
{
	sfs_warning("%s: %s: %s", r->source, c->peer, why);
	forget(r, c);
}

static int refuse(struct connection *c, enum sfs_wire_code code, const char *why,
		  struct sfs_error *err)
{
	struct sfs_wire_reply no = {.session = c->hello.session, .code = code};

	snprintf(no.text, sizeof no.text, "%s", why);
	reply(c, &no);
	return sfs_error_set(err, -EPROTO, "refused: %s",
			     no.text); /* (why may be err's) */
}

static struct session *find_session(struct sfs_receiver *r, uint64_t id)
{
	uint32_t i;

	for (i = 0; i < r->n_sessions; i++)
		if (r->sessions[i]->id == id)
			return r->sessions[i];
	return NULL;
}

static int take_hello(struct sfs_receiver *r, struct connection *c, struct sfs_error *err)
{
	struct sfs_wire_reply yes = {.window = r->settings.ring.n_slots,
				     .heartbeat_ms = SFS_TCP_PING_NS / SFS_NS_PER_MS};
	struct session *s;
	int ret = sfs_wire_get_hello(c->in, c->n_in, &c->hello, err);

	if (ret < 0)
		return ret;
	if (r->ring && c->hello.layout_hash != sfs_layout_hash(&r->layout))
		return refuse(c, SFS_WIRE_REFUSE,
			      "its batches have another layout than those of the ring",
			      err);
	s = find_session(r, c->hello.session);
	if (!s && r->n_sessions == SESSIONS_MAX)
		return refuse(c, SFS_WIRE_BUSY, "too many sessions", err);
	if (s && s->connection && s->connection->hello.process != c->hello.process)
		return refuse(c, SFS_WIRE_BUSY,
			      "another process sends this stream; if it died, this is "
			      "noticed soon",
			      err);
	if (s && s->connection) { /* the sender knows best that this one broke */
		struct connection *old = s->connection;

		forget(r, old);
	}
	yes.session = c->hello.session;
	yes.resume = s ? s->expected : c->hello.oldest;
	if (yes.resume < c->hello.oldest)
		return refuse(c, SFS_WIRE_REFUSE, "it has lost batches that are wanted",
			      err);
	c->has_hello = true;
	reply(c, &yes);
	return 0;
}

static struct session *add_session(struct sfs_receiver *r, uint64_t id, uint64_t expected)
{
	struct session *s = sfs_calloc(1, sizeof *s);

	s->id = id;
	s->number = r->n_sessions;
	s->expected = s->credited = expected;
	r->sessions[r->n_sessions++] = s;
	return s;
}

/* What a receiver that died here has left to us. */
static void add_past_sessions(struct sfs_receiver *r)
{
	struct sfs_ring_past past;
	struct session *s;

	while (r->n_sessions < SESSIONS_MAX &&
	       sfs_ring_look_at_session(r->ring, r->n_sessions, &past)) {
		s = add_session(r, past.id, past.n);
		s->has_brought = past.n > 0;
		s->has_end = past.has_ended;
		s->lost_ns = sfs_clock_ns();
	}
}

static int make_ring(struct sfs_receiver *r, const struct shufflefs_layout *layout)
{
	struct sfs_ring *ring;
	struct sfs_error err = {""};
	int ret = sfs_ring_new(&r->settings.ring, layout, &ring, &err);

	if (ret < 0) {
		fail(r, ret, err.text);
		return ret;
	}
	r->layout = *layout;
	r->ring = ring;
	add_past_sessions(r);
	r->has_watcher = true;
	pthread_create(&r->watcher, NULL, watch_ring, r);
	return 0;
}

static int take_layout(struct sfs_receiver *r, struct connection *c,
		       const struct shufflefs_layout *layout, struct sfs_error *err)
{
	struct session *s;
	int number;

	if (c->session)
		return sfs_error_set(err, -EPROTO, "a second layout");
	if (sfs_layout_hash(layout) != c->hello.layout_hash ||
	    (r->ring && !sfs_layout_equal(layout, &r->layout)))
		return sfs_error_set(err, -EPROTO, "another layout than its HELLO said");
	if (!r->ring && make_ring(r, layout) < 0)
		return sfs_error_set(err, -EIO, "there is no ring: %s", r->why.text);
	s = find_session(r, c->hello.session);
	if (s && s->connection)
		return sfs_error_set(err, -EPROTO, "two connections of one session");
	if (!s) {
		number = sfs_ring_session(r->ring, c->hello.session, err);
		if (number < 0)
			return number;
		s = add_session(r, c->hello.session, c->hello.oldest);
		sfs_ring_begin_session(r->ring, (uint32_t)number, c->hello.oldest);
	}
	c->session = s;
	s->connection = c;
	s->why[0] = 0;
	r->n_connections++;
	return 0;
}

static int take_batch(struct connection *c, struct sfs_error *err)
{
	struct session *s = c->session;

	/* (After its end a new connection may repeat batches.) */
	if (c->batch.seq > s->expected || (s->has_end && c->batch.seq == s->expected))
		return sfs_error_set(err, -EPROTO, "batch %llu came, and %llu is next",
				     (unsigned long long)c->batch.seq,
				     (unsigned long long)s->expected);
	c->has_batch = true;
	c->wants_slot = c->batch.seq == s->expected;
	c->data_at = 0;
	return 0;
}

/* It has all that it wanted; or it has failed, and somebody may start it again. */
static int take_bye(struct connection *c, struct sfs_error *err)
{
	struct session *s = c->session;

	if (!c->batch.text[0]) {
		s->has_left = c->has_said_ended;
		return 0;
	}
	memcpy(s->why, c->batch.text, sizeof s->why);
	return sfs_error_set(err, -EIO, "the sender has failed: %s", s->why);
}

static int take_message(struct sfs_receiver *r, struct connection *c,
			struct sfs_error *err)
{
	struct shufflefs_layout layout;
	int ret = sfs_wire_get(c->in, c->n_in, c->session ? &r->layout : NULL, &c->batch,
			       &layout, err);

	if (ret < 0)
		return ret;
	if (c->batch.kind == SFS_WIRE_LAYOUT)
		return take_layout(r, c, &layout, err);
	if (c->batch.kind == SFS_WIRE_PING || c->batch.kind == SFS_WIRE_PONG)
		return 0;
	if (!c->session)
		return sfs_error_set(err, -EPROTO, "a message before the layout");
	switch (c->batch.kind) {
	case SFS_WIRE_BATCH: return take_batch(c, err);
	case SFS_WIRE_END:
		if (c->batch.seq != c->session->expected)
			return sfs_error_set(err, -EPROTO, "its end is at another batch");
		c->session->has_end = true;
		return 0;
	case SFS_WIRE_BYE: return take_bye(c, err);
	default: return sfs_error_set(err, -EPROTO, "a message that only receivers send");
	}
}

static int end_batch(struct sfs_receiver *r, struct connection *c, struct sfs_error *err)
{
	const struct sfs_batch_info *info = &c->batch.info;
	struct shufflefs_batch batch = {.epoch = info->epoch,
					.first = info->first,
					.end = info->end,
					.n_samples = info->n_samples,
					.sender = c->session->number,
					.data = c->slot};
	uint64_t number;

	c->has_batch = false;
	if (!c->slot) {
		r->n_repeated++;
		return 0;
	}
	if (c->batch.crc &&
	    sfs_wire_crc(&r->layout, info->n_samples, c->slot) != c->batch.crc)
		return sfs_error_set(err, -EPROTO,
				     "batch %llu was changed on its way (CRC)",
				     (unsigned long long)c->batch.seq);
	number = sfs_ring_publish(r->ring, &batch);
	c->slot = NULL;
	r->published[number % SLOTS_MAX].session = c->session;
	r->published[number % SLOTS_MAX].seq = c->batch.seq;
	r->n_published = number + 1;
	r->n_received++;
	c->session->expected++;
	c->session->has_brought = true;
	return 0;
}

/* Into the slot; or, of a batch that is here already, nowhere. */
static ssize_t read_data(struct sfs_receiver *r, struct connection *c)
{
	static unsigned char nowhere[65536]; /* (one thread) */
	struct iovec iov[SHUFFLEFS_TENSORS_MAX];
	uint64_t from = c->data_at, n, offset;
	int n_iov = 0;

	if (!c->slot) {
		n = c->batch.n_bytes - c->data_at;
		return recv(c->fd, nowhere, n < sizeof nowhere ? n : sizeof nowhere, 0);
	}
	for (;
	     (n = sfs_wire_piece(&r->layout, c->batch.info.n_samples, from, &offset)) > 0;
	     from += n)
		iov[n_iov++] = (struct iovec){(unsigned char *)c->slot + offset, n};
	return readv(c->fd, iov, n_iov);
}

/* How many bytes of `in` are wanted; < 0: with an error. */
static int wanted(struct connection *c, struct sfs_error *err)
{
	if (!c->has_hello)
		return c->n_in < SFS_WIRE_PREFIX_BYTES
			       ? SFS_WIRE_PREFIX_BYTES
			       : sfs_wire_check_prefix(c->in, "sender", err);
	return c->n_in < SFS_WIRE_HEADER_BYTES ? SFS_WIRE_HEADER_BYTES
					       : sfs_wire_check_header(c->in, err);
}

static void heard(struct connection *c, size_t n, bool is_whole)
{
	c->n_since_heard += n;
	if (is_whole || c->n_since_heard >= PROGRESS_BYTES) {
		c->n_since_heard = 0;
		c->heard_ns = sfs_clock_ns();
	}
}

static int get_slot(struct sfs_receiver *r, struct connection *c)
{
	struct sfs_error err = {""};
	int ret = 0;

	if (r->n_spare > 0)
		c->slot = r->spare[--r->n_spare];
	else
		ret = sfs_ring_take(r->ring, 0, &c->slot, &err);
	if (ret == -ETIMEDOUT)
		return ret;
	if (ret < 0)
		fail(r, ret, err.text);
	c->wants_slot = ret < 0;
	c->heard_ns = sfs_clock_ns();
	return ret;
}

/* One recv().  1: go on; 0: nothing more now; < 0: with an error. */
static int read_step(struct sfs_receiver *r, struct connection *c, struct sfs_error *err)
{
	ssize_t got;
	int n = 0, ret = 0;

	if (c->wants_slot && get_slot(r, c) < 0)
		return 0;
	if (c->has_batch) {
		got = read_data(r, c);
	} else {
		n = wanted(c, err);
		if (n < 0)
			return !c->has_hello ? refuse(c, SFS_WIRE_REFUSE, err->text, err)
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
		heard(c, (size_t)got, !c->has_batch);
		return ret < 0 ? ret : 1;
	}
	c->n_in += (size_t)got;
	n = wanted(c, err);
	if (n < 0)
		return !c->has_hello ? refuse(c, SFS_WIRE_REFUSE, err->text, err) : n;
	if (c->n_in < (size_t)n)
		return 1;
	ret = c->has_hello ? take_message(r, c, err) : take_hello(r, c, err);
	c->n_in = 0;
	heard(c, 0, true);
	return ret < 0 ? ret : 1;
}

static void serve(struct sfs_receiver *r, struct connection *c)
{
	struct sfs_error err = {""};
	bool is_done;
	int i, ret = 1;

	for (i = 0; i < 64 && ret > 0 && r->error == 0; i++)
		ret = read_step(r, c, &err);
	if (ret >= 0)
		return;
	is_done = c->session && c->session->has_end &&
		  c->session->credited == c->session->expected;
	if (is_done && ret == -ECONNRESET)
		forget(r, c);
	else
		drop(r, c, err.text);
}

/* Where all are in use, that of the one that has said nothing of use for longest; NULL:
 * all have a session. */
static struct connection *find_place(struct sfs_receiver *r)
{
	struct connection *c, *oldest = NULL;
	int i;

	for (i = 0; i < CONNECTIONS_MAX; i++) {
		c = &r->connections[i];
		if (c->fd < 0)
			return c;
		if (!c->session && (!oldest || c->heard_ns < oldest->heard_ns))
			oldest = c;
	}
	if (oldest)
		drop(r, oldest, "it said nothing, and another needs its place");
	return oldest;
}

static void accept_all(struct sfs_receiver *r)
{
	struct connection fresh, *c;

	memset(&fresh, 0, sizeof fresh);
	while (sfs_socket_accept(r->listen_fd, &fresh.fd, fresh.peer) == 0) {
		c = find_place(r);
		fresh.heard_ns = fresh.said_ns = sfs_clock_ns();
		if (c) {
			*c = fresh;
			continue;
		}
		sfs_warning("%s: %s: refused: too many connections", r->source,
			    fresh.peer);
		close(fresh.fd);
	}
}

static void give_credit(struct connection *c)
{
	const struct session *s = c->session;
	struct sfs_wire_message m = {.kind = SFS_WIRE_CREDIT, .seq = s->credited};

	if (s->credited != c->credit_said)
		say(c, &m);
	c->credit_said = s->credited;
	if (!s->has_end || s->credited < s->expected || c->has_said_ended)
		return;
	m.kind = SFS_WIRE_ENDED;
	say(c, &m);
	c->has_said_ended = true;
}

static void give_credits(struct sfs_receiver *r)
{
	uint64_t consumed = r->ring ? sfs_ring_consumed(r->ring) : 0;
	int i;

	for (; r->n_consumed < consumed && r->n_consumed < r->n_published;
	     r->n_consumed++)
		r->published[r->n_consumed % SLOTS_MAX].session->credited =
			r->published[r->n_consumed % SLOTS_MAX].seq + 1;
	for (i = 0; i < (int)r->n_sessions; i++)
		if (r->sessions[i]->has_end &&
		    r->sessions[i]->credited == r->sessions[i]->expected)
			sfs_ring_end_session(r->ring, (uint32_t)i);
	for (i = 0; i < CONNECTIONS_MAX; i++) {
		struct connection *c = &r->connections[i];

		if (c->fd >= 0 && c->session)
			give_credit(c);
	}
}

/* How many senders there are, without those that were lost before their first batch. */
static uint32_t count_senders(const struct sfs_receiver *r)
{
	uint32_t i, n = 0;

	for (i = 0; i < r->n_sessions; i++)
		n += r->sessions[i]->connection || r->sessions[i]->has_brought ||
		     r->sessions[i]->has_end;
	return n;
}

/* Is it lost for too long?  Nobody needs one without a batch that others have replaced.
 */
static void look_for(struct sfs_receiver *r, const struct session *s, uint64_t now)
{
	uint32_t give_up_ms = r->settings.give_up_ms;
	struct sfs_error why;

	if (s->connection || s->has_end || give_up_ms == 0 ||
	    now - s->lost_ns < give_up_ms * SFS_NS_PER_MS)
		return;
	if (!s->has_brought && count_senders(r) >= r->settings.n_senders)
		return;
	sfs_error_set(&why, 0, "sender %u %s%s, and did not come back in %u ms",
		      s->number, s->why[0] ? "has failed: " : "was lost", s->why,
		      give_up_ms);
	fail(r, -ETIMEDOUT, why.text);
}

/* Who says nothing is dead, and who was lost for too long has failed. */
static void look_at_times(struct sfs_receiver *r)
{
	struct sfs_wire_message ping = {.kind = SFS_WIRE_PING};
	uint64_t now = sfs_clock_ns();
	uint32_t i;

	for (i = 0; i < CONNECTIONS_MAX; i++) {
		struct connection *c = &r->connections[i];

		if (c->fd >= 0 && !c->wants_slot && now - c->heard_ns > SFS_TCP_DEAD_NS)
			drop(r, c, "it was silent for 10 s");
		else if (c->fd >= 0 && c->session && now - c->said_ns > SFS_TCP_PING_NS)
			say(c, &ping);
	}
	for (i = 0; i < r->n_sessions; i++)
		look_for(r, r->sessions[i], now);
}

static bool is_over(struct sfs_receiver *r)
{
	uint32_t i, n_ended = 0, n_open = 0;

	for (i = 0; i < r->n_sessions; i++) {
		const struct session *s = r->sessions[i];

		n_ended += s->has_end;
		n_open += !s->has_end && (s->connection || s->has_brought);
	}
	return r->settings.n_senders > 0 && n_ended >= r->settings.n_senders &&
	       n_open == 0 && r->n_consumed == r->n_published &&
	       !sfs_ring_is_awaited(r->ring);
}

static int poll_all(struct sfs_receiver *r)
{
	struct pollfd fds[CONNECTIONS_MAX + 3] = {{.fd = r->settings.stop_fd,
						   .events = POLLIN},
						  {.fd = r->wake_fd, .events = POLLIN},
						  {.fd = r->listen_fd, .events = POLLIN}};
	int i, timeout_ms = 500;
	eventfd_t n;

	for (i = 0; i < CONNECTIONS_MAX; i++) {
		struct connection *c = &r->connections[i];

		fds[i + 3] = (struct pollfd){.fd = c->wants_slot ? -1 : c->fd,
					     .events = POLLIN};
		if (c->fd >= 0 && c->wants_slot)
			timeout_ms = 5; /* a slot may be free before it is credited */
	}
	poll(fds, CONNECTIONS_MAX + 3, timeout_ms);
	if (fds[0].revents)
		return -ECANCELED;
	if (fds[1].revents)
		eventfd_read(r->wake_fd, &n);
	for (i = 0; i < CONNECTIONS_MAX; i++)
		if (r->connections[i].fd >= 0 &&
		    (fds[i + 3].revents || r->connections[i].wants_slot))
			serve(r, &r->connections[i]);
	if (fds[2].revents)
		accept_all(r);
	return 0;
}

static bool have_all_left(const struct sfs_receiver *r)
{
	uint32_t i;

	for (i = 0; i < r->n_sessions; i++)
		if (r->sessions[i]->has_end && !r->sessions[i]->has_left)
			return false;
	return true;
}

/* Senders hear that all has arrived, if need be over a new connection, and leave. */
static void linger(struct sfs_receiver *r)
{
	uint64_t until_ns = sfs_clock_ns() + LINGER_NS;

	while (!have_all_left(r) && sfs_clock_ns() < until_ns && poll_all(r) == 0)
		give_credits(r);
}

static void say_bye(struct sfs_receiver *r)
{
	struct sfs_wire_message bye = {.kind = SFS_WIRE_BYE};
	int i;

	if (r->error != -ECANCELED)
		snprintf(bye.text, sizeof bye.text, "%.500s", r->why.text);
	for (i = 0; i < CONNECTIONS_MAX; i++)
		if (r->connections[i].fd >= 0 && r->connections[i].has_hello)
			say(&r->connections[i], &bye);
}

static int tcp_run(struct sfs_receiver *r, struct sfs_error *err)
{
	while (r->error == 0 && !is_over(r)) {
		if (poll_all(r) < 0)
			fail(r, -ECANCELED, "the receiver was stopped");
		give_credits(r);
		look_at_times(r);
	}
	if (r->error == 0) {
		sfs_ring_end(r->ring);
		linger(r);
		return 0;
	}
	say_bye(r);
	if (r->ring)
		sfs_ring_fail(r->ring, r->why.text);
	return sfs_error_set(err, r->error, "%s", r->why.text);
}

static int tcp_open(const struct sfs_receiver_settings *settings,
		    struct sfs_receiver **ret, struct sfs_error *err)
{
	struct shufflefs_layout layout;
	struct sfs_receiver *r;
	uint16_t port;
	int i, fd, error = sfs_socket_listen(settings->source, &fd, &port, err);
	const char *colon = strrchr(settings->source, ':');

	if (error < 0)
		return error;
	r = sfs_calloc(1, sizeof *r);
	r->settings = *settings;
	r->source = sfs_asprintf("%.*s:%u", (int)(colon - settings->source),
				 settings->source, port);
	r->path = sfs_strdup(settings->ring.path);
	r->settings.ring.path = r->path;
	r->settings.source = r->source;
	r->listen_fd = fd;
	r->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	for (i = 0; i < CONNECTIONS_MAX; i++)
		r->connections[i].fd = -1;
	r->settings.ring.await_ms = settings->give_up_ms;
	if (sfs_ring_find_past(r->path, &layout))
		make_ring(r, &layout); /* (what fails is told by run()) */
	*ret = r;
	return 0;
}

static struct sfs_ring *tcp_ring(struct sfs_receiver *r)
{
	return r->ring;
}

static void tcp_describe(struct sfs_receiver *r, struct sfs_json_writer *json)
{
	sfs_json_put_string(json, "source", r->source);
	sfs_json_put_uint(json, "received", r->n_received);
	sfs_json_put_uint(json, "repeated", r->n_repeated);
	sfs_json_put_uint(json, "connections", r->n_connections);
}

static void tcp_close(struct sfs_receiver *r)
{
	uint32_t i;

	r->is_stopping = true;
	if (r->has_watcher)
		pthread_join(r->watcher, NULL);
	for (i = 0; i < CONNECTIONS_MAX; i++)
		if (r->connections[i].fd >= 0)
			close(r->connections[i].fd);
	close(r->listen_fd);
	close(r->wake_fd);
	sfs_ring_free(r->ring);
	for (i = 0; i < r->n_sessions; i++)
		free(r->sessions[i]);
	free(r->path);
	free(r->source);
	free(r);
}

const struct sfs_receiver_ops sfs_tcp_receiver_ops = {.version = SFS_RECEIVER_VERSION,
						      .schemes = "tcp",
						      .open = tcp_open,
						      .run = tcp_run,
						      .ring = tcp_ring,
						      .describe = tcp_describe,
						      .close = tcp_close};
