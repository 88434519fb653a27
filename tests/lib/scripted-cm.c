/* SPDX-License-Identifier: MIT */
/* How this works: an id is a TCP socket.  A request, the answer to it, and "I am ready"
 * are its first frames, and work requests are behind them. */
#include "scripted-verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define NOT_LISTENING 8	 /* why InfiniBand rejects */
#define REJECTED_BY_USER 28

struct event {
	struct rdma_cm_event base;
	unsigned char private[SCRIPTED_PRIVATE_MAX];
	struct event *next;
};

struct channel {
	struct rdma_event_channel base;
	struct event *first; /* the oldest */
	int n_ids;
};

static int refuse(int code)
{
	scripted_unlock();
	errno = code;
	return -1;
}

/* ---- events */

void scripted_event(struct id *id, struct id *listener, enum rdma_cm_event_type kind,
		    int status, const void *private, size_t n)
{
	struct event *event = scripted_alloc(sizeof *event), **at;
	struct channel *channel = (struct channel *)id->base.channel;
	size_t padded = kind == RDMA_CM_EVENT_CONNECT_REQUEST ? 56
			: kind == RDMA_CM_EVENT_REJECTED      ? 148
							      : 196;

	event->base = (struct rdma_cm_event){.id = &id->base,
					     .listen_id = listener ? &listener->base
								   : NULL,
					     .event = kind,
					     .status = status};
	if (n > 0)
		memcpy(event->private, private, n);
	if (n > 0 && n < padded && scripted_is_padded())
		n = padded;
	event->base.param.conn.private_data = n > 0 ? event->private : NULL;
	event->base.param.conn.private_data_len = (uint8_t)n;
	for (at = &channel->first; *at; at = &(*at)->next)
		;
	*at = event;
	eventfd_write(channel->base.fd, 1);
}

struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct channel *channel = scripted_alloc(sizeof *channel);

	channel->base.fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
	return &channel->base;
}

void rdma_destroy_event_channel(struct rdma_event_channel *base)
{
	struct channel *channel = (struct channel *)base;

	if (channel->n_ids > 0)
		scripted_abort("an event channel goes that an id uses");
	close(base->fd);
	free(channel);
}

int rdma_get_cm_event(struct rdma_event_channel *base, struct rdma_cm_event **ret)
{
	struct channel *channel = (struct channel *)base;
	struct event *event = NULL;
	eventfd_t n;

	while (!event) { /* that of an id that was destroyed is not there any more */
		if (read(base->fd, &n, sizeof n) != sizeof n)
			return -1;
		scripted_lock();
		event = channel->first;
		if (event) {
			channel->first = event->next;
			((struct id *)event->base.id)->n_events++;
		}
		scripted_unlock();
	}
	*ret = &event->base;
	return 0;
}

int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	scripted_lock();
	((struct id *)event->id)->n_events--;
	scripted_unlock();
	free(event);
	return 0;
}

const char *rdma_event_str(enum rdma_cm_event_type kind)
{
	switch (kind) {
	case RDMA_CM_EVENT_DISCONNECTED: return "RDMA_CM_EVENT_DISCONNECTED";
	case RDMA_CM_EVENT_REJECTED: return "RDMA_CM_EVENT_REJECTED";
	case RDMA_CM_EVENT_UNREACHABLE: return "RDMA_CM_EVENT_UNREACHABLE";
	case RDMA_CM_EVENT_CONNECT_ERROR: return "RDMA_CM_EVENT_CONNECT_ERROR";
	default: return "another event";
	}
}

/* ---- ids */

static struct id *make_id(struct rdma_event_channel *channel, void *user)
{
	struct id *id = scripted_alloc(sizeof *id);

	id->base.channel = channel;
	id->base.context = user;
	id->base.ps = RDMA_PS_TCP;
	id->base.port_num = 1;
	id->fd = -1;
	id->next = scripted_ids;
	scripted_ids = id;
	((struct channel *)channel)->n_ids++;
	return id;
}

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **ret,
		   void *user, enum rdma_port_space ps)
{
	(void)ps;
	scripted_lock();
	*ret = &make_id(channel, user)->base;
	scripted_unlock();
	return 0;
}

void scripted_cm_free(struct id *id)
{
	struct id **at;

	for (at = &scripted_ids; *at != id; at = &(*at)->next)
		;
	*at = id->next;
	if (id->fd >= 0)
		close(id->fd);
	free(id->in.at);
	free(id->out.at);
	free(id);
}

static void forget_events(struct id *id)
{
	struct event **at = &((struct channel *)id->base.channel)->first, *event;

	while ((event = *at) != NULL) {
		if (event->base.id != &id->base) {
			at = &event->next;
			continue;
		}
		*at = event->next;
		free(event);
	}
}

/* The card will free it. */
static void leave(struct id *id)
{
	((struct channel *)id->base.channel)->n_ids--;
	id->is_cards = false;
	id->is_zombie = true;
	scripted_wake_card();
}

int rdma_destroy_id(struct rdma_cm_id *base)
{
	struct id *id = (struct id *)base, *other;

	scripted_lock();
	if (id->n_events > 0)
		scripted_abort("an id goes before its events were acknowledged");
	if (base->qp)
		scripted_abort("an id goes before its queue pair");
	forget_events(id);
	for (other = scripted_ids; other && id->state == LISTENING; other = other->next)
		if (other->is_cards && other->base.channel == base->channel)
			leave(other);
	leave(id);
	scripted_unlock();
	return 0;
}

int rdma_set_option(struct rdma_cm_id *id, int level, int option, void *value, size_t n)
{
	(void)id;
	(void)level;
	(void)option;
	(void)value;
	(void)n;
	return 0;
}

__be16 rdma_get_src_port(struct rdma_cm_id *id)
{
	return id->route.addr.src_sin.sin_port; /* (of IPv6 in the same place) */
}

static socklen_t length_of(const struct sockaddr *a)
{
	return a->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					: sizeof(struct sockaddr_in);
}

static int make_socket(int family)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), one = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	return fd;
}

int rdma_bind_addr(struct rdma_cm_id *base, struct sockaddr *a)
{
	struct id *id = (struct id *)base;
	socklen_t n = sizeof base->route.addr.src_storage;
	int no = 0, code;

	scripted_lock();
	base->verbs = scripted_device();
	if (!base->verbs || scripted_fails("bind"))
		return refuse(ENODEV);
	id->fd = make_socket(a->sa_family);
	if (a->sa_family == AF_INET6)
		setsockopt(id->fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
	if (bind(id->fd, a, length_of(a)) < 0) {
		code = errno;
		close(id->fd);
		id->fd = -1;
		return refuse(code);
	}
	getsockname(id->fd, &base->route.addr.src_addr, &n);
	scripted_unlock();
	return 0;
}

int rdma_listen(struct rdma_cm_id *base, int backlog)
{
	struct id *id = (struct id *)base;

	scripted_lock();
	if (listen(id->fd, backlog) < 0)
		return refuse(errno);
	id->state = LISTENING;
	scripted_wake_card();
	scripted_unlock();
	return 0;
}

/* ---- the one that connects */

/* The event that a call leads to, by the script. */
static void answer(struct id *id, const char *call, enum rdma_cm_event_type success,
		   enum rdma_cm_event_type failure)
{
	bool fails = scripted_fails(call);

	scripted_event(id, NULL, fails ? failure : success, fails ? -ETIMEDOUT : 0, NULL,
		       0);
}

int rdma_resolve_addr(struct rdma_cm_id *base, struct sockaddr *from, struct sockaddr *to,
		      int timeout_ms)
{
	struct id *id = (struct id *)base;

	(void)from;
	(void)timeout_ms;
	scripted_lock();
	base->verbs = scripted_device();
	if (!base->verbs)
		return refuse(ENODEV);
	memcpy(&base->route.addr.dst_storage, to, length_of(to));
	answer(id, "resolve", RDMA_CM_EVENT_ADDR_RESOLVED, RDMA_CM_EVENT_ADDR_ERROR);
	scripted_unlock();
	return 0;
}

int rdma_resolve_route(struct rdma_cm_id *base, int timeout_ms)
{
	struct id *id = (struct id *)base;

	(void)timeout_ms;
	scripted_lock();
	answer(id, "route", RDMA_CM_EVENT_ROUTE_RESOLVED, RDMA_CM_EVENT_ROUTE_ERROR);
	scripted_unlock();
	return 0;
}

int rdma_connect(struct rdma_cm_id *base, struct rdma_conn_param *param)
{
	struct frame f = {.kind = REQUEST, .n = param->private_data_len};
	struct id *id = (struct id *)base;
	struct sockaddr *to = &base->route.addr.dst_addr;

	if (param->retry_count > 6)
		scripted_abort("some drivers retry for ever");
	scripted_lock();
	if (scripted_fails("connect")) {
		scripted_event(id, NULL, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT, NULL, 0);
		scripted_unlock();
		return 0;
	}
	id->state = ASKING;
	id->fd = make_socket(to->sa_family);
	if (connect(id->fd, to, length_of(to)) < 0 && errno != EINPROGRESS)
		return refuse(errno);
	scripted_put_frame(id, &f, param->private_data);
	scripted_wake_card();
	scripted_unlock();
	return 0;
}

/* ---- the one that is asked */

void scripted_cm_knock(struct id *listener)
{
	socklen_t n = sizeof(struct sockaddr_storage);
	struct id *id;
	int fd, one = 1;

	fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	id = make_id(listener->base.channel, listener->base.context);
	id->base.verbs = listener->base.verbs;
	id->fd = fd;
	id->state = ASKED;
	id->is_cards = true;
	getpeername(fd, &id->base.route.addr.dst_addr, &n);
}

/* Until the frame REQUEST is there nobody knows of the id; then the channel's user does. */
static void ask(struct id *id, const struct frame *f, const unsigned char *bytes)
{
	struct id *listener;

	for (listener = scripted_ids; listener; listener = listener->next)
		if (listener->state == LISTENING && !listener->is_zombie &&
		    listener->base.channel == id->base.channel)
			break;
	if (listener && !listener->is_removed) {
		id->is_cards = false;
		scripted_event(id, listener, RDMA_CM_EVENT_CONNECT_REQUEST, 0, bytes, f->n);
	} else {
		scripted_cm_lose(id, IBV_WC_WR_FLUSH_ERR);
	}
}

int rdma_accept(struct rdma_cm_id *base, struct rdma_conn_param *param)
{
	struct frame f = {.kind = ACCEPT, .n = param->private_data_len};
	struct id *id = (struct id *)base;

	scripted_lock();
	if (scripted_fails("accept") || id->state != ASKED || id->is_removed)
		return refuse(EINVAL);
	scripted_put_frame(id, &f, param->private_data);
	id->state = CONNECTED;
	scripted_wake_card();
	scripted_unlock();
	return 0;
}

int rdma_reject(struct rdma_cm_id *base, const void *private, uint8_t n)
{
	struct frame f = {.kind = REJECT, .n = n};
	struct id *id = (struct id *)base;

	scripted_lock();
	if (id->state == ASKED)
		scripted_put_frame(id, &f, private);
	id->state = LOST;
	scripted_wake_card();
	scripted_unlock();
	return 0;
}

/* ---- both */

void scripted_cm_frame(struct id *id, const struct frame *f, const unsigned char *bytes)
{
	struct frame ready = {.kind = READY};

	switch (f->kind) {
	case REQUEST:
		if (id->state == ASKED)
			ask(id, f, bytes);
		return;
	case ACCEPT:
		id->state = CONNECTED;
		scripted_put_frame(id, &ready, NULL);
		scripted_event(id, NULL, RDMA_CM_EVENT_ESTABLISHED, 0, bytes, f->n);
		return;
	case REJECT:
		id->state = LOST;
		scripted_event(id, NULL, RDMA_CM_EVENT_REJECTED, REJECTED_BY_USER, bytes,
			       f->n);
		return;
	case READY:
		scripted_event(id, NULL, RDMA_CM_EVENT_ESTABLISHED, 0, NULL, 0);
		return;
	case GOODBYE:
		if (id->state == CONNECTED)
			scripted_event(id, NULL, RDMA_CM_EVENT_DISCONNECTED, 0, NULL, 0);
		id->state = LOST;
		return;
	default: scripted_abort("a frame of no kind");
	}
}

void scripted_cm_lose(struct id *id, enum ibv_wc_status status)
{
	enum id_state state = id->state;

	if (id->fd >= 0)
		close(id->fd);
	id->fd = -1;
	id->in.n = id->in.from = id->out.n = id->out.from = 0;
	id->state = LOST;
	if (id->qp && !id->qp->is_broken)
		scripted_flush(id->qp, status);
	if (id->is_cards)
		leave(id);
	if (id->is_zombie)
		return;
	if (state == CONNECTED)
		scripted_event(id, NULL, RDMA_CM_EVENT_DISCONNECTED, 0, NULL, 0);
	else if (state == ASKING)
		scripted_event(id, NULL, RDMA_CM_EVENT_REJECTED, NOT_LISTENING, NULL, 0);
}

int rdma_disconnect(struct rdma_cm_id *base)
{
	struct frame f = {.kind = GOODBYE};
	struct id *id = (struct id *)base;

	scripted_lock();
	if (id->state == CONNECTED) {
		/* What is not on its way does not go there. */
		scripted_put_frame(id, &f, NULL);
		scripted_event(id, NULL, RDMA_CM_EVENT_DISCONNECTED, 0, NULL, 0);
	}
	if (id->qp && !id->qp->is_broken)
		scripted_flush(id->qp, IBV_WC_WR_FLUSH_ERR);
	if (id->state != MUTE)
		id->state = LOST;
	scripted_wake_card();
	scripted_unlock();
	return 0;
}

void scripted_cm_remove_device(void)
{
	struct id *id;

	for (id = scripted_ids; id; id = id->next) {
		if (id->is_zombie || id->is_removed || !id->base.verbs)
			continue;
		id->is_removed = true;
		if (id->fd >= 0)
			close(id->fd);
		id->fd = -1;
		id->in.n = id->in.from = id->out.n = id->out.from = 0;
		if (id->qp && !id->qp->is_broken)
			scripted_flush(id->qp, IBV_WC_WR_FLUSH_ERR);
		if (id->state != ASKED)
			scripted_event(id, NULL, RDMA_CM_EVENT_DEVICE_REMOVAL, 0, NULL, 0);
		id->state = LOST;
	}
}
