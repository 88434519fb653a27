/* SPDX-License-Identifier: MIT */
/* How this works: a connection is a stranger until its HELLO is answered, with a secret
 * until it has proved that it has it (auth.h).  It has 10 s for that in all, and when
 * places are short, it is strangers that lose theirs.  No session hears of one. */
#include "transport/tcp-receiver-internal.h"

#include "transport/secret.h"

#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ACCEPTS_MAX 16 /* at once: then those that are here are served */

void sfs_tcp_receiver_say(struct sfs_tcp_connection *c, const struct sfs_wire_message *m)
{
	unsigned char bytes[SFS_WIRE_MESSAGE_MAX];
	size_t n = sfs_wire_put(m, NULL, bytes);

	/* What does not fit into the socket's buffer whole would break the stream: the
	 * peer does not read, and gets a new connection. */
	if (send(c->fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)n)
		shutdown(c->fd, SHUT_RDWR);
	c->said_ns = sfs_clock_ns();
}

static void tcp_reply(struct sfs_tcp_connection *c, const struct sfs_wire_reply *reply)
{
	unsigned char bytes[SFS_WIRE_REPLY_BYTES + SFS_WIRE_TEXT_MAX];
	size_t n = sfs_wire_put_reply(reply, bytes);

	if (send(c->fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)n)
		shutdown(c->fd, SHUT_RDWR);
	c->said_ns = sfs_clock_ns();
}

void sfs_tcp_receiver_forget(struct sfs_receiver *r, struct sfs_tcp_connection *c)
{
	struct sfs_session *session = c->session;

	if (c->slot)
		r->spare[r->n_spare++] = c->slot;
	close(c->fd);
	memset(c, 0, sizeof *c);
	c->fd = -1;
	if (session)
		sfs_sessions_lose(session);
}

void sfs_tcp_receiver_drop(struct sfs_receiver *r, struct sfs_tcp_connection *c,
			   const char *why)
{
	if (c->is_stranger)
		sfs_guard_refuse(&r->guard, r->source, c->peer, why);
	else
		sfs_warning("%s: %s: %s", r->source, c->peer, why);
	sfs_tcp_receiver_forget(r, c);
}

int sfs_tcp_receiver_refuse(struct sfs_tcp_connection *c, enum sfs_wire_code code,
			    const char *why, struct sfs_error *err)
{
	struct sfs_wire_reply no = {.session = c->hello.session, .code = code};

	snprintf(no.text, sizeof no.text, "%s", why);
	tcp_reply(c, &no);
	return sfs_error_set(err, -EPROTO, "refused: %s",
			     no.text); /* (why may be err's) */
}

/* Has its sender gone?  One that waits for a slot is not read, which may take as long as
 * trainers pause, so its end would not be noticed. */
static bool has_gone(const void *connection)
{
	const struct sfs_tcp_connection *c = connection;
	struct pollfd p = {.fd = c->fd, .events = POLLRDHUP};

	return c->wants_slot && poll(&p, 1, 0) > 0;
}

/* It is none of those who must stay outside. */
static int tcp_greet(struct sfs_receiver *r, struct sfs_tcp_connection *c,
		     struct sfs_error *err)
{
	const struct sfs_secret *secret = r->sessions.settings.secret;
	struct sfs_wire_reply answer;
	void *old;

	sfs_sessions_greet(&r->sessions, &c->hello, has_gone, &answer, &old);
	if (old)
		sfs_tcp_receiver_forget(r, old);
	if (answer.code != SFS_WIRE_ACCEPT)
		return sfs_tcp_receiver_refuse(c, answer.code, answer.text, err);
	c->is_stranger = false;
	if (secret)
		sfs_auth_sign(&c->auth, secret, &answer);
	tcp_reply(c, &answer);
	return 0;
}

int sfs_tcp_receiver_take_hello(struct sfs_receiver *r, struct sfs_tcp_connection *c,
				struct sfs_error *err)
{
	unsigned char nonce[SFS_WIRE_NONCE_BYTES];
	struct sfs_wire_reply challenge;
	int ret = sfs_wire_get_hello(c->in, c->n_in, &c->hello, err);

	if (ret < 0)
		return sfs_tcp_receiver_refuse(c, SFS_WIRE_REFUSE, err->text, err);
	sfs_secret_nonce(nonce);
	ret = sfs_auth_challenge(&c->auth, "tcp", r->sessions.settings.secret, c->in,
				 &c->hello, nonce, &challenge, err);
	if (ret < 0)
		return sfs_tcp_receiver_refuse(c, SFS_WIRE_REFUSE, err->text, err);
	c->must_prove = ret > 0;
	if (!c->must_prove)
		return tcp_greet(r, c, err);
	tcp_reply(c, &challenge);
	return 0;
}

int sfs_tcp_receiver_take_proof(struct sfs_receiver *r, struct sfs_tcp_connection *c,
				struct sfs_error *err)
{
	int ret = sfs_auth_check_proof(&c->auth, r->sessions.settings.secret, c->in,
				       c->n_in, err);

	return ret < 0 ? sfs_tcp_receiver_refuse(c, SFS_WIRE_REFUSE, err->text, err)
		       : tcp_greet(r, c, err);
}

/* May another get its place?  It has brought no batch; with a secret, it has proved
 * nothing. */
static bool may_be_replaced(const struct sfs_receiver *r,
			    const struct sfs_tcp_connection *c)
{
	if (r->sessions.settings.secret)
		return c->is_stranger;
	return !c->session || !c->session->has_brought;
}

/* Of two that may be replaced, the one that is needed less.  One without a session is,
 * even more so if it has said nothing of use for longer; else the one that was here
 * first. */
static struct sfs_tcp_connection *tcp_lesser(struct sfs_tcp_connection *a,
					     struct sfs_tcp_connection *b)
{
	if (!a || (a->session && !b->session))
		return b;
	if (!a->session && b->session)
		return a;
	if (!a->session)
		return b->heard_ns < a->heard_ns ? b : a;
	return b->begun_ns < a->begun_ns ? b : a;
}

/* Where all are in use, that of one that may be replaced; NULL: there is none. */
static struct sfs_tcp_connection *find_place(struct sfs_receiver *r)
{
	struct sfs_tcp_connection *c, *least = NULL;
	int i;

	for (i = 0; i < SFS_TCP_CONNECTIONS; i++) {
		c = &r->connections[i];
		if (c->fd < 0)
			return c;
		if (may_be_replaced(r, c))
			least = tcp_lesser(least, c);
	}
	if (least)
		sfs_tcp_receiver_drop(r, least,
				      "it sent no batch, and its place was needed");
	return least;
}

void sfs_tcp_receiver_accept(struct sfs_receiver *r)
{
	struct sfs_tcp_connection fresh, *c;
	int n, ret = 0;

	memset(&fresh, 0, sizeof fresh);
	fresh.is_stranger = true;
	for (n = 0; n < ACCEPTS_MAX &&
		    (ret = sfs_socket_accept(r->listen_fd, &fresh.fd, fresh.peer)) == 0;
	     n++) {
		c = find_place(r);
		fresh.begun_ns = fresh.heard_ns = fresh.said_ns = sfs_clock_ns();
		if (c) {
			*c = fresh;
			continue;
		}
		sfs_guard_refuse(&r->guard, r->source, fresh.peer,
				 "refused: too many connections");
		close(fresh.fd);
	}
	r->has_no_file = ret == -EMFILE || ret == -ENFILE;
}
