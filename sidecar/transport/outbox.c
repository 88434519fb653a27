/* SPDX-License-Identifier: MIT */
/* How this works: one lock guards the counts, and each change of them is told to the
 * producer by a condition and to the connection's thread by an eventfd.  The slots need
 * no lock: one is the producer's until it is counted in n_sent, and the connection's from
 * then on until it is credited.
 *
 * The receiver may have batches of this stream already, from a process that was killed;
 * more of them may come to it while this one has connected, out of the network.  Those
 * are decoded again, and not sent: which samples are good is known by decoding.  Those
 * that no trainer has released are held like any other, for the receiver may die, and
 * its successor wants them. */
#include "transport/outbox.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/cond.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

int sfs_outbox_open(struct sfs_outbox *box, const struct sfs_transport_settings *settings,
		    const struct shufflefs_layout *layout, struct sfs_error *err)
{
	uint64_t stride = (layout->slot_bytes + 4095) / 4096 * 4096;
	void *memory;

	memset(box, 0, sizeof *box);
	memory = mmap(NULL, stride * settings->n_slots, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return sfs_error_set(err, -ENOMEM, "no memory for %u slots of %llu bytes",
				     settings->n_slots, (unsigned long long)stride);
	box->target = sfs_strdup(settings->target);
	box->layout = *layout;
	box->n_slots = settings->n_slots;
	box->give_up_ms = settings->give_up_ms;
	box->has_crc = settings->has_crc;
	box->secret = settings->secret;
	box->stride = stride;
	box->memory = memory;
	box->infos = sfs_calloc(box->n_slots, sizeof *box->infos);
	box->crcs = sfs_calloc(box->n_slots, sizeof *box->crcs);
	box->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (getrandom(&box->process, sizeof box->process, 0) != sizeof box->process)
		box->process = (uint32_t)getpid();
	box->session = sfs_transport_session(settings);
	pthread_mutex_init(&box->lock, NULL);
	pthread_cond_init(&box->changed, NULL);
	return 0;
}

void sfs_outbox_close(struct sfs_outbox *box)
{
	munmap(box->memory, box->stride * box->n_slots);
	close(box->wake_fd);
	pthread_mutex_destroy(&box->lock);
	pthread_cond_destroy(&box->changed);
	free(box->infos);
	free(box->crcs);
	free(box->target);
}

static void wake(struct sfs_outbox *box)
{
	eventfd_write(box->wake_fd, 1);
}

/* With the lock. */
static bool has_room(const struct sfs_outbox *box)
{
	return box->n_sent < box->credited + box->n_slots;
}

static bool has_arrived(const struct sfs_outbox *box)
{
	return box->has_ended && box->n_sent <= box->credited;
}

static int wait_until(struct sfs_outbox *box, bool (*is_so)(const struct sfs_outbox *box),
		      int timeout_ms, struct sfs_error *err)
{
	uint64_t until_ns = sfs_clock_deadline(timeout_ms);
	int ret = 0;

	pthread_mutex_lock(&box->lock);
	while (box->error == 0 && !is_so(box) && ret == 0)
		if (!sfs_cond_wait_until(&box->changed, &box->lock, until_ns))
			ret = -ETIMEDOUT;
	if (is_so(box))
		ret = 0;
	if (box->error < 0)
		ret = sfs_error_set(err, box->error, "%s", box->why.text);
	pthread_mutex_unlock(&box->lock);
	return ret;
}

int sfs_outbox_take(struct sfs_outbox *box, int timeout_ms, void **ret_slot,
		    struct sfs_error *err)
{
	int ret = wait_until(box, has_room, timeout_ms, err);

	if (ret == 0) /* n_sent is only this thread's to change */
		*ret_slot = box->memory + box->n_sent % box->n_slots * box->stride;
	return ret;
}

int sfs_outbox_send(struct sfs_outbox *box, const struct sfs_batch_info *info,
		    struct sfs_error *err)
{
	uint32_t i = (uint32_t)(box->n_sent % box->n_slots);
	int ret = 0;

	box->infos[i] = *info;
	box->crcs[i] = box->has_crc ? sfs_wire_crc(&box->layout, info->n_samples,
						   box->memory + i * box->stride)
				    : 0;
	pthread_mutex_lock(&box->lock);
	box->n_sent++;
	if (box->error < 0)
		ret = sfs_error_set(err, box->error, "%s", box->why.text);
	pthread_mutex_unlock(&box->lock);
	wake(box);
	return ret;
}

/* Does the receiver have more than there is? */
static bool is_short(struct sfs_outbox *box, struct sfs_error *err)
{
	bool is;

	pthread_mutex_lock(&box->lock);
	is = box->n_sent < box->skipped;
	if (is)
		sfs_error_set(err, -ESTALE,
			      "the receiver has %llu batches of this stream, which has "
			      "only %llu now: the files have changed",
			      (unsigned long long)box->skipped,
			      (unsigned long long)box->n_sent);
	pthread_mutex_unlock(&box->lock);
	return is;
}

int sfs_outbox_finish(struct sfs_outbox *box, int timeout_ms, struct sfs_error *err)
{
	if (is_short(box, err))
		return -ESTALE;
	pthread_mutex_lock(&box->lock);
	box->is_finishing = true;
	pthread_mutex_unlock(&box->lock);
	wake(box);
	return wait_until(box, has_arrived, timeout_ms, err);
}

static void set_failure(struct sfs_outbox *box, const char *why, bool has_failed)
{
	pthread_mutex_lock(&box->lock);
	snprintf(box->failure, sizeof box->failure, "%s", why);
	box->has_failed = has_failed;
	pthread_mutex_unlock(&box->lock);
	wake(box);
}

void sfs_outbox_fail(struct sfs_outbox *box, const char *why)
{
	set_failure(box, why, true);
}

void sfs_outbox_leave(struct sfs_outbox *box, const char *why)
{
	set_failure(box, why, false);
}

static bool is_never(const struct sfs_outbox *box)
{
	return false;
}

int sfs_outbox_check(struct sfs_outbox *box, struct sfs_error *err)
{
	int ret = wait_until(box, is_never, 0, err);

	return ret == -ETIMEDOUT ? 0 : ret;
}

/* The receiver's BYE is what ends the wait, as an error. */
int sfs_outbox_wait_told(struct sfs_outbox *box, int timeout_ms)
{
	struct sfs_error unused;

	return wait_until(box, is_never, timeout_ms, &unused);
}

void sfs_outbox_stop(struct sfs_outbox *box)
{
	pthread_mutex_lock(&box->lock);
	if (!has_arrived(box) && !box->failure[0])
		snprintf(box->failure, sizeof box->failure,
			 "the sender was closed before the end of its stream");
	box->is_stopping = true;
	pthread_mutex_unlock(&box->lock);
	wake(box);
}

void sfs_outbox_describe(struct sfs_outbox *box, struct sfs_json_writer *json)
{
	pthread_mutex_lock(&box->lock);
	sfs_json_put_uint(json, "sent", box->n_sent);
	sfs_json_put_uint(json, "consumed", box->credited);
	sfs_json_put_uint(json, "skipped", box->skipped);
	sfs_json_put_uint(json, "connections", box->n_connections);
	pthread_mutex_unlock(&box->lock);
}

void sfs_outbox_look(struct sfs_outbox *box, struct sfs_outbox_state *ret)
{
	pthread_mutex_lock(&box->lock);
	ret->n_sent = box->n_sent;
	ret->credited = box->credited;
	ret->is_finishing = box->is_finishing;
	ret->is_stopping = box->is_stopping;
	ret->has_ended = box->has_ended;
	ret->has_failed = box->has_failed;
	memcpy(ret->failure, box->failure, sizeof ret->failure);
	pthread_mutex_unlock(&box->lock);
}

bool sfs_outbox_must_say_bye(const struct sfs_outbox_state *state, uint64_t next)
{
	if (state->has_failed && !state->has_ended)
		return next >= state->n_sent;
	return state->has_ended || state->failure[0] != 0;
}

bool sfs_outbox_has_arrived(struct sfs_outbox *box)
{
	bool has;

	pthread_mutex_lock(&box->lock);
	has = has_arrived(box);
	pthread_mutex_unlock(&box->lock);
	return has;
}

int sfs_outbox_wait_for(struct sfs_outbox *box, int fd, short events, uint64_t until_ns)
{
	struct pollfd fds[2] = {{.fd = fd, .events = events},
				{.fd = box->wake_fd, .events = POLLIN}};
	eventfd_t n;

	for (;;) {
		uint64_t now = sfs_clock_ns();

		if (sfs_outbox_is_stopping(box))
			return -ECANCELED;
		if (now >= until_ns)
			return -ETIMEDOUT;
		poll(fds, 2, (int)((until_ns - now) / SFS_NS_PER_MS) + 1);
		if (fds[1].revents)
			eventfd_read(box->wake_fd, &n);
		if (fds[0].revents)
			return 0;
	}
}

uint64_t sfs_outbox_credited(struct sfs_outbox *box)
{
	uint64_t n;

	pthread_mutex_lock(&box->lock);
	n = box->credited;
	pthread_mutex_unlock(&box->lock);
	return n;
}

bool sfs_outbox_is_stopping(struct sfs_outbox *box)
{
	bool is;

	pthread_mutex_lock(&box->lock);
	is = box->is_stopping;
	pthread_mutex_unlock(&box->lock);
	return is;
}

struct sfs_wire_hello sfs_outbox_hello(struct sfs_outbox *box)
{
	struct sfs_wire_hello hello = {.session = box->session,
				       .process = box->process,
				       .slot_bytes = box->layout.slot_bytes,
				       .layout_hash = sfs_layout_hash(&box->layout),
				       .has_secret = box->secret != NULL};

	pthread_mutex_lock(&box->lock);
	hello.oldest = box->credited;
	pthread_mutex_unlock(&box->lock);
	return hello;
}

int sfs_outbox_take_reply(struct sfs_outbox *box, const struct sfs_wire_reply *reply,
			  struct sfs_error *err)
{
	int ret = 0;

	if (reply->code == SFS_WIRE_REFUSE)
		return sfs_error_set(err, -ECONNABORTED, "the receiver refused: %s",
				     reply->text);
	if (reply->code == SFS_WIRE_BUSY)
		return sfs_error_set(err, -EBUSY, "the receiver is busy: %s",
				     reply->text);
	pthread_mutex_lock(&box->lock);
	if (reply->session != box->session || reply->resume < box->credited ||
	    reply->resume < reply->consumed)
		ret = sfs_error_set(err, -ECONNABORTED,
				    "the receiver wants batch %llu, but this sender "
				    "has only %llu to %llu",
				    (unsigned long long)reply->resume,
				    (unsigned long long)box->credited,
				    (unsigned long long)box->n_sent);
	else if (box->n_connections++ == 0 || reply->resume > box->n_sent)
		box->skipped = reply->resume;
	if (ret == 0 && reply->consumed > box->credited)
		box->credited = reply->consumed;
	pthread_cond_broadcast(&box->changed);
	pthread_mutex_unlock(&box->lock);
	return ret;
}

void sfs_outbox_take_credit(struct sfs_outbox *box, uint64_t credited, bool has_ended)
{
	pthread_mutex_lock(&box->lock);
	if (credited > box->credited)
		box->credited = credited;
	box->has_ended |= has_ended;
	pthread_cond_broadcast(&box->changed);
	pthread_mutex_unlock(&box->lock);
}

void sfs_outbox_fail_for_good(struct sfs_outbox *box, int error,
			      const struct sfs_error *why)
{
	pthread_mutex_lock(&box->lock);
	box->error = error;
	sfs_error_set(&box->why, error, "%s: %s", box->target, why->text);
	pthread_cond_broadcast(&box->changed);
	pthread_mutex_unlock(&box->lock);
}
