/* SPDX-License-Identifier: MIT */
/* How this works: the outbox holds the batches.  A thread of its own connects
 * (verbs-sender-connecting.c) and then polls the events of the connection manager, the
 * completions, and the outbox.  A batch is written to the next slot that the receiver has
 * given, and the message BATCH goes after it on the same queue pair, so that the receiver
 * hears of it when its bytes are there.
 *
 * Whatever goes wrong with a connection makes a new one, from the batch on that the
 * receiver wants; only what the next one would meet as well is final: a refusal, a BYE
 * with a reason, memory that cannot be registered, or no receiver for give_up_ms.
 *
 * Each side says something at least every 2 s (PING), and takes a peer that was silent
 * for 10 s for dead: a queue pair whose peer has gone may tell nothing for minutes. */
#include "verbs-sender-internal.h"

#include "transport/reconnect.h"
#include "transport/socket.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/threadpool.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define WRITES_MAX (SHUFFLEFS_TENSORS_MAX + 4) /* of a batch */

static int take_credit(struct sfs_transport *t, uint64_t credited, bool has_ended,
		       struct sfs_error *err)
{
	if (has_ended && !t->has_said_end)
		return sfs_error_set(err, -EPROTO,
				     "it acknowledged an end that was never sent");
	if (credited > t->highest)
		return sfs_error_set(err, -EPROTO,
				     "it acknowledged batches that were never sent");
	sfs_outbox_take_credit(&t->box, credited, has_ended);
	return 0;
}

static int take_offer(struct sfs_transport *t, const unsigned char *bytes, size_t n,
		      struct sfs_error *err)
{
	int ret;

	if (t->offer.n_slots > 0)
		return sfs_error_set(err, -EPROTO, "a second OFFER");
	ret = sfs_verbs_get_offer(bytes, n, t->box.layout.slot_bytes, &t->offer, err);
	if (ret == 0)
		t->placement = sfs_verbs_memory_name(t->offer.memory);
	return ret;
}

static int take_grant(struct sfs_transport *t, const unsigned char *bytes, size_t n,
		      struct sfs_error *err)
{
	struct sfs_verbs_grant grant;
	int ret = sfs_verbs_get_grant(bytes, n, t->offer.n_slots, &t->slots, &grant, err);

	return ret < 0 ? ret : take_credit(t, grant.credited, false, err);
}

static int take_other(struct sfs_transport *t, const unsigned char *bytes, size_t n,
		      struct sfs_error *err)
{
	struct shufflefs_layout unused;
	struct sfs_wire_message m;
	int ret = n < SFS_WIRE_HEADER_BYTES ? -1 : sfs_wire_check_header(bytes, err);

	if (ret < 0 || (size_t)ret != n)
		return sfs_error_set(err, -EPROTO, "a message of %zu bytes", n);
	ret = sfs_wire_get(bytes, n, NULL, &m, &unused, err);
	if (ret < 0)
		return ret;
	if (m.kind == SFS_WIRE_BYE)
		return m.text[0] ? sfs_error_set(err, -ECONNABORTED,
						 "the receiver has ended: %s", m.text)
				 : sfs_error_set(err, -ECONNRESET,
						 "the receiver was stopped");
	if (m.kind != SFS_WIRE_CREDIT && m.kind != SFS_WIRE_ENDED)
		return 0;
	return take_credit(t, m.seq, m.kind == SFS_WIRE_ENDED, err);
}

/* How many messages were read; < 0: with an error. */
static int read_all(struct sfs_transport *t, struct sfs_error *err)
{
	const unsigned char *bytes;
	size_t n;
	int ret, count = 0;

	while ((ret = sfs_verbs_link_next(&t->link, &bytes, &n, err)) > 0) {
		t->heard_ns = sfs_clock_ns();
		count++;
		switch (sfs_verbs_kind(bytes, n)) {
		case SFS_VERBS_OFFER: ret = take_offer(t, bytes, n, err); break;
		case SFS_VERBS_GRANT: ret = take_grant(t, bytes, n, err); break;
		case SFS_VERBS_OTHER: ret = take_other(t, bytes, n, err); break;
		}
		if (ret < 0)
			return ret;
	}
	return ret < 0 ? ret : count;
}

static int verbs_say(struct sfs_transport *t, const struct sfs_wire_message *m,
		     struct sfs_error *err)
{
	unsigned char bytes[SFS_WIRE_MESSAGE_MAX];
	size_t n = sfs_wire_put(m, &t->box.layout, bytes);

	t->said_ns = sfs_clock_ns();
	return sfs_verbs_link_send(&t->link, bytes, n, err);
}

static int say_batch(struct sfs_transport *t, struct sfs_error *err)
{
	uint32_t i = (uint32_t)(t->next % t->box.n_slots), slot;
	struct sfs_wire_message m = {.kind = SFS_WIRE_BATCH,
				     .seq = t->next,
				     .info = t->box.infos[i],
				     .crc = t->box.crcs[i]};
	uint64_t from = 0, n, offset;
	int ret = 0;

	if (!sfs_verbs_use(&t->slots, &slot))
		return sfs_error_set(err, -EPROTO, "no slot");
	m.n_bytes = sfs_wire_data_bytes(&t->box.layout, m.info.n_samples);
	while (ret == 0 &&
	       (n = sfs_verbs_stretch(&t->box.layout, m.info.n_samples, from,
				      SFS_VERBS_WRITE_MAX, &offset, &from)) > 0)
		ret = sfs_verbs_link_write(&t->link, &t->range,
					   t->box.memory + i * t->box.stride + offset, n,
					   t->offer.address + slot * t->offer.stride +
						   offset,
					   t->offer.rkey, err);
	if (ret == 0)
		ret = verbs_say(t, &m, err);
	t->next++;
	if (t->highest < t->next)
		t->highest = t->next;
	return ret;
}

/* 1: something was written; 0: there is nothing to write, or no room; < 0: with an
 * error. */
static int write_one(struct sfs_transport *t, struct sfs_error *err)
{
	struct sfs_wire_message m = {.kind = 0};
	struct sfs_outbox_state state;
	int ret;

	sfs_outbox_look(&t->box, &state);
	if (!sfs_verbs_link_has_room(&t->link, WRITES_MAX))
		return 0;
	if (!t->has_said_layout) {
		t->has_said_layout = true;
		m.kind = SFS_WIRE_LAYOUT;
	} else if (!t->has_said_bye && sfs_outbox_must_say_bye(&state, t->next)) {
		t->has_said_bye = true;
		m.kind = SFS_WIRE_BYE;
		m.has_failed = state.has_failed;
		memcpy(m.text, state.failure, sizeof m.text);
	} else if (t->next < state.n_sent && sfs_verbs_count(&t->slots) > 0) {
		ret = say_batch(t, err);
		return ret < 0 ? ret : 1;
	} else if (state.is_finishing && t->next == state.n_sent && !t->has_said_end) {
		t->has_said_end = true;
		m.kind = SFS_WIRE_END;
		m.seq = state.n_sent;
	} else if (sfs_clock_between(t->said_ns, sfs_clock_ns()) >= SFS_TCP_PING_NS) {
		m.kind = SFS_WIRE_PING;
	} else {
		return 0;
	}
	ret = verbs_say(t, &m, err);
	return ret < 0 ? ret : 1;
}

int sfs_verbs_sender_sleep_until_news(struct sfs_transport *t, struct sfs_error *err)
{
	struct pollfd fds[3] = {{.fd = t->events->fd, .events = POLLIN},
				{.fd = sfs_verbs_link_fd(&t->link), .events = POLLIN},
				{.fd = t->box.wake_fd, .events = POLLIN}};
	enum rdma_cm_event_type event;
	eventfd_t n;
	int status;

	poll(fds, 3, 500);
	if (fds[2].revents)
		eventfd_read(t->box.wake_fd, &n);
	if (fds[1].revents)
		sfs_verbs_link_take_events(&t->link);
	if (fds[0].revents && sfs_verbs_sender_take_event(t, &event, &status) == 0) {
		int ret = read_all(t, err); /* it may have said why */

		return ret == -ECONNABORTED
			       ? ret
			       : sfs_verbs_sender_failed(t, event, status, err);
	}
	return 0;
}

static int verbs_stream(struct sfs_transport *t, struct sfs_error *err)
{
	int ret;

	for (;;) {
		ret = read_all(t, err);
		while (ret >= 0 && (ret = write_one(t, err)) > 0)
			;
		if (ret < 0)
			return ret;
		if (sfs_outbox_is_stopping(&t->box) &&
		    (!t->link.n_busy || t->has_said_bye)) {
			sfs_verbs_link_flush(&t->link, 1000);
			return -ECANCELED;
		}
		if (sfs_clock_between(t->heard_ns, sfs_clock_ns()) > SFS_TCP_DEAD_NS)
			return sfs_error_set(err, -ETIMEDOUT,
					     "the receiver was silent for 10 s");
		ret = sfs_verbs_link_arm(&t->link, err);
		if (ret == 0)
			ret = read_all(t, err);
		if (ret == 0)
			ret = sfs_verbs_sender_sleep_until_news(t, err);
		if (ret < 0)
			return ret;
	}
}

static int verbs_connect(struct sfs_transport *t, struct sfs_error *err)
{
	int ret;

	t->has_said_layout = t->has_said_end = t->has_said_bye = false;
	memset(&t->slots, 0, sizeof t->slots);
	memset(&t->offer, 0, sizeof t->offer);
	ret = sfs_verbs_sender_connect(t, err);
	return ret < 0 ? ret : sfs_verbs_sender_agree(t, err);
}

static void *run_link(void *arg)
{
	static const struct sfs_reconnect how = {verbs_connect, verbs_stream,
						 sfs_verbs_sender_disconnect};
	struct sfs_transport *t = arg;

	sfs_reconnect_run(&how, t, &t->box, &t->patience, &t->heard_ns);
	return NULL;
}

static int verbs_open(const struct sfs_transport_settings *settings,
		      const struct shufflefs_layout *layout, struct sfs_transport **ret,
		      struct sfs_error *err)
{
	struct sfs_transport *t = sfs_calloc(1, sizeof *t);
	struct sfs_verbs_place place;
	int error = sfs_verbs_parse_url(settings->target, &t->url, err);

	if (error == 0 && t->url.ordering != SFS_VERBS_UNSAID)
		error = sfs_error_set(err, -EINVAL,
				      "'%s': relaxed-ordering= is an option of recv, "
				      "whose memory is written",
				      settings->target);
	if (error == 0 && strcmp(t->url.device, SFS_VERBS_NEAREST) == 0)
		error = sfs_error_set(err, -EINVAL,
				      "'%s': device=nearest is an option of recv, which "
				      "has the GPU",
				      settings->target);
	/* What is wrong with this host is said at once. */
	if (error == 0)
		error = sfs_verbs_channel(&t->events, err);
	if (error == 0 && t->url.device[0])
		error = sfs_verbs_resolve(&t->url, false, 0, &place, err);
	if (error == 0)
		error = sfs_outbox_open(&t->box, settings, layout, err);
	if (error < 0) {
		if (t->events)
			rdma_destroy_event_channel(t->events);
		free(t);
		return error;
	}
	t->thread = sfs_thread_start("verbs-sender", run_link, t);
	*ret = t;
	return 0;
}

static int verbs_take(struct sfs_transport *t, int timeout_ms, void **ret_slot,
		      struct sfs_error *err)
{
	return sfs_outbox_take(&t->box, timeout_ms, ret_slot, err);
}

static int verbs_send(struct sfs_transport *t, const struct sfs_batch_info *info,
		      struct sfs_error *err)
{
	return sfs_outbox_send(&t->box, info, err);
}

static int verbs_finish(struct sfs_transport *t, int timeout_ms, struct sfs_error *err)
{
	return sfs_outbox_finish(&t->box, timeout_ms, err);
}

static void verbs_fail(struct sfs_transport *t, const char *why)
{
	sfs_outbox_fail(&t->box, why);
}

static void verbs_leave(struct sfs_transport *t, const char *why)
{
	sfs_outbox_leave(&t->box, why);
}

static int verbs_wait_told(struct sfs_transport *t, int timeout_ms)
{
	return sfs_outbox_wait_told(&t->box, timeout_ms);
}

static int verbs_check(struct sfs_transport *t, struct sfs_error *err)
{
	return sfs_outbox_check(&t->box, err);
}

static void verbs_close(struct sfs_transport *t)
{
	sfs_outbox_stop(&t->box);
	pthread_join(t->thread, NULL);
	sfs_outbox_close(&t->box);
	free(t);
}

static void verbs_describe(struct sfs_transport *t, struct sfs_json_writer *json)
{
	sfs_outbox_describe(&t->box, json);
	sfs_json_put_string(json, "placement", t->placement);
}

extern const struct sfs_transport_ops sfs_transport_plugin;
const struct sfs_transport_ops sfs_transport_plugin = {.version = SFS_TRANSPORT_VERSION,
						       .schemes = "rdma",
						       .open = verbs_open,
						       .take = verbs_take,
						       .send = verbs_send,
						       .finish = verbs_finish,
						       .fail = verbs_fail,
						       .leave = verbs_leave,
						       .wait_told = verbs_wait_told,
						       .check = verbs_check,
						       .close = verbs_close,
						       .describe = verbs_describe};
