/* SPDX-License-Identifier: MIT */
/* How this works: one thread polls the events of the connection manager, the completions
 * of all connections, and an eventfd which is written when consumers have released
 * batches (sessions.h).  Slots of the ring are taken before they are needed and given to
 * the senders, which write into them; a batch is published when its message comes.  The
 * ring's slots are shared out evenly among the senders that there are or are expected, at
 * least one to each, and who has fewest gets the next that is free.  A connection that
 * breaks gives back the slots that it has not filled, after its queue pair is gone: only
 * then nobody writes to them.
 *
 * With a secret (auth.h) a request is accepted with a CHALLENGE, and its sender is a
 * stranger until its first message proves that it has the secret: it may not write, gets
 * no slot and no key of the ring, and no session hears of it.  A stranger that is refused
 * is told so, and is left to hang up: nobody waits until it has read that.
 *
 * The ring is registered once for each device, for as long as a connection uses it
 * (verbs-placement.h); so slots of one ring may be in a GPU's memory for one card, and on
 * the host for another. */
#include "transport/receiver.h"

#include "ring/device.h"
#include "transport/auth.h"
#include "transport/guard.h"
#include "transport/secret.h"
#include "transport/sessions.h"
#include "transport/socket.h"
#include "verbs-link.h"
#include "verbs-placement.h"
#include "verbs-wire.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define CONNECTIONS_MAX SFS_VERBS_SLOTS_MAX
#define LINGER_NS	10000000000ULL /* more than a sender waits between two attempts */
#define BYE_MS		500

/* A device that connections use. */
struct domain {
	struct ibv_context *verbs; /* NULL: free */
	struct ibv_pd *pd;
	struct sfs_verbs_placement ring;
	uint32_t n_users;
};

struct connection {
	struct rdma_cm_id *id; /* NULL: free */
	struct sfs_verbs_link link;
	struct domain *domain;
	char peer[SFS_VERBS_PEER_MAX];
	struct sfs_session *session; /* NULL before its layout came */
	struct sfs_wire_hello hello;
	struct sfs_verbs_slots slots;
	struct sfs_auth auth;
	uint64_t heard_ns, said_ns, credit_said; /* heard_ns: a stranger's first */
	bool has_said_ended;
	bool is_stranger, may_not_write, is_refused;
};

struct sfs_receiver {
	struct sfs_sessions sessions;
	struct sfs_guard guard;
	struct sfs_verbs_url url;
	char *source;
	struct rdma_event_channel *events;
	struct rdma_cm_id *listener; /* NULL: its device was removed */
	uint64_t listen_ns;	     /* then: when it was last tried */
	struct domain domains[CONNECTIONS_MAX];
	struct connection connections[CONNECTIONS_MAX];
	unsigned char *slots; /* of the ring; */
	uint64_t stride;
	void *spare[SFS_VERBS_SLOTS_MAX]; /* taken, and given to nobody */
	uint32_t n_spare;
};

/* ---- connections */

static struct domain *enter_domain(struct sfs_receiver *r, struct ibv_context *verbs,
				   struct sfs_error *err)
{
	struct domain *d, *free_one = NULL;
	int i;

	for (i = 0; i < CONNECTIONS_MAX; i++) {
		d = &r->domains[i];
		if (d->verbs == verbs) {
			d->n_users++;
			return d;
		}
		if (!d->verbs)
			free_one = d;
	}
	d = free_one; /* (there are as many as connections) */
	d->pd = ibv_alloc_pd(verbs);
	if (!d->pd) {
		sfs_error_set(err, -errno, "%s: %s", ibv_get_device_name(verbs->device),
			      strerror(errno));
		return NULL;
	}
	d->verbs = verbs;
	d->ring.range.is_relaxed = r->url.ordering == SFS_VERBS_RELAXED;
	d->n_users = 1;
	return d;
}

/* Before the id goes: the library closes a device that was removed with its last id. */
static void leave_domain(struct domain *d)
{
	if (!d || --d->n_users > 0)
		return;
	sfs_verbs_unplace(&d->ring);
	ibv_dealloc_pd(d->pd);
	memset(d, 0, sizeof *d);
}

static void take_back_slots(struct sfs_receiver *r, struct connection *c)
{
	uint32_t slot;

	while (sfs_verbs_use(&c->slots, &slot))
		r->spare[r->n_spare++] = r->slots + slot * r->stride;
}

static void forget(struct sfs_receiver *r, struct connection *c)
{
	rdma_disconnect(c->id);
	sfs_verbs_link_close(&c->link);
	take_back_slots(r, c);
	leave_domain(c->domain);
	rdma_destroy_id(c->id);
	if (c->session)
		sfs_sessions_lose(c->session);
	memset(c, 0, sizeof *c);
}

static void drop(struct sfs_receiver *r, struct connection *c, const char *why)
{
	if (c->is_stranger && !c->is_refused)
		sfs_guard_refuse(&r->guard, r->source, c->peer, why);
	else if (!c->is_refused)
		sfs_warning("%s: %s: %s", r->source, c->peer, why);
	forget(r, c);
}

/* It broke.  One that has all that it wanted has just left. */
static void lose(struct sfs_receiver *r, struct connection *c, const char *why)
{
	if (c->session && sfs_session_is_done(c->session))
		forget(r, c);
	else
		drop(r, c, why);
}

static int say(struct connection *c, const struct sfs_wire_message *m,
	       struct sfs_error *err)
{
	unsigned char bytes[SFS_WIRE_MESSAGE_MAX];
	size_t n = sfs_wire_put(m, NULL, bytes);

	c->said_ns = sfs_clock_ns();
	return sfs_verbs_link_send(&c->link, bytes, n, err);
}

/* ---- a request to connect */

static void count_refusal(struct sfs_receiver *r, const char *peer, const char *why)
{
	sfs_autofree char *text = sfs_asprintf("refused: %s", why);

	sfs_guard_refuse(&r->guard, r->source, peer, text);
}

static void reject(struct sfs_receiver *r, struct rdma_cm_id *id,
		   const struct sfs_wire_reply *reply)
{
	unsigned char bytes[SFS_VERBS_REJECT_MAX];
	size_t n = sfs_verbs_put_refusal(reply, bytes);
	char peer[SFS_VERBS_PEER_MAX];

	sfs_verbs_peer(id, peer);
	count_refusal(r, peer, reply->text);
	rdma_reject(id, bytes, (uint8_t)n);
	rdma_destroy_id(id);
}

/* Has the ring a slot for one more sender?  -EBUSY, as a reply that says so. */
static int check_slots(const struct sfs_receiver *r, struct sfs_wire_reply *reply)
{
	uint32_t i, n = 0, n_slots = r->sessions.settings.ring.n_slots;

	for (i = 0; i < CONNECTIONS_MAX; i++)
		n += r->connections[i].id && !r->connections[i].is_stranger;
	if (n < n_slots)
		return 0;
	reply->code = SFS_WIRE_BUSY;
	snprintf(reply->text, sizeof reply->text,
		 "its ring has %u slots, and each sender needs one", n_slots);
	return -EBUSY;
}

/* Where all places are in use, that of the oldest stranger; NULL: there is none. */
static struct connection *find_place(struct sfs_receiver *r)
{
	struct connection *c, *oldest = NULL;
	int i;

	for (i = 0; i < CONNECTIONS_MAX; i++) {
		c = &r->connections[i];
		if (!c->id)
			return c;
		if (c->is_stranger && (!oldest || c->heard_ns < oldest->heard_ns))
			oldest = c;
	}
	if (oldest)
		drop(r, oldest, "it has not said who it is, and another needs its place");
	return oldest;
}

static int accept_one(struct sfs_receiver *r, struct connection *c, struct rdma_cm_id *id,
		      const struct sfs_wire_reply *reply, struct sfs_error *err)
{
	unsigned char bytes[SFS_WIRE_REPLY_BYTES + SFS_WIRE_TEXT_MAX];
	struct rdma_conn_param param = {.private_data = bytes, .rnr_retry_count = 7};
	int ret;

	c->domain = enter_domain(r, id->verbs, err);
	if (!c->domain)
		return -EIO;
	ret = sfs_verbs_link_open(&c->link, id, c->domain->pd, err);
	sfs_verbs_set_ack_timeout(id);
	param.private_data_len = (uint8_t)sfs_wire_put_reply(reply, bytes);
	if (ret == 0 && rdma_accept(id, &param) < 0)
		ret = sfs_error_set(err, -errno, "rdma_accept: %s", strerror(errno));
	if (ret < 0) {
		sfs_verbs_link_close(&c->link);
		leave_domain(c->domain);
		memset(c, 0, sizeof *c);
		return ret;
	}
	c->id = id;
	sfs_verbs_peer(id, c->peer);
	c->heard_ns = c->said_ns = sfs_clock_ns();
	return 0;
}

/* It is no stranger. */
static void greet(struct sfs_receiver *r, const struct sfs_wire_hello *hello,
		  struct sfs_wire_reply *reply)
{
	void *old = NULL;

	sfs_sessions_greet(&r->sessions, hello, NULL, reply, &old);
	if (old)
		forget(r, old);
}

/* As a reply that refuses, if it is not to be accepted; or as a challenge. */
static void answer(struct sfs_receiver *r, struct rdma_cm_id *id, const void *bytes,
		   size_t n, struct sfs_wire_hello *hello, struct sfs_auth *auth,
		   struct sfs_wire_reply *reply)
{
	unsigned char nonce[SFS_WIRE_NONCE_BYTES];
	struct sfs_error err = {""};
	int ret = sfs_verbs_check_device(&r->url, id, &err);

	memset(reply, 0, sizeof *reply);
	sfs_secret_nonce(nonce);
	if (ret == 0)
		ret = sfs_verbs_get_hello(bytes, n, hello, &err);
	if (ret == 0)
		ret = sfs_auth_challenge(auth, "rdma", r->sessions.settings.secret, bytes,
					 hello, nonce, reply, &err);
	if (ret == 0) {
		greet(r, hello, reply);
	} else if (ret < 0) {
		reply->code = SFS_WIRE_REFUSE;
		snprintf(reply->text, sizeof reply->text, "%.500s", err.text);
	}
}

/* What it writes before it has proved who it is would be an error of its queue pair. */
static void forbid_writes(struct sfs_receiver *r, struct connection *c)
{
	struct sfs_error err;

	if (sfs_verbs_link_let_write(&c->link, false, &err) == 0)
		c->may_not_write = true;
	else
		sfs_warning("%s: %s: it may write before it has proved who it is: %s",
			    r->source, c->peer, err.text);
}

static void request(struct sfs_receiver *r, struct rdma_cm_id *id, const void *bytes,
		    size_t n)
{
	struct sfs_wire_hello hello;
	struct sfs_wire_reply reply;
	struct sfs_auth auth;
	struct connection *c = NULL;
	struct sfs_error err;
	bool is_stranger;

	answer(r, id, bytes, n, &hello, &auth, &reply);
	is_stranger = reply.code == SFS_WIRE_CHALLENGE;
	if (is_stranger || (reply.code == SFS_WIRE_ACCEPT && check_slots(r, &reply) == 0))
		c = find_place(r);
	if (!c) {
		if (is_stranger) /* all places are senders' */
			check_slots(r, &reply);
		reject(r, id, &reply);
		return;
	}
	if (accept_one(r, c, id, &reply, &err) < 0) {
		reply.code = SFS_WIRE_BUSY;
		snprintf(reply.text, sizeof reply.text, "%.500s", err.text);
		reject(r, id, &reply);
		return;
	}
	c->hello = hello;
	c->auth = auth;
	c->is_stranger = is_stranger;
	if (is_stranger)
		forbid_writes(r, c);
}

/* ---- a stranger */

static int say_reply(struct connection *c, const struct sfs_wire_reply *reply,
		     struct sfs_error *err)
{
	unsigned char bytes[SFS_WIRE_REPLY_BYTES + SFS_WIRE_TEXT_MAX];
	size_t n = sfs_wire_put_reply(reply, bytes);

	c->said_ns = sfs_clock_ns();
	return sfs_verbs_link_send(&c->link, bytes, n, err);
}

/* It hears why, and hangs up; or it is dropped when its 10 s are over. */
static int refuse(struct sfs_receiver *r, struct connection *c, enum sfs_wire_code code,
		  const char *why, struct sfs_error *err)
{
	struct sfs_wire_reply no = {.session = c->hello.session, .code = code};

	snprintf(no.text, sizeof no.text, "%.500s", why);
	count_refusal(r, c->peer, no.text);
	c->is_refused = true;
	return say_reply(c, &no, err);
}

static int take_proof(struct sfs_receiver *r, struct connection *c,
		      const unsigned char *bytes, size_t n, struct sfs_error *err)
{
	const struct sfs_secret *secret = r->sessions.settings.secret;
	struct sfs_wire_reply reply = {.session = 0};
	int ret;

	if (c->is_refused)
		return sfs_error_set(err, -EPROTO, "it was refused, and goes on");
	ret = n < SFS_WIRE_PREFIX_BYTES
		      ? sfs_error_set(err, -EPROTO, "a message of %zu bytes", n)
		      : sfs_wire_check_prefix(bytes, "sender", err);
	if (ret >= 0)
		ret = sfs_auth_check_proof(&c->auth, secret, bytes, n, err);
	if (ret < 0)
		return refuse(r, c, SFS_WIRE_REFUSE, err->text, err);
	if (check_slots(r, &reply) == 0)
		greet(r, &c->hello, &reply);
	if (reply.code != SFS_WIRE_ACCEPT)
		return refuse(r, c, reply.code, reply.text, err);
	if (c->may_not_write)
		ret = sfs_verbs_link_let_write(&c->link, true, err);
	if (ret < 0)
		return ret;
	c->is_stranger = false;
	c->heard_ns = sfs_clock_ns();
	sfs_auth_sign(&c->auth, secret, &reply);
	return say_reply(c, &reply, err);
}

/* ---- messages */

/* The ring may have been made by this connection or by another. */
static int offer(struct sfs_receiver *r, struct connection *c, struct sfs_error *err)
{
	unsigned char bytes[SFS_VERBS_OFFER_BYTES];
	const struct sfs_ring_settings *settings = &r->sessions.settings.ring;
	struct sfs_verbs_offer o = {.n_slots = settings->n_slots};
	struct sfs_verbs_placement *ring = &c->domain->ring;
	int ret = 0;

	r->slots = sfs_ring_slots(r->sessions.ring, &r->stride);
	if (!ring->range.mr)
		ret = sfs_verbs_place(c->domain->pd, r->sessions.ring, settings, ring,
				      err);
	if (ret == -ENOMEM || ret == -EOPNOTSUPP) {
		/* So it would be the next time; all senders will hear of it. */
		sfs_sessions_fail(&r->sessions, ret, err->text);
		return 0;
	}
	if (ret < 0)
		return ret;
	o.address = ring->address;
	o.stride = r->stride;
	o.rkey = ring->range.mr->rkey;
	o.memory = ring->range.memory;
	sfs_verbs_put_offer(&o, bytes);
	c->said_ns = sfs_clock_ns();
	return sfs_verbs_link_send(&c->link, bytes, sizeof bytes, err);
}

static int take_layout(struct sfs_receiver *r, struct connection *c,
		       const struct shufflefs_layout *layout, struct sfs_error *err)
{
	int ret;

	if (c->session)
		return sfs_error_set(err, -EPROTO, "a second layout");
	ret = sfs_sessions_begin(&r->sessions, &c->hello, layout, c, &c->session, err);
	return ret < 0 ? ret : offer(r, c, err);
}

static int take_batch(struct sfs_receiver *r, struct connection *c,
		      const struct sfs_wire_message *m, struct sfs_error *err)
{
	uint32_t slot;
	uint64_t at;
	int ret;

	if (!sfs_verbs_use(&c->slots, &slot))
		return sfs_error_set(err, -EPROTO, "batch %llu came without a slot",
				     (unsigned long long)m->seq);
	at = c->domain->ring.address + slot * r->stride;
	ret = sfs_sessions_publish(&r->sessions, c->session, m, (void *)(uintptr_t)at,
				   err);
	if (ret != 0)
		r->spare[r->n_spare++] = r->slots + slot * r->stride;
	return ret < 0 ? ret : 0;
}

static int take_message(struct sfs_receiver *r, struct connection *c,
			const unsigned char *bytes, size_t n, struct sfs_error *err)
{
	struct shufflefs_layout layout;
	struct sfs_wire_message m;
	int ret = n < SFS_WIRE_HEADER_BYTES
			  ? sfs_error_set(err, -EPROTO, "a message of %zu bytes", n)
			  : sfs_wire_check_header(bytes, err);

	if (ret >= 0 && (size_t)ret != n)
		ret = sfs_error_set(err, -EPROTO, "a message of %zu bytes", n);
	if (ret >= 0)
		ret = sfs_wire_get(bytes, n, c->session ? &r->sessions.layout : NULL, &m,
				   &layout, err);
	if (ret < 0)
		return ret;
	if (m.kind == SFS_WIRE_LAYOUT)
		return take_layout(r, c, &layout, err);
	if (m.kind == SFS_WIRE_PING)
		return 0;
	if (!c->session)
		return sfs_error_set(err, -EPROTO, "a message before the layout");
	switch (m.kind) {
	case SFS_WIRE_BATCH: return take_batch(r, c, &m, err);
	case SFS_WIRE_END:
		ret = sfs_sessions_end(c->session, m.seq, err);
		if (ret == 0)
			take_back_slots(r, c); /* it needs none any more */
		return ret;
	case SFS_WIRE_BYE:
		return sfs_sessions_bye(&r->sessions, c->session, &m, c->peer,
					c->has_said_ended, err);
	default: return sfs_error_set(err, -EPROTO, "a message that only receivers send");
	}
}

/* How many were read; < 0: the connection is gone. */
static int read_all(struct sfs_receiver *r, struct connection *c)
{
	struct sfs_error err = {""};
	const unsigned char *bytes;
	int ret, count = 0;
	size_t n;

	while ((ret = sfs_verbs_link_next(&c->link, &bytes, &n, &err)) > 0) {
		if (!c->is_stranger)
			c->heard_ns = sfs_clock_ns();
		count++;
		ret = c->is_stranger ? take_proof(r, c, bytes, n, &err)
				     : take_message(r, c, bytes, n, &err);
		if (ret < 0)
			break;
	}
	if (ret == 0)
		return count;
	lose(r, c, err.text);
	return ret;
}

/* ---- slots and credits */

static bool is_wanting(const struct connection *c)
{
	return c->id && c->session && !c->session->has_end;
}

/* Who has the fewest slots, if it may have one more. */
static struct connection *find_poorest(struct sfs_receiver *r)
{
	struct connection *poorest = NULL;
	uint32_t i, n = 0, n_ended = 0, n_slots = r->sessions.settings.ring.n_slots;

	for (i = 0; i < CONNECTIONS_MAX; i++) {
		struct connection *c = &r->connections[i];

		if (!is_wanting(c))
			continue;
		n++;
		if (!poorest ||
		    sfs_verbs_count(&c->slots) < sfs_verbs_count(&poorest->slots))
			poorest = c;
	}
	for (i = 0; i < r->sessions.n; i++)
		n_ended += r->sessions.list[i]->has_end;
	if (r->sessions.settings.n_senders > n + n_ended)
		n = r->sessions.settings.n_senders - n_ended;
	return poorest && sfs_verbs_count(&poorest->slots) < sfs_verbs_share(n_slots, n)
		       ? poorest
		       : NULL;
}

/* How many slots of the ring are neither taken nor full, as far as is known: to ask for
 * one more than that counts as waiting for consumers. */
static uint32_t count_free(const struct sfs_receiver *r)
{
	uint64_t n = r->n_spare + r->sessions.n_published - r->sessions.n_consumed;
	int i;

	for (i = 0; i < CONNECTIONS_MAX; i++)
		n += sfs_verbs_count(&r->connections[i].slots);
	return n < r->sessions.settings.ring.n_slots
		       ? r->sessions.settings.ring.n_slots - (uint32_t)n
		       : 0;
}

static int get_slot(struct sfs_receiver *r, bool is_urgent, void **ret)
{
	struct sfs_error err = {""};
	int error;

	if (r->n_spare > 0) {
		*ret = r->spare[--r->n_spare];
		return 0;
	}
	if (!is_urgent && count_free(r) == 0)
		return -ETIMEDOUT;
	error = sfs_ring_take(r->sessions.ring, 0, ret, &err);
	if (error < 0 && error != -ETIMEDOUT)
		sfs_sessions_fail(&r->sessions, error, err.text);
	return error;
}

static void give_slots(struct sfs_receiver *r)
{
	unsigned char bytes[SFS_VERBS_GRANT_BYTES];
	struct connection *c;
	struct sfs_error err;
	void *slot;

	while ((c = find_poorest(r)) != NULL &&
	       get_slot(r, sfs_verbs_count(&c->slots) == 0, &slot) == 0) {
		struct sfs_verbs_grant grant = {
			.credited = c->session->credited,
			.slot = (uint32_t)((uint64_t)((unsigned char *)slot - r->slots) /
					   r->stride)};

		grant.number = sfs_verbs_give(&c->slots, grant.slot);
		c->credit_said = grant.credited;
		c->said_ns = sfs_clock_ns();
		sfs_verbs_put_grant(&grant, bytes);
		if (sfs_verbs_link_send(&c->link, bytes, sizeof bytes, &err) < 0)
			drop(r, c, err.text);
	}
}

static int give_credit(struct connection *c, struct sfs_error *err)
{
	struct sfs_wire_message m = {.kind = SFS_WIRE_CREDIT,
				     .seq = c->session->credited};
	int ret = 0;

	if (m.seq != c->credit_said)
		ret = say(c, &m, err);
	c->credit_said = m.seq;
	if (ret < 0 || !sfs_session_is_done(c->session) || c->has_said_ended)
		return ret;
	m.kind = SFS_WIRE_ENDED;
	c->has_said_ended = true;
	return say(c, &m, err);
}

static void give_credits(struct sfs_receiver *r)
{
	struct sfs_error err;
	int i;

	sfs_sessions_credit(&r->sessions);
	if (r->sessions.ring && r->sessions.error == 0)
		give_slots(r);
	for (i = 0; i < CONNECTIONS_MAX; i++) {
		struct connection *c = &r->connections[i];

		if (c->id && c->session && give_credit(c, &err) < 0)
			drop(r, c, err.text);
	}
}

/* ---- the loop */

static int listen_at(struct sfs_receiver *r, const struct sfs_verbs_place *place,
		     struct sfs_error *err)
{
	struct sockaddr_storage at = place->address;
	int v6_only = 0;

	if (rdma_create_id(r->events, &r->listener, NULL, RDMA_PS_TCP) < 0)
		return sfs_error_set(err, -errno, "rdma_create_id: %s", strerror(errno));
	if (sfs_verbs_is_all(&r->url)) /* whatever net.ipv6.bindv6only says */
		rdma_set_option(r->listener, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY,
				&v6_only, sizeof v6_only);
	if (rdma_bind_addr(r->listener, (struct sockaddr *)&at) == 0 &&
	    rdma_listen(r->listener, 64) == 0)
		return 0;
	sfs_error_set(err, -errno, "%s: %s", r->source,
		      errno == ENODEV || errno == EADDRNOTAVAIL
			      ? "no RDMA device of this host has this address"
			      : strerror(errno));
	rdma_destroy_id(r->listener);
	r->listener = NULL;
	return -EADDRNOTAVAIL;
}

static void lose_listener(struct sfs_receiver *r)
{
	sfs_warning("%s: the RDMA device was removed; waiting for one", r->source);
	rdma_destroy_id(r->listener);
	r->listener = NULL;
}

static void listen_again(struct sfs_receiver *r)
{
	struct sfs_verbs_place place;
	struct sfs_error err;
	uint64_t now = sfs_clock_ns();

	if (r->listener || sfs_clock_between(r->listen_ns, now) < SFS_NS_PER_S)
		return;
	r->listen_ns = now;
	if (sfs_verbs_resolve(&r->url, true, 0, &place, &err) == 0 &&
	    listen_at(r, &place, &err) == 0)
		sfs_warning("%s: listens again", r->source);
}

static struct connection *find_connection(struct sfs_receiver *r,
					  const struct rdma_cm_id *id)
{
	int i;

	for (i = 0; i < CONNECTIONS_MAX; i++)
		if (r->connections[i].id == id)
			return &r->connections[i];
	return NULL;
}

static void connection_event(struct sfs_receiver *r, struct connection *c,
			     enum rdma_cm_event_type event)
{
	switch (event) {
	case RDMA_CM_EVENT_ESTABLISHED:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT: return;
	case RDMA_CM_EVENT_DISCONNECTED:
		if (read_all(r, c) >= 0) /* it may have said why */
			lose(r, c, "the sender closed the connection");
		return;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		drop(r, c, "the RDMA device was removed");
		return;
	default: drop(r, c, rdma_event_str(event));
	}
}

static void take_events(struct sfs_receiver *r)
{
	unsigned char private[256];
	enum rdma_cm_event_type kind;
	struct rdma_cm_event *event;
	struct connection *c;
	struct rdma_cm_id *id;
	size_t n;

	while (rdma_get_cm_event(r->events, &event) == 0) {
		kind = event->event;
		id = event->id;
		n = kind == RDMA_CM_EVENT_CONNECT_REQUEST &&
				    event->param.conn.private_data
			    ? event->param.conn.private_data_len
			    : 0;
		memcpy(private, n ? event->param.conn.private_data : "", n);
		rdma_ack_cm_event(event);
		if (kind == RDMA_CM_EVENT_CONNECT_REQUEST)
			request(r, id, private, n);
		else if (id == r->listener && kind == RDMA_CM_EVENT_DEVICE_REMOVAL)
			lose_listener(r);
		else if ((c = find_connection(r, id)) != NULL)
			connection_event(r, c, kind);
	}
}

/* Who says nothing is dead. */
static void look_at_times(struct sfs_receiver *r)
{
	struct sfs_wire_message ping = {.kind = SFS_WIRE_PING};
	uint64_t now = sfs_clock_ns();
	struct sfs_error err;
	int i;

	for (i = 0; i < CONNECTIONS_MAX; i++) {
		struct connection *c = &r->connections[i];

		if (c->id && sfs_clock_between(c->heard_ns, now) > SFS_TCP_DEAD_NS)
			drop(r, c,
			     c->is_stranger ? "it has not said who it is in 10 s"
					    : "it was silent for 10 s");
		else if (c->id && c->session &&
			 sfs_clock_between(c->said_ns, now) > SFS_TCP_PING_NS &&
			 say(c, &ping, &err) < 0)
			drop(r, c, err.text);
	}
	listen_again(r);
	sfs_sessions_look(&r->sessions);
}

/* Read everything, and ask to be told of more.  true: nothing is left. */
static bool read_connections(struct sfs_receiver *r)
{
	bool is_quiet = true;
	int i, again;

	for (i = 0; i < CONNECTIONS_MAX; i++) {
		struct connection *c = &r->connections[i];
		struct sfs_error err;

		if (!c->id || read_all(r, c) < 0)
			continue;
		if (sfs_verbs_link_arm(&c->link, &err) < 0) {
			drop(r, c, err.text);
			continue;
		}
		again = read_all(r, c);
		is_quiet &= again <= 0;
	}
	return is_quiet;
}

static bool has_hungry(const struct sfs_receiver *r)
{
	int i;

	for (i = 0; i < CONNECTIONS_MAX; i++)
		if (is_wanting(&r->connections[i]) &&
		    sfs_verbs_count(&r->connections[i].slots) == 0)
			return true;
	return false;
}

static int poll_all(struct sfs_receiver *r)
{
	struct pollfd fds[CONNECTIONS_MAX + 3] = {
		{.fd = r->sessions.settings.stop_fd, .events = POLLIN},
		{.fd = r->sessions.wake_fd, .events = POLLIN},
		{.fd = r->events->fd, .events = POLLIN}};
	bool is_quiet = read_connections(r);
	int i, timeout_ms, n_fds = 3;
	eventfd_t n;

	give_credits(r);
	for (i = 0; i < CONNECTIONS_MAX; i++) {
		if (r->connections[i].id) /* poll() takes no more than may be open */
			n_fds = i + 4;
		fds[i + 3] =
			(struct pollfd){.fd = r->connections[i].id
						      ? sfs_verbs_link_fd(
								&r->connections[i].link)
						      : -1,
					.events = POLLIN};
	}
	/* (A slot may be free before it is credited.) */
	timeout_ms = !is_quiet ? 0 : has_hungry(r) ? 5 : 500;
	poll(fds, (nfds_t)n_fds, timeout_ms);
	if (fds[0].revents)
		return -ECANCELED;
	if (fds[1].revents)
		eventfd_read(r->sessions.wake_fd, &n);
	for (i = 0; i < CONNECTIONS_MAX; i++)
		if (fds[i + 3].revents)
			sfs_verbs_link_take_events(&r->connections[i].link);
	if (fds[2].revents)
		take_events(r);
	return 0;
}

/* Senders hear that all has arrived, if need be over a new connection, and leave. */
static void linger(struct sfs_receiver *r)
{
	uint64_t until_ns = sfs_clock_ns() + LINGER_NS;

	while (!sfs_sessions_have_left(&r->sessions) && sfs_clock_ns() < until_ns &&
	       poll_all(r) == 0)
		;
}

static void say_bye(struct sfs_receiver *r)
{
	struct sfs_wire_message bye = {.kind = SFS_WIRE_BYE};
	struct sfs_error err;
	int i;

	if (r->sessions.error != -ECANCELED)
		snprintf(bye.text, sizeof bye.text, "%.500s", r->sessions.why.text);
	for (i = 0; i < CONNECTIONS_MAX; i++)
		if (r->connections[i].id && !r->connections[i].is_stranger &&
		    say(&r->connections[i], &bye, &err) == 0)
			sfs_verbs_link_flush(&r->connections[i].link, BYE_MS);
}

static int verbs_run(struct sfs_receiver *r, struct sfs_error *err)
{
	while (r->sessions.error == 0 && !sfs_sessions_are_over(&r->sessions)) {
		if (poll_all(r) < 0)
			sfs_sessions_fail(&r->sessions, -ECANCELED,
					  "the receiver was stopped");
		look_at_times(r);
	}
	if (r->sessions.error == 0) {
		sfs_ring_end(r->sessions.ring);
		linger(r);
		return 0;
	}
	say_bye(r);
	return sfs_sessions_result(&r->sessions, err);
}

static void close_events(struct sfs_receiver *r)
{
	if (r->listener)
		rdma_destroy_id(r->listener);
	if (r->events)
		rdma_destroy_event_channel(r->events);
}

/* device=nearest becomes that device's name. */
static int choose_device(const struct sfs_receiver_settings *settings,
			 struct sfs_verbs_url *url, struct sfs_error *err)
{
	struct sfs_device_settings device = {0};
	const struct sfs_device_ops *ops;
	char bus[SFS_DEVICE_BUS_MAX];
	int ret;

	if (strcmp(url->device, SFS_VERBS_NEAREST) != 0)
		return 0;
	ret = sfs_device_find(settings->ring.memory, &ops, &device, err);
	if (ret == 0 && !ops)
		ret = sfs_error_set(err, -EINVAL,
				    "device=nearest is nearest to a GPU: add --memory "
				    "cuda, or name a device");
	if (ret == 0)
		ret = ops->locate(device.which, bus, err);
	return ret < 0 ? ret
		       : sfs_verbs_find_nearest(bus, url->device, sizeof url->device,
						err);
}

static int verbs_open(const struct sfs_receiver_settings *settings,
		      struct sfs_receiver **ret, struct sfs_error *err)
{
	struct sfs_receiver *r = sfs_calloc(1, sizeof *r);
	struct sfs_verbs_place place;
	int error = sfs_verbs_parse_url(settings->source, &r->url, err);
	size_t n = strcspn(settings->source, "?");

	r->source = sfs_strdup(settings->source);
	if (error == 0)
		error = sfs_verbs_channel(&r->events, err);
	if (error == 0)
		error = choose_device(settings, &r->url, err);
	if (error == 0)
		error = sfs_verbs_resolve(&r->url, true, 0, &place, err);
	if (error == 0)
		error = sfs_guard_check(
			settings,
			sfs_guard_is_loopback((struct sockaddr *)&place.address), err);
	if (error == 0)
		error = listen_at(r, &place, err);
	if (error < 0) {
		close_events(r);
		free(r->source);
		free(r);
		return error;
	}
	/* With the port that it has, which it keeps. */
	snprintf(r->url.port, sizeof r->url.port, "%u",
		 ntohs(rdma_get_src_port(r->listener)));
	free(r->source);
	while (n > 0 && settings->source[n - 1] != ':')
		n--;
	r->source = sfs_asprintf("%.*s%s", (int)n, settings->source, r->url.port);
	sfs_sessions_open(&r->sessions, settings);
	*ret = r;
	return 0;
}

static struct sfs_ring *verbs_ring(struct sfs_receiver *r)
{
	return r->sessions.ring;
}

static void verbs_describe(struct sfs_receiver *r, struct sfs_json_writer *json)
{
	sfs_json_put_string(json, "source", r->source);
	sfs_json_put_uint(json, "received", r->sessions.n_received);
	sfs_json_put_uint(json, "repeated", r->sessions.n_repeated);
	sfs_json_put_uint(json, "connections", r->sessions.n_connections);
	sfs_json_put_uint(json, "refused", r->guard.n);
}

static uint64_t verbs_refused(struct sfs_receiver *r)
{
	return r->guard.n;
}

static void verbs_close(struct sfs_receiver *r)
{
	int i;

	for (i = 0; i < CONNECTIONS_MAX; i++)
		if (r->connections[i].id)
			forget(r, &r->connections[i]);
	close_events(r);
	sfs_sessions_close(&r->sessions);
	free(r->source);
	free(r);
}

extern const struct sfs_receiver_ops sfs_receiver_plugin;
const struct sfs_receiver_ops sfs_receiver_plugin = {.version = SFS_RECEIVER_VERSION,
						     .schemes = "rdma",
						     .has_direct = true,
						     .open = verbs_open,
						     .run = verbs_run,
						     .ring = verbs_ring,
						     .describe = verbs_describe,
						     .close = verbs_close,
						     .refused = verbs_refused};
