/* SPDX-License-Identifier: MIT */
/* How this works: the stretches of the order are grouped by their shards.  A group is
 * proven when all of its stretches are sure.  If that needs a scan, its shard is pinned
 * until the scan has ended and its table was compared with the stretches.
 *
 * A group is left to others as long as each stretch before its last one was read or is a
 * stream's that is open.  That those are being read is seen from what the set is fed. */
#include "io/proof.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/ledger.h"
#include "base/timer.h"
#include "io/request.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#define MAX_QUIET   4 /* scans at a time; */
#define MAX_FAR	    16 /* from afar, as each header takes a round trip; */
#define MAX_ALL	    32 /* for a reader who waits */
#define LOOK_NS	    (SFS_NS_PER_S / 10) /* how often all groups are looked at, at most */
#define RETRY_NS    (2 * SFS_NS_PER_S)
#define OTHERS_NS   (10 * SFS_NS_PER_S) /* that other streams get, at the end, */
#define STANDING_NS (SFS_NS_PER_S)	/* unless they stand still */

struct group {
	struct sfs_proof *proof;
	struct sfs_shard *whole;
	struct sfs_shard **stretches; /* by where they begin */
	uint32_t n;
	bool is_proven, is_pending;
	uint32_t n_waiting; /* of its stretches, when they were last looked at */
	int err;	    /* of its scan */
	struct sfs_waiter waiter;
	struct sfs_link link; /* in `ended` */
};

struct sfs_proof {
	struct sfs_runtime *runtime;
	struct sfs_header_scanner *scanner;
	struct sfs_stretch_set *set;
	struct sfs_proof_owner owner;
	struct sfs_shard **stretches;
	struct group *groups;
	uint32_t n_groups, n_left; /* that are not proven */
	uint32_t next;
	uint32_t n_pending;
	uint64_t n_waits; /* of the set, when groups were last looked at for that */
	bool has_waiting;
	struct sfs_link ended; /* groups whose scans have */
	bool is_damaged, is_closed;
	int err; /* of a scan, at failed_ns */
	uint64_t failed_ns, looked_ns, all_since_ns;
	uint64_t n_feeds, fed_ns; /* of the set: how many, and when that grew */
	struct sfs_timer timer;
};

/* ---- groups ---- */

static int compare_stretches(const void *a, const void *b)
{
	const struct sfs_shard *s = *(struct sfs_shard *const *)a,
			       *t = *(struct sfs_shard *const *)b;

	if (s->part.whole != t->part.whole)
		return s->part.whole->index < t->part.whole->index ? -1 : 1;
	return (s->part.begin > t->part.begin) - (s->part.begin < t->part.begin);
}

static void add_to_group(struct sfs_proof *p, struct sfs_shard **stretch)
{
	struct group *g = p->n_groups > 0 ? &p->groups[p->n_groups - 1] : NULL;

	if (!g || g->whole != (*stretch)->part.whole) {
		g = &p->groups[p->n_groups++];
		g->proof = p;
		g->whole = (*stretch)->part.whole;
		g->stretches = stretch;
	}
	g->n++;
}

static void on_timer(struct sfs_timer *timer)
{
	struct sfs_proof *p = sfs_container(timer, struct sfs_proof, timer);

	p->owner.wake(p->owner.ctx);
}

struct sfs_proof *sfs_proof_new(struct sfs_runtime *runtime,
				struct sfs_header_scanner *scanner,
				struct sfs_stretch_set *set,
				const struct sfs_order *order,
				const struct sfs_proof_owner *owner)
{
	struct sfs_proof *p = sfs_calloc(1, sizeof *p);
	uint64_t n = sfs_order_slices(order), i;

	p->runtime = runtime;
	p->scanner = scanner;
	p->set = set;
	p->owner = *owner;
	p->timer.fire = on_timer;
	sfs_list_init(&p->ended);
	p->stretches = sfs_calloc(n, sizeof *p->stretches);
	p->groups = sfs_calloc(n, sizeof *p->groups);
	for (i = 0; i < n; i++) {
		p->stretches[i] = &runtime->shards.shards[order->slices[i].shard];
		atomic_fetch_add(&p->stretches[i]->part.n_readers, 1);
	}
	if (n > 1)
		qsort(p->stretches, n, sizeof *p->stretches, compare_stretches);
	for (i = 0; i < n; i++)
		add_to_group(p, &p->stretches[i]);
	p->n_left = p->n_groups;
	/* Streams of several mounts that share indexes each begin elsewhere. */
	if (p->n_groups > 0)
		p->next =
			(uint32_t)(order->share.first * p->n_groups / order->share.step) %
			p->n_groups;
	return p;
}

void sfs_proof_free(struct sfs_proof *p)
{
	uint32_t i, k;

	if (!p)
		return;
	assert(p->n_pending == 0);
	sfs_timer_unset(p->runtime->timers, &p->timer);
	for (i = 0; i < p->n_groups; i++)
		for (k = 0; k < p->groups[i].n; k++)
			atomic_fetch_sub(&p->groups[i].stretches[k]->part.n_readers, 1);
	free(p->groups);
	free(p->stretches);
	free(p);
}

/* ---- what is proven ---- */

static bool has_failed(const struct sfs_proof *p)
{
	return p->err < 0 && sfs_clock_ns() - p->failed_ns < RETRY_NS;
}

static bool check(struct group *g)
{
	bool is_sure = true;
	uint32_t i;

	if (g->is_proven)
		return true;
	for (i = g->n; i > 0 && is_sure; i--)
		is_sure = sfs_stretch_is_sure(g->stretches[i - 1]);
	g->is_proven = is_sure;
	g->proof->n_left -= is_sure;
	return is_sure;
}

int sfs_proof_state(struct sfs_proof *p)
{
	uint32_t i;

	if (atomic_load(&p->set->is_wrong))
		return -EIO;
	for (i = 0; i < p->n_groups && p->n_left > 0; i++)
		check(&p->groups[i]);
	if (p->n_left == 0)
		return 0;
	return p->is_damaged ? -EIO : has_failed(p) ? p->err : -EAGAIN;
}

int sfs_proof_err(const struct sfs_proof *p)
{
	return has_failed(p) ? p->err : 0;
}

uint32_t sfs_proof_left(const struct sfs_proof *p)
{
	return p->n_left;
}

/* ---- scans ---- */

static void on_scanned(struct sfs_waiter *waiter, int err)
{
	struct group *g = sfs_container(waiter, struct group, waiter);
	struct sfs_proof *p = g->proof;
	pthread_mutex_t *lock = p->owner.lock;

	/* Woken with the lock held: who sees that the scan has ended may free all. */
	pthread_mutex_lock(lock);
	g->err = err;
	sfs_list_push(&p->ended, &g->link);
	p->owner.wake(p->owner.ctx);
	pthread_mutex_unlock(lock);
}

static uint32_t count_waiting(const struct group *g)
{
	uint32_t n = 0, i;

	for (i = 0; i < g->n; i++)
		n += sfs_stretch_waits(g->stretches[i]);
	return n;
}

/* Its stretches take what is known of the shard.  true: some had waited for that. */
static bool catch_up(struct group *g)
{
	uint32_t n_waiting = g->n_waiting, i;

	for (i = 0; i < g->n; i++)
		sfs_stretch_catch_up(&g->proof->runtime->shards, g->stretches[i]);
	if (n_waiting > 0)
		g->n_waiting = count_waiting(g);
	return g->n_waiting < n_waiting;
}

/* The scan has ended, or is left to itself. */
static void end_scan(struct group *g)
{
	g->is_pending = false;
	g->proof->n_pending--;
	sfs_shard_unpin(&g->proof->runtime->shards, g->whole);
}

/* Its scan has ended.  true: stretches had waited for it. */
static bool take(struct group *g, int err)
{
	struct sfs_proof *p = g->proof;
	bool had_waiting = catch_up(g);

	if (err < 0) {
		p->err = err;
		p->failed_ns = sfs_clock_ns();
	} else if (!check(g)) {
		p->is_damaged =
			true; /* before one of its stretches; or the set is wrong */
	}
	end_scan(g);
	return had_waiting;
}

static bool take_ended(struct sfs_proof *p)
{
	bool is_any = !sfs_list_is_empty(&p->ended);
	struct sfs_link *link;

	while ((link = sfs_list_pop(&p->ended)) != NULL) {
		struct group *g = sfs_container(link, struct group, link);

		take(g, g->err);
		p->looked_ns = 0;
	}
	return is_any;
}

/* Have the shard scanned.  true: it was already, and stretches had waited for it. */
static bool ask(struct group *g, enum sfs_proof_effort effort)
{
	struct sfs_proof *p = g->proof;
	int ret;

	sfs_shard_pin(&p->runtime->shards, g->whole);
	g->is_pending = true;
	p->n_pending++;
	g->waiter = (struct sfs_waiter){.done = on_scanned};
	if (effort == SFS_PROOF_NONE)
		ret = sfs_header_scan_table(p->scanner, g->whole, &g->waiter);
	else
		ret = sfs_header_scan_proof(p->scanner, g->whole,
					    effort == SFS_PROOF_QUIET, &g->waiter);
	return ret != -EINPROGRESS && take(g, ret);
}

/* ---- stretches that wait for the tables of their shards ---- */

static void find_waiting(struct sfs_proof *p)
{
	uint64_t n_waits = atomic_load(&p->set->n_waits);
	uint32_t i;

	if (n_waits == p->n_waits)
		return;
	p->n_waits = n_waits;
	p->has_waiting = true;
	for (i = 0; i < p->n_groups; i++)
		if (atomic_load(&p->set->shards->has_hidden) || !p->groups[i].is_proven)
			p->groups[i].n_waiting = count_waiting(&p->groups[i]);
}

/* true: some do not wait any more. */
static bool serve_waiting(struct sfs_proof *p)
{
	bool had_waiting = false;
	struct group *g;
	uint32_t i;

	if (!p->has_waiting || has_failed(p))
		return false;
	p->has_waiting = false;
	for (i = 0; i < p->n_groups; i++) {
		g = &p->groups[i];
		if (g->n_waiting == 0)
			continue;
		if (g->is_pending) /* in a scan that is as quick as possible */
			sfs_header_scan_table(p->scanner, g->whole, NULL);
		had_waiting |= g->is_pending ? catch_up(g) : ask(g, SFS_PROOF_NONE);
		p->has_waiting |= g->n_waiting > 0;
	}
	return had_waiting;
}

/* ---- the rest ---- */

/* Are the streams of other stretches still reading, and may they have some time? */
static bool has_others(struct sfs_proof *p, enum sfs_proof_effort effort)
{
	uint64_t now = sfs_clock_ns(), n_feeds = atomic_load(&p->set->n_feeds);

	if (n_feeds != p->n_feeds) {
		p->n_feeds = n_feeds;
		p->fed_ns = now;
	}
	if (effort != SFS_PROOF_ALL) {
		p->all_since_ns = 0;
		return true;
	}
	if (p->all_since_ns == 0)
		p->all_since_ns = p->fed_ns = now;
	return now - p->all_since_ns < OTHERS_NS && now - p->fed_ns < STANDING_NS;
}

/* Will streams that are open have read all that comes before its stretches? */
static bool is_left_to_others(const struct group *g)
{
	struct sfs_shard *at = g->stretches[g->n - 1], *before;

	for (; !sfs_stretch_is_sure(at); at = before) {
		before = at->part.before;
		if (!before || (atomic_load(&before->part.stop) == SFS_NOT_FOUND &&
				atomic_load(&before->part.n_readers) == 0))
			return false;
	}
	return true;
}

static uint32_t most_pending(const struct sfs_proof *p, enum sfs_proof_effort effort)
{
	struct sfs_netpath path = sfs_runtime_path(p->runtime);

	if (effort == SFS_PROOF_ALL)
		return MAX_ALL;
	return sfs_netpath_is_far(&path) ? MAX_FAR : MAX_QUIET;
}

static void prove(struct sfs_proof *p, enum sfs_proof_effort effort)
{
	uint32_t most = most_pending(p, effort), n;
	bool leaves = has_others(p, effort);
	struct group *g;

	for (n = 0; n < p->n_groups && p->n_pending < most && !has_failed(p); n++) {
		g = &p->groups[p->next];
		p->next = (p->next + 1) % p->n_groups;
		if (check(g))
			continue;
		if (!g->is_pending && !(leaves && is_left_to_others(g)))
			ask(g, effort);
		else if (g->is_pending && effort == SFS_PROOF_ALL)
			sfs_header_scan_proof(p->scanner, g->whole, false, NULL);
	}
}

bool sfs_proof_run(struct sfs_proof *p, enum sfs_proof_effort effort)
{
	uint32_t n_left = p->n_left;
	bool has_news = take_ended(p);
	uint64_t now = sfs_clock_ns();

	if (p->is_closed || atomic_load(&p->set->is_wrong))
		return has_news;
	find_waiting(p);
	if (now - p->looked_ns >= LOOK_NS) {
		p->looked_ns = now;
		has_news |= serve_waiting(p);
		if (effort > SFS_PROOF_NONE && p->n_left > 0 && !p->is_damaged)
			prove(p, effort);
	}
	if ((effort == SFS_PROOF_ALL && p->n_left > 0) || p->has_waiting)
		sfs_timer_set(p->runtime->timers, &p->timer, p->looked_ns + LOOK_NS);
	return has_news || p->n_left < n_left || atomic_load(&p->set->is_wrong);
}

bool sfs_proof_needs_tick(const struct sfs_proof *p)
{
	return p->n_left > 0 || p->has_waiting;
}

void sfs_proof_explain(struct sfs_proof *p, struct sfs_cause *cause)
{
	struct group *g = NULL;
	uint32_t i;

	for (i = 0; i < p->n_groups && (!g || !g->is_pending); i++)
		if (!p->groups[i].is_proven || p->groups[i].is_pending)
			g = &p->groups[i];
	if (g)
		sfs_object_explain(g->whole->object, SFS_NO_OFFSET,
				   "the headers that prove where samples begin", cause);
}

/* ---- the end ---- */

void sfs_proof_close(struct sfs_proof *p)
{
	uint32_t i;

	p->is_closed = true;
	sfs_timer_unset(p->runtime->timers, &p->timer);
	for (i = 0; i < p->n_groups; i++)
		if (p->groups[i].is_pending && sfs_waiter_cancel(&p->groups[i].waiter))
			end_scan(&p->groups[i]);
}

bool sfs_proof_is_idle(const struct sfs_proof *p)
{
	return p->n_pending == 0;
}
