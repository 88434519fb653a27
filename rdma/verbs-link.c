/* SPDX-License-Identifier: MIT */
/* How this works: all completions of a link go to one queue.  Each receive has a buffer
 * and is posted again when its message was read.  Only messages are signalled; the number
 * of work requests that a completion frees is in its wr_id, with the writes before the
 * message.  A message is copied to a buffer of its own, which is free again before it is
 * the oldest one's turn: there are as many as work requests.
 *
 * Anything but success in a completion means that the connection is lost.  The first one
 * is told; a receiver that was killed shows as a "remote access error", since its memory
 * goes before its queue pair does. */
#include "verbs-link.h"

#include "nearest.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#define RECEIVE	    (1ULL << 63) /* in a wr_id; else a send */
#define INLINE	    64
#define WORK_MAX    512 /* sends and writes that are posted */
#define SEND_COUNT  SFS_VERBS_DEPTH
#define ACK_TIMEOUT 14 /* 4.096 us * 2^14 = 67 ms */

int sfs_verbs_register(struct ibv_pd *pd, void *at, uint64_t n, bool is_remote,
		       struct sfs_verbs_range *ret, struct sfs_error *err)
{
	/* (A device that knows no other order ignores that it may be relaxed.) */
	int access = IBV_ACCESS_LOCAL_WRITE |
		     (is_remote ? (int)IBV_ACCESS_REMOTE_WRITE : 0) |
		     (ret->is_relaxed ? (int)IBV_ACCESS_RELAXED_ORDERING : 0);
	struct rlimit limit = {0, 0};

	ret->memory = SFS_VERBS_HOST;
	ret->mr = ibv_reg_mr(pd, at, n, access);
	if (ret->mr)
		return 0;
	getrlimit(RLIMIT_MEMLOCK, &limit);
	if (errno == ENOMEM && limit.rlim_cur != RLIM_INFINITY)
		return sfs_error_set(
			err, -ENOMEM,
			"cannot register %llu bytes with %s: the limit of "
			"locked memory is %llu; raise it (ulimit -l "
			"unlimited, or LimitMEMLOCK=infinity of the service)",
			(unsigned long long)n, ibv_get_device_name(pd->context->device),
			(unsigned long long)limit.rlim_cur);
	return sfs_error_set(err, -errno, "cannot register %llu bytes with %s: %s",
			     (unsigned long long)n,
			     ibv_get_device_name(pd->context->device), strerror(errno));
}

void sfs_verbs_unregister(struct sfs_verbs_range *range)
{
	if (range->mr)
		ibv_dereg_mr(range->mr);
	range->mr = NULL;
}

static unsigned char *receive_buffer(struct sfs_verbs_link *link, uint32_t i)
{
	return link->buffers + (size_t)i * SFS_VERBS_MESSAGE_MAX;
}

static int post_receive(struct sfs_verbs_link *link, uint32_t i, struct sfs_error *err)
{
	struct ibv_sge sge = {.addr = (uintptr_t)receive_buffer(link, i),
			      .length = SFS_VERBS_MESSAGE_MAX,
			      .lkey = link->range.mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = RECEIVE | i, .sg_list = &sge, .num_sge = 1},
			   *bad;
	int ret = ibv_post_recv(link->id->qp, &wr, &bad);

	/* (Some drivers return a negative number.) */
	return ret == 0 ? 0 : sfs_error_set(err, -EIO, "cannot post a receive");
}

/* -ENOBUFS: the device has no room for them now, and may have it later. */
static int make_queues(struct sfs_verbs_link *link, struct ibv_pd *pd,
		       struct sfs_error *err)
{
	struct ibv_qp_init_attr attr = {.cap = {.max_send_wr = WORK_MAX,
						.max_recv_wr = SFS_VERBS_DEPTH,
						.max_send_sge = 1,
						.max_recv_sge = 1,
						.max_inline_data = INLINE},
					.qp_type = IBV_QPT_RC};
	const char *name = ibv_get_device_name(link->id->verbs->device);

	link->completions = ibv_create_comp_channel(link->id->verbs);
	if (!link->completions)
		return sfs_error_set(err, -ENOBUFS,
				     "%s: cannot create a completion channel: %s", name,
				     strerror(errno));
	fcntl(link->completions->fd, F_SETFL,
	      fcntl(link->completions->fd, F_GETFL) | O_NONBLOCK);
	link->cq = ibv_create_cq(link->id->verbs, WORK_MAX + SFS_VERBS_DEPTH, NULL,
				 link->completions, 0);
	if (!link->cq)
		return sfs_error_set(err, -ENOBUFS,
				     "%s: cannot create a completion queue: %s", name,
				     strerror(errno));
	attr.send_cq = attr.recv_cq = link->cq;
	if (rdma_create_qp(link->id, pd, &attr) < 0) {
		attr.cap.max_inline_data = 0;
		if (rdma_create_qp(link->id, pd, &attr) < 0)
			return sfs_error_set(err, -ENOBUFS,
					     "%s: cannot create a queue pair: %s", name,
					     strerror(errno));
	}
	link->n_inline = attr.cap.max_inline_data;
	link->n_free = WORK_MAX;
	return 0;
}

int sfs_verbs_link_open(struct sfs_verbs_link *link, struct rdma_cm_id *id,
			struct ibv_pd *pd, struct sfs_error *err)
{
	size_t n = (size_t)(SFS_VERBS_DEPTH + SEND_COUNT) * SFS_VERBS_MESSAGE_MAX;
	uint32_t i;
	int ret;

	memset(link, 0, sizeof *link);
	link->id = id;
	link->repost = -1;
	link->buffers = sfs_calloc(1, n);
	ret = sfs_verbs_register(pd, link->buffers, n, false, &link->range, err);
	if (ret == 0)
		ret = make_queues(link, pd, err);
	for (i = 0; i < SFS_VERBS_DEPTH && ret == 0; i++)
		ret = post_receive(link, i, err);
	if (ret < 0)
		sfs_verbs_link_close(link);
	return ret;
}

void sfs_verbs_link_close(struct sfs_verbs_link *link)
{
	if (link->id && link->id->qp)
		rdma_destroy_qp(link->id);
	if (link->cq) {
		sfs_verbs_link_take_events(link);
		ibv_ack_cq_events(link->cq, link->n_events);
		ibv_destroy_cq(link->cq);
	}
	if (link->completions)
		ibv_destroy_comp_channel(link->completions);
	sfs_verbs_unregister(&link->range);
	free(link->buffers);
	memset(link, 0, sizeof *link);
}

int sfs_verbs_link_fd(const struct sfs_verbs_link *link)
{
	return link->completions ? link->completions->fd : -1;
}

int sfs_verbs_link_arm(struct sfs_verbs_link *link, struct sfs_error *err)
{
	return ibv_req_notify_cq(link->cq, 0) == 0
		       ? 0
		       : sfs_error_set(err, -EIO, "cannot be notified of completions");
}

void sfs_verbs_link_take_events(struct sfs_verbs_link *link)
{
	struct ibv_cq *cq;
	void *unused;

	while (ibv_get_cq_event(link->completions, &cq, &unused) == 0)
		if (++link->n_events == 1000) { /* each acknowledgement takes a lock */
			ibv_ack_cq_events(link->cq, link->n_events);
			link->n_events = 0;
		}
}

static int lost(const struct ibv_wc *wc, struct sfs_error *err)
{
	return sfs_error_set(err, -ECONNRESET, "the connection was lost (%s)",
			     ibv_wc_status_str(wc->status));
}

int sfs_verbs_link_next(struct sfs_verbs_link *link, const unsigned char **ret_bytes,
			size_t *ret_n, struct sfs_error *err)
{
	struct ibv_wc wc;
	int n, ret;

	if (link->repost >= 0) {
		ret = post_receive(link, (uint32_t)link->repost, err);
		if (ret < 0)
			return ret;
		link->repost = -1;
	}
	for (;;) {
		n = ibv_poll_cq(link->cq, 1, &wc);
		if (n < 0)
			return sfs_error_set(err, -EIO, "cannot read its completions");
		if (n == 0)
			return 0;
		if (wc.status != IBV_WC_SUCCESS)
			return lost(&wc, err);
		if (wc.wr_id & RECEIVE) {
			link->repost = (int)(uint32_t)wc.wr_id;
			*ret_bytes = receive_buffer(link, (uint32_t)wc.wr_id);
			*ret_n = wc.byte_len;
			return 1;
		}
		link->n_flying--;
		link->n_busy -= (uint32_t)wc.wr_id;
		link->n_free += (uint32_t)wc.wr_id;
	}
}

bool sfs_verbs_link_has_room(const struct sfs_verbs_link *link, uint32_t n)
{
	return link->n_free > n && link->n_flying < SEND_COUNT;
}

static int post(struct sfs_verbs_link *link, struct ibv_send_wr *wr,
		struct sfs_error *err)
{
	struct ibv_send_wr *bad;

	if (link->n_free == 0 || ibv_post_send(link->id->qp, wr, &bad) != 0)
		return sfs_error_set(err, -ENOBUFS,
				     "the connection was lost (cannot post)");
	link->n_free--;
	link->n_busy++;
	return 0;
}

int sfs_verbs_link_send(struct sfs_verbs_link *link, const void *bytes, size_t n,
			struct sfs_error *err)
{
	uint32_t i = SFS_VERBS_DEPTH + link->n_sends % SEND_COUNT;
	struct ibv_sge sge = {.addr = (uintptr_t)receive_buffer(link, i),
			      .length = (uint32_t)n,
			      .lkey = link->range.mr->lkey};
	struct ibv_send_wr wr = {.wr_id = link->n_open + 1,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_SEND,
				 .send_flags = IBV_SEND_SIGNALED};
	int ret;

	if (link->n_flying == SEND_COUNT)
		return sfs_error_set(err, -ENOBUFS,
				     "the connection was lost (the peer accepts "
				     "nothing)");
	if (n <= link->n_inline)
		wr.send_flags |= IBV_SEND_INLINE;
	memcpy(receive_buffer(link, i), bytes, n);
	ret = post(link, &wr, err);
	if (ret < 0)
		return ret;
	link->n_sends++;
	link->n_flying++;
	link->n_open = 0;
	return 0;
}

int sfs_verbs_link_write(struct sfs_verbs_link *link, const struct sfs_verbs_range *from,
			 const void *bytes, uint64_t n, uint64_t address, uint32_t rkey,
			 struct sfs_error *err)
{
	struct ibv_sge sge = {.addr = (uintptr_t)bytes,
			      .length = (uint32_t)n,
			      .lkey = from->mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_RDMA_WRITE,
				 .wr.rdma = {.remote_addr = address, .rkey = rkey}};
	int ret = post(link, &wr, err);

	link->n_open += ret == 0;
	return ret;
}

int sfs_verbs_link_let_write(struct sfs_verbs_link *link, bool may, struct sfs_error *err)
{
	struct ibv_qp_attr attr = {.qp_access_flags =
					   IBV_ACCESS_LOCAL_WRITE |
					   (may ? (unsigned)IBV_ACCESS_REMOTE_WRITE : 0)};
	int ret = ibv_modify_qp(link->id->qp, &attr, IBV_QP_ACCESS_FLAGS);

	return ret == 0 ? 0
			: sfs_error_set(err, -abs(ret), "ibv_modify_qp: %s",
					strerror(abs(ret)));
}

void sfs_verbs_link_flush(struct sfs_verbs_link *link, int timeout_ms)
{
	uint64_t until_ns = sfs_clock_ns() + (uint64_t)timeout_ms * SFS_NS_PER_MS;
	struct pollfd fd = {.fd = sfs_verbs_link_fd(link), .events = POLLIN};
	struct sfs_error err;
	const unsigned char *bytes;
	size_t n;

	while (link->n_busy > 0 && sfs_clock_ns() < until_ns) {
		int ret = sfs_verbs_link_next(link, &bytes, &n, &err);

		if (ret < 0 || (ret == 0 && sfs_verbs_link_arm(link, &err) < 0))
			return;
		if (ret == 0 && sfs_verbs_link_next(link, &bytes, &n, &err) == 0) {
			poll(&fd, 1, 10);
			sfs_verbs_link_take_events(link);
		}
	}
}

int sfs_verbs_channel(struct rdma_event_channel **ret, struct sfs_error *err)
{
	struct ibv_device **devices;
	int n = 0;

	devices = ibv_get_device_list(&n);
	if (devices)
		ibv_free_device_list(devices);
	if (n == 0)
		return sfs_error_set(err, -ENODEV,
				     "this host has no RDMA device (`ibv_devices` lists "
				     "them; a container must be given /dev/infiniband)");
	*ret = rdma_create_event_channel();
	if (!*ret)
		return sfs_error_set(err, -errno,
				     "/dev/infiniband/rdma_cm: %s; load the module "
				     "rdma_ucm",
				     strerror(errno));
	fcntl((*ret)->fd, F_SETFL, fcntl((*ret)->fd, F_GETFL) | O_NONBLOCK);
	return 0;
}

/* RoCE devices have their IP addresses as GIDs. */
static bool get_address(const union ibv_gid *gid, sa_family_t family,
			struct sockaddr_storage *ret)
{
	const struct in6_addr *a = (const struct in6_addr *)gid->raw;

	memset(ret, 0, sizeof *ret);
	ret->ss_family = family;
	if (family == AF_INET && IN6_IS_ADDR_V4MAPPED(a))
		memcpy(&((struct sockaddr_in *)ret)->sin_addr, gid->raw + 12, 4);
	else if (family == AF_INET6 && !IN6_IS_ADDR_V4MAPPED(a) &&
		 !IN6_IS_ADDR_LINKLOCAL(a) && !IN6_IS_ADDR_UNSPECIFIED(a))
		memcpy(&((struct sockaddr_in6 *)ret)->sin6_addr, gid->raw, 16);
	else
		return false;
	return true;
}

static bool find_address(struct ibv_device *device, sa_family_t family,
			 struct sockaddr_storage *ret)
{
	struct ibv_context *verbs = ibv_open_device(device);
	struct ibv_device_attr device_attr;
	struct ibv_port_attr port_attr;
	union ibv_gid gid;
	bool is_found = false;
	uint8_t port;
	int i;

	if (!verbs || ibv_query_device(verbs, &device_attr) != 0)
		device_attr.phys_port_cnt = 0;
	for (port = 1; port <= device_attr.phys_port_cnt && !is_found; port++) {
		if (ibv_query_port(verbs, port, &port_attr) != 0)
			continue;
		for (i = 0; i < port_attr.gid_tbl_len && !is_found; i++)
			is_found = ibv_query_gid(verbs, port, i, &gid) == 0 &&
				   get_address(&gid, family, ret);
	}
	if (verbs)
		ibv_close_device(verbs);
	return is_found;
}

static int choose_device(const struct sfs_verbs_url *url, sa_family_t family,
			 struct sfs_verbs_place *place, struct sfs_error *err)
{
	int n = 0, i, ret = -ENODEV;
	struct ibv_device **devices = ibv_get_device_list(&n);

	for (i = 0; i < n; i++)
		if (strcmp(ibv_get_device_name(devices[i]), url->device) == 0) {
			ret = 0;
			place->has_from = find_address(devices[i], family, &place->from);
		}
	if (devices)
		ibv_free_device_list(devices);
	return ret == 0
		       ? 0
		       : sfs_error_set(err, ret,
				       "this host has no RDMA device '%s'; `ibv_devices` "
				       "lists those that it has",
				       url->device);
}

static bool is_active(struct ibv_device *device)
{
	struct ibv_context *verbs = ibv_open_device(device);
	struct ibv_device_attr device_attr;
	struct ibv_port_attr port_attr;
	bool is_one = false;
	uint8_t port;

	if (!verbs || ibv_query_device(verbs, &device_attr) != 0)
		device_attr.phys_port_cnt = 0;
	for (port = 1; port <= device_attr.phys_port_cnt && !is_one; port++)
		is_one = ibv_query_port(verbs, port, &port_attr) == 0 &&
			 port_attr.state == IBV_PORT_ACTIVE;
	if (verbs)
		ibv_close_device(verbs);
	return is_one;
}

int sfs_verbs_find_nearest(const char *gpu, char *ret_name, size_t n_name,
			   struct sfs_error *err)
{
	int n = 0, i, ret;
	struct ibv_device **devices = ibv_get_device_list(&n);
	const char **names = sfs_calloc((size_t)n + 1, sizeof *names);
	struct sfs_nearest nearest;
	size_t n_active = 0;

	for (i = 0; i < n; i++)
		if (is_active(devices[i]))
			names[n_active++] = ibv_get_device_name(devices[i]);
	if (n_active == 0)
		ret = sfs_error_set(err, -ENODEV,
				    "no RDMA device of this host has an active port");
	else
		ret = sfs_find_nearest("/sys", gpu, names, n_active, &nearest, err);
	if (ret == 0) {
		snprintf(ret_name, n_name, "%s", names[nearest.card]);
		fprintf(stderr,
			"recv: %s is the RDMA device nearest to the GPU at %s: they "
			"share %s\n",
			ret_name, gpu, sfs_nearness_name(nearest.nearness));
	}
	free(names);
	if (devices)
		ibv_free_device_list(devices);
	return ret;
}

int sfs_verbs_resolve(const struct sfs_verbs_url *url, bool is_passive,
		      uint64_t n_attempt, struct sfs_verbs_place *ret,
		      struct sfs_error *err)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
				 .ai_flags = is_passive ? AI_PASSIVE : 0};
	const struct addrinfo *a;
	struct addrinfo *list;
	const char *host = is_passive && sfs_verbs_is_all(url) ? "::" : url->host;
	int error = getaddrinfo(host, url->port, &hints, &list);
	uint64_t n = 0;

	if (error != 0)
		return sfs_error_set(err, -EHOSTUNREACH, "%s: %s", host,
				     gai_strerror(error));
	for (a = list; a; a = a->ai_next)
		n++;
	for (a = list, n_attempt %= n; n_attempt > 0; n_attempt--)
		a = a->ai_next;
	memset(ret, 0, sizeof *ret);
	memcpy(&ret->address, a->ai_addr, a->ai_addrlen);
	freeaddrinfo(list);
	return url->device[0] ? choose_device(url, ret->address.ss_family, ret, err) : 0;
}

void sfs_verbs_set_ack_timeout(struct rdma_cm_id *id)
{
	uint8_t ack_timeout = ACK_TIMEOUT;

	/* (Kernels before 5.1 cannot set it, and use the fabric's: then
	 * silence tells.) */
	rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &ack_timeout,
			sizeof ack_timeout);
}

int sfs_verbs_check_device(const struct sfs_verbs_url *url, const struct rdma_cm_id *id,
			   struct sfs_error *err)
{
	const char *name = ibv_get_device_name(id->verbs->device);

	if (!url->device[0] || strcmp(url->device, name) == 0)
		return 0;
	return sfs_error_set(
		err, -ENODEV,
		"the route to the peer goes over the device %s, not over %s; "
		"name an address that %s has",
		name, url->device, url->device);
}

void sfs_verbs_peer(const struct rdma_cm_id *id, char ret_peer[SFS_VERBS_PEER_MAX])
{
	char host[64] = "?", port[8] = "?"; /* (with the interface of a link-local one) */
	struct sockaddr *address = rdma_get_peer_addr((struct rdma_cm_id *)id);
	bool is_v6 = address->sa_family == AF_INET6;

	getnameinfo(address,
		    is_v6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in),
		    host, sizeof host, port, sizeof port,
		    NI_NUMERICHOST | NI_NUMERICSERV);
	snprintf(ret_peer, SFS_VERBS_PEER_MAX, is_v6 ? "[%s]:%s" : "%s:%s", host, port);
}
