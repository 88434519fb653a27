/* SPDX-License-Identifier: MIT */
/* How this works: a connection that breaks gives back the slots that it has not filled,
 * after its queue pair is gone: only then nobody writes to them.
 *
 * With a secret (auth.h) a request is accepted with a CHALLENGE, and its sender is a
 * stranger until its first message proves that it has the secret: it may not write, gets
 * no slot and no key of the ring, and no session hears of it.  A stranger that is refused
 * is told so, and is left to hang up: nobody waits until it has read that.
 *
 * The ring is registered once for each device, for as long as a connection uses it
 * (verbs-placement.h); so slots of one ring may be in a GPU's memory for one card, and on
 * the host for another. */
#include "verbs-receiver-internal.h"

#include "transport/secret.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct sfs_verbs_domain *enter_domain(struct sfs_receiver *r,
					     struct ibv_context *verbs,
					     struct sfs_error *err)
{
	struct sfs_verbs_domain *d, *free_one = NULL;
	int i;

	for (i = 0; i < SFS_VERBS_CONNECTIONS; i++) {
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
static void leave_domain(struct sfs_verbs_domain *d)
{
	if (!d || --d->n_users > 0)
		return;
	sfs_verbs_unplace(&d->ring);
	ibv_dealloc_pd(d->pd);
	memset(d, 0, sizeof *d);
}

void sfs_verbs_receiver_forget(struct sfs_receiver *r, struct sfs_verbs_connection *c)
{
	rdma_disconnect(c->id);
	sfs_verbs_link_close(&c->link);
	sfs_verbs_receiver_take_back_slots(r, c);
	leave_domain(c->domain);
	rdma_destroy_id(c->id);
	if (c->session)
		sfs_sessions_lose(c->session);
	memset(c, 0, sizeof *c);
}

void sfs_verbs_receiver_drop(struct sfs_receiver *r, struct sfs_verbs_connection *c,
			     const char *why)
{
	if (c->is_stranger && !c->is_refused)
		sfs_guard_refuse(&r->guard, r->source, c->peer, why);
	else if (!c->is_refused)
		sfs_warning("%s: %s: %s", r->source, c->peer, why);
	sfs_verbs_receiver_forget(r, c);
}

void sfs_verbs_receiver_lose(struct sfs_receiver *r, struct sfs_verbs_connection *c,
			     const char *why)
{
	if (c->session && sfs_session_is_done(c->session))
		sfs_verbs_receiver_forget(r, c);
	else
		sfs_verbs_receiver_drop(r, c, why);
}

int sfs_verbs_receiver_say(struct sfs_verbs_connection *c,
			   const struct sfs_wire_message *m, struct sfs_error *err)
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

static void verbs_reject(struct sfs_receiver *r, struct rdma_cm_id *id,
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

	for (i = 0; i < SFS_VERBS_CONNECTIONS; i++)
		n += r->connections[i].id && !r->connections[i].is_stranger;
	if (n < n_slots)
		return 0;
	reply->code = SFS_WIRE_BUSY;
	snprintf(reply->text, sizeof reply->text,
		 "its ring has %u slots, and each sender needs one", n_slots);
	return -EBUSY;
}

/* Where all places are in use, that of the oldest stranger; NULL: there is none. */
static struct sfs_verbs_connection *find_place(struct sfs_receiver *r)
{
	struct sfs_verbs_connection *c, *oldest = NULL;
	int i;

	for (i = 0; i < SFS_VERBS_CONNECTIONS; i++) {
		c = &r->connections[i];
		if (!c->id)
			return c;
		if (c->is_stranger && (!oldest || c->heard_ns < oldest->heard_ns))
			oldest = c;
	}
	if (oldest)
		sfs_verbs_receiver_drop(
			r, oldest,
			"it did not say who it is, and its place was needed");
	return oldest;
}

static int accept_one(struct sfs_receiver *r, struct sfs_verbs_connection *c,
		      struct rdma_cm_id *id, const struct sfs_wire_reply *reply,
		      struct sfs_error *err)
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
static void verbs_greet(struct sfs_receiver *r, struct sfs_wire_hello *hello,
			struct sfs_wire_reply *reply)
{
	void *old = NULL;

	sfs_sessions_greet(&r->sessions, hello, NULL, reply, &old);
	if (old)
		sfs_verbs_receiver_forget(r, old);
}

/* As a reply that refuses, if it is not to be accepted; or as a challenge. */
static void verbs_answer(struct sfs_receiver *r, struct rdma_cm_id *id, const void *bytes,
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
		verbs_greet(r, hello, reply);
	} else if (ret < 0) {
		reply->code = SFS_WIRE_REFUSE;
		snprintf(reply->text, sizeof reply->text, "%.500s", err.text);
	}
}

/* What it writes before it has proved who it is would be an error of its queue pair. */
static void forbid_writes(struct sfs_receiver *r, struct sfs_verbs_connection *c)
{
	struct sfs_error err;

	if (sfs_verbs_link_let_write(&c->link, false, &err) == 0)
		c->may_not_write = true;
	else
		sfs_warning("%s: %s: cannot keep it from writing before it has proved "
			    "who it is: %s",
			    r->source, c->peer, err.text);
}

void sfs_verbs_receiver_request(struct sfs_receiver *r, struct rdma_cm_id *id,
				const void *bytes, size_t n)
{
	struct sfs_wire_hello hello;
	struct sfs_wire_reply reply;
	struct sfs_auth auth;
	struct sfs_verbs_connection *c = NULL;
	struct sfs_error err;
	bool is_stranger;

	verbs_answer(r, id, bytes, n, &hello, &auth, &reply);
	is_stranger = reply.code == SFS_WIRE_CHALLENGE;
	if (is_stranger || (reply.code == SFS_WIRE_ACCEPT && check_slots(r, &reply) == 0))
		c = find_place(r);
	if (!c) {
		if (is_stranger) /* all places are senders' */
			check_slots(r, &reply);
		verbs_reject(r, id, &reply);
		return;
	}
	if (accept_one(r, c, id, &reply, &err) < 0) {
		reply.code = SFS_WIRE_BUSY;
		snprintf(reply.text, sizeof reply.text, "%.500s", err.text);
		verbs_reject(r, id, &reply);
		return;
	}
	c->hello = hello;
	c->auth = auth;
	c->is_stranger = is_stranger;
	if (is_stranger)
		forbid_writes(r, c);
}

/* ---- a stranger */

static int say_reply(struct sfs_verbs_connection *c, const struct sfs_wire_reply *reply,
		     struct sfs_error *err)
{
	unsigned char bytes[SFS_WIRE_REPLY_BYTES + SFS_WIRE_TEXT_MAX];
	size_t n = sfs_wire_put_reply(reply, bytes);

	c->said_ns = sfs_clock_ns();
	return sfs_verbs_link_send(&c->link, bytes, n, err);
}

/* It hears why, and hangs up; or it is dropped when its 10 s are over. */
static int verbs_refuse(struct sfs_receiver *r, struct sfs_verbs_connection *c,
			enum sfs_wire_code code, const char *why, struct sfs_error *err)
{
	struct sfs_wire_reply no = {.session = c->hello.session, .code = code};

	snprintf(no.text, sizeof no.text, "%.500s", why);
	count_refusal(r, c->peer, no.text);
	c->is_refused = true;
	return say_reply(c, &no, err);
}

int sfs_verbs_receiver_take_proof(struct sfs_receiver *r, struct sfs_verbs_connection *c,
				  const unsigned char *bytes, size_t n,
				  struct sfs_error *err)
{
	const struct sfs_secret *secret = r->sessions.settings.secret;
	struct sfs_wire_reply reply = {.session = 0};
	int ret;

	if (c->is_refused)
		return sfs_error_set(err, -EPROTO, "it was refused, but kept sending");
	ret = n < SFS_WIRE_PREFIX_BYTES
		      ? sfs_error_set(err, -EPROTO, "a message of %zu bytes", n)
		      : sfs_wire_check_prefix(bytes, "sender", err);
	if (ret >= 0)
		ret = sfs_auth_check_proof(&c->auth, secret, bytes, n, err);
	if (ret < 0)
		return verbs_refuse(r, c, SFS_WIRE_REFUSE, err->text, err);
	if (check_slots(r, &reply) == 0)
		verbs_greet(r, &c->hello, &reply);
	if (reply.code != SFS_WIRE_ACCEPT)
		return verbs_refuse(r, c, reply.code, reply.text, err);
	if (c->may_not_write)
		ret = sfs_verbs_link_let_write(&c->link, true, err);
	if (ret < 0)
		return ret;
	c->is_stranger = false;
	c->heard_ns = sfs_clock_ns();
	sfs_auth_sign(&c->auth, secret, &reply);
	return say_reply(c, &reply, err);
}
