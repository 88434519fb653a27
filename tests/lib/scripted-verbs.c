/* SPDX-License-Identifier: MIT */
#include "scripted-verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#undef ibv_reg_mr
#undef ibv_query_port

struct memory {
	struct ibv_mr base;
	unsigned access;
	struct memory *next;
};

struct queue {
	struct ibv_cq base;
	struct ibv_wc *wcs;
	uint64_t n_put, n_taken;
	bool is_armed;
	unsigned n_events, n_users;
};

struct channel { /* of one queue */
	struct ibv_comp_channel base;
	struct queue *queue;
};

struct domain {
	struct ibv_pd base;
	unsigned n_users;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ibv_device device;
static struct ibv_context contexts[16], *context = contexts;
static struct memory *memories;
static uint32_t next_key = 1;
static int wake_fd = -1;
static int n_absent; /* attempts to find the device that will fail */
struct id *scripted_ids;

void scripted_abort(const char *what)
{
	fprintf(stderr, "scripted-verbs: %s\n", what);
	abort();
}

void scripted_lock(void)
{
	pthread_mutex_lock(&lock);
}

void scripted_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

void *scripted_alloc(size_t n)
{
	void *p = calloc(1, n);

	return p ? p : (scripted_abort("no memory"), NULL);
}

/* ---- the script */

static const char *script(void)
{
	const char *text = getenv("SCRIPTED_VERBS");

	return text ? text : "";
}

bool scripted_is_padded(void)
{
	return strstr(script(), "padded") != NULL;
}

/* With chance 1 : n; false if nothing is random.  (It matters which calls fail, not that
 * the same do: threads may pass each other.) */
static bool draws(unsigned one_in)
{
	static unsigned seed;
	const char *text = strstr(script(), "random:");

	if (!text)
		return false;
	if (seed == 0)
		seed = (unsigned)strtoul(text + 7, NULL, 10) * 2654435761U +
		       (unsigned)getpid();
	return (unsigned)rand_r(&seed) % one_in == 0;
}

bool scripted_fails(const char *call)
{
	static const char *const some[] = {"create_qp", "resolve", "route", "connect",
					   "accept"};
	static struct {
		char name[16];
		unsigned n;
	} calls[16];
	char word[40];
	const char *at;
	size_t i;

	for (i = 0; calls[i].name[0] && strcmp(calls[i].name, call) != 0; i++)
		;
	snprintf(calls[i].name, sizeof calls[i].name, "%s", call);
	snprintf(word, sizeof word, "%s#%u", call, ++calls[i].n);
	at = strstr(script(), word);
	if (at && strcspn(at, " ") == strlen(word))
		return true;
	for (i = 0; i < sizeof some / sizeof *some; i++)
		if (strcmp(some[i], call) == 0)
			return draws(8);
	return false;
}

/* false, with ENOMEM and without the lock: the script says that this call fails. */
static bool lock_unless_full(const char *call)
{
	scripted_lock();
	if (!scripted_fails(call))
		return true;
	scripted_unlock();
	errno = ENOMEM;
	return false;
}

static enum scripted_fault next_fault(void)
{
	static const struct {
		const char *name;
		enum scripted_fault fault;
	} all[] = {{"cut", CUT},
		   {"unheard", UNHEARD},
		   {"silent", SILENT},
		   {"removed", REMOVED},
		   {"full", FULL}};
	static const enum scripted_fault random[] = {CUT, UNHEARD, FULL};
	static unsigned n, n_drawn;
	char word[40];
	const char *at;
	size_t i;

	n++;
	for (i = 0; i < sizeof all / sizeof *all; i++) {
		snprintf(word, sizeof word, "%s@%u", all[i].name, n);
		at = strstr(script(), word);
		if (at && strcspn(at, " ") == strlen(word))
			return all[i].fault;
	}
	at = strstr(script(), "random:");
	at = at ? strchr(at + 7, ':') : NULL;
	return at && draws((unsigned)atoi(at + 1)) ? random[n_drawn++ % 3] : NO_FAULT;
}

/* ---- the device */

static int poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *ret);
static int arm_cq(struct ibv_cq *cq, int is_solicited);
static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
static int post_receive(struct ibv_qp *qp, struct ibv_recv_wr *wr,
			struct ibv_recv_wr **bad);

static void make_device(void)
{
	snprintf(device.name, sizeof device.name, "scripted0");
	context->device = &device;
	context->ops.poll_cq = poll_cq;
	context->ops.req_notify_cq = arm_cq;
	context->ops.post_send = post_send;
	context->ops.post_recv = post_receive;
}

struct ibv_context *scripted_device(void)
{
	make_device();
	if (n_absent == 0)
		return context;
	n_absent--;
	return NULL;
}

struct ibv_device **ibv_get_device_list(int *n)
{
	struct ibv_device **list = scripted_alloc(2 * sizeof *list);

	make_device();
	list[0] = &device;
	*n = 1;
	return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

const char *ibv_get_device_name(struct ibv_device *d)
{
	return d->name;
}

struct ibv_context *ibv_open_device(struct ibv_device *d)
{
	(void)d;
	return context;
}

int ibv_close_device(struct ibv_context *c)
{
	(void)c;
	return 0;
}

int ibv_query_device(struct ibv_context *c, struct ibv_device_attr *ret)
{
	(void)c;
	memset(ret, 0, sizeof *ret);
	ret->phys_port_cnt = 1;
	return 0;
}

int ibv_query_port(struct ibv_context *c, uint8_t port, struct _compat_ibv_port_attr *ret)
{
	struct ibv_port_attr attr = {.state = IBV_PORT_ACTIVE, .gid_tbl_len = 1};

	(void)c;
	(void)port;
	memcpy(ret, &attr, offsetof(struct ibv_port_attr, flags));
	return 0;
}

/* ::ffff:127.0.0.1 */
int ibv_query_gid(struct ibv_context *c, uint8_t port, int i, union ibv_gid *ret)
{
	static const unsigned char loopback[16] = {
		[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1};

	(void)c;
	(void)port;
	(void)i;
	memcpy(ret->raw, loopback, sizeof loopback);
	return 0;
}

/* ---- memory */

struct ibv_pd *ibv_alloc_pd(struct ibv_context *c)
{
	struct domain *d;

	if (!lock_unless_full("alloc_pd"))
		return NULL;
	d = scripted_alloc(sizeof *d);
	d->base.context = c;
	scripted_unlock();
	return &d->base;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	struct domain *d = (struct domain *)pd;

	if (d->n_users > 0)
		scripted_abort("a protection domain goes that is in use");
	free(d);
	return 0;
}

static struct ibv_mr *register_memory(struct ibv_pd *pd, void *at, size_t n,
				      unsigned access)
{
	struct memory *m;

	if (!lock_unless_full("reg_mr"))
		return NULL;
	m = scripted_alloc(sizeof *m);
	m->base = (struct ibv_mr){.context = pd->context,
				  .pd = pd,
				  .addr = at,
				  .length = n,
				  .lkey = next_key << 8,
				  .rkey = next_key << 8};
	next_key++;
	m->access = access;
	m->next = memories;
	memories = m;
	((struct domain *)pd)->n_users++;
	scripted_unlock();
	return &m->base;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *at, size_t n, int access)
{
	return register_memory(pd, at, n, (unsigned)access);
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *at, size_t n, uint64_t iova,
				unsigned access)
{
	(void)iova;
	return register_memory(pd, at, n, access);
}

struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t n,
				 uint64_t iova, int fd, int access)
{
	(void)pd;
	(void)offset;
	(void)n;
	(void)iova;
	(void)fd;
	(void)access;
	errno = EOPNOTSUPP;
	return NULL;
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	struct memory **at;

	scripted_lock();
	for (at = &memories; *at && &(*at)->base != mr; at = &(*at)->next)
		;
	if (!*at)
		scripted_abort("memory is deregistered that is not registered");
	*at = (*at)->next;
	((struct domain *)mr->pd)->n_users--;
	free(mr);
	scripted_unlock();
	return 0;
}

static bool is_registered(const struct ibv_pd *pd, uint64_t address, uint64_t n,
			  uint32_t key, unsigned access)
{
	const struct memory *m;

	for (m = memories; m; m = m->next)
		if (m->base.lkey == key && m->base.pd == pd &&
		    address >= (uintptr_t)m->base.addr && n <= m->base.length &&
		    address - (uintptr_t)m->base.addr <= m->base.length - n)
			return (m->access & access) == access;
	return false;
}

/* ---- completions */

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *c)
{
	struct channel *channel = scripted_alloc(sizeof *channel);

	channel->base.context = c;
	channel->base.fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
	return &channel->base;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	if (channel->refcnt > 0)
		scripted_abort("a completion channel goes that is in use");
	close(channel->fd);
	free(channel);
	return 0;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *c, int n, void *user,
			     struct ibv_comp_channel *channel, int vector)
{
	struct queue *q;

	(void)vector;
	if (!lock_unless_full("create_cq"))
		return NULL;
	q = scripted_alloc(sizeof *q);
	q->base.context = c;
	q->base.cq_context = user;
	q->base.channel = channel;
	q->base.cqe = n;
	q->wcs = scripted_alloc((size_t)n * sizeof *q->wcs);
	channel->refcnt++;
	((struct channel *)channel)->queue = q;
	scripted_unlock();
	return &q->base;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	struct queue *q = (struct queue *)cq;

	scripted_lock();
	if (q->n_users > 0)
		scripted_abort("a completion queue goes that is in use");
	if (q->n_events > 0)
		scripted_abort("events of a completion queue are not acknowledged");
	cq->channel->refcnt--;
	free(q->wcs);
	free(q);
	scripted_unlock();
	return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **ret, void **user)
{
	eventfd_t n;

	if (read(channel->fd, &n, sizeof n) != sizeof n)
		return -1;
	scripted_lock();
	*ret = &((struct channel *)channel)->queue->base;
	*user = (*ret)->cq_context;
	((struct channel *)channel)->queue->n_events++;
	scripted_unlock();
	return 0;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned n)
{
	scripted_lock();
	((struct queue *)cq)->n_events -= n;
	scripted_unlock();
}

static int arm_cq(struct ibv_cq *cq, int is_solicited)
{
	(void)is_solicited;
	scripted_lock();
	((struct queue *)cq)->is_armed = true;
	scripted_unlock();
	return 0;
}

static int poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *ret)
{
	struct queue *q = (struct queue *)cq;
	int i;

	scripted_lock();
	for (i = 0; i < n && q->n_taken < q->n_put; i++)
		ret[i] = q->wcs[q->n_taken++ % (unsigned)cq->cqe];
	scripted_unlock();
	return i;
}

static void complete(struct ibv_cq *cq, const struct qp *qp, uint64_t wr_id,
		     enum ibv_wc_status status, uint32_t n)
{
	struct queue *q = (struct queue *)cq;

	if (q->n_put - q->n_taken == (unsigned)cq->cqe)
		scripted_abort("a completion queue overflows");
	q->wcs[q->n_put++ % (unsigned)cq->cqe] =
		(struct ibv_wc){.wr_id = wr_id,
				.status = status,
				.byte_len = n,
				.qp_num = qp->base.qp_num};
	if (q->is_armed)
		eventfd_write(cq->channel->fd, 1);
	q->is_armed = false;
}

void scripted_flush(struct qp *qp, enum ibv_wc_status status)
{
	qp->is_broken = true;
	for (; qp->n_acked < qp->n_posted; qp->n_acked++) {
		const struct send *s = &qp->sends[qp->n_acked % qp->cap.max_send_wr];

		complete(qp->base.send_cq, qp, s->wr_id, status, 0);
		status = IBV_WC_WR_FLUSH_ERR;
	}
	for (; qp->n_used < qp->n_receives; qp->n_used++)
		complete(qp->base.recv_cq, qp,
			 qp->receives[qp->n_used % qp->cap.max_recv_wr].wr_id,
			 IBV_WC_WR_FLUSH_ERR, 0);
}

const char *ibv_wc_status_str(enum ibv_wc_status status)
{
	switch (status) {
	case IBV_WC_SUCCESS: return "success";
	case IBV_WC_LOC_LEN_ERR: return "local length error";
	case IBV_WC_LOC_PROT_ERR: return "local protection error";
	case IBV_WC_WR_FLUSH_ERR: return "Work Request Flushed Error";
	case IBV_WC_REM_ACCESS_ERR: return "remote access error";
	case IBV_WC_RETRY_EXC_ERR: return "transport retry counter exceeded";
	default: return "another status";
	}
}

/* ---- queue pairs */

int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd,
		   struct ibv_qp_init_attr *attr)
{
	static uint32_t n_pairs;
	struct qp *qp;

	if (!lock_unless_full("create_qp"))
		return -1;
	qp = scripted_alloc(sizeof *qp);
	qp->base = (struct ibv_qp){.context = id->verbs,
				   .pd = pd,
				   .send_cq = attr->send_cq,
				   .recv_cq = attr->recv_cq,
				   .qp_num = ++n_pairs};
	qp->cap = attr->cap;
	qp->access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	qp->sends = scripted_alloc(attr->cap.max_send_wr * sizeof *qp->sends);
	qp->receives = scripted_alloc(attr->cap.max_recv_wr * sizeof *qp->receives);
	qp->id = (struct id *)id;
	qp->id->qp = qp;
	id->qp = &qp->base;
	((struct domain *)pd)->n_users++;
	((struct queue *)attr->send_cq)->n_users++;
	scripted_unlock();
	return 0;
}

void rdma_destroy_qp(struct rdma_cm_id *id)
{
	struct qp *qp = (struct qp *)id->qp;

	scripted_lock();
	((struct domain *)qp->base.pd)->n_users--;
	((struct queue *)qp->base.send_cq)->n_users--;
	qp->id->qp = NULL;
	id->qp = NULL;
	free(qp->sends);
	free(qp->receives);
	free(qp);
	scripted_unlock();
}

int ibv_modify_qp(struct ibv_qp *base, struct ibv_qp_attr *attr, int mask)
{
	if (mask != IBV_QP_ACCESS_FLAGS)
		scripted_abort("ibv_modify_qp: only access is modified here");
	scripted_lock();
	((struct qp *)base)->access = attr->qp_access_flags;
	scripted_unlock();
	return 0;
}

static int post_receive(struct ibv_qp *base, struct ibv_recv_wr *wr,
			struct ibv_recv_wr **bad)
{
	struct qp *qp = (struct qp *)base;
	int ret = 0;

	scripted_lock();
	if (!is_registered(base->pd, wr->sg_list->addr, wr->sg_list->length,
			   wr->sg_list->lkey, IBV_ACCESS_LOCAL_WRITE))
		scripted_abort("a receive into memory that is not registered");
	if (qp->n_receives - qp->n_used == qp->cap.max_recv_wr) {
		*bad = wr;
		ret = ENOMEM;
	} else if (qp->is_broken) {
		complete(base->recv_cq, qp, wr->wr_id, IBV_WC_WR_FLUSH_ERR, 0);
	} else {
		qp->receives[qp->n_receives++ % qp->cap.max_recv_wr] =
			(struct receive){wr->wr_id, wr->sg_list->addr,
					 wr->sg_list->length};
		scripted_wake_card(); /* a message may wait for it */
	}
	scripted_unlock();
	return ret;
}

static int post_send(struct ibv_qp *base, struct ibv_send_wr *wr,
		     struct ibv_send_wr **bad)
{
	struct qp *qp = (struct qp *)base;
	struct send s = {.wr_id = wr->wr_id,
			 .address = wr->sg_list->addr,
			 .length = wr->sg_list->length,
			 .lkey = wr->sg_list->lkey,
			 .opcode = wr->opcode,
			 .is_signaled = wr->send_flags & IBV_SEND_SIGNALED,
			 .is_inline = wr->send_flags & IBV_SEND_INLINE};
	int ret = 0;

	if (wr->opcode == IBV_WR_RDMA_WRITE) {
		s.remote = wr->wr.rdma.remote_addr;
		s.rkey = wr->wr.rdma.rkey;
	}
	if (s.is_inline && s.length > sizeof s.bytes)
		scripted_abort("more bytes are inline than may be");
	if (s.is_inline)
		memcpy(s.bytes, (const void *)(uintptr_t)s.address, s.length);
	scripted_lock();
	s.fault = next_fault();
	if (qp->n_posted - qp->n_acked == qp->cap.max_send_wr) {
		ret = ENOMEM;
	} else if (s.fault == FULL) {
		ret = -EINVAL; /* (some drivers return a negative number) */
	} else if (qp->is_broken) {
		complete(base->send_cq, qp, s.wr_id, IBV_WC_WR_FLUSH_ERR, 0);
	} else {
		qp->sends[qp->n_posted++ % qp->cap.max_send_wr] = s;
		scripted_wake_card();
	}
	scripted_unlock();
	if (ret != 0)
		*bad = wr;
	return ret;
}

/* ---- the card: what it writes */

void scripted_put(struct bytes *b, const void *from, size_t n)
{
	if (b->from > 0 && b->n + n > b->room) {
		memmove(b->at, b->at + b->from, b->n - b->from);
		b->n -= b->from;
		b->from = 0;
	}
	if (b->n + n > b->room) {
		b->room = 2 * (b->n + n);
		b->at = realloc(b->at, b->room);
		if (!b->at)
			scripted_abort("no memory");
	}
	if (n > 0)
		memcpy(b->at + b->n, from, n);
	b->n += n;
}

void scripted_put_frame(struct id *id, const struct frame *f, const void *bytes)
{
	scripted_put(&id->out, f, sizeof *f);
	if (f->n > 0)
		scripted_put(&id->out, bytes, f->n);
}

static void put_send(struct id *id, const struct qp *qp, const struct send *s)
{
	struct frame f = {.kind = s->opcode == IBV_WR_RDMA_WRITE ? WRITE : SEND,
			  .n = (uint32_t)s->length,
			  .address = s->remote,
			  .key = s->rkey};

	if (!s->is_inline && !is_registered(qp->base.pd, s->address, s->length, s->lkey, 0))
		scripted_abort("memory is sent that is not registered");
	scripted_put_frame(id, &f,
			   s->is_inline ? s->bytes : (const void *)(uintptr_t)s->address);
}

/* One that comes back is another. */
static void remove_device(void)
{
	n_absent = 2;
	if (++context == contexts + 16)
		scripted_abort("too many devices");
	scripted_cm_remove_device();
}

/* Put frames of work requests behind one another, as long as there are few bytes. */
static void fill_out(struct id *id)
{
	struct qp *qp = id->qp;

	while (id->state == CONNECTED && qp && qp->n_sent < qp->n_posted &&
	       !id->breaks_when_written && id->out.n - id->out.from < 65536) {
		const struct send *s = &qp->sends[qp->n_sent % qp->cap.max_send_wr];

		if (s->fault == SILENT) {
			id->state = MUTE;
			return;
		}
		if (s->fault == REMOVED) {
			remove_device();
			return;
		}
		id->breaks_when_written = s->fault == CUT || s->fault == UNHEARD;
		if (s->fault == CUT)
			return;
		put_send(id, qp, s);
		qp->n_sent++;
	}
}

/* Is there more to write? */
static bool write_out(struct id *id)
{
	ssize_t n;

	fill_out(id);
	while (id->out.from < id->out.n) {
		n = send(id->fd, id->out.at + id->out.from, id->out.n - id->out.from,
			 MSG_NOSIGNAL);
		if (n < 0 && errno == EAGAIN)
			return true;
		if (n < 0) { /* reading tells why */
			id->out.from = id->out.n;
			break;
		}
		id->out.from += (size_t)n;
		if (id->out.from == id->out.n)
			fill_out(id);
	}
	id->out.from = id->out.n = 0;
	if (id->breaks_when_written && id->state == CONNECTED)
		scripted_cm_lose(id, IBV_WC_RETRY_EXC_ERR);
	return false;
}

/* ---- what it reads */

static void acknowledge(struct id *id, enum frame_kind kind)
{
	struct frame f = {.kind = kind, .address = id->qp->n_served};

	scripted_put_frame(id, &f, NULL);
}

/* false: there is no receive yet. */
static bool serve(struct id *id, const struct frame *f, const unsigned char *bytes)
{
	struct qp *qp = id->qp;
	struct receive *r;

	if (f->kind == WRITE) {
		if (!(qp->access & IBV_ACCESS_REMOTE_WRITE) ||
		    !is_registered(qp->base.pd, f->address, f->n, (uint32_t)f->key,
				   IBV_ACCESS_REMOTE_WRITE)) {
			acknowledge(id, NAK);
			scripted_flush(qp, IBV_WC_WR_FLUSH_ERR);
			return true;
		}
		memcpy((void *)(uintptr_t)f->address, bytes, f->n);
	} else {
		if (qp->n_used == qp->n_receives)
			return false;
		r = &qp->receives[qp->n_used++ % qp->cap.max_recv_wr];
		if (r->length < f->n)
			scripted_abort("a message is longer than its receive");
		memcpy((void *)(uintptr_t)r->address, bytes, f->n);
		complete(qp->base.recv_cq, qp, r->wr_id, IBV_WC_SUCCESS, f->n);
	}
	qp->n_served++;
	acknowledge(id, ACK);
	return true;
}

static void take_acknowledgement(struct qp *qp, const struct frame *f)
{
	for (; qp->n_acked < f->address; qp->n_acked++) {
		const struct send *s = &qp->sends[qp->n_acked % qp->cap.max_send_wr];

		if (s->is_signaled)
			complete(qp->base.send_cq, qp, s->wr_id, IBV_WC_SUCCESS, 0);
	}
	if (f->kind == NAK)
		scripted_flush(qp, IBV_WC_REM_ACCESS_ERR);
}

/* false: it must wait. */
static bool take_frame(struct id *id, const struct frame *f, const unsigned char *bytes)
{
	bool is_work = f->kind == WRITE || f->kind == SEND;
	bool is_answer = f->kind == ACK || f->kind == NAK;

	if (!is_work && !is_answer) {
		scripted_cm_frame(id, f, bytes);
		return true;
	}
	if (!id->qp || id->qp->is_broken || id->breaks_when_written)
		return true; /* nobody is there for it */
	if (is_work)
		return serve(id, f, bytes);
	take_acknowledgement(id->qp, f);
	return true;
}

static void take_frames(struct id *id)
{
	struct frame f;

	while (id->in.n - id->in.from >= sizeof f && id->state != MUTE) {
		memcpy(&f, id->in.at + id->in.from, sizeof f);
		if (id->in.n - id->in.from < sizeof f + f.n ||
		    !take_frame(id, &f, id->in.at + id->in.from + sizeof f) ||
		    id->fd < 0)
			return;
		id->in.from += sizeof f + f.n;
	}
}

static void read_in(struct id *id)
{
	unsigned char bytes[65536];
	ssize_t n;

	while ((n = recv(id->fd, bytes, sizeof bytes, 0)) > 0) {
		scripted_put(&id->in, bytes, (size_t)n);
		take_frames(id);
		if (id->in.n - id->in.from > 8 << 20)
			return; /* a message waits for its receive */
	}
	if (n == 0 || errno != EAGAIN)
		scripted_cm_lose(id, IBV_WC_REM_ACCESS_ERR); /* its memory went first */
}

/* ---- its loop */

static bool is_listed(const struct id *wanted)
{
	const struct id *id;

	for (id = scripted_ids; id && id != wanted; id = id->next)
		;
	return id != NULL;
}

/* One round over all; returns how many are to be polled. */
static nfds_t look(struct pollfd *fds, struct id **ids, nfds_t room)
{
	struct id *id, *next;
	nfds_t n = 1;

	for (id = scripted_ids; id; id = next) {
		bool must_write;

		next = id->next;
		if (id->fd < 0 || id->state == MUTE) {
			if (id->is_zombie)
				scripted_cm_free(id);
			continue;
		}
		if (id->state != LISTENING)
			take_frames(id); /* a receive may have come */
		must_write = id->fd >= 0 && write_out(id);
		if (id->is_zombie && !must_write) {
			scripted_cm_free(id);
			continue;
		}
		if (id->fd < 0 || id->state == MUTE || n == room)
			continue;
		ids[n] = id;
		fds[n++] = (struct pollfd){.fd = id->fd,
					   .events = must_write ? POLLIN | POLLOUT
								: POLLIN};
	}
	return n;
}

static void *run_card(void *unused)
{
	struct pollfd fds[256];
	struct id *ids[256];
	nfds_t n, i;
	eventfd_t count;

	(void)unused;
	for (;;) {
		scripted_lock();
		n = look(fds, ids, 256);
		scripted_unlock();
		fds[0] = (struct pollfd){.fd = wake_fd, .events = POLLIN};
		poll(fds, n, -1);
		scripted_lock();
		if (fds[0].revents)
			eventfd_read(wake_fd, &count);
		for (i = 1; i < n; i++) {
			if (!(fds[i].revents & (POLLIN | POLLHUP | POLLERR)) ||
			    !is_listed(ids[i]) || ids[i]->fd != fds[i].fd)
				continue;
			if (ids[i]->state == LISTENING)
				scripted_cm_knock(ids[i]);
			else if (!ids[i]->is_zombie && ids[i]->state != MUTE)
				read_in(ids[i]);
		}
		scripted_unlock();
	}
	return NULL;
}

void scripted_wake_card(void)
{
	pthread_t thread;

	if (wake_fd < 0) {
		wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		if (pthread_create(&thread, NULL, run_card, NULL) != 0)
			scripted_abort("no thread");
		pthread_detach(thread);
	}
	eventfd_write(wake_fd, 1);
}
