/* SPDX-License-Identifier: MIT */
/* How this works: each shard is pinned, so its table stays, and surveyed with a waiter of
 * its own; the scanner does a few at a time.  The last one to end tells all who wait.
 * Failures pass: who asks 2 s later has what failed surveyed again.
 *
 * Everybody who waits does so for `wait_ns` of their own.  Who would wait in vain is told
 * before, but only when that is certain (estimate.h). */
#include "io/scan-all.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/eta.h"
#include "base/ledger.h"
#include "base/lock.h"
#include "base/strbuf.h"

#include <assert.h>
#include <errno.h>

#define ANEW_NS (2 * SFS_NS_PER_S)

struct item {
	struct sfs_waiter waiter;
	struct sfs_scan_all *scan_all;
	struct sfs_shard *shard;
	bool is_done, is_pending;
};

struct sfs_scan_all {
	struct sfs_runtime *runtime;
	struct sfs_header_scanner *scanner;
	sfs_scan_all_survey *survey;
	uint64_t wait_ns;

	pthread_mutex_t lock;	 /* guards all below */
	struct sfs_link waiters; /* in the order in which they came */
	struct item *items;	 /* one a shard; NULL: nobody has asked yet */
	uint32_t n_done, n_pending;
	uint64_t begun_ns, failed_ns;
	struct sfs_eta work; /* since then; n_done: of those that ended */
	int err;	     /* of the latest failure */
	bool is_hopeless;    /* nobody need wait */
	bool is_told;	     /* the ledger has it, that it takes too long */
	bool is_closed;
	uint64_t n_samples, n_bytes; /* of all, when all are done */
};

struct sfs_scan_all *sfs_scan_all_new(struct sfs_runtime *runtime,
				      struct sfs_header_scanner *scanner,
				      sfs_scan_all_survey *survey, uint64_t wait_ms)
{
	struct sfs_scan_all *ix = sfs_calloc(1, sizeof *ix);

	ix->runtime = runtime;
	ix->scanner = scanner;
	ix->survey = survey;
	ix->wait_ns = wait_ms * (SFS_NS_PER_S / 1000);
	sfs_lock_init(&ix->lock, SFS_LOCK_SCAN_ALL);
	sfs_list_init(&ix->waiters);
	return ix;
}

void sfs_scan_all_stop(struct sfs_scan_all *ix)
{
	struct sfs_link told;

	if (!ix)
		return;
	sfs_list_init(&told);
	pthread_mutex_lock(&ix->lock);
	ix->is_closed = true;
	sfs_waiters_tell(&ix->waiters, &told);
	pthread_mutex_unlock(&ix->lock);
	sfs_waiters_end(&told, -ECANCELED);
}

static void free_items(struct sfs_scan_all *ix)
{
	uint32_t i;

	for (i = 0; ix->items && i < ix->runtime->shards.n; i++)
		sfs_shard_unpin(&ix->runtime->shards, ix->items[i].shard);
	free(steal(&ix->items));
	ix->n_done = 0;
}

void sfs_scan_all_free(struct sfs_scan_all *ix)
{
	if (!ix)
		return;
	assert(ix->n_pending == 0);
	free_items(ix);
	pthread_mutex_destroy(&ix->lock);
	free(ix);
}

/* ---- surveys ---- */

/* Is there room in the budget for all tables, which stay, and for an epoch's lanes? */
static int check_budget(const struct sfs_scan_all *ix, uint64_t table_bytes)
{
	const struct sfs_runtime *runtime = ix->runtime;
	uint64_t lanes = runtime->order.lanes, need;
	char have[32], want[32], tables[32];

	lanes = lanes < ix->n_samples ? lanes : ix->n_samples;
	need = table_bytes + lanes * SFS_BUDGET_LANE_FLOOR +
	       runtime->range_reader.account.floor_bytes;
	if (need <= runtime->budget.total_bytes)
		return 0;
	sfs_ledger_add(SFS_EVENT_REFUSED, "(epochs)", SFS_NO_OFFSET,
		       "raise budget=, or use segment=shard,equal=none",
		       "budget=%s is too small: tables of %llu samples take %s, with "
		       "the lanes %s",
		       sfs_format_size(runtime->budget.total_bytes, have),
		       (unsigned long long)ix->n_samples,
		       sfs_format_size(table_bytes, tables), sfs_format_size(need, want));
	return -ENOMEM;
}

/* All have ended, well.  Locked. */
static int sum_up(struct sfs_scan_all *ix)
{
	uint64_t n, n_bytes, table_bytes = 0;
	uint32_t i;

	ix->n_samples = ix->n_bytes = 0;
	for (i = 0; i < ix->runtime->shards.n; i++) {
		sfs_shards_totals(&ix->runtime->shards, i, &n, &n_bytes);
		ix->n_samples += n;
		ix->n_bytes += n_bytes;
		table_bytes += sfs_shard_memory(&ix->runtime->shards.shards[i]);
	}
	if (!sfs_order_wants_equal_lanes(&ix->runtime->order))
		return 0;
	if (ix->n_samples < UINT32_MAX)
		return check_budget(ix, table_bytes);
	sfs_ledger_add(SFS_EVENT_REFUSED, "(epochs)", SFS_NO_OFFSET,
		       "use segment=shard, or several mounts",
		       "cannot distribute more than 2^32 samples to equal lanes");
	return -EOVERFLOW;
}

/* A survey has ended.  Locked. */
static void take(struct sfs_scan_all *ix, struct item *item, int err)
{
	uint64_t n, n_bytes;

	if (err == 0 && !sfs_shard_totals(item->shard, &n, &n_bytes))
		err = -EIO; /* damaged: the ledger has it */
	ix->n_pending--;
	item->is_pending = false;
	ix->work.n_ended++;
	ix->work.n_done += item->shard->object.size;
	if (err < 0) {
		ix->err = err == -ECANCELED || err == -ENOMEM ? err : -EIO;
		ix->failed_ns = sfs_clock_ns();
		return;
	}
	item->is_done = true;
	ix->n_done++;
}

/* Are they all done?  Then who waits is told.  Locked. */
static void finish(struct sfs_scan_all *ix, struct sfs_link *told)
{
	if (ix->n_pending > 0)
		return;
	if (ix->n_done == ix->runtime->shards.n)
		ix->err = sum_up(ix);
	else if (ix->err == -ENOMEM)
		free_items(ix); /* what is known of some is of no use to anybody */
	sfs_waiters_tell(&ix->waiters, told);
}

static void on_survey(struct sfs_waiter *waiter, int err)
{
	struct item *item = sfs_container(waiter, struct item, waiter);
	struct sfs_scan_all *ix = item->scan_all;
	struct sfs_link told;

	sfs_list_init(&told);
	pthread_mutex_lock(&ix->lock);
	take(ix, item, err);
	finish(ix, &told);
	err = ix->err;
	pthread_mutex_unlock(&ix->lock);
	sfs_waiters_end(&told, err);
}

static void make_items(struct sfs_scan_all *ix)
{
	uint32_t i, n = ix->runtime->shards.n;

	ix->items = sfs_calloc(n, sizeof *ix->items);
	for (i = 0; i < n; i++) {
		ix->items[i].scan_all = ix;
		ix->items[i].shard = &ix->runtime->shards.shards[i];
		sfs_shard_pin(&ix->runtime->shards, ix->items[i].shard);
	}
}

/* Have surveyed what is not done.  Locked. */
static void start(struct sfs_scan_all *ix)
{
	struct item *item;
	uint32_t k, n = ix->runtime->shards.n;
	int ret;

	if (!ix->items)
		make_items(ix);
	ix->err = 0;
	ix->is_hopeless = ix->is_told = false;
	ix->begun_ns = sfs_clock_ns();
	ix->work = (struct sfs_eta){0};
	for (k = 0; k < n; k++) {
		item = &ix->items[sfs_eta_turn(n, k)];
		if (item->is_done)
			continue;
		ix->n_pending++;
		ix->work.n++;
		ix->work.n_bytes += item->shard->object.size;
		item->is_pending = true;
		item->waiter = (struct sfs_waiter){.done = on_survey};
		ret = ix->survey(ix->scanner, item->shard, &item->waiter);
		if (ret != -EINPROGRESS)
			take(ix, item, ret);
	}
}

/* ---- who asks ---- */

/* 0, an error, or -EINPROGRESS if there is something to wait for.  Locked. */
static int state_of(struct sfs_scan_all *ix)
{
	if (ix->is_closed)
		return -ECANCELED;
	if (ix->n_pending > 0)
		return ix->is_hopeless ? -ENODATA : -EINPROGRESS;
	return ix->n_done == ix->runtime->shards.n || ix->err < 0 ? ix->err
								  : -EINPROGRESS;
}

/* One of the shards that are missing.  Locked. */
static void explain(struct sfs_waiter *waiter, struct sfs_cause *cause)
{
	const struct sfs_scan_all *ix = waiter->owner;
	uint32_t i = 0;

	while (i + 1 < ix->runtime->shards.n && ix->items[i].is_done)
		i++;
	sfs_object_explain(&ix->items[i].shard->object, SFS_NO_OFFSET,
			   "the headers, among others,", cause);
}

int sfs_scan_all_request(struct sfs_scan_all *ix, struct sfs_waiter *waiter)
{
	struct sfs_link told;
	int ret;

	sfs_list_init(&told);
	pthread_mutex_lock(&ix->lock);
	if (!ix->is_closed && ix->n_pending == 0 && ix->n_done < ix->runtime->shards.n &&
	    (ix->err == 0 || sfs_clock_ns() - ix->failed_ns > ANEW_NS)) {
		start(ix);
		finish(ix, &told);
	}
	ret = state_of(ix);
	if (ret == -EINPROGRESS && waiter) {
		waiter->lock = &ix->lock;
		waiter->asked_ns = sfs_clock_ns();
		waiter->explain = explain;
		waiter->owner = ix;
		sfs_list_push(&ix->waiters, &waiter->link);
	}
	pthread_mutex_unlock(&ix->lock);
	sfs_waiters_end(&told, ret);
	return ret;
}

void sfs_scan_all_sum(struct sfs_scan_all *ix, uint64_t *ret_samples, uint64_t *ret_bytes)
{
	pthread_mutex_lock(&ix->lock);
	*ret_samples = ix->n_samples;
	*ret_bytes = ix->n_bytes;
	pthread_mutex_unlock(&ix->lock);
}

/* What was done since the beginning, what is under way included.  Locked. */
static struct sfs_eta look_at_work(const struct sfs_scan_all *ix, uint64_t now)
{
	struct sfs_eta work = ix->work;
	uint32_t i;

	work.gone_ns = now - ix->begun_ns;
	for (i = 0; i < ix->runtime->shards.n; i++)
		if (ix->items[i].is_pending)
			work.n_done +=
				sfs_header_scan_progress(ix->scanner, ix->items[i].shard);
	return work;
}

/* The ledger gets one line.  Locked. */
static void note_refusal(struct sfs_scan_all *ix, const struct sfs_eta *work)
{
	sfs_autofree char *more = NULL;
	uint64_t left_ns;

	if (ix->is_told)
		return;
	ix->is_told = true;
	if (sfs_eta_left(work, &left_ns))
		more = sfs_asprintf("about %llu s left",
				    (unsigned long long)(left_ns / SFS_NS_PER_S + 1));
	sfs_ledger_add(
		SFS_EVENT_REFUSED, "(epochs)", SFS_NO_OFFSET,
		"index ahead with `shufflefs index`, or try again later",
		"these settings need all samples, but after %llu s only %u of %u shards "
		"are indexed; %s, and index-wait is %llu s",
		(unsigned long long)(work->gone_ns / SFS_NS_PER_S), ix->n_done,
		ix->runtime->shards.n, more ? more : "the time left is unknown",
		(unsigned long long)(ix->wait_ns / SFS_NS_PER_S));
}

/* Tell those whose time is over; all of them, if it is hopeless.  Locked. */
static void refuse(struct sfs_scan_all *ix, uint64_t now, struct sfs_link *told)
{
	struct sfs_waiter *w;

	while (!sfs_list_is_empty(&ix->waiters)) {
		w = sfs_container(ix->waiters.next, struct sfs_waiter, link);
		if (!ix->is_hopeless && now - w->asked_ns < ix->wait_ns)
			return;
		sfs_waiter_tell(w, told);
	}
}

void sfs_scan_all_tick(struct sfs_scan_all *ix)
{
	struct sfs_eta work;
	struct sfs_link told;
	uint64_t now;

	sfs_list_init(&told);
	pthread_mutex_lock(&ix->lock);
	if (ix->n_pending > 0) {
		now = sfs_clock_ns();
		work = look_at_work(ix, now);
		ix->is_hopeless = sfs_eta_exceeds(&work, ix->wait_ns);
		refuse(ix, now, &told);
		if (ix->is_hopeless || !sfs_list_is_empty(&told))
			note_refusal(ix, &work);
	}
	pthread_mutex_unlock(&ix->lock);
	sfs_waiters_end(&told, -ENODATA);
}
