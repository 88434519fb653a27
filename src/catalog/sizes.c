/* SPDX-License-Identifier: MIT */
/* How this works: a few request slots go round; each free one takes the next
 * shard, first from the list of those that somebody waits for, then in dataset
 * order.  A question that failed has failed for all who waited for it, and for who
 * asks right behind them; who asks later has it asked anew.
 *
 * Shards are not asked one after the other but in strides of some 0.618 of their number,
 * which spreads those that were asked by any moment evenly over the dataset: a second of
 * it finds a hole of one part in a hundred.
 *
 * It begins while the engine still probes whether the dataset can be had at all, which
 * saves a far mount two round trips.  Until that is settled, what fails is said to nobody
 * and asked anew later, and the shards that the probe asks itself are left to it. */
#include "catalog/sizes.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/cond.h"
#include "base/ledger.h"
#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define N_SLOTS	   256
#define N_EARLY	   112 /* questions before it is settled: the probe must find room */
#define ALL_SHARDS UINT32_MAX
#define ANEW_NS	   (2 * SFS_NS_PER_S) /* so long after a failure it is worth asking */

/* MISSING: known to be missing, which counts as an empty shard. */
enum { UNASKED, ASKING, KNOWN, MISSING, FAILED, HELD };

struct slot {
	struct sfs_request request; /* first */
	struct sfs_error error;
	struct sfs_sizes *sizes;
	struct sfs_shard *shard;
	struct sfs_link link; /* in census->idle */
};

struct sfs_sizes {
	struct sfs_shards *shards;

	pthread_mutex_t lock; /* guards all below, and the waiters' links */
	unsigned char *state; /* of each shard */
	uint32_t stride;
	uint32_t next;	    /* a turn: no UNASKED shard comes before */
	uint32_t n_pending; /* UNASKED or ASKING */
	uint32_t n_known;
	uint32_t n_early;   /* asked before it was settled */
	int failure;	    /* the latest, if a shard FAILED */
	uint64_t failed_ns; /* when that was */
	uint32_t first_bad; /* of the shards that FAILED or are MISSING */
	char *why;	    /* it is; NULL: none was */
	uint32_t n_told;    /* so many such shards the user knows of, */
	bool has_reported;  /* if this is true; else nothing is logged */
	pthread_cond_t all_asked;
	bool is_closed, is_settled;
	struct sfs_link waiters, idle;
	uint32_t *wanted; /* shards to ask first: a stack */
	size_t n_wanted, wanted_capacity;
	struct slot slots[N_SLOTS];
};

static void on_answer(struct sfs_request *request, int err);

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

/* Whose turn is it? */
static uint32_t at_turn(const struct sfs_sizes *c, uint32_t turn)
{
	return (uint32_t)((uint64_t)turn * c->stride % c->shards->n);
}

/* The shard to ask next.  The census is locked. */
static struct sfs_shard *choose(struct sfs_sizes *c)
{
	uint32_t i;

	while (c->n_wanted > 0) {
		i = c->wanted[--c->n_wanted];
		if (c->state[i] == UNASKED)
			return &c->shards->shards[i];
	}
	while (c->next < c->shards->n && c->state[at_turn(c, c->next)] != UNASKED)
		c->next++;
	return c->next < c->shards->n ? &c->shards->shards[at_turn(c, c->next)] : NULL;
}

/* Put idle slots to work; the questions go to *out, to be asked without the
 * lock.  The census is locked. */
static void dispatch(struct sfs_sizes *c, struct sfs_link *out)
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
static void tell_answered(struct sfs_sizes *c, uint32_t shard, struct sfs_link *told)
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
static int judge(struct sfs_sizes *c, struct sfs_shard *shard, int err, const char *why)
{
	if (err == -ENOENT && c->shards->skip_damaged) {
		sfs_ledger_note(SFS_EVENT_SKIP, shard->name, SFS_NO_OFFSET,
				"it counts as an empty shard", "%s", why);
		shard->object.size = 0;
		pthread_mutex_lock(&shard->lock);
		shard->has_totals = true;
		pthread_mutex_unlock(&shard->lock);
		return 0;
	}
	if (err == 0 && shard->object.size > SFS_SAMPLE_TABLE_SHARD_MAX) {
		err = -EFBIG;
		why = "larger than 1 TiB; split the shard";
	}
	if (err < 0 && err != -ECANCELED)
		sfs_ledger_note(SFS_EVENT_LOST, shard->name, SFS_NO_OFFSET,
				"all streams get EIO until it is readable", "%s", why);
	return err;
}

static bool is_bad(unsigned char state)
{
	return state == FAILED || state == MISSING;
}

/* Keep why the first shard is bad.  Locked. */
static void keep_why(struct sfs_sizes *c, uint32_t shard, const char *why)
{
	if (c->why && c->first_bad < shard)
		return;
	free(c->why);
	c->why = sfs_strdup(why);
	c->first_bad = shard;
}

/* Will it be no better when it is asked again? */
static bool is_refused(int err)
{
	switch (err) {
	case -EACCES:
	case -EPERM:
	case -EINVAL:
	case -EFBIG:
	case -EISDIR:
	case -ELOOP:
	case -ENAMETOOLONG:
	case -ENOTDIR:
	case -EOPNOTSUPP: return true;
	}
	return false;
}

static void count_bad(const struct sfs_sizes *c, uint32_t shard,
		      struct sfs_sizes_tally *t)
{
	const struct sfs_shard *s = &c->shards->shards[shard];
	int err = s->size_err;

	if (t->n_missing + t->n_refused + t->n_failed == 0) {
		if (c->why && c->first_bad == shard)
			sfs_error_set(&t->first, 0, "%s", c->why);
		else
			sfs_error_set(&t->first, 0, "%s: %s", s->name, strerror(-err));
	}
	if (err == -ENOENT)
		t->n_missing++;
	else if (is_refused(err))
		t->n_refused++;
	else
		t->n_failed++;
}

/* Locked. */
static void tally(const struct sfs_sizes *c, uint32_t first, uint32_t end,
		  struct sfs_sizes_tally *t)
{
	uint32_t i;

	*t = (struct sfs_sizes_tally){.n_shards = end - first,
				      .is_skipping = c->shards->skip_damaged};
	for (i = first; i < end; i++) {
		t->n_asked += c->state[i] == KNOWN || is_bad(c->state[i]);
		if (is_bad(c->state[i]))
			count_bad(c, i, t);
	}
}

static uint32_t n_bad(const struct sfs_sizes_tally *t)
{
	return t->n_missing + t->n_refused + t->n_failed;
}

/* What helps, or what is done about it: only what is missing can be left out. */
static const char *remedy(const struct sfs_sizes_tally *t, uint32_t n)
{
	if (n != t->n_missing || n == t->n_asked)
		return "";
	if (t->is_skipping)
		return n == 1 ? "; it is left out" : "; they are left out";
	return n == 1 ? "; on-error=skip leaves it out"
		      : "; on-error=skip leaves them out";
}

void sfs_sizes_describe(const struct sfs_sizes_tally *t, struct sfs_error *ret)
{
	uint32_t n = n_bad(t);
	bool is_all = n == t->n_asked, is_whole = t->n_asked == t->n_shards;
	char count[16], of[64];

	if (n == 0)
		return;
	if (t->n_shards == 1) {
		*ret = t->first;
		return;
	}
	snprintf(count, sizeof count, !is_all ? "%u of" : is_whole ? "all" : "all of", n);
	if (is_whole)
		snprintf(of, sizeof of, "%u shards", t->n_shards);
	else
		snprintf(of, sizeof of, "the first %u shards that answered", t->n_asked);
	sfs_error_set(ret, 0, "%s %s %s%s: %s%s", count, of,
		      n != t->n_missing ? "cannot be read"
		      : n == 1		? "is missing"
					: "are missing",
		      n == 1 ? "" : ", the first", t->first.text, remedy(t, n));
}

/* All shards have been asked.  What the user has not been told of yet fills *ret; the
 * caller logs it.  Locked. */
static void end_round(struct sfs_sizes *c, struct sfs_error *ret)
{
	struct sfs_sizes_tally t;

	pthread_cond_broadcast(&c->all_asked);
	if (!c->why || !c->has_reported || c->is_closed)
		return;
	tally(c, 0, c->shards->n, &t);
	if (n_bad(&t) != c->n_told)
		sfs_sizes_describe(&t, ret);
	c->n_told = n_bad(&t);
}

/* It failed while that was to be said to nobody: it will be asked anew, or now. */
static void hold(struct sfs_sizes *c, struct slot *slot, struct sfs_link *out)
{
	uint32_t i = slot->shard->index;

	pthread_mutex_lock(&c->lock);
	c->state[i] = c->is_settled ? UNASKED : HELD;
	c->next = 0;
	sfs_list_push(&c->idle, &slot->link);
	if (c->is_settled)
		dispatch(c, out);
	pthread_mutex_unlock(&c->lock);
}

static void on_answer(struct sfs_request *request, int err)
{
	struct slot *slot = (struct slot *)request;
	struct sfs_sizes *c = slot->sizes;
	struct sfs_shard *shard = slot->shard;
	struct sfs_error news = {0};
	struct sfs_link told, out;
	int said;

	sfs_list_init(&told);
	sfs_list_init(&out);
	if (request->is_probe && err < 0) {
		hold(c, slot, &out);
		submit(&out);
		return;
	}
	said = err;
	err = judge(c, shard, err, slot->error.text);
	pthread_mutex_lock(&c->lock);
	shard->size_err = err < 0 ? err : said;
	c->state[shard->index] = err < 0 ? FAILED : said < 0 ? MISSING : KNOWN;
	c->n_known += err == 0;
	c->n_pending--;
	if (is_bad(c->state[shard->index]))
		keep_why(c, shard->index, slot->error.text);
	if (err < 0) {
		c->failure = err;
		c->failed_ns = sfs_clock_ns();
	}
	sfs_list_push(&c->idle, &slot->link);
	dispatch(c, &out);
	tell_answered(c, shard->index, &told);
	if (c->n_pending == 0)
		end_round(c, &news);
	pthread_mutex_unlock(&c->lock);
	if (news.text[0])
		sfs_warning("%s", news.text);
	submit(&out);
	sfs_waiters_end(&told, err == -ECANCELED ? err : 0);
}

struct sfs_sizes *sfs_sizes_start(struct sfs_shards *shards, const uint32_t *left_out,
				  size_t n_left_out)
{
	struct sfs_sizes *c = sfs_calloc(1, sizeof *c);
	struct sfs_link out;
	size_t i;

	c->shards = shards;
	c->state = sfs_calloc(shards->n, 1);
	c->stride = choose_stride(shards->n);
	c->n_pending = shards->n;
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->all_asked, NULL);
	sfs_list_init(&c->waiters);
	sfs_list_init(&c->idle);
	sfs_list_init(&out);
	for (i = 0; i < n_left_out; i++)
		c->state[left_out[i]] = HELD;
	for (i = 0; i < N_SLOTS; i++) {
		c->slots[i].sizes = c;
		sfs_list_push(&c->idle, &c->slots[i].link);
	}
	pthread_mutex_lock(&c->lock);
	dispatch(c, &out);
	pthread_mutex_unlock(&c->lock);
	submit(&out);
	return c;
}

void sfs_sizes_settle(struct sfs_sizes *c)
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
	if (c->n_pending == 0)
		pthread_cond_broadcast(&c->all_asked);
	pthread_mutex_unlock(&c->lock);
	submit(&out);
}

void sfs_sizes_wait(struct sfs_sizes *c, unsigned timeout_ms)
{
	uint64_t end_ns = sfs_clock_ns() + timeout_ms * SFS_NS_PER_MS;

	pthread_mutex_lock(&c->lock);
	while (c->n_pending > 0 && !c->is_closed &&
	       sfs_cond_wait_until(&c->all_asked, &c->lock, end_ns))
		;
	pthread_mutex_unlock(&c->lock);
}

void sfs_sizes_tally(struct sfs_sizes *c, uint32_t first, uint32_t end,
		     struct sfs_sizes_tally *ret_tally)
{
	pthread_mutex_lock(&c->lock);
	tally(c, first, end, ret_tally);
	pthread_mutex_unlock(&c->lock);
}

void sfs_sizes_report(struct sfs_sizes *c, struct sfs_sizes_tally *ret_tally)
{
	pthread_mutex_lock(&c->lock);
	tally(c, 0, c->shards->n, ret_tally);
	c->n_told = n_bad(ret_tally);
	c->has_reported = true;
	pthread_mutex_unlock(&c->lock);
}

void sfs_sizes_stop(struct sfs_sizes *c)
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

void sfs_sizes_free(struct sfs_sizes *c)
{
	if (!c)
		return;
	pthread_mutex_destroy(&c->lock);
	pthread_cond_destroy(&c->all_asked);
	free(c->why);
	free(c->state);
	free(c->wanted);
	free(c);
}

static void want(struct sfs_sizes *c, uint32_t shard)
{
	if (c->n_wanted == c->wanted_capacity) {
		c->wanted_capacity = 2 * c->wanted_capacity + 16;
		c->wanted = sfs_reallocarray(c->wanted, c->wanted_capacity,
					     sizeof *c->wanted);
	}
	c->wanted[c->n_wanted++] = shard;
}

/* Ask again what failed.  The census is locked. */
static void retry_failed(struct sfs_sizes *c)
{
	uint32_t i;

	for (i = 0; i < c->shards->n; i++) {
		if (c->state[i] != FAILED)
			continue;
		c->state[i] = UNASKED;
		c->n_pending++;
	}
	c->next = 0;
}

static bool may_ask_anew(const struct sfs_sizes *c)
{
	return sfs_clock_ns() - c->failed_ns >= ANEW_NS;
}

/* The size that this waiter waits for, or one of all that are missing.  Locked. */
static void explain(struct sfs_waiter *waiter, struct sfs_cause *cause)
{
	const struct sfs_sizes *c = waiter->owner;
	uint32_t i = waiter->shard;

	if (i == ALL_SHARDS)
		for (i = 0; i + 1 < c->shards->n && c->state[i] != ASKING;)
			i++;
	sfs_object_explain(&c->shards->shards[i].object, SFS_NO_OFFSET,
			   waiter->shard == ALL_SHARDS ? "the size, among others,"
						       : "the size",
			   cause);
}

/* Keep the waiter, start what it waits for, unlock. */
static int wait_for(struct sfs_sizes *c, uint32_t shard, struct sfs_waiter *waiter)
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

int sfs_sizes_shard(struct sfs_sizes *c, struct sfs_shard *shard,
		    struct sfs_waiter *waiter)
{
	int ret;

	pthread_mutex_lock(&c->lock);
	switch (c->state[shard->index]) {
	case KNOWN:
	case MISSING: ret = 0; break;
	case FAILED:
		ret = shard->size_err;
		if (!may_ask_anew(c))
			break;
		c->state[shard->index] = UNASKED;
		c->n_pending++;
		/* fall through */
	case UNASKED: want(c, shard->index); /* fall through */
	default: return wait_for(c, shard->index, waiter);
	}
	pthread_mutex_unlock(&c->lock);
	return ret;
}

int sfs_sizes_all(struct sfs_sizes *c, struct sfs_waiter *waiter)
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

uint32_t sfs_sizes_known(struct sfs_sizes *c)
{
	uint32_t n;

	pthread_mutex_lock(&c->lock);
	n = c->n_known;
	pthread_mutex_unlock(&c->lock);
	return n;
}
