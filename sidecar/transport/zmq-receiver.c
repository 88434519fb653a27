/* SPDX-License-Identifier: MIT */
/* zmq-receiver - the receiver of `zmq.so`: ZeroMQ in Tensorcom's format.
 *
 * How this works.  One thread waits for messages, and for a stop.  The first message
 * that is a batch says what the layout is, and makes the ring.  A message that is no
 * batch, or one of another layout, is dropped, and keeps nobody waiting.  A second socket
 * tells of handshakes that failed: those peers are counted, and bring nothing.  Nothing is
 * acknowledged: what was received and not used is lost with this process. */
#include "transport/receiver.h"
#include "formats/tenbin.h"
#include "transport/guard.h"
#include "transport/zmq-socket.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <zmq.h>

#define SLICE_MS   200
#define FRAMES_MAX (2 * SHUFFLEFS_TENSORS_MAX)

/* Messages that ZeroMQ receives ahead.  Over IPC it loses what the kernel still has when
 * the sender closes while this many wait, so there it is as many as Tensorcom has. */
#define AHEAD_TCP 2
#define AHEAD_IPC 1000

extern const struct sfs_receiver_ops sfs_receiver_plugin;

struct sfs_receiver {
	struct sfs_zmq_address address;
	struct sfs_ring_settings ring_settings;
	char *ring_path;
	uint32_t give_up_ms;
	int stop_fd;
	void *zmq, *socket, *monitor;
	struct shufflefs_layout layout; /* of the first message, once there is a ring */
	uint64_t n_samples;		/* received */
	struct sfs_ring *_Atomic ring;
	struct sfs_error last_dropped;
	_Atomic uint64_t n_batches, n_dropped;
	struct sfs_guard guard;
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
			return zmq_errno() == EINTR ? -EAGAIN : sfs_zmq_error();
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
				"array %u has another number of samples than the "
				"first, or none", i);
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

/* Has the ring failed?  Or is nobody there, for too long, to take what is in it? */
static int check_ring(struct sfs_receiver *r, struct sfs_error *err)
{
	struct sfs_ring *ring = atomic_load(&r->ring);
	int ret;

	if (!ring)
		return 0;
	/* (Its batches are of no session, so one that is lost is the ring's failure.) */
	sfs_ring_next_lost(ring, &(uint32_t){0}, &(uint64_t){0});
	ret = sfs_ring_check(ring, err);
	if (ret < 0)
		return ret;
	if (sfs_ring_consumed(ring) == atomic_load(&r->n_batches) ||
	    r->give_up_ms == 0 || sfs_ring_alone_ms(ring) < r->give_up_ms)
		return 0;
	return sfs_error_set(err, -ETIMEDOUT,
			     "no trainer was attached to the ring for %u s",
			     r->give_up_ms / 1000);
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

	while ((ret = sfs_ring_take(ring, SLICE_MS, &slot, err)) == -ETIMEDOUT) {
		if (sfs_zmq_look_at_handshakes(r->monitor, &r->address, &r->guard,
					       err) < 0)
			return -EACCES;
		if (is_stopped(r))
			return -ECANCELED;
		ret = check_ring(r, err);
		if (ret < 0)
			break;
	}
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

/* What a peer sends that is no batch for us ends nothing: it is dropped, and counted after
 * the first line. */
static int drop(struct sfs_receiver *r, const struct sfs_error *why)
{
	if (atomic_fetch_add(&r->n_dropped, 1) == 0)
		sfs_warning("%s: a message that is not a batch was dropped: %s; more of "
			    "them are only counted",
			    r->address.endpoint, why->text);
	r->last_dropped = *why;
	return -EBADMSG;
}

/* 0: a batch; -EBADMSG: it was dropped; -EAGAIN: there is none; others with an error. */
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
	if (check_fit(r, m, &why) < 0)
		return drop(r, &why);
	return publish(r, m, err);
}

static int give_up(const struct sfs_receiver *r, struct sfs_error *err)
{
	uint64_t n_dropped = atomic_load(&r->n_dropped);

	if (n_dropped == 0)
		return sfs_error_set(err, -ETIMEDOUT,
				     "%s: heard nothing from any sender for %u s",
				     r->address.endpoint, r->give_up_ms / 1000);
	return sfs_error_set(err, -ETIMEDOUT,
			     "%s: no batch came for %u s; %llu messages were dropped, "
			     "the last because of: %s",
			     r->address.endpoint, r->give_up_ms / 1000,
			     (unsigned long long)n_dropped, r->last_dropped.text);
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
		if (sfs_zmq_look_at_handshakes(r->monitor, &r->address, &r->guard,
					       err) < 0)
			return -EACCES;
		if (items[1].revents) /* (a pipe's end is an error to zmq_poll) */
			return -ECANCELED;
		if (items[0].revents & ZMQ_POLLIN) {
			m.n_frames = m.n_arrays = 0;
			ret = take_in(r, &m, err);
			message_done(&m);
			if (ret == 0)
				heard_ns = sfs_clock_ns();
			else if (ret != -EAGAIN && ret != -EBADMSG)
				return ret;
		}
		ret = check_ring(r, err);
		if (ret < 0)
			return ret;
		if (sfs_clock_is_over(heard_ns, r->give_up_ms, sfs_clock_ns()))
			return give_up(r, err);
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
	sfs_json_put_uint(json, "refused", r->guard.n);
}

static uint64_t receiver_refused(struct sfs_receiver *r)
{
	return r->guard.n;
}

static void receiver_close(struct sfs_receiver *r)
{
	sfs_ring_free(atomic_load(&r->ring));
	if (r->socket)
		zmq_close(r->socket);
	if (r->monitor)
		zmq_close(r->monitor);
	if (r->zmq)
		zmq_ctx_term(r->zmq);
	sfs_zmq_address_done(&r->address);
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
	r->give_up_ms = settings->give_up_ms;
	r->stop_fd = settings->stop_fd;
	code = sfs_zmq_address_parse(settings->source, &r->address, err);
	if (code == 0 && sfs_zmq_is_sender(r->address.socket_type))
		code = sfs_error_set(err, -EINVAL, "'%s' sends, it does not receive",
				     settings->source);
	if (code == 0) {
		r->zmq = zmq_ctx_new();
		code = sfs_zmq_open_socket(r->zmq, &r->address,
					   strncmp(r->address.endpoint, "ipc", 3) == 0
						   ? AHEAD_IPC
						   : AHEAD_TCP,
					   settings->secret, &r->socket, &r->monitor,
					   err);
	}
	if (code == 0 && r->address.is_bound)
		code = sfs_guard_check(settings, sfs_zmq_is_loopback(r->socket), err);
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
	.refused = receiver_refused,
};
