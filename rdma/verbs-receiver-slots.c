/* SPDX-License-Identifier: MIT */
/* How this works: slots of the ring are taken before they are needed and given to the
 * senders, which write into them.  The ring's slots are shared out evenly among the
 * senders that there are or are expected, at least one to each, and who has fewest gets
 * the next that is free. */
#include "verbs-receiver-internal.h"

#include "base/clock.h"

#include <errno.h>

void sfs_verbs_receiver_take_back_slots(struct sfs_receiver *r,
					struct sfs_verbs_connection *c)
{
	uint32_t slot;

	while (sfs_verbs_use(&c->slots, &slot))
		r->spare[r->n_spare++] = r->slots + slot * r->stride;
}

static bool is_wanting(const struct sfs_verbs_connection *c)
{
	return c->id && c->session && !c->session->has_end;
}

/* Who has the fewest slots, if it may have one more. */
static struct sfs_verbs_connection *find_poorest(struct sfs_receiver *r)
{
	struct sfs_verbs_connection *poorest = NULL;
	uint32_t i, n = 0, n_ended = 0, n_slots = r->sessions.settings.ring.n_slots;

	for (i = 0; i < SFS_VERBS_CONNECTIONS; i++) {
		struct sfs_verbs_connection *c = &r->connections[i];

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

	for (i = 0; i < SFS_VERBS_CONNECTIONS; i++)
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
	struct sfs_verbs_connection *c;
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
			sfs_verbs_receiver_drop(r, c, err.text);
	}
}

static int give_credit(struct sfs_verbs_connection *c, struct sfs_error *err)
{
	struct sfs_wire_message m = {.kind = SFS_WIRE_CREDIT,
				     .seq = c->session->credited};
	int ret = 0;

	if (m.seq != c->credit_said)
		ret = sfs_verbs_receiver_say(c, &m, err);
	c->credit_said = m.seq;
	if (ret < 0 || !sfs_session_is_done(c->session) || c->has_said_ended)
		return ret;
	m.kind = SFS_WIRE_ENDED;
	c->has_said_ended = true;
	return sfs_verbs_receiver_say(c, &m, err);
}

void sfs_verbs_receiver_give_credits(struct sfs_receiver *r)
{
	struct sfs_error err;
	int i;

	sfs_sessions_credit(&r->sessions);
	if (r->sessions.ring && r->sessions.error == 0)
		give_slots(r);
	for (i = 0; i < SFS_VERBS_CONNECTIONS; i++) {
		struct sfs_verbs_connection *c = &r->connections[i];

		if (c->id && c->session && c->session->must_rewind)
			sfs_verbs_receiver_forget(r, c);
		else if (c->id && c->session && give_credit(c, &err) < 0)
			sfs_verbs_receiver_drop(r, c, err.text);
	}
}

bool sfs_verbs_receiver_has_hungry(const struct sfs_receiver *r)
{
	int i;

	for (i = 0; i < SFS_VERBS_CONNECTIONS; i++)
		if (is_wanting(&r->connections[i]) &&
		    sfs_verbs_count(&r->connections[i].slots) == 0)
			return true;
	return false;
}
