/* SPDX-License-Identifier: MIT */
/* How this works.  `local:PATH` is a ring at PATH, and `local:PATH?memory=cuda` one in
 * a GPU's memory: take() and send() are its take and publish, so that a batch is
 * decoded to where the trainer reads it.  finish() ends the ring, which consumers that
 * are attached see at once, and waits until every batch was released.  If a trainer
 * that lives has had batches of this stream from a process that was killed, those are
 * decoded again, and go nowhere. */
#include "ring/device.h"
#include "ring/ring.h"
#include "transport/transport.h"

#include "base/alloc.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define HUNG_MS 30000

struct local {
	struct sfs_ring *ring;
	uint32_t give_up_ms, number; /* of the session */
	uint64_t n_sent;	     /* into the ring */
	uint64_t next;		     /* batch of the stream */
	struct sfs_ring_past past;   /* what trainers have had of it */
	void *nowhere;		     /* where that is decoded to; NULL: nothing is */
};

/* How many batches there must be from the next one on, up to the last that trainers have
 * had. */
static uint64_t count_missing(const struct local *local)
{
	uint64_t end = local->past.n + 64;

	while (end > local->next && !sfs_ring_past_has(&local->past, end - 1))
		end--;
	return end > local->next ? end - local->next : 0;
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
	if (count_missing(local) == 0)
		return 0;
	local->nowhere = aligned_alloc(4096, (slot_bytes + 4095) / 4096 * 4096);
	if (!local->nowhere)
		return sfs_error_set(err, -ENOMEM, "no memory for a batch of %llu bytes",
				     (unsigned long long)slot_bytes);
	return 0;
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
					 .await_ms = settings->give_up_ms,
					 .hung_ms = HUNG_MS};
	struct local *local;
	int code;

	if (settings->secret)
		return sfs_error_set(err, -EINVAL,
				     "--secret-file is for targets on other hosts; a "
				     "ring is only for its own user: leave it out");
	code = parse_target(path, &ring.memory, err);
	if (code == 0)
		code = sfs_ring_find_policy(settings->on_consumer_death, &ring.policy,
					    err);
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

/* A wait has ended with `code`.  That a consumer hangs was logged: here
 * it is no error. */
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

static int local_take(struct sfs_transport *t, int timeout_ms, void **ret_slot,
		      struct sfs_error *err)
{
	struct local *local = (struct local *)t;
	struct sfs_error why = {.text = ""};

	if (sfs_ring_past_has(&local->past, local->next)) {
		*ret_slot = local->nowhere;
		return 0;
	}
	return end_wait(local, sfs_ring_take(local->ring, timeout_ms, ret_slot, &why),
			&why, err);
}

static int local_send(struct sfs_transport *t, const struct sfs_batch_info *info,
		      struct sfs_error *err)
{
	struct local *local = (struct local *)t;

	if (sfs_ring_past_has(&local->past, local->next)) {
		if (++local->next > local->past.n)
			sfs_ring_begin_session(local->ring, local->number, local->next);
		return 0;
	}
	local->next++;
	sfs_ring_publish(local->ring, &(struct shufflefs_batch){
					      .epoch = info->epoch,
					      .first = info->first,
					      .end = info->end,
					      .n_samples = info->n_samples,
					      .sender = local->number,
				      });
	local->n_sent++;
	return 0;
}

static int local_finish(struct sfs_transport *t, int timeout_ms, struct sfs_error *err)
{
	struct local *local = (struct local *)t;
	struct sfs_error why = {.text = ""};
	int ret = 0;

	if (count_missing(local) > 0)
		return sfs_error_set(err, -ESTALE,
				     "trainers have had %llu more batches than this "
				     "stream has now: the files have changed",
				     (unsigned long long)count_missing(local));
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
	int ret = sfs_ring_wait_consumed(((struct local *)t)->ring, UINT64_MAX, 0, err);

	return ret == -ETIMEDOUT ? 0 : ret;
}

static void local_fail(struct sfs_transport *t, const char *why)
{
	sfs_ring_fail(((struct local *)t)->ring, why);
}

static void local_close(struct sfs_transport *t)
{
	struct local *local = (struct local *)t;

	sfs_ring_free(local->ring);
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
