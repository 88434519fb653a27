/* SPDX-License-Identifier: MIT */
/* zmq-plugin - ZeroMQ in Tensorcom's format: zpush, zpub, zpull, zsub, and the reversed
 * forms, whose other end binds.  It is `zmq.so`, the only file that knows ZeroMQ.
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
 * To publish we use XPUB, which to subscribers is PUB and shows who subscribes: so no
 * batch is sent to nobody.  Its queues have no limit but the slots: it never drops a
 * batch for a subscriber that is slow, but all go as fast as the slowest.
 *
 * There is no acknowledgement: what a peer has received and not used is lost with it.  A
 * batch comes at most once. */
#include "receiver.h"
#include "tenbin.h"
#include "transport.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <zmq.h>

#define SLICE_MS   200
#define LINGER_MS  2000
#define FRAMES_MAX (2 * SHUFFLEFS_TENSORS_MAX)

/* Messages that ZeroMQ receives ahead.  Over IPC it loses what the kernel still has when
 * the sender closes while this many wait, so there it is as many as Tensorcom has. */
#define AHEAD_TCP 2
#define AHEAD_IPC 1000

extern const struct sfs_transport_ops sfs_transport_plugin;
extern const struct sfs_receiver_ops sfs_receiver_plugin;

/* What a URL says. */
struct address {
	int socket_type;
	bool is_bound, is_single;
	uint64_t n_wait;	/* publish to so many, at least */
	char *endpoint, *topic; /* "tcp://host:port" */
};

static const struct {
	const char *name;
	int socket_type;
	bool is_bound;
} schemes[] = {{"zpush", ZMQ_PUSH, false}, {"zrpush", ZMQ_PUSH, true},
	       {"zpub", ZMQ_XPUB, true},   {"zrpub", ZMQ_XPUB, false},
	       {"zpull", ZMQ_PULL, true},  {"zrpull", ZMQ_PULL, false},
	       {"zsub", ZMQ_SUB, false},   {"zrsub", ZMQ_SUB, true}};

static void address_done(struct address *a)
{
	free(a->endpoint);
	free(a->topic);
}

/* "single" or "wait=3", between "&". */
static int parse_query(char *query, struct address *a, struct sfs_error *err)
{
	char *word, *rest = query, *end;

	while ((word = strsep(&rest, "&"))) {
		if (strcmp(word, "single") == 0) {
			a->is_single = true;
			continue;
		}
		if (strncmp(word, "wait=", 5) != 0)
			return sfs_error_set(err, -EINVAL,
					     "'?%s' is neither ?single nor ?wait=N",
					     word);
		a->n_wait = strtoul(word + 5, &end, 10);
		if (end == word + 5 || *end || a->n_wait > 10000)
			return sfs_error_set(err, -EINVAL,
					     "'%s': wait for 0 to 10000 subscribers",
					     word);
	}
	return 0;
}

/* zpush+tcp://host:port?single#topic */
static int parse_address(const char *url, struct address *a, struct sfs_error *err)
{
	sfs_autofree char *text = sfs_strdup(url);
	char *rest = strstr(text, "://"), *query, *topic, *carrier;
	size_t i;

	if (!rest || !rest[3])
		return sfs_error_set(err, -EINVAL, "'%s': write %s", url,
				     "zpush://HOST:PORT or zpush+ipc:///PATH");
	*rest = 0;
	rest += 3;
	topic = strchr(rest, '#');
	if (topic)
		*topic++ = 0;
	query = strchr(rest, '?');
	if (query)
		*query++ = 0;
	carrier = strchr(text, '+');
	if (carrier)
		*carrier++ = 0;
	if (carrier && strcmp(carrier, "tcp") != 0 && strcmp(carrier, "ipc") != 0)
		return sfs_error_set(err, -EINVAL, "'%s': '+%s' is neither +tcp nor +ipc",
				     url, carrier);
	for (i = 0; i < SFS_COUNT(schemes); i++)
		if (strcmp(schemes[i].name, text) == 0)
			break;
	if (i == SFS_COUNT(schemes))
		return sfs_error_set(err, -EINVAL, "'%s': there is no '%s'", url, text);
	a->socket_type = schemes[i].socket_type;
	a->is_bound = schemes[i].is_bound;
	a->n_wait = 1;
	a->endpoint = sfs_asprintf("%s://%s", carrier ? carrier : "tcp", rest);
	a->topic = sfs_strdup(topic ? topic : "");
	return query ? parse_query(query, a, err) : 0;
}

static int foreign_error(void)
{
	int code = zmq_errno();

	return code == ETERM || code == ENOTSOCK ? -EIO
	       : code == EMTHREAD		 ? -EMFILE
						 : -code;
}

static void set_int(void *socket, int option, int value)
{
	zmq_setsockopt(socket, option, &value, sizeof value);
}

static int open_socket(void *zmq, const struct address *a, int hwm, void **ret_socket,
		       struct sfs_error *err)
{
	int64_t most = (int64_t)SFS_LAYOUT_SLOT_MAX + (1 << 20);
	void *socket = zmq_socket(zmq, a->socket_type);
	int ret;

	if (!socket)
		return sfs_error_set(err, foreign_error(), "ZeroMQ: %s",
				     zmq_strerror(zmq_errno()));
	set_int(socket, ZMQ_LINGER, LINGER_MS);
	set_int(socket, ZMQ_SNDHWM, hwm);
	set_int(socket, ZMQ_RCVHWM, hwm);
	set_int(socket, ZMQ_TCP_KEEPALIVE, 1);
	set_int(socket, ZMQ_TCP_KEEPALIVE_IDLE, 30);
	set_int(socket, ZMQ_TCP_KEEPALIVE_INTVL, 10);
	set_int(socket, ZMQ_TCP_KEEPALIVE_CNT, 3);
	zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &most, sizeof most);
	if (a->socket_type == ZMQ_XPUB)
		set_int(socket, ZMQ_XPUB_VERBOSER, 1);
	if (a->socket_type == ZMQ_SUB)
		zmq_setsockopt(socket, ZMQ_SUBSCRIBE, a->topic, strlen(a->topic));
	ret = a->is_bound ? zmq_bind(socket, a->endpoint)
			  : zmq_connect(socket, a->endpoint);
	if (ret < 0) {
		ret = sfs_error_set(err, foreign_error(), "cannot %s %s: %s",
				    a->is_bound ? "bind" : "connect to", a->endpoint,
				    zmq_strerror(zmq_errno()));
		zmq_close(socket);
		return ret;
	}
	*ret_socket = socket;
	return 0;
}

/* ---- the sender */

struct slot {
	struct sfs_transport *transport;
	_Atomic uint32_t
		n_users; /* frames that ZeroMQ holds, and who fills or sends it */
	unsigned char *data;
	unsigned char *single; /* where it is packed, with ?single */
};

struct sfs_transport {
	struct address address;
	struct shufflefs_layout layout;
	uint32_t n_slots;
	uint64_t give_up_ns;
	void *zmq, *socket;
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
	ret = foreign_error();
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

	if (!t->waits_since_ns)
		t->waits_since_ns = now;
	if (t->give_up_ns && now - t->waits_since_ns >= t->give_up_ns)
		return sfs_error_set(err, -EHOSTUNREACH, "%s: %s for %llu s",
				     t->address.endpoint,
				     is_pub && !has_subscribers(t)
					     ? "not enough subscribers came"
					     : "no peer took a batch",
				     (unsigned long long)(t->give_up_ns / SFS_NS_PER_S));
	if (now >= until_ns)
		return -ETIMEDOUT;
	left_ms = (until_ns - now) / SFS_NS_PER_MS + 1;
	zmq_poll(items, 2, left_ms < SLICE_MS ? (long)left_ms : SLICE_MS);
	if ((items[1].revents & ZMQ_POLLIN) && read(t->freed_fd, &n, sizeof n) > 0)
		t->waits_since_ns = 0;
	return 0;
}

static uint64_t deadline(int timeout_ms)
{
	return timeout_ms < 0 ? UINT64_MAX
			      : sfs_clock_ns() + (uint64_t)timeout_ms * SFS_NS_PER_MS;
}

static int zmq_take(struct sfs_transport *t, int timeout_ms, void **ret_slot,
		    struct sfs_error *err)
{
	uint64_t until_ns = deadline(timeout_ms);
	int ret;

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
	uint64_t until_ns = deadline(timeout_ms);
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
	if (t->zmq)
		zmq_ctx_term(t->zmq); /* waits at most LINGER_MS; all frames are done */
	for (i = 0; i < t->n_slots; i++) {
		free(t->slots[i].data);
		free(t->slots[i].single);
	}
	if (t->freed_fd >= 0)
		close(t->freed_fd);
	address_done(&t->address);
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

static bool is_sender(int socket_type)
{
	return socket_type == ZMQ_PUSH || socket_type == ZMQ_XPUB;
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
	t->give_up_ns = settings->give_up_ms * SFS_NS_PER_MS;
	code = t->freed_fd < 0
		       ? sfs_error_set(err, -errno, "eventfd: %s", strerror(errno))
		       : parse_address(settings->target, &t->address, err);
	if (code == 0 && !is_sender(t->address.socket_type))
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
		code = open_socket(t->zmq, &t->address, hwm, &t->socket, err);
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

/* ---- the receiver */

struct sfs_receiver {
	struct address address;
	struct sfs_ring_settings ring_settings;
	char *ring_path;
	uint64_t give_up_ns;
	int stop_fd;
	void *zmq, *socket;
	struct shufflefs_layout layout; /* of the first message, once there is a ring */
	uint64_t n_samples;		/* received */
	struct sfs_ring *_Atomic ring;
	_Atomic uint64_t n_batches, n_dropped;
};

/* One message, and the arrays in it. */
struct message {
	zmq_msg_t frames[FRAMES_MAX];
	uint32_t n_frames;
	struct sfs_tenbin_array arrays[SHUFFLEFS_TENSORS_MAX];
	const unsigned char *data[SHUFFLEFS_TENSORS_MAX];
	uint32_t n_arrays;
};

static void message_done(struct message *m)
{
	uint32_t i;

	for (i = 0; i < m->n_frames; i++)
		zmq_msg_close(&m->frames[i]);
}

/* All its frames, or the first ones.  -EAGAIN: there is none; -EBADMSG: it has too
 * many. */
static int receive_message(struct sfs_receiver *r, struct message *m)
{
	bool is_cut = false, has_more;
	zmq_msg_t *frame;

	do {
		if (m->n_frames == FRAMES_MAX) {
			is_cut = true;
			zmq_msg_close(&m->frames[--m->n_frames]);
		}
		frame = &m->frames[m->n_frames++];
		zmq_msg_init(frame);
		if (zmq_msg_recv(frame, r->socket, ZMQ_DONTWAIT) < 0)
			return zmq_errno() == EINTR ? -EAGAIN : foreign_error();
		has_more = zmq_msg_more(frame);
	} while (has_more);
	return is_cut ? -EBADMSG : 0;
}

static int read_multipart(struct message *m, struct sfs_error *err)
{
	uint32_t i;
	int ret;

	if (m->n_frames % 2)
		return sfs_error_set(err, -EBADMSG, "a message of %u frames",
				     m->n_frames);
	for (i = 0; i < m->n_frames; i += 2) {
		struct sfs_tenbin_array *a = &m->arrays[i / 2];

		ret = sfs_tenbin_read_header(zmq_msg_data(&m->frames[i]),
					     zmq_msg_size(&m->frames[i]), a, err);
		if (ret < 0)
			return ret;
		if (zmq_msg_size(&m->frames[i + 1]) != a->n_bytes)
			return sfs_error_set(err, -EBADMSG,
					     "an array of %zu bytes, not %llu",
					     zmq_msg_size(&m->frames[i + 1]),
					     (unsigned long long)a->n_bytes);
		m->data[i / 2] = zmq_msg_data(&m->frames[i + 1]);
	}
	m->n_arrays = m->n_frames / 2;
	return 0;
}

static int read_single(struct message *m, struct sfs_error *err)
{
	struct sfs_tenbin_reader reader = {zmq_msg_data(&m->frames[0]),
					   zmq_msg_size(&m->frames[0])};
	struct sfs_tenbin_array a;
	const unsigned char *data;
	int ret;

	while ((ret = sfs_tenbin_next_array(&reader, &a, &data, err)) == 1) {
		if (m->n_arrays == SHUFFLEFS_TENSORS_MAX)
			return sfs_error_set(err, -EBADMSG, "more than %d arrays",
					     SHUFFLEFS_TENSORS_MAX);
		m->arrays[m->n_arrays] = a;
		m->data[m->n_arrays++] = data;
	}
	return ret;
}

/* Which of both it is can be seen: an array has two frames. */
static int read_arrays(struct message *m, struct sfs_error *err)
{
	int ret = m->n_frames == 1 ? read_single(m, err) : read_multipart(m, err);
	uint32_t i;

	if (ret < 0)
		return ret;
	for (i = 0; i < m->n_arrays; i++)
		if (m->arrays[i].rank == 0 ||
		    m->arrays[i].dims[0] != m->arrays[0].dims[0])
			return sfs_error_set(
				err, -EBADMSG,
				"array %u has no, or another, number of samples", i);
	if (m->n_arrays == 0 || m->arrays[0].dims[0] == 0)
		return sfs_error_set(err, -EBADMSG, "a message without samples");
	if (m->arrays[0].dims[0] > SFS_LAYOUT_BATCH_MAX)
		return sfs_error_set(err, -EBADMSG, "a message of too many samples");
	return 0;
}

/* Arrays without a name are "0", "1", ... */
static int make_layout(const struct message *m, struct shufflefs_layout *ret_layout,
		       struct sfs_error *err)
{
	struct shufflefs_layout layout = {.n_samples = (uint32_t)m->arrays[0].dims[0]};
	uint32_t i;
	int ret;

	for (i = 0; i < m->n_arrays; i++) {
		const struct sfs_tenbin_array *a = &m->arrays[i];
		struct sfs_row row = {.dtype = a->dtype, .rank = a->rank - 1};
		char name[12];

		snprintf(name, sizeof name, "%u", i);
		row.name = a->name[0] ? a->name : name;
		if (row.rank < SHUFFLEFS_DIMS_MAX)
			memcpy(row.dims, a->dims + 1, row.rank * sizeof row.dims[0]);
		ret = sfs_layout_add(&layout, &row, err);
		if (ret < 0)
			return ret;
	}
	*ret_layout = layout;
	return 0;
}

/* Is it a batch of the layout, or the beginning of one? */
static int check_fit(const struct sfs_receiver *r, const struct message *m,
		     struct sfs_error *err)
{
	const struct sfs_tenbin_array *a = m->arrays;
	uint32_t i;

	if (a->dims[0] > r->layout.n_samples)
		return sfs_error_set(err, -EPROTO,
				     "a batch of %llu samples came, the first had %u: "
				     "no batch may be longer than the first",
				     (unsigned long long)a->dims[0], r->layout.n_samples);
	for (i = 0; i < m->n_arrays && i < r->layout.n_tensors; i++) {
		const struct shufflefs_tensor *t = &r->layout.tensors[i];

		if (strcmp(a[i].dtype, t->dtype) != 0 || a[i].rank != t->rank ||
		    memcmp(a[i].dims + 1, t->dims + 1,
			   (t->rank - 1) * sizeof t->dims[0]) != 0)
			return sfs_error_set(err, -EPROTO,
					     "%s: a batch came with another dtype or "
					     "shape than the first",
					     t->name);
	}
	if (m->n_arrays != r->layout.n_tensors)
		return sfs_error_set(err, -EPROTO,
				     "a batch of %u arrays came, the first had %u",
				     m->n_arrays, r->layout.n_tensors);
	return 0;
}

static bool is_stopped(const struct sfs_receiver *r)
{
	zmq_pollitem_t item = {.fd = r->stop_fd, .events = ZMQ_POLLIN};

	return r->stop_fd >= 0 && zmq_poll(&item, 1, 0) > 0;
}

static int publish(struct sfs_receiver *r, const struct message *m, struct sfs_error *err)
{
	struct sfs_ring *ring = atomic_load(&r->ring);
	uint32_t i, n = (uint32_t)m->arrays[0].dims[0];
	struct shufflefs_batch batch = {.first = r->n_samples,
					.end = r->n_samples + n,
					.n_samples = n};
	void *slot;
	int ret;

	while ((ret = sfs_ring_take(ring, SLICE_MS, &slot, err)) == -ETIMEDOUT)
		if (is_stopped(r))
			return -ECANCELED;
	if (ret < 0)
		return ret;
	for (i = 0; i < m->n_arrays; i++)
		memcpy((unsigned char *)slot + r->layout.tensors[i].offset, m->data[i],
		       m->arrays[i].n_bytes);
	sfs_ring_publish(ring, &batch);
	r->n_samples += n;
	atomic_fetch_add(&r->n_batches, 1);
	return 0;
}

/* A peer's garbage ends nothing: it is dropped, and counted after the first line. */
static int drop(struct sfs_receiver *r, const struct sfs_error *why)
{
	if (atomic_fetch_add(&r->n_dropped, 1) == 0)
		sfs_warning("%s: a message that is no batch was dropped: %s; more of "
			    "them are only counted",
			    r->address.endpoint, why->text);
	return 0;
}

static int take_in(struct sfs_receiver *r, struct message *m, struct sfs_error *err)
{
	struct sfs_error why = {.text = "it has too many frames"};
	struct shufflefs_layout layout;
	struct sfs_ring *ring;
	int ret = receive_message(r, m);

	if (ret == -EBADMSG)
		return drop(r, &why);
	if (ret < 0)
		return ret;
	if (read_arrays(m, &why) < 0)
		return drop(r, &why);
	if (!atomic_load(&r->ring)) {
		if (make_layout(m, &layout, &why) < 0)
			return drop(r, &why);
		ret = sfs_ring_new(&r->ring_settings, &layout, &ring, err);
		if (ret < 0)
			return ret;
		r->layout = layout;
		atomic_store(&r->ring, ring);
	}
	ret = check_fit(r, m, err);
	return ret < 0 ? ret : publish(r, m, err);
}

static int receive_all(struct sfs_receiver *r, struct sfs_error *err)
{
	zmq_pollitem_t items[2] = {{.socket = r->socket, .events = ZMQ_POLLIN},
				   {.fd = r->stop_fd, .events = ZMQ_POLLIN}};
	uint64_t heard_ns = sfs_clock_ns();
	struct message m;
	int ret;

	for (;;) {
		zmq_poll(items, r->stop_fd >= 0 ? 2 : 1, SLICE_MS);
		if (items[1].revents) /* (a pipe's end is an error to zmq_poll) */
			return -ECANCELED;
		if (items[0].revents & ZMQ_POLLIN) {
			m.n_frames = m.n_arrays = 0;
			ret = take_in(r, &m, err);
			message_done(&m);
			if (ret < 0 && ret != -EAGAIN)
				return ret;
			heard_ns = sfs_clock_ns();
		}
		if (r->give_up_ns && sfs_clock_ns() - heard_ns >= r->give_up_ns)
			return sfs_error_set(err, -ETIMEDOUT,
					     "%s: no sender was heard for %llu s",
					     r->address.endpoint,
					     (unsigned long long)(r->give_up_ns /
								  SFS_NS_PER_S));
	}
}

static int receiver_run(struct sfs_receiver *r, struct sfs_error *err)
{
	struct sfs_error own = {0}, *e = err ? err : &own;
	int ret = receive_all(r, e);
	struct sfs_ring *ring = atomic_load(&r->ring);

	if (ring && ret == -ECANCELED)
		sfs_ring_end(ring); /* Tensorcom has no end but this */
	else if (ring)
		sfs_ring_fail(ring, e->text[0] ? e->text : strerror(-ret));
	return ret;
}

static struct sfs_ring *receiver_ring(struct sfs_receiver *r)
{
	return atomic_load(&r->ring);
}

static void receiver_describe(struct sfs_receiver *r, struct sfs_json_writer *json)
{
	sfs_json_put_string(json, "source", r->address.endpoint);
	sfs_json_put_uint(json, "received", atomic_load(&r->n_batches));
	sfs_json_put_uint(json, "garbage", atomic_load(&r->n_dropped));
}

static void receiver_close(struct sfs_receiver *r)
{
	sfs_ring_free(atomic_load(&r->ring));
	if (r->socket)
		zmq_close(r->socket);
	if (r->zmq)
		zmq_ctx_term(r->zmq);
	address_done(&r->address);
	free(r->ring_path);
	free(r);
}

static int receiver_open(const struct sfs_receiver_settings *settings,
			 struct sfs_receiver **ret, struct sfs_error *err)
{
	struct sfs_receiver *r = sfs_calloc(1, sizeof *r);
	int code;

	r->ring_settings = settings->ring;
	r->ring_path = sfs_strdup(settings->ring.path);
	r->ring_settings.path = r->ring_path;
	r->give_up_ns = settings->give_up_ms * SFS_NS_PER_MS;
	r->stop_fd = settings->stop_fd;
	code = parse_address(settings->source, &r->address, err);
	if (code == 0 && is_sender(r->address.socket_type))
		code = sfs_error_set(err, -EINVAL, "'%s' sends, it does not receive",
				     settings->source);
	if (code == 0) {
		r->zmq = zmq_ctx_new();
		code = open_socket(r->zmq, &r->address,
				   strncmp(r->address.endpoint, "ipc", 3) == 0
					   ? AHEAD_IPC
					   : AHEAD_TCP,
				   &r->socket, err);
	}
	if (code < 0) {
		receiver_close(r);
		return code;
	}
	*ret = r;
	return 0;
}

const struct sfs_receiver_ops sfs_receiver_plugin = {
	.version = SFS_RECEIVER_VERSION,
	.schemes = "zpull zpull+tcp zpull+ipc zrpull zrpull+tcp zrpull+ipc "
		   "zsub zsub+tcp zsub+ipc zrsub zrsub+tcp zrsub+ipc",
	.is_endless = true,
	.open = receiver_open,
	.run = receiver_run,
	.ring = receiver_ring,
	.describe = receiver_describe,
	.close = receiver_close,
};
