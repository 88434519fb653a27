/* SPDX-License-Identifier: MIT */
/* How this works: each shard is pinned, so that its table stays, and scanned with a
 * waiter of its own; the scanner runs a few scans at a time.  The last one to end wakes
 * all callers.  Failures may pass: a call 2 s later scans the shards that failed again.
 *
 * Each caller waits for at most `wait_ns`.  Callers that would wait in vain are refused
 * earlier, but only when that is certain (base/eta.h). */
#include "io/scan-all.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/eta.h"
#include "base/ledger.h"
#include "base/lock.h"
#include "base/strbuf.h"

#include <assert.h>
#include <errno.h>

#define RETRY_NS (2 * SFS_NS_PER_S)

struct item {
	struct sfs_waiter waiter;
	struct sfs_scan_all *scan_all;
	struct sfs_shard *shard;
	bool is_done, is_pending;
};

struct sfs_scan_all {
	struct sfs_runtime *runtime;
	struct sfs_header_scanner *scanner;
	sfs_scan_all_scan *scan;
	uint64_t wait_ns;

	pthread_mutex_t lock;	 /* guards all below */
	struct sfs_link waiters; /* in the order of their calls */
	struct item *items;	 /* one per shard; NULL: no call yet */
	uint32_t n_done, n_pending;
	uint64_t begun_ns, failed_ns;
	struct sfs_eta work; /* since then; n_done: bytes of scans that ended */
	int err;	     /* of the latest failure */
	bool is_hopeless;    /* waiting is in vain */
	bool is_noted;	     /* in the ledger: that it takes too long */
	bool is_closed;
	uint64_t n_samples, n_bytes; /* of all, when all are done */
};

struct sfs_scan_all *sfs_scan_all_new(struct sfs_runtime *runtime,
				      struct sfs_header_scanner *scanner,
				      sfs_scan_all_scan *scan, uint64_t wait_ms)
{
	struct sfs_scan_all *all = sfs_calloc(1, sizeof *all);

	all->runtime = runtime;
	all->scanner = scanner;
	all->scan = scan;
	all->wait_ns = wait_ms * (SFS_NS_PER_S / 1000);
	sfs_lock_init(&all->lock, SFS_LOCK_SCAN_ALL);
	sfs_list_init(&all->waiters);
	return all;
}

void sfs_scan_all_stop(struct sfs_scan_all *all)
{
	struct sfs_link ended;

	if (!all)
		return;
	sfs_list_init(&ended);
	pthread_mutex_lock(&all->lock);
	all->is_closed = true;
	sfs_waiters_tell(&all->waiters, &ended);
	pthread_mutex_unlock(&all->lock);
	sfs_waiters_end(&ended, -ECANCELED);
}

static void free_items(struct sfs_scan_all *all)
{
	uint32_t i;

	for (i = 0; all->items && i < all->runtime->shards.n; i++)
		sfs_shard_unpin(&all->runtime->shards, all->items[i].shard);
	free(steal(&all->items));
	all->n_done = 0;
}

void sfs_scan_all_free(struct sfs_scan_all *all)
{
	if (!all)
		return;
	assert(all->n_pending == 0);
	free_items(all);
	pthread_mutex_destroy(&all->lock);
	free(all);
}

/* ---- scans ---- */

/* Does the budget hold all tables, which stay, and the lanes of an epoch? */
static int check_budget(const struct sfs_scan_all *all, uint64_t table_bytes)
{
	const struct sfs_runtime *runtime = all->runtime;
	uint64_t lanes = sfs_order_most_lanes(&runtime->order, runtime->shards.n), need;
	char have[32], want[32], tables[32];

	lanes = lanes < all->n_samples ? lanes : all->n_samples;
	need = table_bytes + lanes * SFS_BUDGET_LANE_FLOOR +
	       runtime->range_reader.account.floor_bytes;
	if (need <= runtime->budget.total_bytes)
		return 0;
	sfs_ledger_add(SFS_EVENT_REFUSED, "(epochs)", SFS_NO_OFFSET,
		       "raise budget=, or use segment=shard,equal=none",
		       "budget=%s is too small: tables of %llu samples take %s, with "
		       "the lanes %s",
		       sfs_format_size(runtime->budget.total_bytes, have),
		       (unsigned long long)all->n_samples,
		       sfs_format_size(table_bytes, tables), sfs_format_size(need, want));
	return -ENOMEM;
}

/* All scans have ended well.  Locked. */
static int sum_up(struct sfs_scan_all *all)
{
	uint64_t n, n_bytes, table_bytes = 0;
	uint32_t i;

	all->n_samples = all->n_bytes = 0;
	for (i = 0; i < all->runtime->shards.n; i++) {
		sfs_shards_totals(&all->runtime->shards, i, &n, &n_bytes);
		all->n_samples += n;
		all->n_bytes += n_bytes;
		table_bytes += sfs_shard_memory(&all->runtime->shards.shards[i]);
	}
	if (sfs_order_deals_shards(&all->runtime->order))
		return 0;
	if (all->n_samples < UINT32_MAX ||
	    !sfs_order_wants_equal_lanes(&all->runtime->order))
		return check_budget(all, table_bytes);
	sfs_ledger_add(SFS_EVENT_REFUSED, "(epochs)", SFS_NO_OFFSET,
		       "use segment=shard, or several mounts",
		       "cannot distribute more than 2^32 samples to equal lanes");
	return -EOVERFLOW;
}

/* A scan has ended.  Locked. */
static void scan_all_take(struct sfs_scan_all *all, struct item *item, int err)
{
	uint64_t n, n_bytes;

	if (err == 0 && !sfs_shard_totals(item->shard, &n, &n_bytes))
		err = -EIO; /* damaged: the ledger has it */
	all->n_pending--;
	item->is_pending = false;
	all->work.n_ended++;
	all->work.n_done += item->shard->object->size;
	if (err < 0) {
		all->err = err == -ECANCELED || err == -ENOMEM ? err : -EIO;
		all->failed_ns = sfs_clock_ns();
		return;
	}
	item->is_done = true;
	all->n_done++;
}

/* If no scan is left, wake all callers.  Locked. */
static void finish(struct sfs_scan_all *all, struct sfs_link *ended)
{
	if (all->n_pending > 0)
		return;
	if (all->n_done == all->runtime->shards.n)
		all->err = sum_up(all);
	else if (all->err == -ENOMEM)
		free_items(all); /* the tables of some are of no use */
	sfs_waiters_tell(&all->waiters, ended);
}

static void on_scanned(struct sfs_waiter *waiter, int err)
{
	struct item *item = sfs_container(waiter, struct item, waiter);
	struct sfs_scan_all *all = item->scan_all;
	struct sfs_link ended;

	sfs_list_init(&ended);
	pthread_mutex_lock(&all->lock);
	scan_all_take(all, item, err);
	finish(all, &ended);
	err = all->err;
	pthread_mutex_unlock(&all->lock);
	sfs_waiters_end(&ended, err);
}

static void make_items(struct sfs_scan_all *all)
{
	uint32_t i, n = all->runtime->shards.n;

	all->items = sfs_calloc(n, sizeof *all->items);
	for (i = 0; i < n; i++) {
		all->items[i].scan_all = all;
		all->items[i].shard = &all->runtime->shards.shards[i];
		sfs_shard_pin(&all->runtime->shards, all->items[i].shard);
	}
}

/* Scan the shards that are not done.  Locked. */
static void start(struct sfs_scan_all *all)
{
	struct item *item;
	uint32_t k, n = all->runtime->shards.n;
	int ret;

	if (!all->items)
		make_items(all);
	all->err = 0;
	all->is_hopeless = all->is_noted = false;
	all->begun_ns = sfs_clock_ns();
	all->work = (struct sfs_eta){0};
	for (k = 0; k < n; k++) {
		item = &all->items[sfs_eta_turn(n, k)];
		if (item->is_done)
			continue;
		all->n_pending++;
		all->work.n++;
		all->work.n_bytes += item->shard->object->size;
		item->is_pending = true;
		item->waiter = (struct sfs_waiter){.done = on_scanned};
		ret = all->scan(all->scanner, item->shard, &item->waiter);
		if (ret != -EINPROGRESS)
			scan_all_take(all, item, ret);
	}
}

/* ---- callers ---- */

/* 0, an error, or -EINPROGRESS: wait.  Locked. */
static int state_of(struct sfs_scan_all *all)
{
	if (all->is_closed)
		return -ECANCELED;
	if (all->n_pending > 0)
		return all->is_hopeless ? -ENODATA : -EINPROGRESS;
	return all->n_done == all->runtime->shards.n || all->err < 0 ? all->err
								     : -EINPROGRESS;
}

/* Explain one of the shards that are not done.  Locked. */
static void scan_all_explain(struct sfs_waiter *waiter, struct sfs_cause *cause)
{
	const struct sfs_scan_all *all = waiter->owner;
	uint32_t i = 0;

	while (i + 1 < all->runtime->shards.n && all->items[i].is_done)
		i++;
	sfs_object_explain(all->items[i].shard->object, SFS_NO_OFFSET,
			   "the headers, among others,", cause);
}

int sfs_scan_all_request(struct sfs_scan_all *all, struct sfs_waiter *waiter)
{
	struct sfs_link ended;
	int ret;

	sfs_list_init(&ended);
	pthread_mutex_lock(&all->lock);
	if (!all->is_closed && all->n_pending == 0 &&
	    all->n_done < all->runtime->shards.n &&
	    (all->err == 0 || sfs_clock_ns() - all->failed_ns > RETRY_NS)) {
		start(all);
		finish(all, &ended);
	}
	ret = state_of(all);
	if (ret == -EINPROGRESS && waiter) {
		waiter->lock = &all->lock;
		waiter->asked_ns = sfs_clock_ns();
		waiter->explain = scan_all_explain;
		waiter->owner = all;
		sfs_list_push(&all->waiters, &waiter->link);
	}
	pthread_mutex_unlock(&all->lock);
	sfs_waiters_end(&ended, ret);
	return ret;
}

void sfs_scan_all_sum(struct sfs_scan_all *all, uint64_t *ret_samples,
		      uint64_t *ret_bytes)
{
	pthread_mutex_lock(&all->lock);
	*ret_samples = all->n_samples;
	*ret_bytes = all->n_bytes;
	pthread_mutex_unlock(&all->lock);
}

/* The work done since the start, that of running scans included.  Locked. */
static struct sfs_eta measure_work(const struct sfs_scan_all *all, uint64_t now)
{
	struct sfs_eta work = all->work;
	uint32_t i;

	work.gone_ns = now - all->begun_ns;
	for (i = 0; i < all->runtime->shards.n; i++)
		if (all->items[i].is_pending)
			work.n_done += sfs_header_scan_progress(all->scanner,
								all->items[i].shard);
	return work;
}

/* Note in the ledger, once, that it takes too long.  Locked. */
static void note_refusal(struct sfs_scan_all *all, const struct sfs_eta *work)
{
	sfs_autofree char *more = NULL;
	uint64_t left_ns;

	if (all->is_noted)
		return;
	all->is_noted = true;
	if (sfs_eta_left(work, &left_ns))
		more = sfs_asprintf("about %llu s left",
				    (unsigned long long)(left_ns / SFS_NS_PER_S + 1));
	sfs_ledger_add(
		SFS_EVENT_REFUSED, "(epochs)", SFS_NO_OFFSET,
		"index ahead with `shufflefs index`, or try again later",
		"these settings need all samples, but after %llu s only %u of %u shards "
		"are indexed; %s, and index-wait is %llu s",
		(unsigned long long)(work->gone_ns / SFS_NS_PER_S), all->n_done,
		all->runtime->shards.n, more ? more : "the time left is unknown",
		(unsigned long long)(all->wait_ns / SFS_NS_PER_S));
}

/* End the callers whose time is over; all, if it is hopeless.  Locked. */
static void refuse(struct sfs_scan_all *all, uint64_t now, struct sfs_link *ended)
{
	struct sfs_waiter *w;

	while (!sfs_list_is_empty(&all->waiters)) {
		w = sfs_container(all->waiters.next, struct sfs_waiter, link);
		if (!all->is_hopeless && now - w->asked_ns < all->wait_ns)
			return;
		sfs_waiter_tell(w, ended);
	}
}

void sfs_scan_all_tick(struct sfs_scan_all *all)
{
	struct sfs_eta work;
	struct sfs_link ended;
	uint64_t now;

	sfs_list_init(&ended);
	pthread_mutex_lock(&all->lock);
	if (all->n_pending > 0) {
		now = sfs_clock_ns();
		work = measure_work(all, now);
		all->is_hopeless = sfs_eta_exceeds(&work, all->wait_ns);
		refuse(all, now, &ended);
		if (all->is_hopeless || !sfs_list_is_empty(&ended))
			note_refusal(all, &work);
	}
	pthread_mutex_unlock(&all->lock);
	sfs_waiters_end(&ended, -ENODATA);
}
