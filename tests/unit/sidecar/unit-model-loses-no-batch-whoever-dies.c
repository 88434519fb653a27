/* SPDX-License-Identifier: MIT */
/* Senders, a receiver and trainers die in any order and any number at once, connections
 * break or fall silent, and what was killed is started again: no batch is lost, none is
 * released twice, and no sender ends before its batches were released.
 *
 * All play in this process, one step at a time: outboxes, sessions, rings and their past
 * are the real ones.  A trainer is dead when it has closed what it had and released
 * nothing, and its process is a zombie.  One may keep what it holds of rings whose receivers
 * are dead, attach to the next one, and release that later, or die with all of it.  Excused
 * are batches that are dropped, as the policy says; and those that come again because the
 * receiver and all its trainers are dead.
 *
 *	MODEL_SEED=7 MODEL_SCHEDULES=1
 */
#include "check.h"
#include "transport/outbox.h"
#include "transport/wire.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/rng.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t as_pid; /* who calls the library of trainers */
static pid_t model_pid(void)
{
	return as_pid;
}
#define getpid model_pid
#include "ring/ring-consumer.c"
#undef getpid

/* (Else a thread of the sessions would wait 100 ms for an end.) */
#include "ring/ring-dead.h"
#include "ring/ring-internal.h"
static int look_only(struct sfs_ring *ring, uint64_t seq, int timeout_ms,
		     struct sfs_error *err)
{
	return timeout_ms > 0 ? -EIO : sfs_ring_wait_consumed(ring, seq, 0, err);
}
#define sfs_ring_wait_consumed look_only
#include "transport/sessions.c"
#undef sfs_ring_wait_consumed

#define N_SCHEDULES 1000
#define N_SENDERS   2
#define N_TRAINERS  3
#define N_BATCHES   12 /* of a sender, at most */
#define N_KEPT	    3  /* rings before that a trainer is still attached to */
#define N_LINKS	    8
#define N_QUEUE	    16

struct packet {
	size_t n;
	unsigned char bytes[SFS_WIRE_MESSAGE_MAX];
	unsigned char data[2]; /* of a batch: its number and its sender */
};

struct queue {
	struct packet packets[N_QUEUE];
	int n;
	bool is_silent;
};

struct link {
	int sender;
	bool has_sender, has_receiver; /* these ends are open */
	struct queue out, back;	       /* to the receiver, to the sender */

	/* The sender's. */
	bool was_accepted, has_said_layout, has_said_end, has_said_bye;
	uint64_t next, highest;
	uint32_t window;

	/* The receiver's. */
	bool was_greeted, has_batch, wants_slot, has_said_ended;
	struct sfs_wire_hello hello;
	struct sfs_wire_message batch;
	unsigned char data[2];
	struct sfs_session *session;
	unsigned char *slot;
	uint64_t credit_said;
};

struct sender {
	bool lives, is_done;
	struct sfs_outbox box;
	struct link *link;
	uint64_t n_made;
};

struct holding {
	struct shufflefs_ring *ring; /* NULL: none */
	bool holds;
	uint32_t owner;
	int generation; /* of its ring */
	int sender;	/* what it holds */
	uint64_t seq, number;
};

struct trainer {
	bool lives, is_done;
	struct past *pasts;
	struct holding now, kept[N_KEPT];
};

/* By the descriptor of its file: what a trainer had of the rings in `pasts`. */
static struct {
	uint32_t owner;
	int generation;
} had[1024];

static struct {
	struct sfs_rng rng;
	uint64_t seed;
	char path[64];
	enum sfs_ring_policy policy;
	int n_senders, n_trainers;
	uint64_t n_batches[N_SENDERS];
	struct sender senders[N_SENDERS];
	struct trainer trainers[N_TRAINERS];
	struct link links[N_LINKS];
	struct sfs_sessions sessions;
	bool has_receiver, lingers, has_failed, is_calm;
	int generation, shown; /* of the receiver's ring; of the file that tells */
	void *spare[SFS_SESSIONS_SLOTS_MAX];
	uint32_t n_spare, n_slots;
	uint64_t slowness; /* of trainers */

	/* Of each batch. */
	int n_released[N_SENDERS][N_BATCHES], most[N_SENDERS][N_BATCHES];
	bool is_excused[N_SENDERS][N_BATCHES];
} m;

static struct shufflefs_layout layout = {.n_samples = 1};
static struct sfs_error err;
static pid_t zombie;

static uint64_t below(uint64_t n)
{
	return sfs_rng_below(&m.rng, n);
}

static bool one_in(uint64_t n)
{
	return below(n) == 0;
}

/* Connections. */

static struct packet *put_packet(struct queue *q)
{
	static struct packet nowhere;

	return q->n < N_QUEUE ? &q->packets[q->n++] : &nowhere;
}

static bool has_room(const struct queue *q)
{
	return q->n < N_QUEUE - 2;
}

static bool get_packet(struct queue *q, struct packet *ret)
{
	if (q->n == 0 || q->is_silent)
		return false;
	*ret = q->packets[0];
	q->n--;
	memmove(&q->packets[0], &q->packets[1], (size_t)q->n * sizeof q->packets[0]);
	return true;
}

static void put_message(struct queue *q, const struct sfs_wire_message *message)
{
	struct packet *p = put_packet(q);

	p->n = sfs_wire_put(message, &layout, p->bytes);
}

static struct link *find_free_link(void)
{
	int i;

	for (i = 0; i < N_LINKS; i++)
		if (!m.links[i].has_sender && !m.links[i].has_receiver)
			return &m.links[i];
	return NULL;
}

/* What a dead end has sent arrives in part. */
static void cut(struct queue *q)
{
	if (q->n > 0 && one_in(2))
		q->n = (int)below((uint64_t)q->n);
}

static void close_sender_end(struct sender *s, bool is_dead)
{
	if (s->link && is_dead)
		cut(&s->link->out);
	if (s->link)
		s->link->has_sender = false;
	s->link = NULL;
}

static void close_receiver_end(struct link *l)
{
	if (!l->has_receiver)
		return;
	if (l->slot)
		m.spare[m.n_spare++] = l->slot;
	if (l->session)
		sfs_sessions_lose(l->session);
	l->slot = NULL;
	l->session = NULL;
	l->has_receiver = false;
}

/* Senders. */

static void begin_sender(struct sender *s)
{
	struct sfs_transport_settings settings = {
		.target = "x://y",
		.n_slots = 2 + (uint32_t)below(3),
		.session = 100 + (uint64_t)(s - m.senders)};

	CHECK_EQ(sfs_outbox_open(&s->box, &settings, &layout, &err), 0);
	s->lives = true;
	s->n_made = 0;
}

static void kill_sender(struct sender *s)
{
	close_sender_end(s, true);
	sfs_outbox_close(&s->box);
	s->lives = false;
}

static bool is_of_a_ring_before(const struct holding *h, int sender, uint64_t seq)
{
	return h->ring && h->holds && h->sender == sender && h->seq == seq &&
	       h->generation != m.generation;
}

static int count_held_before(int sender, uint64_t seq)
{
	int i, k, n = 0;

	for (i = 0; i < m.n_trainers; i++) {
		n += is_of_a_ring_before(&m.trainers[i].now, sender, seq);
		for (k = 0; k < N_KEPT; k++)
			n += is_of_a_ring_before(&m.trainers[i].kept[k], sender, seq);
	}
	return n;
}

/* It knows that all was released. */
static void end_sender(struct sender *s)
{
	struct sfs_wire_message bye = {.kind = SFS_WIRE_BYE};
	int i = (int)(s - m.senders);
	uint64_t seq;

	for (seq = 0; seq < m.n_batches[i]; seq++)
		CHECK(m.n_released[i][seq] > 0 || m.is_excused[i][seq]);
	if (s->link && s->link->was_accepted)
		put_message(&s->link->out, &bye);
	close_sender_end(s, false);
	sfs_outbox_stop(&s->box);
	sfs_outbox_close(&s->box);
	s->lives = false;
	s->is_done = true;
}

static void make_batch(struct sender *s)
{
	struct sfs_batch_info info = {
		.first = s->n_made, .end = s->n_made + 1, .n_samples = 1};
	unsigned char *slot;
	void *memory;
	int ret;

	if (s->n_made == m.n_batches[s - m.senders]) {
		ret = sfs_outbox_finish(&s->box, 0, &err);
		CHECK(ret == 0 || ret == -ETIMEDOUT);
		if (ret == 0)
			end_sender(s);
		return;
	}
	ret = sfs_outbox_take(&s->box, 0, &memory, &err);
	if (ret == -ETIMEDOUT)
		return;
	CHECK_EQ(ret, 0);
	slot = memory;
	slot[0] = (unsigned char)s->n_made++;
	slot[1] = (unsigned char)(s - m.senders);
	CHECK_EQ(sfs_outbox_send(&s->box, &info, &err), 0);
}

static void connect_sender(struct sender *s)
{
	struct link *l = find_free_link();
	struct sfs_wire_hello hello = sfs_outbox_hello(&s->box);
	struct packet *p;

	if (!l || !m.has_receiver)
		return;
	l->out.n = l->back.n = 0;
	l->out.is_silent = l->back.is_silent = false;
	memset(&l->was_accepted, 0,
	       sizeof *l - offsetof(struct link, was_accepted));
	l->sender = (int)(s - m.senders);
	l->has_sender = l->has_receiver = true;
	s->link = l;
	p = put_packet(&l->out);
	p->n = SFS_WIRE_HELLO_BYTES;
	sfs_wire_put_hello(&hello, p->bytes);
}

static void hear_reply(struct sender *s, const struct packet *p)
{
	struct sfs_wire_reply reply;
	int ret;

	CHECK_EQ(sfs_wire_get_reply(p->bytes, p->n, &reply, &err), 0);
	ret = sfs_outbox_take_reply(&s->box, &reply, &err);
	if (ret == -EBUSY) {
		close_sender_end(s, false);
		return;
	}
	if (ret < 0)
		fprintf(stderr, "sender %d: %s\n", (int)(s - m.senders), err.text);
	CHECK_EQ(ret, 0);
	s->link->was_accepted = true;
	s->link->next = s->link->highest = reply.resume;
	s->link->window = reply.window;
}

static void hear_receiver(struct sender *s)
{
	struct shufflefs_layout unused;
	struct sfs_wire_message message;
	struct packet p;

	if (!get_packet(&s->link->back, &p)) {
		if ((!s->link->has_receiver && s->link->back.n == 0) ||
		    ((s->link->back.is_silent || s->link->out.is_silent) && one_in(8)))
			close_sender_end(s, false);
		return;
	}
	if (!s->link->was_accepted) {
		hear_reply(s, &p);
		return;
	}
	CHECK_EQ(sfs_wire_get(p.bytes, p.n, NULL, &message, &unused, &err), 0);
	if (message.kind == SFS_WIRE_BYE)
		close_sender_end(s, false);
	if (message.kind != SFS_WIRE_CREDIT && message.kind != SFS_WIRE_ENDED)
		return;
	if (message.seq > s->link->highest ||
	    (message.kind == SFS_WIRE_ENDED && !s->link->has_said_end)) {
		close_sender_end(s, false); /* (of another process, which was faster) */
		return;
	}
	sfs_outbox_take_credit(&s->box, message.seq, message.kind == SFS_WIRE_ENDED);
}

/* As next_output() of tcp-sender. */
static void say_next(struct sender *s)
{
	struct sfs_wire_message out = {.kind = 0};
	struct sfs_outbox_state state;
	struct link *l = s->link;
	uint32_t i = (uint32_t)(l->next % s->box.n_slots);

	if (!l->was_accepted || !has_room(&l->out))
		return;
	sfs_outbox_look(&s->box, &state);
	if (!l->has_said_layout) {
		l->has_said_layout = true;
		out.kind = SFS_WIRE_LAYOUT;
	} else if (l->next < state.n_sent && l->next - state.credited < l->window) {
		out.kind = SFS_WIRE_BATCH;
		out.seq = l->next;
		out.info = s->box.infos[i];
		out.n_bytes = sfs_wire_data_bytes(&layout, 1);
	} else if (state.is_finishing && l->next == state.n_sent && !l->has_said_end) {
		l->has_said_end = true;
		out.kind = SFS_WIRE_END;
		out.seq = state.n_sent;
	} else {
		return;
	}
	put_message(&l->out, &out);
	if (out.kind != SFS_WIRE_BATCH)
		return;
	memcpy(l->out.packets[l->out.n - 1].data, s->box.memory + i * s->box.stride, 2);
	l->next++;
	if (l->highest < l->next)
		l->highest = l->next;
}

static void step_sender(struct sender *s)
{
	if (s->is_done)
		return;
	if (!s->lives)
		begin_sender(s);
	else if (one_in(3))
		make_batch(s);
	else if (!s->link)
		connect_sender(s);
	else if (one_in(2))
		hear_receiver(s);
	else
		say_next(s);
}

/* The receiver. */

static bool knows_past(const struct trainer *t)
{
	bool knows = t->now.ring && t->now.generation == m.shown;
	const struct past *p;
	int k;

	for (k = 0; k < N_KEPT; k++)
		knows |= t->kept[k].ring && t->kept[k].generation == m.shown;
	for (p = t->pasts; p; p = p->next)
		knows |= had[p->state_fd].generation == m.shown;
	return t->lives && knows;
}

/* Nobody is left who knows what senders were not told; nor a trainer that has seen the end
 * of what comes again. */
static void excuse_repeats(void)
{
	int i, n_held;
	uint64_t seq;

	for (i = 0; i < N_SENDERS * N_BATCHES; i++) {
		seq = (uint64_t)(i % N_BATCHES);
		n_held = count_held_before(i / N_BATCHES, seq);
		m.most[i / N_BATCHES][seq] =
			m.n_released[i / N_BATCHES][seq] + n_held + 1;
	}
	for (i = 0; i < m.n_trainers; i++)
		m.trainers[i].is_done = false;
}

static void begin_receiver(void)
{
	struct sfs_receiver_settings settings = {
		.source = "x://y",
		.n_senders = (uint32_t)m.n_senders,
		.give_up_ms = 60000,
		.stop_fd = -1,
		.ring = {.path = m.path, .n_slots = m.n_slots, .policy = m.policy}};
	bool must_know = false;
	int i;

	for (i = 0; i < m.n_trainers; i++)
		must_know |= m.shown > 0 && knows_past(&m.trainers[i]);
	sfs_sessions_open(&m.sessions, &settings);
	m.generation++;
	m.has_receiver = true;
	m.lingers = false;
	m.n_spare = 0;
	/* (With "fail", the ring may have failed, and its trainers have left, before the
	 * receiver was killed: then the next one begins anew.) */
	CHECK(!must_know || m.sessions.ring || m.policy == SFS_RING_FAIL);
	if (m.sessions.ring)
		m.sessions.ring->state.held.interval_ms = 0;
	if (!m.sessions.ring) {
		excuse_repeats();
		m.shown = m.generation;
	}
}

/* Everything closes; what lies in the file stays. */
static void kill_receiver(void)
{
	char state[80], kept[80];
	int i;

	for (i = 0; i < N_LINKS; i++) {
		if (m.links[i].has_receiver)
			cut(&m.links[i].back);
		m.links[i].session = NULL;
		m.links[i].slot = NULL;
		m.links[i].has_receiver = false;
	}
	snprintf(state, sizeof state, "%s.state", m.path);
	snprintf(kept, sizeof kept, "%s.kept", m.path);
	if (m.lingers)
		CHECK(link(state, kept) == 0 || errno == ENOENT);
	sfs_sessions_close(&m.sessions);
	if (m.lingers)
		rename(kept, state);
	m.has_receiver = false;
}

static bool has_gone(const void *connection)
{
	const struct link *l = connection;

	return l->wants_slot && !l->has_sender;
}

static void hear_hello(struct link *l, const struct packet *p)
{
	unsigned char bytes[SFS_WIRE_REPLY_BYTES + SFS_WIRE_TEXT_MAX];
	struct sfs_wire_reply reply;
	struct packet *answer = put_packet(&l->back);
	void *old;

	CHECK_EQ(sfs_wire_get_hello(p->bytes, p->n, &l->hello, &err), 0);
	sfs_sessions_greet(&m.sessions, &l->hello, has_gone, &reply, &old);
	if (old)
		close_receiver_end(old);
	CHECK(reply.code == SFS_WIRE_ACCEPT || reply.code == SFS_WIRE_BUSY);
	answer->n = sfs_wire_put_reply(&reply, bytes);
	memcpy(answer->bytes, bytes, answer->n);
	l->was_greeted = true;
	if (reply.code == SFS_WIRE_BUSY)
		close_receiver_end(l);
}

static void hear_batch(struct link *l, const struct packet *p)
{
	int ret = sfs_sessions_expect(l->session, l->batch.seq, &err);

	if (ret < 0 && l->session->must_rewind) {
		close_receiver_end(l);
		return;
	}
	CHECK(ret >= 0);
	l->has_batch = true;
	l->wants_slot = ret == 0;
	memcpy(l->data, p->data, 2);
}

static void hear_message(struct link *l, const struct packet *p)
{
	struct shufflefs_layout its;

	CHECK_EQ(sfs_wire_get(p->bytes, p->n, l->session ? &layout : NULL, &l->batch,
			      &its, &err),
		 0);
	if (!l->session && l->batch.kind != SFS_WIRE_LAYOUT) {
		close_receiver_end(l);
		return;
	}
	switch (l->batch.kind) {
	case SFS_WIRE_LAYOUT:
		if (sfs_sessions_begin(&m.sessions, &l->hello, &its, l, &l->session,
				       &err) < 0)
			close_receiver_end(l); /* (another connection was faster) */
		m.sessions.ring->state.held.interval_ms = 0;
		return;
	case SFS_WIRE_BATCH: hear_batch(l, p); return;
	case SFS_WIRE_END:
		if (sfs_sessions_end(l->session, l->batch.seq, &err) < 0) {
			CHECK(l->session->must_rewind);
			close_receiver_end(l);
		}
		return;
	default:
		CHECK_EQ(l->batch.kind, SFS_WIRE_BYE);
		CHECK_EQ(sfs_sessions_bye(&m.sessions, l->session, &l->batch, "it",
					  l->has_said_ended, &err),
			 0);
	}
}

/* In two steps: it may be killed between them. */
static void take_data(struct link *l)
{
	void *slot = NULL;
	int ret;

	if (l->wants_slot) {
		ret = 0;
		if (m.n_spare > 0)
			slot = m.spare[--m.n_spare];
		else
			ret = sfs_ring_take(m.sessions.ring, 0, &slot, &err);
		if (ret < 0)
			return; /* (look() finds a failure) */
		l->slot = slot;
		l->wants_slot = false;
		return;
	}
	if (l->slot)
		memcpy(l->slot, l->data, 2);
	ret = sfs_sessions_publish(&m.sessions, l->session, &l->batch, l->slot, &err);
	CHECK(ret >= 0);
	if (ret == 0)
		l->slot = NULL;
	l->has_batch = false;
}

static void hear_sender(struct link *l)
{
	struct packet p;

	if (!l->has_receiver)
		return;
	if (l->has_batch)
		take_data(l);
	else if (get_packet(&l->out, &p))
		l->was_greeted ? hear_message(l, &p) : hear_hello(l, &p);
	else if ((!l->has_sender && l->out.n == 0) ||
		 ((l->out.is_silent || l->back.is_silent) && one_in(8)))
		close_receiver_end(l);
}

static void give_credit(struct link *l)
{
	struct sfs_wire_message out = {.kind = SFS_WIRE_CREDIT};

	if (!l->has_receiver || !l->session || !has_room(&l->back))
		return;
	out.seq = l->session->credited;
	if (out.seq != l->credit_said)
		put_message(&l->back, &out);
	l->credit_said = out.seq;
	if (!sfs_session_is_done(l->session) || l->has_said_ended)
		return;
	out.kind = SFS_WIRE_ENDED;
	put_message(&l->back, &out);
	l->has_said_ended = true;
}

static void step_receiver(void)
{
	int i;

	if (!m.has_receiver) {
		begin_receiver();
		return;
	}
	if (one_in(2)) {
		hear_sender(&m.links[below(N_LINKS)]);
		return;
	}
	sfs_sessions_credit(&m.sessions);
	for (i = 0; i < N_LINKS; i++) {
		if (m.links[i].session && m.links[i].session->must_rewind)
			close_receiver_end(&m.links[i]);
		give_credit(&m.links[i]);
	}
	sfs_sessions_look(&m.sessions);
	if (m.sessions.error < 0) {
		CHECK_EQ(m.policy, SFS_RING_FAIL);
		m.has_failed = true;
	} else if (!m.lingers && sfs_sessions_are_over(&m.sessions)) {
		sfs_ring_end(m.sessions.ring);
		m.lingers = true;
	}
}

/* Trainers. */

static void enter_trainer(struct trainer *t)
{
	as_pid = 1000 + (pid_t)(t - m.trainers);
	pasts = t->pasts;
}

static void leave_trainer(struct trainer *t)
{
	t->pasts = pasts;
	pasts = NULL;
}

/* Close its end, and wait until the producer, if it lives, has noticed. */
static void close_ring(struct trainer *t, struct holding *h)
{
	bool is_told = m.has_receiver && h->generation == m.generation;
	struct sfs_ring_memory *memory =
		mmap(NULL, SFS_RING_SLOTS_OFFSET, PROT_READ | PROT_WRITE, MAP_SHARED,
		     h->ring->state_fd, 0);
	uint32_t seen = atomic_load(&memory->freed);

	had[h->ring->state_fd].owner = h->owner;
	had[h->ring->state_fd].generation = h->generation;
	shufflefs_ring_detach(h->ring);
	h->ring = NULL;
	while (is_told && atomic_load(&memory->freed) == seen)
		sfs_ring_wait(&memory->freed, seen, 1000000);
	munmap(memory, SFS_RING_SLOTS_OFFSET);
}

static void attach(struct trainer *t)
{
	if (!m.has_receiver || !m.sessions.ring || m.lingers)
		return;
	CHECK_EQ(shufflefs_ring_attach(m.path, 60000, &t->now.ring), 0);
	t->now.owner = t->now.ring->owner - SFS_RING_CONSUMER;
	t->now.generation = m.shown = m.generation;
}

static void take(struct trainer *t)
{
	struct holding *h = &t->now;
	struct shufflefs_batch b;
	int ret = shufflefs_ring_next(h->ring, 0, &b);

	if (ret == -ETIMEDOUT)
		return;
	if (ret <= 0) {
		t->is_done = ret == 0;
		close_ring(t, h);
		return;
	}
	h->holds = true;
	h->seq = b.data[0];
	h->sender = b.data[1];
	CHECK_EQ(b.first, h->seq);
	if (m.n_released[h->sender][h->seq] >= m.most[h->sender][h->seq])
		fprintf(stderr, "batch %d of sender %d comes again\n", (int)h->seq,
			h->sender);
	CHECK(m.n_released[h->sender][h->seq] < m.most[h->sender][h->seq]);
	h->number = b.seq;
}

static void release(struct holding *h)
{
	CHECK_EQ(shufflefs_ring_release(h->ring, h->number), 0);
	h->holds = false;
	m.n_released[h->sender][h->seq]++;
}

static void release_kept(struct trainer *t, struct holding *h)
{
	if (!h->ring || !(one_in(m.slowness) || m.is_calm))
		return;
	release(h);
	close_ring(t, h);
}

/* It goes on without it, and keeps what it holds. */
static void keep(struct trainer *t)
{
	struct holding *h = &t->kept[below(N_KEPT)];

	if (h->ring || (m.has_receiver && t->now.generation == m.generation))
		return;
	*h = t->now;
	t->now = (struct holding){.ring = NULL};
}

static void step_trainer(struct trainer *t)
{
	if (!t->lives) {
		*t = (struct trainer){.lives = true};
		return;
	}
	enter_trainer(t);
	if (one_in(3))
		release_kept(t, &t->kept[below(N_KEPT)]);
	else if (t->is_done)
		;
	else if (!t->now.ring)
		attach(t);
	else if (!t->now.holds)
		take(t);
	else if (one_in(3) && !m.is_calm)
		keep(t);
	else if (one_in(m.slowness) || m.is_calm)
		release(&t->now);
	leave_trainer(t);
}

/* With the batch that it holds there. */
static void die_with(struct trainer *t, struct holding *h)
{
	if (!h->ring)
		return;
	if (h->holds)
		m.is_excused[h->sender][h->seq] |= m.policy == SFS_RING_DROP;
	atomic_store(&h->ring->memory->pids[h->owner], (uint32_t)zombie);
	as_pid = 0;
	close_ring(t, h);
}

static void kill_trainer(struct trainer *t)
{
	uint32_t pid = (uint32_t)zombie;
	struct past *p;
	off_t at;
	int k;

	die_with(t, &t->now);
	for (k = 0; k < N_KEPT; k++)
		die_with(t, &t->kept[k]);
	while ((p = t->pasts) != NULL) {
		at = (off_t)(offsetof(struct sfs_ring_memory, pids) +
			     4 * had[p->state_fd].owner);
		CHECK_EQ(pwrite(p->state_fd, &pid, sizeof pid, at), sizeof pid);
		close(p->state_fd);
		t->pasts = p->next;
		free(p);
	}
	*t = (struct trainer){.lives = false};
}

/* A schedule. */

static void kill_one(uint64_t who)
{
	struct link *l;

	if (who == 0 && m.has_receiver) {
		kill_receiver();
	} else if (who >= 1 && who <= 3) {
		struct trainer *t = &m.trainers[(who - 1) % (uint64_t)m.n_trainers];

		if (t->lives && !t->is_done)
			kill_trainer(t);
	} else if (who >= 4 && who <= 5) {
		struct sender *s = &m.senders[(who - 4) % (uint64_t)m.n_senders];

		if (s->lives)
			kill_sender(s);
	} else if (who >= 6) {
		l = &m.links[below(N_LINKS)];
		l->out.is_silent = one_in(2);
		l->back.is_silent = one_in(2);
	}
}

static void kill_some(void)
{
	uint64_t n = below(4);

	/* A trainer that dies behind the receiver is one whose death nobody has noticed. */
	if (one_in(2))
		kill_one(0);
	if (one_in(2))
		kill_one(1 + below(3));
	if (one_in(2))
		kill_one(4 + below(2));
	while (n-- > 0)
		kill_one(below(7));
}

static void calm_down(void)
{
	int i;

	m.is_calm = true;
	for (i = 0; i < N_LINKS; i++)
		m.links[i].out.is_silent = m.links[i].back.is_silent = false;
}

static void step(void)
{
	uint64_t who = below(4);

	if (who == 0)
		step_sender(&m.senders[below((uint64_t)m.n_senders)]);
	else if (who == 1)
		step_trainer(&m.trainers[below((uint64_t)m.n_trainers)]);
	else
		step_receiver();
}

static bool are_done(void)
{
	int i, n = 0;

	for (i = 0; i < m.n_senders; i++)
		n += m.senders[i].is_done;
	return n == m.n_senders || m.has_failed;
}

static void check_batches(void)
{
	uint64_t seq;
	int i;

	for (i = 0; i < m.n_senders; i++)
		for (seq = 0; seq < m.n_batches[i]; seq++) {
			CHECK(m.n_released[i][seq] <= m.most[i][seq]);
			CHECK(m.n_released[i][seq] > 0 || m.is_excused[i][seq] ||
			      m.has_failed);
		}
}

static void choose(void)
{
	static const enum sfs_ring_policy policies[] = {
		SFS_RING_REDELIVER, SFS_RING_REDELIVER, SFS_RING_DROP, SFS_RING_FAIL};
	int i;

	m.policy = policies[below(4)];
	m.n_senders = 1 + (int)below(N_SENDERS);
	m.n_trainers = 1 + (int)below(N_TRAINERS);
	m.n_slots = 2 + (uint32_t)below(5);
	m.slowness = 1 + below(12);
	for (i = 0; i < N_SENDERS; i++)
		m.n_batches[i] = one_in(8) ? below(3) : 3 + below(N_BATCHES - 2);
	for (i = 0; i < N_SENDERS * N_BATCHES; i++)
		m.most[i / N_BATCHES][i % N_BATCHES] = 1;
}

static void say_state(void)
{
	int i;

	fprintf(stderr, "policy %d, receiver %d, %d sessions, error %d, lingers %d\n",
		m.policy, m.has_receiver, (int)m.sessions.n, m.sessions.error,
		m.lingers);
	for (i = 0; i < m.n_senders; i++)
		fprintf(stderr, "sender %d: lives %d, done %d, made %d of %d, link %d\n", i,
			m.senders[i].lives, m.senders[i].is_done,
			(int)m.senders[i].n_made, (int)m.n_batches[i],
			m.senders[i].link ? (int)(m.senders[i].link - m.links) : -1);
	for (i = 0; i < m.n_trainers; i++)
		fprintf(stderr,
			"trainer %d: lives %d, done %d, ring %d, holds %d, kept %d\n", i,
			m.trainers[i].lives, m.trainers[i].is_done,
			m.trainers[i].now.ring != NULL, m.trainers[i].now.holds,
			(m.trainers[i].kept[0].ring != NULL) +
				(m.trainers[i].kept[1].ring != NULL) +
				(m.trainers[i].kept[2].ring != NULL));
	for (i = 0; i < N_LINKS; i++)
		fprintf(stderr, "link %d: sender %d, ends %d %d, queued %d %d, next %d\n",
			i, m.links[i].sender, m.links[i].has_sender,
			m.links[i].has_receiver, m.links[i].out.n, m.links[i].back.n,
			(int)m.links[i].next);
	for (i = 0; i < (int)m.sessions.n; i++)
		fprintf(stderr, "session %d: expects %d, credited %d, end %d\n", i,
			(int)m.sessions.list[i]->expected,
			(int)m.sessions.list[i]->credited,
			m.sessions.list[i]->has_end);
}

static void run_schedule(uint64_t seed)
{
	uint64_t n_steps, n_kills;
	int i;

	memset(&m, 0, offsetof(typeof(m), links));
	memset(&m.has_receiver, 0, sizeof m - offsetof(typeof(m), has_receiver));
	for (i = 0; i < N_LINKS; i++)
		m.links[i].has_sender = m.links[i].has_receiver = false;
	m.seed = seed;
	sfs_rng_init(&m.rng, &seed, 1);
	snprintf(m.path, sizeof m.path, "/tmp/unit-model.%d", (int)getpid());
	choose();
	alarm(240);
	for (n_kills = below(10); n_kills > 0 && !m.has_failed; n_kills--) {
		for (n_steps = below(250); n_steps > 0 && !m.has_failed; n_steps--)
			step();
		kill_some();
	}
	calm_down();
	for (n_steps = 0; n_steps < 100000 && !are_done(); n_steps++)
		step();
	if (!are_done())
		say_state();
	CHECK(are_done());
	check_batches();
	if (m.has_receiver)
		kill_receiver();
	for (i = 0; i < m.n_trainers; i++)
		if (m.trainers[i].lives)
			kill_trainer(&m.trainers[i]);
	for (i = 0; i < m.n_senders; i++)
		if (m.senders[i].lives)
			kill_sender(&m.senders[i]);
}

static bool has_finished;

static void say_seed(void)
{
	if (!has_finished)
		fprintf(stderr, "%s\nrepeat it: MODEL_SEED=%llu MODEL_SCHEDULES=1\n",
			err.text, (unsigned long long)m.seed);
}

static void on_abort(int number)
{
	say_seed(); /* then it aborts */
}

static uint64_t from_environment(const char *name, uint64_t otherwise)
{
	const char *value = getenv(name);

	return value ? strtoull(value, NULL, 10) : otherwise;
}

int main(void)
{
	struct sfs_row row = {.name = "a", .dtype = "u1", .rank = 1, .dims = {2}};
	uint64_t by_chance = from_environment("TEST_SEED", sfs_clock_wall_ms());
	uint64_t seed = from_environment("MODEL_SEED", by_chance), i;
	uint64_t n = from_environment("MODEL_SCHEDULES", N_SCHEDULES);
	char path[80];

	sfs_log_set_level(SFS_LOG_ERROR);
	signal(SIGABRT, on_abort);
	atexit(say_seed);
	printf("MODEL_SEED=%llu MODEL_SCHEDULES=%llu\n", (unsigned long long)seed,
	       (unsigned long long)n);
	fflush(stdout);
	CHECK_EQ(sfs_layout_add(&layout, &row, &err), 0);
	zombie = fork();
	if (zombie == 0)
		_exit(0);
	while (!sfs_ring_is_dead((uint32_t)zombie))
		usleep(1000);
	for (i = 0; i < n; i++)
		run_schedule(seed + i);
	snprintf(path, sizeof path, "%s.state", m.path);
	unlink(path);
	waitpid(zombie, NULL, 0);
	has_finished = true;
	return 0;
}
