/* SPDX-License-Identifier: MIT */
/* Each session brings its batches to the ring once and in order, over any number of
 * connections and from any number of processes, and hears what was consumed of its own.
 * Sessions are over when all have ended, and fail when one has failed, or was lost for
 * too long and is missed; when senders do not come, nor trainers; and when the ring has
 * failed, though no batch comes. */
#include "check.h"
#include "transport/sessions.h"

#include "shufflefs/ring.h"

#include <errno.h>
#include <unistd.h>

/* Each time another: a trainer keeps the past of a ring that failed. */
static char path[64];
static struct shufflefs_layout layout = {.n_samples = 4};
static struct sfs_sessions sessions;
static struct shufflefs_ring *trainer;
static struct sfs_error err;
static void *slot;	     /* one that was not used is used the next time */
static int old_one, new_one; /* connections: their addresses */
static bool is_gone;

static void open_at(uint32_t n_senders)
{
	struct sfs_receiver_settings settings = {.source = "x://y",
						 .n_senders = n_senders,
						 .give_up_ms = 60000,
						 .stop_fd = -1,
						 .ring = {.path = path, .n_slots = 4}};

	sfs_sessions_open(&sessions, &settings);
}

static void open_all(uint32_t n_senders)
{
	static int n;

	snprintf(path, sizeof path, "/tmp/unit-sessions.%d.%d", (int)getpid(), n++);
	open_at(n_senders);
}

static void die(void)
{
	if (trainer)
		shufflefs_ring_detach(trainer);
	trainer = NULL;
	slot = NULL;
	sfs_sessions_close(&sessions);
}

static void close_all(void)
{
	char state[80];

	die();
	snprintf(state, sizeof state, "%s.state", path);
	unlink(state);
}

static bool has_gone(const void *connection)
{
	CHECK(connection == &old_one);
	return is_gone;
}

static struct sfs_wire_hello hello_of(uint64_t id, uint32_t process, uint64_t oldest)
{
	return (struct sfs_wire_hello){.session = id,
				       .process = process,
				       .oldest = oldest,
				       .slot_bytes = layout.slot_bytes,
				       .layout_hash = sfs_layout_hash(&layout)};
}

static struct sfs_wire_reply greet(uint64_t id, uint32_t process, uint64_t oldest,
				   void **ret_old)
{
	struct sfs_wire_hello hello = hello_of(id, process, oldest);
	struct sfs_wire_reply reply;

	sfs_sessions_greet(&sessions, &hello, has_gone, &reply, ret_old);
	CHECK_EQ(reply.session, id);
	return reply;
}

static struct sfs_session *begin(uint64_t id, uint32_t process, uint64_t oldest,
				 void *connection)
{
	struct sfs_wire_hello hello = hello_of(id, process, oldest);
	struct sfs_session *session;

	CHECK_EQ(sfs_sessions_begin(&sessions, &hello, &layout, connection, &session,
				    &err),
		 0);
	if (!trainer)
		CHECK_EQ(shufflefs_ring_attach(path, 10000, &trainer), 0);
	return session;
}

static int bring(struct sfs_session *session, uint64_t seq, uint32_t change)
{
	struct sfs_wire_message m = {.kind = SFS_WIRE_BATCH, .seq = seq};
	int ret;

	if (!slot)
		CHECK_EQ(sfs_ring_take(sessions.ring, 0, &slot, &err), 0);
	memset(slot, (int)seq, layout.slot_bytes);
	m.info.n_samples = 4;
	m.crc = sfs_wire_crc(&layout, 4, slot) ^ change;
	ret = sfs_sessions_publish(&sessions, session, &m, slot, &err);
	if (ret == 0)
		slot = NULL;
	return ret;
}

/* The next batch of the ring is this. */
static void train(uint32_t sender, int seq)
{
	struct shufflefs_batch b;

	CHECK_EQ(shufflefs_ring_next(trainer, 10000, &b), 1);
	CHECK_EQ(b.sender, sender);
	CHECK_EQ(*(const unsigned char *)b.data, seq);
	CHECK_EQ(shufflefs_ring_release(trainer, b.seq), 0);
	sfs_sessions_credit(&sessions);
}

static int say_bye(struct sfs_session *session, const char *why, bool has_failed,
		   bool has_heard_ended)
{
	struct sfs_wire_message bye = {.kind = SFS_WIRE_BYE, .has_failed = has_failed};

	snprintf(bye.text, sizeof bye.text, "%s", why);
	return sfs_sessions_bye(&sessions, session, &bye, "host:1", has_heard_ended,
				&err);
}

static void two_senders_hear_of_their_own(void)
{
	struct sfs_session *a, *b;

	open_all(2);
	a = begin(5, 1, 0, &old_one);
	b = begin(6, 1, 3, &new_one); /* (its first batches were another receiver's) */
	CHECK_EQ(bring(a, 0, 0), 0);
	CHECK_EQ(bring(b, 3, 0), 0);
	CHECK_EQ(bring(a, 1, 0), 0);
	train(0, 0);
	CHECK_EQ(a->credited, 1);
	CHECK_EQ(b->credited, 3);
	train(1, 3);
	CHECK_EQ(b->credited, 4);
	CHECK_EQ(sfs_sessions_end(a, 1, &err), -EPROTO);
	CHECK_EQ(sfs_sessions_end(a, 2, &err), 0);
	CHECK(!sfs_session_is_done(a));
	CHECK_EQ(sfs_sessions_end(b, 4, &err), 0);
	CHECK(sfs_session_is_done(b));
	CHECK(!sfs_sessions_are_over(&sessions));
	train(0, 1);
	CHECK(sfs_session_is_done(a));
	CHECK(sfs_sessions_are_over(&sessions));
	CHECK_EQ(say_bye(a, "", false, true), 0);
	CHECK_EQ(say_bye(b, "", false, false), 0);
	CHECK(!sfs_sessions_have_left(&sessions)); /* b knows nothing, and asks again */
	CHECK_EQ(say_bye(b, "", false, true), 0);
	CHECK(sfs_sessions_have_left(&sessions));
	CHECK_EQ(sfs_sessions_result(&sessions, &err), 0);
	close_all();
}

static void a_new_connection_goes_on(void)
{
	struct sfs_session *session;
	void *old;

	open_all(1);
	session = begin(5, 1, 0, &old_one);
	CHECK_EQ(bring(session, 0, 0), 0);
	CHECK_EQ(bring(session, 1, 0), 0);
	CHECK_EQ(greet(5, 1, 0, &old).code, SFS_WIRE_ACCEPT);
	CHECK(old == &old_one); /* the sender knows that it broke */
	sfs_sessions_lose(session);
	CHECK_EQ(greet(5, 1, 0, &old).resume, 2);
	CHECK_EQ(greet(5, 1, 0, &old).consumed, 0); /* they are in the ring only */
	CHECK(old == NULL);
	CHECK(begin(5, 1, 0, &new_one) == session);
	CHECK_EQ(sfs_sessions_expect(session, 1, &err), 1);
	CHECK_EQ(bring(session, 1, 0), 1);
	CHECK_EQ(sfs_sessions_expect(session, 3, &err), -EPROTO);
	CHECK_EQ(bring(session, 3, 0), -EPROTO);
	CHECK_HAS(err.text, "batch 3 came instead of batch 2");
	CHECK_EQ(bring(session, 2, 1), -EPROTO);
	CHECK_HAS(err.text, "batch 2 was damaged on its way");
	CHECK_EQ(sfs_sessions_expect(session, 2, &err), 0);
	CHECK_EQ(bring(session, 2, 0), 0);
	CHECK_EQ(sfs_sessions_end(session, 3, &err), 0);
	CHECK_EQ(bring(session, 3, 0), -EPROTO); /* behind its end */
	CHECK_EQ(bring(session, 2, 0), 1);
	for (int i = 0; i < 3; i++)
		train(0, i);
	CHECK_EQ(greet(5, 1, 0, &old).consumed, 3);
	CHECK_EQ(sessions.n_received, 3);
	CHECK_EQ(sessions.n_repeated, 2);
	CHECK_EQ(sessions.n_connections, 2);
	close_all();
}

static void another_process_waits_until_the_first_is_gone(void)
{
	struct sfs_wire_hello hello = hello_of(5, 2, 0);
	struct sfs_session *session;
	struct sfs_wire_reply reply;
	void *old;

	open_all(1);
	session = begin(5, 1, 0, &old_one);
	CHECK_EQ(bring(session, 0, 0), 0);
	is_gone = false;
	reply = greet(5, 2, 0, &old);
	CHECK_EQ(reply.code, SFS_WIRE_BUSY);
	CHECK_HAS(reply.text, "another process is sending this stream");
	CHECK_EQ(reply.resume, 0);
	CHECK(old == NULL);
	sfs_sessions_greet(&sessions, &hello, NULL, &reply, &old);
	CHECK_EQ(reply.code, SFS_WIRE_BUSY);
	is_gone = true; /* and nobody has noticed */
	reply = greet(5, 2, 0, &old);
	CHECK_EQ(reply.code, SFS_WIRE_ACCEPT);
	CHECK_EQ(reply.resume, 1);
	CHECK_EQ(reply.window, 4);
	CHECK(old == &old_one);
	reply = greet(5, 1, 2, &old);
	CHECK_EQ(reply.code, SFS_WIRE_REFUSE);
	CHECK_HAS(reply.text, "it no longer has batches that the ring needs");
	CHECK(old == &old_one); /* it broke all the same */
	sfs_sessions_lose(session);
	CHECK(begin(5, 2, 0, &new_one) == session);
	hello.layout_hash++;
	sfs_sessions_greet(&sessions, &hello, has_gone, &reply, &old);
	CHECK_EQ(reply.code, SFS_WIRE_REFUSE);
	CHECK_HAS(reply.text, "the layout of the ring");
	CHECK_EQ(sfs_sessions_begin(&sessions, &hello, &layout, &new_one, &session, &err),
		 -EPROTO);
	train(0, 0);
	close_all();
}

static void a_failure_is_that_of_all(void)
{
	struct sfs_session *a, *b;
	struct shufflefs_batch batch;

	open_all(2);
	a = begin(5, 1, 0, &old_one);
	b = begin(6, 1, 0, &new_one);
	CHECK_EQ(bring(a, 0, 0), 0);
	CHECK_EQ(say_bye(b, "its disk is full", true, false), 0);
	CHECK_EQ(say_bye(a, "another", true, false), 0);
	CHECK_EQ(sfs_sessions_result(&sessions, &err), -EIO);
	CHECK_STR(err.text, "sender 1 (host:1) has failed: its disk is full");
	train(0, 0); /* what came before */
	CHECK(shufflefs_ring_next(trainer, 10000, &batch) < 0);
	close_all();
}

/* A trainer has taken batch 0 when the receiver ends, and attaches again. */
static void another_receiver_goes_on(void)
{
	struct sfs_session *session;
	void *old;

	open_all(1);
	session = begin(5, 1, 0, &old_one);
	CHECK_EQ(bring(session, 0, 0), 0);
	train(0, 0);
	CHECK_EQ(bring(session, 1, 0), 0);
	sfs_sessions_fail(&sessions, -ECANCELED, "it was stopped");
	CHECK_EQ(sfs_sessions_result(&sessions, &err), -ECANCELED);
	die();
	open_at(1);
	CHECK_EQ(sessions.error, 0);
	CHECK_EQ(sessions.n, 1);
	CHECK_EQ(greet(5, 1, 0, &old).resume, 1);
	close_all();
}

/* It has left, or was lost, longer ago than is waited for. */
static void who_is_missed_for_too_long_has_failed(const char *why, const char *expected)
{
	struct sfs_session *session;

	open_all(1);
	session = begin(5, 1, 0, &old_one);
	if (why)
		CHECK_EQ(say_bye(session, why, false, false), -EIO);
	sfs_sessions_lose(session);
	sfs_sessions_look(&sessions);
	CHECK_EQ(sessions.error, 0);
	session->lost_ns -= 60000 * 1000000ULL;
	sfs_sessions_look(&sessions);
	CHECK_EQ(sfs_sessions_result(&sessions, &err), -ETIMEDOUT);
	CHECK_STR(err.text, expected);
	close_all();
}

static void nobody_misses_who_brought_nothing_and_was_replaced(void)
{
	struct sfs_session *silent, *other;

	open_all(1);
	silent = begin(5, 1, 0, &old_one);
	sfs_sessions_lose(silent);
	silent->lost_ns -= 60000 * 1000000ULL;
	other = begin(6, 1, 0, &new_one);
	sfs_sessions_look(&sessions);
	CHECK_EQ(sessions.error, 0);
	CHECK_EQ(bring(other, 0, 0), 0);
	CHECK_EQ(sfs_sessions_end(other, 1, &err), 0);
	train(1, 0);
	CHECK(sfs_sessions_are_over(&sessions));
	CHECK_EQ(say_bye(other, "", false, true), 0);
	CHECK(sfs_sessions_have_left(&sessions));
	close_all();
}

static void long_ago(uint64_t *ns)
{
	*ns -= 60000 * 1000000ULL;
}

static void senders_that_do_not_come_are_waited_for_so_long(void)
{
	struct sfs_session *session;

	open_all(2);
	sfs_sessions_look(&sessions);
	CHECK_EQ(sessions.error, 0);
	long_ago(&sessions.alone_ns);
	sfs_sessions_look(&sessions);
	CHECK_EQ(sfs_sessions_result(&sessions, &err), -ETIMEDOUT);
	CHECK_STR(err.text, "no sender came for 60 s");
	close_all();
	open_all(2);
	session = begin(5, 1, 0, &old_one);
	CHECK_EQ(bring(session, 0, 0), 0);
	train(0, 0);
	CHECK_EQ(sfs_sessions_end(session, 1, &err), 0);
	long_ago(&sessions.alone_ns);
	sfs_sessions_look(&sessions); /* it is connected still */
	sfs_sessions_lose(session);
	sfs_sessions_look(&sessions);
	CHECK_EQ(sessions.error, 0);
	long_ago(&sessions.alone_ns);
	sfs_sessions_look(&sessions);
	CHECK_EQ(sfs_sessions_result(&sessions, &err), -ETIMEDOUT);
	CHECK_STR(err.text, "1 of 2 senders have ended, and no other came for 60 s");
	close_all();
}

/* Though its sender has nothing more to bring. */
static void a_ring_that_fails_is_noticed(void)
{
	struct sfs_session *session;

	open_all(1);
	session = begin(5, 1, 0, &old_one);
	CHECK_EQ(bring(session, 0, 0), 0);
	sfs_sessions_look(&sessions);
	CHECK_EQ(sessions.error, 0);
	sfs_ring_fail(sessions.ring, "a trainer died");
	sfs_sessions_look(&sessions);
	CHECK_EQ(sfs_sessions_result(&sessions, &err), -EIO);
	CHECK_STR(err.text, "a trainer died");
	train(0, 0);
	close_all();
}

static void trainers_are_waited_for_so_long(void)
{
	struct sfs_session *session;

	open_all(1);
	sessions.settings.give_up_ms = 20;
	session = begin(5, 1, 0, &old_one);
	shufflefs_ring_detach(trainer);
	trainer = NULL;
	while (sfs_ring_alone_ms(sessions.ring) < 30)
		usleep(1000);
	sfs_sessions_look(&sessions); /* there is nothing to take */
	CHECK_EQ(sessions.error, 0);
	CHECK_EQ(bring(session, 0, 0), 0);
	sfs_sessions_look(&sessions);
	CHECK_EQ(sfs_sessions_result(&sessions, &err), -ETIMEDOUT);
	CHECK_STR(err.text, "no trainer was attached to the ring for 0 s");
	close_all();
}

/* They begin, and are gone before their first batch; a good one has brought one. */
static void who_brings_nothing_shuts_nobody_out(void)
{
	struct sfs_session *good, *session;
	uint64_t id;
	void *old;

	open_all(1);
	good = begin(5, 1, 0, &old_one);
	CHECK_EQ(bring(good, 0, 0), 0);
	sfs_sessions_lose(good);
	for (id = 1000; id < 1000 + 2 * SFS_SESSIONS_MAX; id++) {
		CHECK_EQ(greet(id, 1, 0, &old).code, SFS_WIRE_ACCEPT);
		sfs_sessions_lose(begin(id, 1, 0, &new_one));
	}
	CHECK(begin(5, 2, 0, &old_one) == good);
	CHECK_EQ(good->expected, 1);
	session = begin(6, 1, 3, &new_one);
	CHECK_EQ(bring(session, 3, 0), 0);
	train(0, 0);
	train(session->number, 3);
	CHECK_EQ(session->credited, 4);
	CHECK_EQ(sfs_sessions_end(good, 1, &err), 0);
	CHECK_EQ(sfs_sessions_end(session, 4, &err), 0);
	CHECK(sfs_sessions_are_over(&sessions));
	close_all();
}

int main(void)
{
	struct sfs_row row = {.name = "a", .dtype = "u1", .rank = 1, .dims = {100}};

	CHECK_EQ(sfs_layout_add(&layout, &row, &err), 0);
	two_senders_hear_of_their_own();
	a_new_connection_goes_on();
	another_process_waits_until_the_first_is_gone();
	a_failure_is_that_of_all();
	another_receiver_goes_on();
	who_is_missed_for_too_long_has_failed(
		"it was stopped",
		"sender 0 has left: it was stopped, and did not come back in 60 s");
	who_is_missed_for_too_long_has_failed(
		NULL, "sender 0 was lost, and did not come back in 60 s");
	nobody_misses_who_brought_nothing_and_was_replaced();
	senders_that_do_not_come_are_waited_for_so_long();
	a_ring_that_fails_is_noticed();
	trainers_are_waited_for_so_long();
	who_brings_nothing_shuts_nobody_out();
	return 0;
}
