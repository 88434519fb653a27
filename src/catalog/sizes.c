/* SPDX-License-Identifier: MIT */
/* How this works: a fixed number of request slots; each idle one takes the next shard,
 * first from the stack of those that a caller waits for, then in dataset order.  A
 * request that failed has failed for all who waited for it and for those who ask soon
 * after; later calls request the size again.
 *
 * Shards are not requested one after another but in strides of about 0.618 of their
 * number.  So those that were requested by any moment are spread evenly over the dataset,
 * and a second of it finds a gap of one part in a hundred.
 *
 * The first bytes of a shard show whether it is a tar at all.  A server's response holds
 * them; of local files only the first few that are requested are looked at, which the
 * stride spreads over the dataset as well.
 *
 * Requests start while the engine still probes whether the dataset can be read at all,
 * which saves two round trips when a far dataset is mounted.  Until sfs_sizes_settle(),
 * failures are held back and retried later, and the shards that the probe requests are
 * left to it. */
#include "catalog/sizes.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/cond.h"
#include "base/ledger.h"
#include "base/log.h"
#include "catalog/sizes-internal.h"

#include <errno.h>

#define MAX_SLOTS  1024
#define N_EARLY	   112 /* requests before it is settled: the probe needs connections */
#define N_LOCAL	   256 /* local files that are looked at */
#define ALL_SHARDS UINT32_MAX
#define RETRY_NS   (2 * SFS_NS_PER_S) /* after a failure */

struct sfs_sizes_slot {
	struct sfs_request request; /* first */
	struct sfs_error error;
	unsigned char head[SFS_HEAD_BYTES];
	struct sfs_sizes *sizes;
	struct sfs_shard *shard;
	struct sfs_link link; /* in sizes->idle */
};

static void on_size(struct sfs_request *request, int err);

static uint32_t gcd(uint32_t a, uint32_t b)
{
	return b == 0 ? a : gcd(b, a % b);
}

static uint32_t choose_stride(uint32_t n)
{
	uint32_t stride = (uint32_t)(n * 0.618) + 1;

	while (gcd(n, stride) != 1)
		stride++;
	return stride;
}

/* The shard whose turn it is. */
static uint32_t at_turn(const struct sfs_sizes *s, uint32_t turn)
{
	return (uint32_t)((uint64_t)turn * s->stride % s->shards->n);
}

/* The shard to request next.  Locked. */
static struct sfs_shard *choose(struct sfs_sizes *s)
{
	uint32_t i;

	while (s->n_wanted > 0) {
		i = s->wanted[--s->n_wanted];
		if (s->state[i] == SFS_SIZES_WAITING)
			return &s->shards->shards[i];
	}
	while (s->next < s->shards->n &&
	       s->state[at_turn(s, s->next)] != SFS_SIZES_WAITING)
		s->next++;
	return s->next < s->shards->n ? &s->shards->shards[at_turn(s, s->next)] : NULL;
}

/* Are the first bytes of the shard wanted with its size?  Locked. */
static bool wants_head(struct sfs_sizes *s, const struct sfs_shard *shard)
{
	if (shard->object->uri.scheme != SFS_SCHEME_FILE)
		return true;
	return s->n_local < N_LOCAL && ++s->n_local;
}

/* Put idle slots to work; their requests go to *out, to be submitted without the lock.
 * Locked. */
static void dispatch(struct sfs_sizes *s, struct sfs_link *out)
{
	struct sfs_shard *shard;
	struct sfs_sizes_slot *slot;

	while (!s->is_closed && !sfs_list_is_empty(&s->idle) &&
	       (s->is_settled || s->n_early < N_EARLY) && (shard = choose(s)) != NULL) {
		s->n_early += !s->is_settled;
		slot = sfs_container(sfs_list_pop(&s->idle), struct sfs_sizes_slot, link);
		s->state[shard->index] = SFS_SIZES_IN_FLIGHT;
		slot->shard = shard;
		slot->request = (struct sfs_request){
			.kind = SFS_REQUEST_ASK,
			.object = shard->object,
			.is_urgent = true,
			.is_probe = !s->is_settled,
			.head = wants_head(s, shard) ? slot->head : NULL,
			.done = on_size,
			.error = &slot->error,
		};
		sfs_list_push(out, &slot->link);
	}
}

static void submit(struct sfs_link *out)
{
	struct sfs_link *link;
	struct sfs_sizes_slot *slot;

	while ((link = sfs_list_pop(out)) != NULL) {
		slot = sfs_container(link, struct sfs_sizes_slot, link);
		sfs_request_submit(&slot->request);
	}
}

/* Take out the waiters of this shard, and those of all shards if none is
 * left.  Locked. */
static void take_waiters(struct sfs_sizes *s, uint32_t shard, struct sfs_link *ended)
{
	struct sfs_link *link, *following;
	struct sfs_waiter *w;

	for (link = s->waiters.next; link != &s->waiters; link = following) {
		following = link->next;
		w = sfs_container(link, struct sfs_waiter, link);
		if (w->shard == shard || (w->shard == ALL_SHARDS && s->n_pending == 0))
			sfs_waiter_tell(w, ended);
	}
}

/* Once, when all sizes are known.  Locked. */
static void compare_said(struct sfs_sizes *s, struct sfs_error *ret)
{
	if (!s->has_compared && !s->is_closed)
		sfs_sizes_compare_said(s, ret);
	s->has_compared = true;
}

/* No shard is left.  *ret and *ret_said get what the user does not know yet, for the
 * caller to log.  Locked. */
static void end_round(struct sfs_sizes *s, struct sfs_error *ret,
		      struct sfs_error *ret_said)
{
	struct sfs_sizes_tally t;

	pthread_cond_broadcast(&s->all_ended);
	compare_said(s, ret_said);
	if (!s->why || !s->has_reported || s->is_closed)
		return;
	sfs_sizes_count(s, 0, s->shards->n, &t);
	if (sfs_sizes_n_bad(&t) != s->n_reported)
		sfs_sizes_describe(&t, ret);
	s->n_reported = sfs_sizes_n_bad(&t);
}

/* It failed before it was settled: request it again then, or now. */
static void hold(struct sfs_sizes *s, struct sfs_sizes_slot *slot, struct sfs_link *out)
{
	uint32_t i = slot->shard->index;

	pthread_mutex_lock(&s->lock);
	s->state[i] = s->is_settled ? SFS_SIZES_WAITING : SFS_SIZES_HELD;
	s->next = 0;
	sfs_list_push(&s->idle, &slot->link);
	if (s->is_settled)
		dispatch(s, out);
	pthread_mutex_unlock(&s->lock);
}

static void on_size(struct sfs_request *request, int err)
{
	struct sfs_sizes_slot *slot = (struct sfs_sizes_slot *)request;
	struct sfs_sizes *s = slot->sizes;
	struct sfs_shard *shard = slot->shard;
	struct sfs_error line = {0}, said = {0};
	struct sfs_link ended, out;
	int size_err;

	sfs_list_init(&ended);
	sfs_list_init(&out);
	if (request->is_probe && err < 0) {
		hold(s, slot, &out);
		submit(&out);
		return;
	}
	size_err = err;
	err = sfs_size_check(s, shard, err, slot->error.text);
	pthread_mutex_lock(&s->lock);
	shard->size_err = err < 0 ? err : size_err;
	s->state[shard->index] = err < 0	? SFS_SIZES_FAILED
				 : size_err < 0 ? SFS_SIZES_MISSING
						: SFS_SIZES_KNOWN;
	s->n_known += err == 0;
	s->n_pending--;
	if (s->state[shard->index] == SFS_SIZES_KNOWN)
		sfs_sizes_look_at(s, shard, slot->head,
				  request->head ? request->n_got : 0);
	else if (size_err == 0)
		sfs_sizes_keep_too_large(s, shard);
	else if (sfs_size_is_bad(s->state[shard->index]))
		sfs_sizes_keep_why(s, shard->index, slot->error.text);
	if (err < 0) {
		s->failure = err;
		s->failed_ns = sfs_clock_ns();
	}
	sfs_list_push(&s->idle, &slot->link);
	dispatch(s, &out);
	take_waiters(s, shard->index, &ended);
	if (s->n_pending == 0)
		end_round(s, &line, &said);
	pthread_mutex_unlock(&s->lock);
	if (line.text[0])
		sfs_warning("%s", line.text);
	if (said.text[0])
		sfs_warning("%s", said.text);
	submit(&out);
	sfs_waiters_end(&ended, err == -ECANCELED ? err : 0);
}

/* Take the sizes that a listing has given. */
static void take_listed(struct sfs_sizes *s)
{
	uint32_t i;

	for (i = 0; i < s->shards->n; i++) {
		struct sfs_shard *shard = &s->shards->shards[i];

		if (s->state[i] != SFS_SIZES_WAITING ||
		    shard->object->size == SFS_SIZE_UNKNOWN)
			continue;
		s->n_pending--;
		shard->size_err = sfs_size_check(s, shard, 0, "");
		s->state[i] = shard->size_err < 0 ? SFS_SIZES_FAILED : SFS_SIZES_KNOWN;
		if (shard->size_err < 0) {
			sfs_sizes_keep_too_large(s, shard);
			s->failure = shard->size_err;
		} else {
			s->n_known++;
			sfs_sizes_look_at(s, shard, (const unsigned char *)"", 0);
		}
	}
}

struct sfs_sizes *sfs_sizes_start(struct sfs_shards *shards, const uint32_t *left_out,
				  size_t n_left_out)
{
	struct sfs_sizes *s = sfs_calloc(1, sizeof *s);
	struct sfs_link out;
	size_t i;

	s->shards = shards;
	s->state = sfs_calloc(shards->n, 1);
	s->stride = choose_stride(shards->n);
	s->n_pending = shards->n;
	sfs_lock_init(&s->lock, SFS_LOCK_SIZES);
	pthread_cond_init(&s->all_ended, NULL);
	sfs_list_init(&s->waiters);
	sfs_list_init(&s->idle);
	sfs_list_init(&out);
	for (i = 0; i < n_left_out; i++)
		s->state[left_out[i]] = SFS_SIZES_HELD;
	s->n_slots = shards->n < MAX_SLOTS ? shards->n : MAX_SLOTS;
	s->slots = sfs_calloc(s->n_slots, sizeof *s->slots);
	for (i = 0; i < s->n_slots; i++) {
		s->slots[i].sizes = s;
		sfs_list_push(&s->idle, &s->slots[i].link);
	}
	pthread_mutex_lock(&s->lock);
	take_listed(s);
	dispatch(s, &out);
	pthread_mutex_unlock(&s->lock);
	submit(&out);
	return s;
}

void sfs_sizes_settle(struct sfs_sizes *s)
{
	struct sfs_error said = {0};
	struct sfs_shard *shard;
	struct sfs_link out;
	uint32_t i;

	sfs_list_init(&out);
	pthread_mutex_lock(&s->lock);
	s->is_settled = true;
	for (i = 0; i < s->shards->n; i++) {
		shard = &s->shards->shards[i];
		if (s->state[i] != SFS_SIZES_HELD)
			continue;
		s->state[i] = SFS_SIZES_WAITING;
		/* The probe has got it. */
		if (shard->object->size != SFS_SIZE_UNKNOWN &&
		    !sfs_size_is_too_large(shard)) {
			s->state[i] = SFS_SIZES_KNOWN;
			s->n_known++;
			s->n_pending--;
		}
	}
	s->next = 0;
	dispatch(s, &out);
	if (s->n_pending == 0) {
		pthread_cond_broadcast(&s->all_ended);
		compare_said(s, &said);
	}
	pthread_mutex_unlock(&s->lock);
	if (said.text[0])
		sfs_warning("%s", said.text);
	submit(&out);
}

void sfs_sizes_look(struct sfs_sizes *s, struct sfs_shard *shard,
		    const unsigned char *head, size_t n)
{
	pthread_mutex_lock(&s->lock);
	if (s->state[shard->index] == SFS_SIZES_KNOWN)
		sfs_sizes_look_at(s, shard, head, n);
	pthread_mutex_unlock(&s->lock);
}

void sfs_sizes_wait(struct sfs_sizes *s, unsigned timeout_ms)
{
	uint64_t end_ns = sfs_clock_ns() + timeout_ms * SFS_NS_PER_MS;

	pthread_mutex_lock(&s->lock);
	while (s->n_pending > 0 && !s->is_closed &&
	       sfs_cond_wait_until(&s->all_ended, &s->lock, end_ns))
		;
	pthread_mutex_unlock(&s->lock);
}

void sfs_sizes_tally(struct sfs_sizes *s, uint32_t first, uint32_t end,
		     struct sfs_sizes_tally *ret_tally)
{
	pthread_mutex_lock(&s->lock);
	sfs_sizes_count(s, first, end, ret_tally);
	pthread_mutex_unlock(&s->lock);
}

void sfs_sizes_report(struct sfs_sizes *s, struct sfs_sizes_tally *ret_tally)
{
	pthread_mutex_lock(&s->lock);
	sfs_sizes_count(s, 0, s->shards->n, ret_tally);
	s->n_reported = sfs_sizes_n_bad(ret_tally);
	s->has_reported = true;
	pthread_mutex_unlock(&s->lock);
}

void sfs_sizes_stop(struct sfs_sizes *s)
{
	struct sfs_link ended;

	if (!s)
		return;
	sfs_list_init(&ended);
	pthread_mutex_lock(&s->lock);
	s->is_closed = true;
	sfs_waiters_tell(&s->waiters, &ended);
	pthread_mutex_unlock(&s->lock);
	sfs_waiters_end(&ended, -ECANCELED);
}

void sfs_sizes_free(struct sfs_sizes *s)
{
	if (!s)
		return;
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->all_ended);
	free(s->why);
	free(s->state);
	free(s->wanted);
	free(s->slots);
	free(s);
}

static void want(struct sfs_sizes *s, uint32_t shard)
{
	if (s->n_wanted == s->wanted_capacity) {
		s->wanted_capacity = 2 * s->wanted_capacity + 16;
		s->wanted = sfs_reallocarray(s->wanted, s->wanted_capacity,
					     sizeof *s->wanted);
	}
	s->wanted[s->n_wanted++] = shard;
}

/* Request again what failed.  Locked. */
static void retry_failed(struct sfs_sizes *s)
{
	uint32_t i;

	for (i = 0; i < s->shards->n; i++) {
		if (s->state[i] != SFS_SIZES_FAILED)
			continue;
		s->state[i] = SFS_SIZES_WAITING;
		s->n_pending++;
	}
	s->next = 0;
}

static bool may_retry(const struct sfs_sizes *s)
{
	return sfs_clock_ns() - s->failed_ns >= RETRY_NS;
}

/* Explain the size that this waiter waits for, or one of all that are in
 * flight.  Locked. */
static void sizes_explain(struct sfs_waiter *waiter, struct sfs_cause *cause)
{
	const struct sfs_sizes *s = waiter->owner;
	uint32_t i = waiter->shard;

	if (i == ALL_SHARDS)
		for (i = 0; i + 1 < s->shards->n && s->state[i] != SFS_SIZES_IN_FLIGHT;)
			i++;
	sfs_object_explain(s->shards->shards[i].object, SFS_NO_OFFSET,
			   waiter->shard == ALL_SHARDS ? "the size, among others,"
						       : "the size",
			   cause);
}

/* Keep the waiter, request what it waits for, unlock. */
static int wait_for(struct sfs_sizes *s, uint32_t shard, struct sfs_waiter *waiter)
{
	struct sfs_link out;

	sfs_list_init(&out);
	dispatch(s, &out);
	if (waiter) {
		waiter->lock = &s->lock;
		waiter->explain = sizes_explain;
		waiter->owner = s;
		waiter->shard = shard;
		sfs_list_push(&s->waiters, &waiter->link);
	}
	pthread_mutex_unlock(&s->lock);
	submit(&out);
	return -EINPROGRESS;
}

int sfs_sizes_shard(struct sfs_sizes *s, struct sfs_shard *shard,
		    struct sfs_waiter *waiter)
{
	int ret;

	pthread_mutex_lock(&s->lock);
	switch (s->state[shard->index]) {
	case SFS_SIZES_KNOWN:
	case SFS_SIZES_FOREIGN:
	case SFS_SIZES_MISSING: ret = 0; break;
	case SFS_SIZES_FAILED:
		ret = shard->size_err;
		if (!may_retry(s))
			break;
		s->state[shard->index] = SFS_SIZES_WAITING;
		s->n_pending++;
		/* fall through */
	case SFS_SIZES_WAITING: want(s, shard->index); /* fall through */
	default: return wait_for(s, shard->index, waiter);
	}
	pthread_mutex_unlock(&s->lock);
	return ret;
}

int sfs_sizes_all(struct sfs_sizes *s, struct sfs_waiter *waiter)
{
	int ret;

	pthread_mutex_lock(&s->lock);
	ret = s->n_known == s->shards->n ? 0 : s->failure;
	if (s->n_pending == 0 && ret < 0 && may_retry(s))
		retry_failed(s);
	if (s->n_pending > 0)
		return wait_for(s, ALL_SHARDS, waiter);
	pthread_mutex_unlock(&s->lock);
	return ret;
}

uint64_t sfs_sizes_first_files(struct sfs_sizes *s)
{
	uint64_t ret;

	pthread_mutex_lock(&s->lock);
	ret = s->n_first > 0 ? s->first_bytes / s->n_first : 0;
	pthread_mutex_unlock(&s->lock);
	return ret;
}

uint32_t sfs_sizes_known(struct sfs_sizes *s)
{
	uint32_t n;

	pthread_mutex_lock(&s->lock);
	n = s->n_known;
	pthread_mutex_unlock(&s->lock);
	return n;
}
