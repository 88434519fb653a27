/* SPDX-License-Identifier: MIT */
/* How this works: one thread polls the events of the connection manager, the completions
 * of all connections, and an eventfd which is written when consumers have released
 * batches (sessions.h).  A batch is published when its message comes; its bytes were
 * written before, into a slot that its sender was given (verbs-receiver-slots.c). */
#include "verbs-receiver-internal.h"

#include "ring/device.h"
#include "transport/receive-loop.h"
#include "transport/socket.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define FLUSH_MS 500

/* ---- messages */

/* The ring may have been made by this connection or by another. */
static int verbs_offer(struct sfs_receiver *r, struct sfs_verbs_connection *c,
		       struct sfs_error *err)
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

static int take_layout(struct sfs_receiver *r, struct sfs_verbs_connection *c,
		       const struct shufflefs_layout *layout, struct sfs_error *err)
{
	int ret;

	if (c->session)
		return sfs_error_set(err, -EPROTO, "it sent a second layout");
	ret = sfs_sessions_begin(&r->sessions, &c->hello, layout, c, &c->session, err);
	return ret < 0 ? ret : verbs_offer(r, c, err);
}

static int take_batch(struct sfs_receiver *r, struct sfs_verbs_connection *c,
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

static int take_message(struct sfs_receiver *r, struct sfs_verbs_connection *c,
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
		return sfs_error_set(err, -EPROTO,
				     "it sent a message before the layout");
	switch (m.kind) {
	case SFS_WIRE_BATCH: return take_batch(r, c, &m, err);
	case SFS_WIRE_END:
		ret = sfs_sessions_end(c->session, m.seq, err);
		if (ret == 0)
			sfs_verbs_receiver_take_back_slots(
				r, c); /* it needs none any more */
		return ret;
	case SFS_WIRE_BYE:
		return sfs_sessions_bye(&r->sessions, c->session, &m, c->peer,
					c->has_said_ended, err);
	default: return sfs_error_set(err, -EPROTO,
				      "it sent a message that only receivers send");
	}
}

/* How many were read; < 0: the connection is gone. */
static int read_all(struct sfs_receiver *r, struct sfs_verbs_connection *c)
{
	struct sfs_error err = {""};
	const unsigned char *bytes;
	int ret, count = 0;
	size_t n;

	while ((ret = sfs_verbs_link_next(&c->link, &bytes, &n, &err)) > 0) {
		if (!c->is_stranger)
			c->heard_ns = sfs_clock_ns();
		count++;
		ret = c->is_stranger ? sfs_verbs_receiver_take_proof(r, c, bytes, n, &err)
				     : take_message(r, c, bytes, n, &err);
		if (ret < 0)
			break;
	}
	if (ret == 0)
		return count;
	sfs_verbs_receiver_lose(r, c, err.text);
	return ret;
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
		sfs_warning("%s: listening again", r->source);
}

static struct sfs_verbs_connection *find_connection(struct sfs_receiver *r,
						    const struct rdma_cm_id *id)
{
	int i;

	for (i = 0; i < SFS_VERBS_CONNECTIONS; i++)
		if (r->connections[i].id == id)
			return &r->connections[i];
	return NULL;
}

static void connection_event(struct sfs_receiver *r, struct sfs_verbs_connection *c,
			     enum rdma_cm_event_type event)
{
	switch (event) {
	case RDMA_CM_EVENT_ESTABLISHED:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT: return;
	case RDMA_CM_EVENT_DISCONNECTED:
		if (read_all(r, c) >= 0) /* it may have said why */
			sfs_verbs_receiver_lose(r, c, "the sender closed the connection");
		return;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		sfs_verbs_receiver_drop(r, c, "the RDMA device was removed");
		return;
	default: sfs_verbs_receiver_drop(r, c, rdma_event_str(event));
	}
}

static void take_events(struct sfs_receiver *r)
{
	unsigned char private[256];
	enum rdma_cm_event_type kind;
	struct rdma_cm_event *event;
	struct sfs_verbs_connection *c;
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
			sfs_verbs_receiver_request(r, id, private, n);
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

	for (i = 0; i < SFS_VERBS_CONNECTIONS; i++) {
		struct sfs_verbs_connection *c = &r->connections[i];

		if (c->id && sfs_clock_between(c->heard_ns, now) > SFS_TCP_DEAD_NS)
			sfs_verbs_receiver_drop(
				r, c,
				c->is_stranger ? "it did not say who it is within 10 s"
					       : "it was silent for 10 s");
		else if (c->id && c->session &&
			 sfs_clock_between(c->said_ns, now) > SFS_TCP_PING_NS &&
			 sfs_verbs_receiver_say(c, &ping, &err) < 0)
			sfs_verbs_receiver_drop(r, c, err.text);
	}
	listen_again(r);
	sfs_sessions_look(&r->sessions);
}

/* Read everything, and ask to be told of more.  true: nothing is left. */
static bool read_connections(struct sfs_receiver *r)
{
	bool is_quiet = true;
	int i, again;

	for (i = 0; i < SFS_VERBS_CONNECTIONS; i++) {
		struct sfs_verbs_connection *c = &r->connections[i];
		struct sfs_error err;

		if (!c->id || read_all(r, c) < 0)
			continue;
		if (sfs_verbs_link_arm(&c->link, &err) < 0) {
			sfs_verbs_receiver_drop(r, c, err.text);
			continue;
		}
		again = read_all(r, c);
		is_quiet &= again <= 0;
	}
	return is_quiet;
}

static int poll_all(struct sfs_receiver *r)
{
	struct pollfd fds[SFS_VERBS_CONNECTIONS + 3] = {
		{.fd = r->sessions.settings.stop_fd, .events = POLLIN},
		{.fd = r->sessions.wake_fd, .events = POLLIN},
		{.fd = r->events->fd, .events = POLLIN}};
	bool is_quiet = read_connections(r);
	int i, timeout_ms, n_fds = 3;
	eventfd_t n;

	sfs_verbs_receiver_give_credits(r);
	for (i = 0; i < SFS_VERBS_CONNECTIONS; i++) {
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
	timeout_ms = !is_quiet ? 0 : sfs_verbs_receiver_has_hungry(r) ? 5 : 500;
	poll(fds, (nfds_t)n_fds, timeout_ms);
	if (fds[0].revents)
		return -ECANCELED;
	if (fds[1].revents)
		eventfd_read(r->sessions.wake_fd, &n);
	for (i = 0; i < SFS_VERBS_CONNECTIONS; i++)
		if (fds[i + 3].revents)
			sfs_verbs_link_take_events(&r->connections[i].link);
	if (fds[2].revents)
		take_events(r);
	return 0;
}

static void say_to_all(struct sfs_receiver *r, const struct sfs_wire_message *m)
{
	struct sfs_error err;
	int i;

	for (i = 0; i < SFS_VERBS_CONNECTIONS; i++)
		if (r->connections[i].id && !r->connections[i].is_stranger &&
		    sfs_verbs_receiver_say(&r->connections[i], m, &err) == 0)
			sfs_verbs_link_flush(&r->connections[i].link, FLUSH_MS);
}

static int verbs_run(struct sfs_receiver *r, struct sfs_error *err)
{
	static const struct sfs_receive_ops ops = {.poll = poll_all,
						   .look_at_times = look_at_times,
						   .say = say_to_all};

	return sfs_receive_loop_run(&r->sessions, &ops, r, err);
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
				    "device=nearest means nearest to the GPU of "
				    "--memory cuda: add that, or name a device");
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
		error = sfs_guard_check(settings,
					sfs_guard_is_loopback(
						(struct sockaddr *)&place.address),
					err);
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
	sfs_receive_loop_describe(&r->sessions, r->source, r->guard.n, json);
}

static uint64_t verbs_refused(struct sfs_receiver *r)
{
	return r->guard.n;
}

static void verbs_close(struct sfs_receiver *r)
{
	int i;

	for (i = 0; i < SFS_VERBS_CONNECTIONS; i++)
		if (r->connections[i].id)
			sfs_verbs_receiver_forget(r, &r->connections[i]);
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
