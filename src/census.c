/* SPDX-License-Identifier: MIT */
/* How this works: a few request slots go round; each free one takes the next
 * shard, first from the list of those that somebody waits for, then in dataset
 * order.  A question that failed has failed for all who waited for it, and for who
 * asks right behind them; who asks later has it asked anew.
 *
 * It begins while the core still probes whether the dataset can be had at all, which
 * saves a far mount two round trips.  Until that is settled, what fails is said to nobody
 * and asked anew later, and the shards that the probe asks itself are left to it. */
#include "census.h"

#include "clock.h"
#include "ledger.h"
#include "mem.h"

#include <errno.h>

#define N_SLOTS	   256
#define N_EARLY	   112 /* questions before it is settled: the probe must find room */
#define ALL_SHARDS UINT32_MAX
#define ANEW_NS	   (2 * SFS_NS_PER_S) /* so long after a failure it is worth asking */

enum { UNASKED, ASKING, KNOWN, FAILED, HELD };

struct slot {
	struct sfs_request request; /* first */
	struct sfs_error error;
	struct sfs_census *census;
	struct sfs_shard *shard;
	struct sfs_link link; /* in census->idle */
};

struct sfs_census {
	struct sfs_shards *shards;

	pthread_mutex_t lock; /* guards all below, and the waiters' links */
	unsigned char *state; /* of each shard */
	uint32_t next;	      /* no UNASKED shard comes before */
	uint32_t n_pending;   /* UNASKED or ASKING */
	uint32_t n_known;
	uint32_t n_early;   /* asked before it was settled */
	int failure;	    /* the latest, if a shard FAILED */
	uint64_t failed_ns; /* when that was */
	bool is_closed, is_settled;
	struct sfs_link waiters, idle;
	uint32_t *wanted; /* shards to ask first: a stack */
	size_t n_wanted, wanted_capacity;
	struct slot slots[N_SLOTS];
};

static void on_answer(struct sfs_request *request, int err);

/* The shard to ask next.  The census is locked. */
static struct sfs_shard *choose(struct sfs_census *c)
{
	uint32_t i;

	while (c->n_wanted > 0) {
		i = c->wanted[--c->n_wanted];
		if (c->state[i] == UNASKED)
			return &c->shards->shards[i];
	}
	while (c->next < c->shards->n && c->state[c->next] != UNASKED)
		c->next++;
	return c->next < c->shards->n ? &c->shards->shards[c->next] : NULL;
}

/* Put idle slots to work; the questions go to *out, to be asked without the
 * lock.  The census is locked. */
static void dispatch(struct sfs_census *c, struct sfs_link *out)
{
	struct sfs_shard *shard;
	struct slot *slot;

	while (!c->is_closed && !sfs_list_is_empty(&c->idle) &&
	       (c->is_settled || c->n_early < N_EARLY) && (shard = choose(c)) != NULL) {
		c->n_early += !c->is_settled;
		slot = sfs_container(sfs_list_pop(&c->idle), struct slot, link);
		c->state[shard->index] = ASKING;
		slot->shard = shard;
		slot->request = (struct sfs_request){
			.kind = SFS_REQUEST_ASK,
			.object = &shard->object,
			.is_urgent = true,
			.is_probe = !c->is_settled,
			.done = on_answer,
			.error = &slot->error,
		};
		sfs_list_push(out, &slot->link);
	}
}

static void submit(struct sfs_link *out)
{
	struct sfs_link *link;

	while ((link = sfs_list_pop(out)) != NULL)
		sfs_request_submit(&sfs_container(link, struct slot, link)->request);
}

/* Those waiters whose question has its answer.  Locked. */
static void tell_answered(struct sfs_census *c, uint32_t shard, struct sfs_link *told)
{
	struct sfs_link *link, *following;
	struct sfs_waiter *w;

	for (link = c->waiters.next; link != &c->waiters; link = following) {
		following = link->next;
		w = sfs_container(link, struct sfs_waiter, link);
		if (w->shard == shard || (w->shard == ALL_SHARDS && c->n_pending == 0))
			sfs_waiter_tell(w, told);
	}
}

/* The size is known, or why not; says so in the ledger.  A missing shard is an empty
 * one, if the user wants it so. */
static int judge(struct sfs_census *c, struct sfs_shard *shard, int err, const char *why)
{
	if (err == -ENOENT && c->shards->skip_damaged) {
		sfs_ledger_add(SFS_EVENT_SKIP, shard->name, SFS_NO_OFFSET,
			       "it counts as an empty shard", "%s", why);
		shard->object.size = 0;
		pthread_mutex_lock(&shard->lock);
		shard->has_totals = true;
		pthread_mutex_unlock(&shard->lock);
		return 0;
	}
	if (err == 0 && shard->object.size > SFS_TABLE_SHARD_MAX) {
		err = -EFBIG;
		why = "a shard of more than 1 TiB; split it";
	}
	if (err < 0 && err != -ECANCELED)
		sfs_ledger_add(SFS_EVENT_LOST, shard->name, SFS_NO_OFFSET,
			       "all streams get EIO until it is there", "%s", why);
	return err;
}

/* It failed while that was to be said to nobody: it will be asked anew, or now. */
static void hold(struct sfs_census *c, struct slot *slot, struct sfs_link *out)
{
	uint32_t i = slot->shard->index;

	pthread_mutex_lock(&c->lock);
	c->state[i] = c->is_settled ? UNASKED : HELD;
	c->next = i < c->next ? i : c->next;
	sfs_list_push(&c->idle, &slot->link);
	if (c->is_settled)
		dispatch(c, out);
	pthread_mutex_unlock(&c->lock);
}

static void on_answer(struct sfs_request *request, int err)
{
	struct slot *slot = (struct slot *)request;
	struct sfs_census *c = slot->census;
	struct sfs_shard *shard = slot->shard;
	struct sfs_link told, out;

	sfs_list_init(&told);
	sfs_list_init(&out);
	if (request->is_probe && err < 0) {
		hold(c, slot, &out);
		submit(&out);
		return;
	}
	err = judge(c, shard, err, slot->error.text);
	pthread_mutex_lock(&c->lock);
	shard->size_err = err;
	c->state[shard->index] = err == 0 ? KNOWN : FAILED;
	c->n_known += err == 0;
	c->n_pending--;
	if (err < 0) {
		c->failure = err;
		c->failed_ns = sfs_clock_ns();
	}
	sfs_list_push(&c->idle, &slot->link);
	dispatch(c, &out);
	tell_answered(c, shard->index, &told);
	pthread_mutex_unlock(&c->lock);
	submit(&out);
	sfs_waiters_end(&told, err == -ECANCELED ? err : 0);
}

struct sfs_census *sfs_census_start(struct sfs_shards *shards, const uint32_t *left_out,
				    size_t n_left_out)
{
	struct sfs_census *c = sfs_calloc(1, sizeof *c);
	struct sfs_link out;
	size_t i;

	c->shards = shards;
	c->state = sfs_calloc(shards->n, 1);
	c->n_pending = shards->n;
	pthread_mutex_init(&c->lock, NULL);
	sfs_list_init(&c->waiters);
	sfs_list_init(&c->idle);
	sfs_list_init(&out);
	for (i = 0; i < n_left_out; i++)
		c->state[left_out[i]] = HELD;
	for (i = 0; i < N_SLOTS; i++) {
		c->slots[i].census = c;
		sfs_list_push(&c->idle, &c->slots[i].link);
	}
	pthread_mutex_lock(&c->lock);
	dispatch(c, &out);
	pthread_mutex_unlock(&c->lock);
	submit(&out);
	return c;
}

void sfs_census_settle(struct sfs_census *c)
{
	struct sfs_shard *shard;
	struct sfs_link out;
	uint32_t i;

	sfs_list_init(&out);
	pthread_mutex_lock(&c->lock);
	c->is_settled = true;
	for (i = 0; i < c->shards->n; i++) {
		shard = &c->shards->shards[i];
		if (c->state[i] != HELD)
			continue;
		c->state[i] = UNASKED;
		/* The probe has asked for it. */
		if (shard->object.size != SFS_SIZE_UNKNOWN &&
		    judge(c, shard, 0, "") == 0) {
			c->state[i] = KNOWN;
			c->n_known++;
			c->n_pending--;
		}
	}
	c->next = 0;
	dispatch(c, &out);
	pthread_mutex_unlock(&c->lock);
	submit(&out);
}

void sfs_census_stop(struct sfs_census *c)
{
	struct sfs_link told;

	if (!c)
		return;
	sfs_list_init(&told);
	pthread_mutex_lock(&c->lock);
	c->is_closed = true;
	sfs_waiters_tell(&c->waiters, &told);
	pthread_mutex_unlock(&c->lock);
	sfs_waiters_end(&told, -ECANCELED);
}

void sfs_census_free(struct sfs_census *c)
{
	if (!c)
		return;
	pthread_mutex_destroy(&c->lock);
	free(c->state);
	free(c->wanted);
	free(c);
}

static void want(struct sfs_census *c, uint32_t shard)
{
	if (c->n_wanted == c->wanted_capacity) {
		c->wanted_capacity = 2 * c->wanted_capacity + 16;
		c->wanted = sfs_reallocarray(c->wanted, c->wanted_capacity,
					     sizeof *c->wanted);
	}
	c->wanted[c->n_wanted++] = shard;
}

/* Ask again what failed.  The census is locked. */
static void retry_failed(struct sfs_census *c)
{
	uint32_t i;

	for (i = 0; i < c->shards->n; i++) {
		if (c->state[i] != FAILED)
			continue;
		c->state[i] = UNASKED;
		c->n_pending++;
		c->next = i < c->next ? i : c->next;
	}
}

static bool may_ask_anew(const struct sfs_census *c)
{
	return sfs_clock_ns() - c->failed_ns >= ANEW_NS;
}

/* The size that this waiter waits for, or one of all that are missing.  Locked. */
static void explain(struct sfs_waiter *waiter, struct sfs_cause *cause)
{
	const struct sfs_census *c = waiter->owner;
	uint32_t i = waiter->shard;

	if (i == ALL_SHARDS)
		for (i = 0; i + 1 < c->shards->n && c->state[i] != ASKING;)
			i++;
	sfs_object_explain(&c->shards->shards[i].object, SFS_NO_OFFSET,
			   waiter->shard == ALL_SHARDS ? "all sizes, this one"
						       : "the size",
			   cause);
}

/* Keep the waiter, start what it waits for, unlock. */
static int wait_for(struct sfs_census *c, uint32_t shard, struct sfs_waiter *waiter)
{
	struct sfs_link out;

	sfs_list_init(&out);
	dispatch(c, &out);
	if (waiter) {
		waiter->lock = &c->lock;
		waiter->explain = explain;
		waiter->owner = c;
		waiter->shard = shard;
		sfs_list_push(&c->waiters, &waiter->link);
	}
	pthread_mutex_unlock(&c->lock);
	submit(&out);
	return -EINPROGRESS;
}

int sfs_census_shard(struct sfs_census *c, struct sfs_shard *shard,
		     struct sfs_waiter *waiter)
{
	int ret;

	pthread_mutex_lock(&c->lock);
	switch (c->state[shard->index]) {
	case KNOWN: ret = 0; break;
	case FAILED:
		ret = shard->size_err;
		if (!may_ask_anew(c))
			break;
		c->state[shard->index] = UNASKED;
		c->n_pending++;
		c->next = shard->index < c->next ? shard->index : c->next;
		/* fall through */
	case UNASKED: want(c, shard->index); /* fall through */
	default: return wait_for(c, shard->index, waiter);
	}
	pthread_mutex_unlock(&c->lock);
	return ret;
}

int sfs_census_all(struct sfs_census *c, struct sfs_waiter *waiter)
{
	int ret;

	pthread_mutex_lock(&c->lock);
	ret = c->n_known == c->shards->n ? 0 : c->failure;
	if (c->n_pending == 0 && ret < 0 && may_ask_anew(c))
		retry_failed(c);
	if (c->n_pending > 0)
		return wait_for(c, ALL_SHARDS, waiter);
	pthread_mutex_unlock(&c->lock);
	return ret;
}

uint32_t sfs_census_known(struct sfs_census *c)
{
	uint32_t n;

	pthread_mutex_lock(&c->lock);
	n = c->n_known;
	pthread_mutex_unlock(&c->lock);
	return n;
}
