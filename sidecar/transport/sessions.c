/* SPDX-License-Identifier: MIT */
/* How this works: what the ring says was released is credited.  A thread waits for
 * consumers, and writes the eventfd when they have released something; those of a ring before
 * have none that could be waited for, and are looked at again and again.  A session that has
 * brought no batch and is lost never counted, and leaves its place to another when all are
 * taken.
 *
 * A sender sends from the number that the answer to its HELLO says.  So one that has to send
 * a batch again gets a new connection. */
#include "transport/sessions.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/threadpool.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

void sfs_sessions_fail(struct sfs_sessions *s, int error, const char *why)
{
	if (s->error == 0) {
		s->error = error;
		sfs_error_set(&s->why, error, "%s", why);
	}
}

static void *watch_ring(void *arg)
{
	struct sfs_sessions *s = arg;
	struct sfs_error err = {""};
	uint64_t seen = 0;
	int ret;

	while (!s->is_stopping) {
		ret = sfs_ring_wait_consumed(s->ring, seen, 100, &err);
		if (ret == -ETIMEDOUT && sfs_ring_has_held(s->ring))
			eventfd_write(s->wake_fd, 1);
		if (ret == -ETIMEDOUT)
			continue;
		seen = sfs_ring_consumed(s->ring);
		eventfd_write(s->wake_fd, 1);
		if (ret < 0)
			break; /* run() will meet the same error */
	}
	return NULL;
}

static struct sfs_session *find(struct sfs_sessions *s, uint64_t id)
{
	uint32_t i;

	for (i = 0; i < s->n; i++)
		if (s->list[i]->id == id)
			return s->list[i];
	return NULL;
}

static struct sfs_session *add(struct sfs_sessions *s, uint64_t id, uint64_t expected)
{
	struct sfs_session *session = sfs_calloc(1, sizeof *session);

	session->id = id;
	session->number = s->n;
	session->expected = session->credited = expected;
	s->list[s->n++] = session;
	return session;
}

/* One that nobody needs; NULL: there is none. */
static struct sfs_session *find_idle(struct sfs_sessions *s)
{
	uint32_t i;

	for (i = 0; i < s->n; i++)
		if (!s->list[i]->connection && !s->list[i]->has_brought &&
		    !s->list[i]->has_end)
			return s->list[i];
	return NULL;
}

/* A new one, at the ring, too.  NULL, with an error. */
static struct sfs_session *enter(struct sfs_sessions *s,
				 const struct sfs_wire_hello *hello,
				 struct sfs_error *err)
{
	struct sfs_session *session = s->n == SFS_SESSIONS_MAX ? find_idle(s) : NULL;
	int number;

	if (session) {
		*session = (struct sfs_session){.id = hello->session,
						.number = session->number,
						.expected = hello->oldest,
						.credited = hello->oldest};
		sfs_ring_replace_session(s->ring, session->number, hello->session);
	} else {
		number = sfs_ring_session(s->ring, hello->session, err);
		if (number < 0)
			return NULL;
		session = add(s, hello->session, hello->oldest);
	}
	sfs_ring_begin_session(s->ring, session->number, hello->oldest);
	return session;
}

/* What a receiver that died here has left to us. */
static void add_past(struct sfs_sessions *s)
{
	struct sfs_ring_past past;
	struct sfs_session *session;

	while (s->n < SFS_SESSIONS_MAX &&
	       sfs_ring_look_at_session(s->ring, s->n, &past)) {
		session = add(s, past.id, past.n);
		session->past = past;
		session->has_brought = past.n > 0 || past.had > 0;
		session->has_end = past.has_ended;
		session->lost_ns = sfs_clock_ns();
	}
}

static int make_ring(struct sfs_sessions *s, const struct shufflefs_layout *layout)
{
	struct sfs_ring *ring;
	struct sfs_error err = {""};
	int ret = sfs_ring_new(&s->settings.ring, layout, &ring, &err);

	if (ret < 0) {
		sfs_sessions_fail(s, ret, err.text);
		return ret;
	}
	s->layout = *layout;
	s->ring = ring;
	add_past(s);
	sfs_sessions_credit(s);
	s->has_watcher = true;
	s->watcher = sfs_thread_start("ring-watcher", watch_ring, s);
	return 0;
}

void sfs_sessions_open(struct sfs_sessions *s,
		       const struct sfs_receiver_settings *settings)
{
	struct shufflefs_layout layout;

	memset(s, 0, sizeof *s);
	s->settings = *settings;
	s->settings.source = NULL; /* (its caller's) */
	s->path = sfs_strdup(settings->ring.path);
	s->settings.ring.path = s->path;
	s->settings.ring.await_ms = settings->give_up_ms;
	s->alone_ns = sfs_clock_ns();
	s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (sfs_ring_find_past(s->path, &layout))
		make_ring(s, &layout); /* (what fails is told by run()) */
}

void sfs_sessions_close(struct sfs_sessions *s)
{
	uint32_t i;

	s->is_stopping = true;
	if (s->has_watcher)
		pthread_join(s->watcher, NULL);
	close(s->wake_fd);
	sfs_ring_free(s->ring);
	for (i = 0; i < s->n; i++)
		free(s->list[i]);
	free(s->path);
}

static void refuse(struct sfs_wire_reply *reply, enum sfs_wire_code code, const char *why)
{
	reply->code = code;
	reply->resume = reply->consumed = reply->window = 0;
	snprintf(reply->text, sizeof reply->text, "%s", why);
}

void sfs_sessions_greet(struct sfs_sessions *s, struct sfs_wire_hello *hello,
			bool (*has_gone)(const void *connection),
			struct sfs_wire_reply *reply, void **ret_old)
{
	struct sfs_session *session = find(s, hello->session);

	*ret_old = NULL;
	*reply = (struct sfs_wire_reply){.session = hello->session,
					 .resume = session ? session->expected
							   : hello->oldest,
					 .consumed = session ? session->credited
							     : hello->oldest,
					 .window = s->settings.ring.n_slots};
	if (s->ring && hello->layout_hash != sfs_layout_hash(&s->layout)) {
		refuse(reply, SFS_WIRE_REFUSE,
		       "its batches do not have the layout of the ring");
		return;
	}
	if (!session && s->n == SFS_SESSIONS_MAX && !find_idle(s)) {
		refuse(reply, SFS_WIRE_BUSY, "too many sessions");
		return;
	}
	if (session && session->connection && session->process != hello->process &&
	    !(has_gone && has_gone(session->connection))) {
		refuse(reply, SFS_WIRE_BUSY,
		       "another process is sending this stream; if it died, recv will "
		       "notice soon");
		return;
	}
	if (session) /* the sender knows best that the old one broke */
		*ret_old = session->connection;
	if (reply->resume < hello->oldest)
		refuse(reply, SFS_WIRE_REFUSE,
		       "it no longer has batches that the ring needs");
	hello->told = reply->resume;
}

int sfs_sessions_begin(struct sfs_sessions *s, const struct sfs_wire_hello *hello,
		       const struct shufflefs_layout *layout, void *connection,
		       struct sfs_session **ret, struct sfs_error *err)
{
	struct sfs_session *session;

	if (sfs_layout_hash(layout) != hello->layout_hash ||
	    (s->ring && !sfs_layout_equal(layout, &s->layout)))
		return sfs_error_set(err, -EPROTO,
				     "its layout is not the one in its HELLO");
	if (!s->ring && make_ring(s, layout) < 0)
		return sfs_error_set(err, -EIO, "there is no ring: %s", s->why.text);
	session = find(s, hello->session);
	if (session && session->connection)
		return sfs_error_set(err, -EPROTO,
				     "it has another connection for this session");
	if (!session)
		session = enter(s, hello, err);
	if (!session)
		return -ENOSPC;
	session->connection = connection;
	session->process = hello->process;
	session->why[0] = 0;
	session->must_rewind = hello->told > session->expected;
	s->n_connections++;
	*ret = session;
	return 0;
}

void sfs_sessions_lose(struct sfs_session *session)
{
	session->connection = NULL;
	session->lost_ns = sfs_clock_ns();
}

int sfs_sessions_expect(const struct sfs_session *session, uint64_t seq,
			struct sfs_error *err)
{
	/* (After its end a new connection may repeat batches.) */
	if (seq > session->expected || (session->has_end && seq == session->expected))
		return sfs_error_set(err, -EPROTO,
				     "batch %llu came instead of batch %llu",
				     (unsigned long long)seq,
				     (unsigned long long)session->expected);
	return seq < session->expected || sfs_ring_past_has(&session->past, seq);
}

/* Its data is what its sender has sent. */
static int check_crc(struct sfs_sessions *s, const struct sfs_wire_message *m,
		     const void *slot, struct sfs_error *err)
{
	const void *bytes = sfs_ring_read(s->ring, slot, err);

	if (!bytes) {
		sfs_sessions_fail(s, -EIO, err->text);
		return -EIO;
	}
	if (sfs_wire_crc(&s->layout, m->info.n_samples, bytes) != m->crc)
		return sfs_error_set(err, -EPROTO,
				     "batch %llu was damaged on its way (CRC)",
				     (unsigned long long)m->seq);
	return 0;
}

int sfs_sessions_publish(struct sfs_sessions *s, struct sfs_session *session,
			 const struct sfs_wire_message *m, void *slot,
			 struct sfs_error *err)
{
	struct shufflefs_batch batch = {.epoch = m->info.epoch,
					.first = m->info.first,
					.end = m->info.end,
					.n_samples = m->info.n_samples,
					.sender = session->number,
					.data = slot};
	int ret = sfs_sessions_expect(session, m->seq, err);

	if (ret != 0) {
		s->n_repeated += ret > 0;
		if (ret > 0 && m->seq == session->expected)
			sfs_ring_begin_session(s->ring, session->number,
					       ++session->expected);
		return ret;
	}
	ret = m->crc ? check_crc(s, m, slot, err) : 0;
	if (ret < 0)
		return ret;
	s->n_published = sfs_ring_publish(s->ring, &batch) + 1;
	s->n_received++;
	session->expected++;
	session->has_brought = true;
	return 0;
}

int sfs_sessions_end(struct sfs_session *session, uint64_t seq, struct sfs_error *err)
{
	if (seq != session->expected)
		return sfs_error_set(err, -EPROTO,
				     "it ended its stream at the wrong batch");
	session->has_end = true;
	return 0;
}

/* It has all that it wanted; or its stream has failed, which is the end for all; or it
 * has left, and somebody may start it again. */
int sfs_sessions_bye(struct sfs_sessions *s, struct sfs_session *session,
		     const struct sfs_wire_message *bye, const char *peer,
		     bool has_heard_ended, struct sfs_error *err)
{
	struct sfs_error why;

	if (!bye->text[0]) {
		session->has_left = has_heard_ended;
		return 0;
	}
	if (bye->has_failed) {
		sfs_error_set(&why, 0, "sender %u (%s) has failed: %s", session->number,
			      peer, bye->text);
		sfs_sessions_fail(s, -EIO, why.text);
		return 0;
	}
	snprintf(session->why, sizeof session->why, "%s", bye->text);
	return sfs_error_set(err, -EIO, "the sender has left: %s", session->why);
}

/* Trainers of a receiver that died have died, too. */
static void take_lost(struct sfs_sessions *s)
{
	struct sfs_session *session;
	uint32_t number;
	uint64_t unused;

	while (sfs_ring_next_lost(s->ring, &number, &unused)) {
		session = s->list[number];
		sfs_ring_look_at_session(s->ring, number, &session->past);
		session->expected = session->past.n;
		session->has_end = false;
		session->must_rewind = session->connection != NULL;
	}
}

void sfs_sessions_credit(struct sfs_sessions *s)
{
	uint64_t released[SFS_SESSIONS_MAX];
	uint32_t i;

	if (!s->ring)
		return;
	take_lost(s);
	s->n_consumed = sfs_ring_consumed(s->ring);
	sfs_ring_released(s->ring, s->n, released);
	for (i = 0; i < s->n; i++) {
		s->list[i]->credited = released[i];
		if (sfs_session_is_done(s->list[i]))
			sfs_ring_end_session(s->ring, i);
	}
}

/* How many senders there are, without those that were lost before their first batch. */
static uint32_t count_senders(const struct sfs_sessions *s)
{
	uint32_t i, n = 0;

	for (i = 0; i < s->n; i++)
		n += s->list[i]->connection || s->list[i]->has_brought ||
		     s->list[i]->has_end;
	return n;
}

/* Is it lost for too long?  Nobody needs one without a batch that others
 * have replaced. */
static void look_for(struct sfs_sessions *s, const struct sfs_session *session,
		     uint64_t now)
{
	uint32_t give_up_ms = s->settings.give_up_ms;
	struct sfs_error why;

	if (session->connection || session->has_end ||
	    !sfs_clock_is_over(session->lost_ns, give_up_ms, now))
		return;
	if (!session->has_brought && count_senders(s) >= s->settings.n_senders)
		return;
	sfs_error_set(&why, 0, "sender %u %s%s, and did not come back in %g s",
		      session->number, session->why[0] ? "has left: " : "was lost",
		      session->why, give_up_ms / 1e3);
	sfs_sessions_fail(s, -ETIMEDOUT, why.text);
}

/* Does nobody come any more, though more senders are to? */
static void look_for_others(struct sfs_sessions *s, uint64_t now)
{
	uint32_t i, n_ended = 0, n_connected = 0, give_up_s = s->settings.give_up_ms / 1000;
	struct sfs_error why;

	for (i = 0; i < s->n; i++) {
		n_ended += s->list[i]->has_end;
		n_connected += s->list[i]->connection != NULL;
	}
	if (n_connected > 0)
		s->alone_ns = 0;
	else if (s->alone_ns == 0)
		s->alone_ns = now;
	if (n_connected > 0 || n_ended >= s->settings.n_senders ||
	    !sfs_clock_is_over(s->alone_ns, s->settings.give_up_ms, now))
		return;
	if (n_ended == 0)
		sfs_error_set(&why, 0, "no sender came for %u s", give_up_s);
	else
		sfs_error_set(&why, 0,
			      "%u of %u senders have ended, and no other came for %u s",
			      n_ended, s->settings.n_senders, give_up_s);
	sfs_sessions_fail(s, -ETIMEDOUT, why.text);
}

/* The ring fails by itself when a trainer dies, and nobody may be there to take what is in
 * it. */
static void look_at_ring(struct sfs_sessions *s)
{
	uint32_t give_up_ms = s->settings.give_up_ms;
	struct sfs_error why = {""};
	int ret;

	ret = sfs_ring_check(s->ring, &why);
	if (ret < 0)
		sfs_sessions_fail(s, ret, why.text);
	if (s->n_consumed == s->n_published || give_up_ms == 0 ||
	    sfs_ring_alone_ms(s->ring) < give_up_ms)
		return;
	sfs_error_set(&why, 0, "no trainer was attached to the ring for %u s",
		      give_up_ms / 1000);
	sfs_sessions_fail(s, -ETIMEDOUT, why.text);
}

void sfs_sessions_look(struct sfs_sessions *s)
{
	uint64_t now = sfs_clock_ns();
	uint32_t i;

	for (i = 0; i < s->n; i++)
		look_for(s, s->list[i], now);
	look_for_others(s, now);
	if (s->ring)
		look_at_ring(s);
}

bool sfs_sessions_are_over(struct sfs_sessions *s)
{
	uint32_t i, n_ended = 0, n_open = 0;

	for (i = 0; i < s->n; i++) {
		const struct sfs_session *session = s->list[i];

		n_ended += session->has_end;
		n_open += session->has_end
				  ? !sfs_session_is_done(session)
				  : session->connection || session->has_brought;
	}
	return s->settings.n_senders > 0 && n_ended >= s->settings.n_senders &&
	       n_open == 0 && s->n_consumed == s->n_published &&
	       !sfs_ring_is_awaited(s->ring);
}

bool sfs_sessions_have_left(const struct sfs_sessions *s)
{
	uint32_t i;

	for (i = 0; i < s->n; i++)
		if (s->list[i]->has_end && !s->list[i]->has_left)
			return false;
	return true;
}

int sfs_sessions_result(struct sfs_sessions *s, struct sfs_error *err)
{
	if (s->error == 0)
		return 0;
	if (s->ring)
		sfs_ring_fail(s->ring, s->why.text);
	return sfs_error_set(err, s->error, "%s", s->why.text);
}
