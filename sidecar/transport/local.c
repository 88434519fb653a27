/* SPDX-License-Identifier: MIT */
/* How this works.  `local:PATH` is a ring at PATH, and `local:PATH?memory=cuda` one in a
 * GPU's memory.  take() and send() take and publish a slot of the ring, so batches are decoded
 * to where trainers read them.  finish() ends the ring, which attached trainers see at once,
 * and waits until they have released every batch.
 *
 * If a sender before this one was killed, trainers may have had batches of this stream from
 * it.  These are decoded again, since the stream is read from its start, but not published.
 * Of a batch that a trainer has not released yet, a copy is kept until it does; if it dies, the
 * copy is published for the others. */
#include "ring/device.h"
#include "ring/ring.h"
#include "transport/transport.h"

#include "base/alloc.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define HUNG_MS 30000

struct copy {
	struct copy *next;
	uint64_t number;
	struct sfs_batch_info info;
	void *bytes;
	bool is_lost; /* its trainer died: publish it */
};

struct local {
	struct sfs_ring *ring;
	uint32_t give_up_ms, number; /* of the session */
	uint64_t n_sent;	     /* batches published */
	uint64_t next;		     /* batch of the stream to be decoded */
	struct sfs_ring_past past;   /* which batches trainers have had */
	void *nowhere; /* where those are decoded to; NULL: there are none */
	uint64_t slot_bytes;
	struct copy *copies; /* of batches that trainers hold, of rings before */
	bool is_outside;     /* take() gave memory that is not a slot of the ring */
};

/* How many batches the stream must still have, up to the last that trainers have had. */
static uint64_t count_missing(const struct local *local)
{
	uint64_t end = local->past.n + 64;

	while (end > local->next && !sfs_ring_past_has(&local->past, end - 1))
		end--;
	return end > local->next ? end - local->next : 0;
}

/* The caller frees it; NULL, with an error: no memory. */
static void *new_slot(const struct local *local, struct sfs_error *err)
{
	void *slot = aligned_alloc(4096, (local->slot_bytes + 4095) / 4096 * 4096);

	if (!slot)
		sfs_error_set(err, -ENOMEM, "no memory for a batch of %llu bytes",
			      (unsigned long long)local->slot_bytes);
	return slot;
}

static int find_session(struct local *local, uint64_t id, uint64_t slot_bytes,
			struct sfs_error *err)
{
	int number;

	number = sfs_ring_session(local->ring, id, err);
	if (number < 0)
		return number;
	local->number = (uint32_t)number;
	sfs_ring_look_at_session(local->ring, local->number, &local->past);
	local->slot_bytes = slot_bytes;
	if (count_missing(local) == 0)
		return 0;
	local->nowhere = new_slot(local, err);
	return local->nowhere ? 0 : -ENOMEM;
}

/* "PATH" or "PATH?memory=WHERE"; cuts `path`. */
static int parse_target(char *path, const char **ret_memory, struct sfs_error *err)
{
	char *query = strchr(path, '?');

	if (!query)
		return 0;
	*query++ = 0;
	if (strncmp(query, "memory=", 7) != 0)
		return sfs_error_set(err, -EINVAL,
				     "local:%s?%s: only ?memory= can follow the path",
				     path, query);
	*ret_memory = query + 7;
	return sfs_device_check_name(*ret_memory, err);
}

static int local_open(const struct sfs_transport_settings *settings,
		      const struct shufflefs_layout *layout, struct sfs_transport **ret,
		      struct sfs_error *err)
{
	sfs_autofree char *path = sfs_strdup(settings->target + strlen("local:"));
	struct sfs_ring_settings ring = {.path = path,
					 .n_slots = settings->n_slots,
					 .policy = settings->on_consumer_death,
					 .await_ms = settings->give_up_ms,
					 .hung_ms = HUNG_MS};
	struct local *local;
	int code;

	if (settings->secret)
		return sfs_error_set(err, -EINVAL,
				     "--secret-file is for targets on other hosts; a "
				     "ring is only for its own user: leave it out");
	code = parse_target(path, &ring.memory, err);
	if (code < 0)
		return code;
	local = sfs_calloc(1, sizeof *local);
	local->give_up_ms = settings->give_up_ms;
	code = sfs_ring_new(&ring, layout, &local->ring, err);
	if (code == 0)
		code = find_session(local, sfs_transport_session(settings),
				    layout->slot_bytes, err);
	if (code < 0) {
		sfs_ring_free(local->ring);
		free(local);
		return code;
	}
	*ret = (struct sfs_transport *)local;
	return 0;
}

/* A wait has ended with `code`.  (A trainer that hangs was reported; that is not an error.) */
static int end_wait(struct local *local, int code, const struct sfs_error *why,
		    struct sfs_error *err)
{
	if (code == -ETIMEDOUT && local->give_up_ms > 0 &&
	    sfs_ring_alone_ms(local->ring) >= local->give_up_ms)
		return sfs_error_set(err, -EPIPE,
				     "no trainer was attached to the ring for %u s",
				     local->give_up_ms / 1000);
	if (code < 0 && code != -ETIMEDOUT)
		return sfs_error_set(err, code, "%s", why->text);
	return code;
}

/* Copies of batches that trainers hold, of rings before. */

static struct copy *find_copy(const struct local *local, uint64_t number)
{
	struct copy *copy = local->copies;

	while (copy && copy->number != number)
		copy = copy->next;
	return copy;
}

static void free_copy(struct local *local, struct copy *copy)
{
	struct copy **at = &local->copies;

	while (*at != copy)
		at = &(*at)->next;
	*at = copy->next;
	free(copy->bytes);
	free(copy);
}

/* Mark copies whose trainer died, and free those that were released.  A lost batch that is
 * not decoded yet needs no copy: it is published in its turn. */
static void look_at_copies(struct local *local)
{
	struct copy *copy, *next;
	uint32_t session;
	uint64_t number;

	while (sfs_ring_next_lost(local->ring, &session, &number)) {
		copy = session == local->number ? find_copy(local, number) : NULL;
		if (copy)
			copy->is_lost = true;
		else if (session == local->number && number < local->next)
			sfs_ring_fail(local->ring, "a batch that a trainer held of a "
						   "ring before is lost: it came twice");
	}
	sfs_ring_look_at_session(local->ring, local->number, &local->past);
	for (copy = local->copies; copy; copy = next) {
		next = copy->next;
		if (!copy->is_lost && copy->number < local->next &&
		    sfs_ring_next_held(local->ring, local->number, copy->number) !=
			    copy->number)
			free_copy(local, copy);
	}
}

/* Memory to decode batch `next` to, which a trainer has had. */
static int take_outside(struct local *local, void **ret_slot, struct sfs_error *err)
{
	struct copy *copy = find_copy(local, local->next);
	bool is_held = sfs_ring_next_held(local->ring, local->number, local->next) ==
		       local->next;

	if (is_held && !copy) {
		copy = sfs_calloc(1, sizeof *copy);
		*copy = (struct copy){.next = local->copies, .number = local->next};
		copy->bytes = new_slot(local, err);
		if (!copy->bytes) {
			free(copy);
			return -ENOMEM;
		}
		local->copies = copy;
	}
	local->is_outside = true;
	*ret_slot = copy ? copy->bytes : local->nowhere;
	return 0;
}

static void publish(struct local *local, const struct sfs_batch_info *info)
{
	sfs_ring_publish(local->ring, &(struct shufflefs_batch){
					      .epoch = info->epoch,
					      .first = info->first,
					      .end = info->end,
					      .n_samples = info->n_samples,
					      .sender = local->number,
				      });
	local->n_sent++;
}

/* Continue the session at the first batch from `n` on that no trainer has had. */
static void go_on(struct local *local, uint64_t n)
{
	sfs_ring_begin_session(local->ring, local->number, n);
	sfs_ring_look_at_session(local->ring, local->number, &local->past);
	while (sfs_ring_past_has(&local->past, n))
		n++;
	sfs_ring_begin_session(local->ring, local->number, n);
}

/* The first of the lost batches that are decoded. */
static struct copy *find_lost(const struct local *local)
{
	struct copy *copy, *first = NULL;

	for (copy = local->copies; copy; copy = copy->next)
		if (copy->is_lost && copy->number < local->next &&
		    (!first || copy->number < first->number))
			first = copy;
	return first;
}

/* Publish the lost batches.  The ring's session stands at the first of them. */
static int give_lost(struct local *local, int timeout_ms, struct sfs_error *err)
{
	struct copy *copy;
	void *slot;
	int ret;

	look_at_copies(local);
	while ((copy = find_lost(local)) != NULL) {
		ret = sfs_ring_take(local->ring, timeout_ms, &slot, err);
		if (ret < 0)
			return ret;
		memcpy(slot, copy->bytes, local->slot_bytes);
		publish(local, &copy->info);
		go_on(local, copy->number + 1);
		free_copy(local, copy);
		look_at_copies(local);
	}
	return 0;
}

/* A session remembers only so many batches from its first missing one on (ring-session.h). */
static bool is_too_far(struct local *local)
{
	uint64_t held = sfs_ring_next_held(local->ring, local->number, 0);

	return held != UINT64_MAX && local->next >= held + SFS_RING_PAST_MAX;
}

/* (No event says that a trainer of a ring before has released a batch.) */
static int wait_for_held(struct local *local, int timeout_ms, struct sfs_error *err)
{
	int ret = sfs_ring_check(local->ring, err);

	if (ret < 0)
		return ret;
	poll(NULL, 0, timeout_ms < 10 ? timeout_ms : 10);
	return -ETIMEDOUT;
}

static int local_take(struct sfs_transport *t, int timeout_ms, void **ret_slot,
		      struct sfs_error *err)
{
	struct local *local = (struct local *)t;
	struct sfs_error why = {.text = ""};
	int ret = give_lost(local, timeout_ms, &why);

	if (ret < 0)
		return end_wait(local, ret, &why, err);
	if (sfs_ring_past_has(&local->past, local->next))
		return take_outside(local, ret_slot, err);
	if (is_too_far(local))
		return wait_for_held(local, timeout_ms, err);
	return end_wait(local, sfs_ring_take(local->ring, timeout_ms, ret_slot, &why),
			&why, err);
}

static int local_send(struct sfs_transport *t, const struct sfs_batch_info *info,
		      struct sfs_error *err)
{
	struct local *local = (struct local *)t;
	struct copy *copy = find_copy(local, local->next++);

	if (copy)
		copy->info = *info;
	if (!local->is_outside)
		publish(local, info);
	else if (local->next > local->past.n && !(copy && copy->is_lost))
		go_on(local, local->next);
	local->is_outside = false;
	return 0;
}

static int local_finish(struct sfs_transport *t, int timeout_ms, struct sfs_error *err)
{
	struct local *local = (struct local *)t;
	struct sfs_error why = {.text = ""};
	int ret = give_lost(local, timeout_ms, &why);

	if (ret < 0)
		return end_wait(local, ret, &why, err);
	if (count_missing(local) > 0)
		return sfs_error_set(err, -ESTALE,
				     "trainers have had %llu more batches than this "
				     "stream has now: the files have changed",
				     (unsigned long long)count_missing(local));
	if (sfs_ring_has_held(local->ring))
		return wait_for_held(local, timeout_ms, err);
	sfs_ring_end(local->ring);
	if (local->n_sent > 0)
		ret = end_wait(local,
			       sfs_ring_wait_consumed(local->ring, local->n_sent - 1,
						      timeout_ms, &why),
			       &why, err);
	if (ret < 0 || !sfs_ring_is_awaited(local->ring))
		return ret;
	poll(NULL, 0, timeout_ms < 10 ? timeout_ms : 10);
	return -ETIMEDOUT;
}

static int local_check(struct sfs_transport *t, struct sfs_error *err)
{
	struct local *local = (struct local *)t;

	look_at_copies(local);
	return sfs_ring_check(local->ring, err);
}

static void local_fail(struct sfs_transport *t, const char *why)
{
	sfs_ring_fail(((struct local *)t)->ring, why);
}

static void local_close(struct sfs_transport *t)
{
	struct local *local = (struct local *)t;

	sfs_ring_free(local->ring);
	while (local->copies)
		free_copy(local, local->copies);
	free(local->nowhere);
	free(local);
}

static void local_describe(struct sfs_transport *t, struct sfs_json_writer *json)
{
	sfs_ring_describe(((struct local *)t)->ring, json);
}

const struct sfs_transport_ops sfs_local_ops = {
	.version = SFS_TRANSPORT_VERSION,
	.schemes = "local",
	.open = local_open,
	.take = local_take,
	.send = local_send,
	.finish = local_finish,
	.fail = local_fail,
	.close = local_close,
	.describe = local_describe,
	.check = local_check,
};
