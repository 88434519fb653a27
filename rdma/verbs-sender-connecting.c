/* SPDX-License-Identifier: MIT */
/* How this works: an address and a route are resolved, then the connection manager takes
 * HELLO to the receiver as private data, and its answer back.  With a secret (auth.h)
 * that is a CHALLENGE, and PROOF and the REPLY to it are the first messages of the queue
 * pair.  The outbox's memory is registered for each connection. */
#include "verbs-sender-internal.h"

#include "transport/auth.h"
#include "transport/secret.h"
#include "transport/socket.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#define RESOLVE_MS    2000
#define RETRIES	      6 /* 7 is "for ever" to some drivers */
#define RNR_RETRIES   7
#define NOT_LISTENING 8 /* reason of a rejection: no such service */

int sfs_verbs_sender_take_event(struct sfs_transport *t, enum rdma_cm_event_type *ret,
				int *status)
{
	struct rdma_cm_event *event;

	if (rdma_get_cm_event(t->events, &event) < 0)
		return -EAGAIN;
	*ret = event->event;
	*status = event->status;
	t->n_private = 0;
	if ((event->event == RDMA_CM_EVENT_REJECTED ||
	     event->event == RDMA_CM_EVENT_ESTABLISHED) &&
	    event->param.conn.private_data) {
		t->n_private = event->param.conn.private_data_len;
		memcpy(t->private, event->param.conn.private_data, t->n_private);
	}
	rdma_ack_cm_event(event);
	return 0;
}

static int take_reply(struct sfs_transport *t, const struct sfs_wire_reply *reply,
		      struct sfs_error *err)
{
	int ret = sfs_outbox_take_reply(&t->box, reply, err);

	if (ret < 0)
		return ret;
	t->next = reply->resume;
	if (t->highest < t->next)
		t->highest = t->next;
	return 0;
}

static int verbs_rejected(struct sfs_transport *t, int status, struct sfs_error *err)
{
	struct sfs_wire_reply reply;

	if (t->n_private > 0 && t->private[0]) {
		if (sfs_verbs_get_reply(t->private, t->n_private, &reply, err) < 0)
			return -ECONNABORTED;
		return reply.code == SFS_WIRE_REFUSE || reply.code == SFS_WIRE_BUSY
			       ? sfs_outbox_take_reply(&t->box, &reply, err)
			       : sfs_error_set(err, -EPROTO,
					       "it accepted and rejected the "
					       "connection");
	}
	return sfs_error_set(err, -ECONNREFUSED,
			     status == NOT_LISTENING || status == -ECONNREFUSED
				     ? "nobody listens there"
				     : "the connection was rejected (reason %d)",
			     status);
}

int sfs_verbs_sender_failed(struct sfs_transport *t, enum rdma_cm_event_type event,
			    int status, struct sfs_error *err)
{
	switch (event) {
	case RDMA_CM_EVENT_REJECTED: return verbs_rejected(t, status, err);
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
		return sfs_error_set(err, -EHOSTUNREACH,
				     "no RDMA device of this host can reach it (%s)",
				     strerror(status < 0 ? -status : EHOSTUNREACH));
	case RDMA_CM_EVENT_UNREACHABLE:
		return sfs_error_set(err, -EHOSTUNREACH, "the receiver does not answer");
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return sfs_error_set(err, -ENODEV, "the RDMA device was removed");
	case RDMA_CM_EVENT_DISCONNECTED:
		return sfs_error_set(err, -ECONNRESET,
				     "the receiver closed the connection");
	default:
		return sfs_error_set(err, -ECONNRESET, "%s (%d)", rdma_event_str(event),
				     status);
	}
}

/* Not much after give_up_ms. */
static uint64_t end_of_waiting(const struct sfs_transport *t)
{
	uint64_t now = sfs_clock_ns();
	uint64_t least_ns = now + RESOLVE_MS * SFS_NS_PER_MS,
		 most_ns = now + SFS_TCP_DEAD_NS;
	uint64_t give_up_ns = t->patience.since_ns + t->box.give_up_ms * SFS_NS_PER_MS;

	if (t->box.give_up_ms == 0 || give_up_ns > most_ns)
		return most_ns;
	return give_up_ns > least_ns ? give_up_ns : least_ns;
}

static int verbs_expect(struct sfs_transport *t, enum rdma_cm_event_type wanted,
			struct sfs_error *err)
{
	uint64_t until_ns = end_of_waiting(t);
	enum rdma_cm_event_type event;
	int status, ret;

	do {
		ret = sfs_outbox_wait_for(&t->box, t->events->fd, POLLIN, until_ns);
		if (ret < 0)
			return sfs_error_set(err, ret, "the receiver does not answer");
	} while (sfs_verbs_sender_take_event(t, &event, &status) < 0);
	return event == wanted ? 0 : sfs_verbs_sender_failed(t, event, status, err);
}

/* Before the id goes: the library closes a device that was removed with its last id. */
static void leave_device(struct sfs_transport *t)
{
	sfs_verbs_unregister(&t->range);
	if (t->pd)
		ibv_dealloc_pd(t->pd);
	t->pd = NULL;
}

static int enter_device(struct sfs_transport *t, struct sfs_error *err)
{
	t->pd = ibv_alloc_pd(t->id->verbs);
	if (!t->pd)
		return sfs_error_set(err, -errno, "%s: %s",
				     ibv_get_device_name(t->id->verbs->device),
				     strerror(errno));
	return sfs_verbs_register(t->pd, t->box.memory, t->box.stride * t->box.n_slots,
				  false, &t->range, err);
}

static int verbs_resolve(struct sfs_transport *t, struct sfs_error *err)
{
	struct sfs_verbs_place place;
	int ret = sfs_verbs_resolve(&t->url, false, t->n_attempts++, &place, err);

	if (ret < 0)
		return ret;
	if (rdma_create_id(t->events, &t->id, t, RDMA_PS_TCP) < 0)
		return sfs_error_set(err, -errno, "rdma_create_id: %s", strerror(errno));
	if (rdma_resolve_addr(t->id,
			      place.has_from ? (struct sockaddr *)&place.from : NULL,
			      (struct sockaddr *)&place.address, RESOLVE_MS) < 0)
		return sfs_error_set(err, -errno,
				     "no RDMA device of this host can reach it (%s)",
				     strerror(errno));
	ret = verbs_expect(t, RDMA_CM_EVENT_ADDR_RESOLVED, err);
	if (ret == 0)
		ret = sfs_verbs_check_device(&t->url, t->id, err);
	if (ret < 0)
		return ret;
	sfs_verbs_set_ack_timeout(t->id);
	if (rdma_resolve_route(t->id, RESOLVE_MS) < 0)
		return sfs_error_set(err, -errno, "rdma_resolve_route: %s",
				     strerror(errno));
	return verbs_expect(t, RDMA_CM_EVENT_ROUTE_RESOLVED, err);
}

int sfs_verbs_sender_connect(struct sfs_transport *t, struct sfs_error *err)
{
	struct rdma_conn_param param = {.private_data = t->hello,
					.private_data_len = sizeof t->hello,
					.retry_count = RETRIES,
					.rnr_retry_count = RNR_RETRIES};
	struct sfs_wire_hello hello;
	int ret = t->events ? 0 : sfs_verbs_channel(&t->events, err);

	if (ret == 0)
		ret = verbs_resolve(t, err);
	if (ret == 0)
		ret = enter_device(t, err);
	if (ret == 0)
		ret = sfs_verbs_link_open(&t->link, t->id, t->pd, err);
	if (ret < 0)
		return ret == -ENOMEM ? -ECONNABORTED : ret;
	hello = sfs_outbox_hello(&t->box);
	sfs_wire_put_hello(&hello, t->hello);
	if (rdma_connect(t->id, &param) < 0)
		return sfs_error_set(err, -errno, "rdma_connect: %s", strerror(errno));
	return verbs_expect(t, RDMA_CM_EVENT_ESTABLISHED, err);
}

/* The answer to PROOF. */
static int verbs_hear(struct sfs_transport *t, struct sfs_wire_reply *ret_reply,
		      struct sfs_error *err)
{
	uint64_t until_ns = end_of_waiting(t);
	const unsigned char *bytes;
	size_t n;
	int ret;

	while ((ret = sfs_verbs_link_next(&t->link, &bytes, &n, err)) == 0) {
		ret = sfs_verbs_link_arm(&t->link, err);
		if (ret < 0)
			return ret;
		ret = sfs_verbs_link_next(&t->link, &bytes, &n, err);
		if (ret != 0)
			break;
		if (sfs_outbox_is_stopping(&t->box))
			return -ECANCELED;
		if (sfs_clock_ns() >= until_ns)
			return sfs_error_set(err, -ETIMEDOUT,
					     "the receiver does not answer");
		ret = sfs_verbs_sender_sleep_until_news(t, err);
		if (ret < 0)
			return ret;
	}
	if (ret < 0)
		return ret;
	return sfs_verbs_get_reply(bytes, n, ret_reply, err) < 0 ? -ECONNABORTED : 0;
}

int sfs_verbs_sender_agree(struct sfs_transport *t, struct sfs_error *err)
{
	unsigned char nonce[SFS_WIRE_NONCE_BYTES], proof[SFS_WIRE_PROOF_BYTES];
	struct sfs_wire_reply reply;
	struct sfs_auth auth;
	int ret;

	if (sfs_verbs_get_reply(t->private, t->n_private, &reply, err) < 0)
		return -ECONNABORTED;
	sfs_secret_nonce(nonce);
	ret = sfs_auth_answer(&auth, "rdma", t->box.secret, t->hello, &reply, nonce,
			      proof, err);
	if (ret < 0)
		return -ECONNABORTED;
	if (ret > 0) {
		ret = sfs_verbs_link_send(&t->link, proof, sizeof proof, err);
		if (ret == 0)
			ret = verbs_hear(t, &reply, err);
		if (ret < 0)
			return ret;
		if (sfs_auth_check_reply(&auth, t->box.secret, &reply, err) < 0)
			return -ECONNABORTED;
	}
	return take_reply(t, &reply, err);
}

void sfs_verbs_sender_disconnect(struct sfs_transport *t)
{
	if (t->link.id)
		rdma_disconnect(t->id);
	sfs_verbs_link_close(&t->link);
	leave_device(t);
	if (t->id)
		rdma_destroy_id(t->id);
	t->id = NULL;
	if (t->events)
		rdma_destroy_event_channel(
			t->events); /* with what it still has to tell */
	t->events = NULL;
}
