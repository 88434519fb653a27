/* SPDX-License-Identifier: MIT */
/* zmq-sender - the transport of `zmq.so`: ZeroMQ in Tensorcom's format.
 *
 * How this works.  A batch is one message: for each tensor a frame with its header, and
 * a frame with its data; with `?single` one frame of chunks.  Data go out of the slot
 * without a copy: ZeroMQ calls frame_is_done(), on a thread of its own, when it has let
 * go of a frame, and a slot is free when all its frames are.  So the slots are what
 * bounds memory and slows the sender down.  The socket belongs to the thread that calls
 * take() and send(); what it waits for is a free slot (an eventfd) or the socket.
 *
 * A message that no peer can take now stays `pending`, and take() sends it.  That a peer
 * goes while its frames are handed over is the same case: ZeroMQ takes back the frames
 * that it has.
 *
 * No batch is published to nobody.  The queues of a publisher have no limit but the
 * slots: it never drops a batch for a subscriber that is slow, but all go as fast as the
 * slowest.
 *
 * There is no acknowledgement: what a peer has received and not used is lost with it.  A
 * batch comes at most once. */
#include "formats/tenbin.h"
#include "transport/guard.h"
#include "transport/transport.h"
#include "transport/zmq-socket.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <zmq.h>

#define SLICE_MS 200

extern const struct sfs_transport_ops sfs_transport_plugin;

struct slot {
	struct sfs_transport *transport;
	_Atomic uint32_t
		n_users; /* frames that ZeroMQ holds, and who fills or sends it */
	unsigned char *data;
	unsigned char *single; /* where it is packed, with ?single */
};

struct sfs_transport {
	struct sfs_zmq_address address;
	struct shufflefs_layout layout;
	uint32_t n_slots, give_up_ms;
	void *zmq, *socket, *monitor; /* the last tells of handshakes that failed */
	struct sfs_guard guard;	      /* their lines */
	int freed_fd; /* an eventfd: a slot may be free */
	struct slot *slots;

	/* Of the thread that takes and sends. */
	struct slot *taken;
	struct slot *pending; /* not yet handed over */
	uint32_t n_pending_samples;
	bool has_begun;
	uint64_t waits_since_ns; /* 0: does not wait */

	_Atomic uint64_t n_sent, n_subscribers;
};

static void frame_is_done(void *data, void *arg)
{
	struct slot *slot = arg;
	int freed_fd = slot->transport->freed_fd;
	uint64_t one = 1;

	/* (The transport lives until ZeroMQ has ended, so freed_fd is open.) */
	if (atomic_fetch_sub(&slot->n_users, 1) == 1 &&
	    write(freed_fd, &one, sizeof one) < 0)
		sfs_debug("zmq: eventfd: %s",
			  strerror(errno)); /* (it is full: it wakes) */
}

static struct slot *free_slot(struct sfs_transport *t)
{
	uint32_t i;

	for (i = 0; i < t->n_slots; i++)
		if (atomic_load(&t->slots[i].n_users) == 0)
			return &t->slots[i];
	return NULL;
}

static void name_array(const struct shufflefs_tensor *tensor, uint32_t n_samples,
		       struct sfs_tenbin_array *ret_array)
{
	struct sfs_tenbin_array a = {.rank = tensor->rank};

	memcpy(a.dtype, tensor->dtype, sizeof tensor->dtype);
	memcpy(a.name, tensor->name, 8); /* (longer ones are cut) */
	memcpy(a.dims, tensor->dims, tensor->rank * sizeof a.dims[0]);
	a.dims[0] = n_samples;
	*ret_array = a;
}

/* Hand one frame over.  -EAGAIN: no peer takes it. */
static int send_frame(struct sfs_transport *t, zmq_msg_t *frame, bool is_last)
{
	int flags = ZMQ_DONTWAIT | (is_last ? 0 : ZMQ_SNDMORE), ret;

	do
		ret = zmq_msg_send(frame, t->socket, flags);
	while (ret < 0 && zmq_errno() == EINTR);
	if (ret >= 0)
		return 0;
	ret = sfs_zmq_error();
	zmq_msg_close(frame);
	return ret;
}

static int send_header(struct sfs_transport *t, const struct sfs_tenbin_array *array)
{
	unsigned char header[SFS_TENBIN_HEADER_MAX];
	size_t n = sfs_tenbin_write_header(array, header);
	zmq_msg_t frame;

	if (zmq_msg_init_size(&frame, n) < 0)
		return -ENOMEM;
	memcpy(zmq_msg_data(&frame), header, n);
	return send_frame(t, &frame, false);
}

static int send_data(struct sfs_transport *t, struct slot *slot, void *data, uint64_t n,
		     bool is_last)
{
	zmq_msg_t frame;

	atomic_fetch_add(&slot->n_users, 1);
	if (zmq_msg_init_data(&frame, data, n, frame_is_done, slot) < 0) {
		atomic_fetch_sub(&slot->n_users, 1);
		return -ENOMEM;
	}
	return send_frame(t, &frame, is_last);
}

/* All frames are offered even when one was refused: those behind it are dropped by
 * ZeroMQ, which then begins anew. */
static int send_multipart(struct sfs_transport *t, struct slot *slot, uint32_t n_samples)
{
	struct sfs_tenbin_array array;
	int ret = 0, failed = 0;
	uint32_t i;

	for (i = 0; i < t->layout.n_tensors; i++) {
		name_array(&t->layout.tensors[i], n_samples, &array);
		ret = send_header(t, &array);
		if (ret < 0 && i == 0)
			return ret;
		failed = failed ? failed : ret;
		ret = send_data(t, slot, slot->data + t->layout.tensors[i].offset,
				sfs_layout_bytes(&t->layout, i, n_samples),
				i + 1 == t->layout.n_tensors);
		failed = failed ? failed : ret;
	}
	return failed;
}

static int send_single(struct sfs_transport *t, struct slot *slot, uint32_t n_samples)
{
	unsigned char header[SFS_TENBIN_HEADER_MAX], *p = slot->single;
	struct sfs_tenbin_array array;
	uint32_t i;
	size_t n;

	for (i = 0; i < t->layout.n_tensors; i++) {
		name_array(&t->layout.tensors[i], n_samples, &array);
		n = sfs_tenbin_write_header(&array, header);
		p = sfs_tenbin_write_chunk(p, header, n);
		p = sfs_tenbin_write_chunk(p, slot->data + t->layout.tensors[i].offset,
					   sfs_layout_bytes(&t->layout, i, n_samples));
	}
	return send_data(t, slot, slot->single, (uint64_t)(p - slot->single), true);
}

/* 0: nothing is pending any more.  -EAGAIN; others with an error. */
static int flush(struct sfs_transport *t, struct sfs_error *err)
{
	int ret;

	if (!t->pending)
		return 0;
	ret = t->address.is_single ? send_single(t, t->pending, t->n_pending_samples)
				   : send_multipart(t, t->pending, t->n_pending_samples);
	if (ret == -EAGAIN)
		return ret;
	if (ret < 0)
		return sfs_error_set(err, ret, "%s: %s", t->address.endpoint,
				     strerror(-ret));
	frame_is_done(NULL, t->pending); /* what send() held is given back */
	t->pending = NULL;
	t->waits_since_ns = 0;
	atomic_fetch_add(&t->n_sent, 1);
	return 0;
}

/* Each says one byte, 1 or 0, and a topic. */
static void read_subscriptions(struct sfs_transport *t)
{
	unsigned char what;

	while (zmq_recv(t->socket, &what, 1, ZMQ_DONTWAIT) >= 1) {
		if (what == 1)
			atomic_fetch_add(&t->n_subscribers, 1);
		else if (atomic_load(&t->n_subscribers) > 0)
			atomic_fetch_sub(&t->n_subscribers, 1);
	}
}

static bool has_subscribers(struct sfs_transport *t)
{
	uint64_t n = t->address.n_wait;

	if (t->address.socket_type != ZMQ_XPUB)
		return true;
	read_subscriptions(t);
	if (t->has_begun && n > 1)
		n = 1; /* some may leave, not all */
	if (atomic_load(&t->n_subscribers) < n)
		return false;
	t->has_begun = true;
	return true;
}

/* Nothing goes on: wait for the socket or a slot, until `until_ns`.  -ETIMEDOUT: that has
 * passed; -EHOSTUNREACH, with an error: for too long. */
static int wait_for_peers(struct sfs_transport *t, uint64_t until_ns,
			  struct sfs_error *err)
{
	bool is_pub = t->address.socket_type == ZMQ_XPUB;
	zmq_pollitem_t items[2] = {{.socket = t->socket,
				    .events = is_pub ? ZMQ_POLLIN
						     : (t->pending ? ZMQ_POLLOUT : 0)},
				   {.fd = t->freed_fd, .events = ZMQ_POLLIN}};
	uint64_t now = sfs_clock_ns(), left_ms, n;
	int ret = sfs_zmq_look_at_handshakes(t->monitor, &t->address, &t->guard,
					     err);

	if (ret < 0)
		return ret;
	if (!t->waits_since_ns)
		t->waits_since_ns = now;
	if (sfs_clock_is_over(t->waits_since_ns, t->give_up_ms, now))
		return sfs_error_set(err, -EHOSTUNREACH, "%s: %s for %llu s",
				     t->address.endpoint,
				     is_pub && !has_subscribers(t)
					     ? "not enough subscribers came"
					     : "no peer took a batch",
				     t->give_up_ms / 1000ULL);
	if (now >= until_ns)
		return -ETIMEDOUT;
	left_ms = (until_ns - now) / SFS_NS_PER_MS + 1;
	zmq_poll(items, 2, left_ms < SLICE_MS ? (long)left_ms : SLICE_MS);
	if ((items[1].revents & ZMQ_POLLIN) && read(t->freed_fd, &n, sizeof n) > 0)
		t->waits_since_ns = 0;
	return 0;
}

static int zmq_take(struct sfs_transport *t, int timeout_ms, void **ret_slot,
		    struct sfs_error *err)
{
	uint64_t until_ns = sfs_clock_deadline(timeout_ms);
	int ret = sfs_zmq_look_at_handshakes(t->monitor, &t->address, &t->guard,
					     err);

	if (ret < 0)
		return ret;
	for (;;) {
		ret = flush(t, err);
		if (ret < 0 && ret != -EAGAIN)
			return ret;
		t->taken = ret == 0 && has_subscribers(t) ? free_slot(t) : NULL;
		if (t->taken)
			break;
		ret = wait_for_peers(t, until_ns, err);
		if (ret < 0)
			return ret;
	}
	atomic_store(&t->taken->n_users, 1);
	t->waits_since_ns = 0;
	*ret_slot = t->taken->data;
	return 0;
}

static int zmq_send_batch(struct sfs_transport *t, const struct sfs_batch_info *info,
			  struct sfs_error *err)
{
	int ret;

	t->pending = steal(&t->taken);
	t->n_pending_samples = info->n_samples;
	ret = flush(t, err);
	return ret == -EAGAIN ? 0 : ret;
}

static bool is_idle(struct sfs_transport *t)
{
	uint32_t i;

	for (i = 0; i < t->n_slots; i++)
		if (&t->slots[i] != t->taken && atomic_load(&t->slots[i].n_users) != 0)
			return false;
	return true;
}

static int zmq_finish(struct sfs_transport *t, int timeout_ms, struct sfs_error *err)
{
	uint64_t until_ns = sfs_clock_deadline(timeout_ms);
	int ret;

	for (;;) {
		ret = flush(t, err);
		if (ret < 0 && ret != -EAGAIN)
			return ret;
		if (ret == 0 && is_idle(t))
			return 0;
		ret = wait_for_peers(t, until_ns, err);
		if (ret < 0)
			return ret;
	}
}

/* Tensorcom has no words for it. */
static void zmq_fail(struct sfs_transport *t, const char *why)
{
}

static void zmq_close_transport(struct sfs_transport *t)
{
	uint32_t i;

	if (t->socket)
		zmq_close(t->socket);
	if (t->monitor)
		zmq_close(t->monitor);
	if (t->zmq)
		zmq_ctx_term(t->zmq); /* as long as the socket lingers: all frames are sent */
	for (i = 0; i < t->n_slots; i++) {
		free(t->slots[i].data);
		free(t->slots[i].single);
	}
	if (t->freed_fd >= 0)
		close(t->freed_fd);
	sfs_zmq_address_done(&t->address);
	free(t->slots);
	free(t);
}

static void zmq_describe(struct sfs_transport *t, struct sfs_json_writer *json)
{
	sfs_json_put_string(json, "endpoint", t->address.endpoint);
	sfs_json_put_uint(json, "sent", atomic_load(&t->n_sent));
	if (t->address.socket_type == ZMQ_XPUB)
		sfs_json_put_uint(json, "subscribers", atomic_load(&t->n_subscribers));
}

static int check_layout(const struct shufflefs_layout *layout, struct sfs_error *err)
{
	uint32_t i;

	for (i = 0; i < layout->n_tensors; i++) {
		const struct shufflefs_tensor *t = &layout->tensors[i];

		if (!sfs_tenbin_has_dtype(t->dtype))
			return sfs_error_set(
				err, -EINVAL,
				"%s: Tensorcom has no dtype '%s'; choose another for "
				"this tensor, or send it by tcp://",
				t->name, t->dtype);
		if (strlen(t->name) > 8)
			sfs_warning("zmq: tensor '%s' is called '%.8s' by Tensorcom, "
				    "whose names have at most 8 bytes",
				    t->name, t->name);
	}
	return 0;
}

static void make_slots(struct sfs_transport *t)
{
	uint64_t n_single = 0, n_data = (t->layout.slot_bytes + 4095) / 4096 * 4096;
	uint32_t i;

	for (i = 0; i < t->layout.n_tensors; i++)
		n_single += sfs_tenbin_chunk_bytes(SFS_TENBIN_HEADER_MAX) +
			    sfs_tenbin_chunk_bytes(
				    sfs_layout_bytes(&t->layout, i, t->layout.n_samples));
	t->slots = sfs_calloc(t->n_slots, sizeof *t->slots);
	for (i = 0; i < t->n_slots; i++) {
		t->slots[i].transport = t;
		t->slots[i].data = aligned_alloc(4096, n_data);
		if (t->address.is_single)
			t->slots[i].single = sfs_malloc(n_single);
	}
}

static int zmq_open(const struct sfs_transport_settings *settings,
		    const struct shufflefs_layout *layout, struct sfs_transport **ret,
		    struct sfs_error *err)
{
	struct sfs_transport *t = sfs_calloc(1, sizeof *t);
	uint32_t i;
	int code;

	t->freed_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	t->layout = *layout;
	t->give_up_ms = settings->give_up_ms;
	code = t->freed_fd < 0
		       ? sfs_error_set(err, -errno, "eventfd: %s", strerror(errno))
		       : sfs_zmq_address_parse(settings->target, &t->address, err);
	if (code == 0 && !sfs_zmq_is_sender(t->address.socket_type))
		code = sfs_error_set(err, -EINVAL, "'%s' receives, it does not send",
				     settings->target);
	if (code == 0)
		code = check_layout(layout, err);
	if (code == 0) {
		t->n_slots = settings->n_slots;
		make_slots(t);
		for (i = 0; i < t->n_slots; i++)
			if (!t->slots[i].data)
				code = sfs_error_set(
					err, -ENOMEM,
					"no memory for a batch of %llu bytes",
					(unsigned long long)layout->slot_bytes);
	}
	if (code == 0) {
		/* A peer that stands still may not take all slots with it. */
		int hwm = t->address.socket_type == ZMQ_XPUB ? 0
							     : (int)(t->n_slots + 1) / 2;

		t->zmq = zmq_ctx_new();
		code = sfs_zmq_open_socket(t->zmq, &t->address, hwm, settings->secret,
					   &t->socket, &t->monitor, err);
	}
	if (code < 0) {
		zmq_close_transport(t);
		return code;
	}
	*ret = t;
	return 0;
}

const struct sfs_transport_ops sfs_transport_plugin = {
	.version = SFS_TRANSPORT_VERSION,
	.schemes = "zpush zpush+tcp zpush+ipc zrpush zrpush+tcp zrpush+ipc "
		   "zpub zpub+tcp zpub+ipc zrpub zrpub+tcp zrpub+ipc",
	.open = zmq_open,
	.take = zmq_take,
	.send = zmq_send_batch,
	.finish = zmq_finish,
	.fail = zmq_fail,
	.close = zmq_close_transport,
	.describe = zmq_describe,
};
