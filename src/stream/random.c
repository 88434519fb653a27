/* SPDX-License-Identifier: MIT */
/* How this works: the locator finds the read's first sample.  If it does not know enough
 * tables, scan shards, in the order in which the epoch needs them, and ask it again.  Then
 * gather the ranges.  A read that continues another random read is offered to the owner
 * for a cursor; so is one near the start of the stream, where a cursor costs less than
 * scans of the first shards of all lanes.
 *
 * A scan or a gather ends on another thread, which takes the owner's lock.  So a random
 * read stays until they have ended, taken back or not. */
#include "stream/random.h"

#include "base/alloc.h"
#include "base/ledger.h"
#include "catalog/stretches.h"
#include "order/merge.h"
#include "tar/rewrite.h"

#include <errno.h>

#define START_WINDOW ((uint64_t)64 << 20) /* so near the start, no scan is worth it */
#define SEQUENTIAL_BYTES \
	((uint64_t)2 << 20) /* read one after another, they earn a cursor */
#define N_SCANS_AHEAD  8
#define N_LOCATE_AHEAD 64 /* where all shards are needed in the end */

/* A read, until it is answered and released. */
struct random_read {
	struct sfs_random_reads *all;
	struct sfs_read *read;	   /* NULL: taken back */
	struct sfs_read inner;	   /* what the gather answers */
	struct sfs_gather *gather; /* NULL: not so far yet */
	struct sfs_waiter waiter;
	struct sfs_link link; /* in `ready` or `proving` */
	uint32_t n_scans;
	bool is_answered;
	int err; /* of the scan that it waited for */
};

void sfs_random_init(struct sfs_random_reads *all, struct sfs_runtime *runtime,
		     struct sfs_header_scanner *scanner, const struct sfs_order *order,
		     const struct sfs_random_owner *owner)
{
	*all = (struct sfs_random_reads){.runtime = runtime,
					 .scanner = scanner,
					 .order = order,
					 .owner = *owner};
	sfs_list_init(&all->ready);
	sfs_list_init(&all->proving);
}

void sfs_random_done(struct sfs_random_reads *all)
{
	if (all->has_locator)
		sfs_locator_done(&all->locator);
	free(all->schedule);
}

static void free_read(struct random_read *r)
{
	r->all->n--;
	free(r);
}

static void end_read(struct random_read *r, int err, struct sfs_deferred *out)
{
	struct sfs_read *read = r->read;

	free_read(r);
	if (!read)
		return;
	read->state = NULL;
	sfs_read_tell(read, err, out);
}

static void on_scanned(struct sfs_waiter *waiter, int err)
{
	struct random_read *r = sfs_container(waiter, struct random_read, waiter);
	struct sfs_random_reads *all = r->all;

	pthread_mutex_lock(all->owner.lock);
	r->err = err;
	sfs_list_push(&all->ready, &r->link);
	all->owner.wake(all->owner.ctx);
	pthread_mutex_unlock(all->owner.lock);
}

static bool is_known(struct sfs_random_reads *all, uint32_t shard)
{
	uint64_t n, bytes;

	return sfs_shards_totals(&all->runtime->shards, shard, &n, &bytes) ||
	       sfs_shard_is_damaged(&all->runtime->shards.shards[shard]);
}

/* Some of the stretches, but not all: does not see itself whether they begin where those
 * before them end. */
static bool is_share(const struct sfs_random_reads *all)
{
	return all->stretches && all->order->share.step > 1;
}

/* Of a stretch that was read once, only itself, else its whole shard; and so of a share,
 * until it is sure where the stretch begins. */
static int scan_one(struct sfs_random_reads *all, uint32_t shard,
		    struct sfs_waiter *waiter)
{
	struct sfs_shard *s = &all->runtime->shards.shards[shard];
	bool is_open = is_share(all) && !sfs_stretch_is_sure(s);

	return is_known(all, shard) && !is_open
		       ? sfs_header_scan_table(all->scanner, s, waiter)
		       : sfs_header_scan_whole(all->scanner, s, waiter);
}

/* Scan the shard that the locator asked for, and the next ones with it.
 * Returns as sfs_header_scan_table(). */
static int scan(struct sfs_random_reads *all, uint32_t shard, uint32_t n_ahead,
		struct sfs_waiter *waiter)
{
	uint32_t i, n = 0, next;

	for (i = all->next_scan; i < all->n_scheduled && n < n_ahead; i++) {
		next = all->schedule[i];
		if (is_known(all, next)) {
			all->next_scan += i == all->next_scan;
			continue;
		}
		scan_one(all, next, NULL);
		n++;
	}
	return scan_one(all, shard, waiter);
}

/* The key, as the stream has it, of the sample before a spot: sfs_rewrite_key(). */
static int find_key_before(struct sfs_random_reads *all, const struct sfs_spot *spot,
			   uint64_t *ret_key, uint32_t *ret_shard)
{
	const struct sfs_shards *shards = &all->runtime->shards;
	const struct sfs_block_sample *sample;
	struct {
		uint64_t hash;
		uint32_t shard;
	} *chain = NULL;
	struct sfs_spot at = *spot;
	size_t n = 0, capacity = 0;
	bool is_renamed, is_open = true;
	uint64_t longer;
	int ret = 0;

	*ret_key = 0;
	/* Go back to a sample whose key cannot clash with the one before. */
	while (all->runtime->keys == SFS_KEYS_AUTO && is_open) {
		ret = sfs_locator_previous(&all->locator, &at, ret_shard);
		if (ret == 0)
			ret = sfs_locator_sample(&all->locator, &at, &sample, ret_shard);
		if (ret < 0)
			break;
		if (n > 0) {
			longer = sfs_rewrite_key(sample->key_hash, sample->key_hash,
						 shards->shards[sample->shard].folder,
						 &is_renamed);
			is_open = chain[n - 1].hash == sample->key_hash ||
				  chain[n - 1].hash == longer;
			if (!is_open)
				break;
		}
		if (n == capacity) {
			capacity = capacity ? 2 * capacity : 4;
			chain = sfs_reallocarray(chain, capacity, sizeof *chain);
		}
		chain[n].hash = sample->key_hash;
		chain[n++].shard = sample->shard;
	}
	if (ret == -ENOENT)
		ret = 0;
	while (n > 0 && ret == 0) {
		n--;
		*ret_key = sfs_rewrite_key(*ret_key, chain[n].hash,
					   shards->shards[chain[n].shard].folder,
					   &is_renamed);
	}
	free(chain);
	return ret;
}

/* May a read have the end of the stream?  -EINPROGRESS: that is not known yet. */
static int check_end(const struct sfs_random_reads *all)
{
	int ret = is_share(all) ? sfs_proof_state(all->proof) : 0;

	return ret == -EAGAIN ? -EINPROGRESS : ret;
}

/* Have the ranges of a read gathered, from its first sample on. */
static int collect(struct sfs_random_reads *all, struct sfs_gather *g,
		   const struct sfs_read *read, struct sfs_spot spot, uint64_t key,
		   uint32_t *ret_shard)
{
	uint64_t at = read->offset, end = read->offset + read->n_bytes, from, n;
	const struct sfs_block_sample *b;
	struct sfs_shard *shard;
	bool is_renamed;
	int ret;

	while (at < end && !spot.is_end) {
		ret = sfs_locator_sample(&all->locator, &spot, &b, ret_shard);
		if (ret < 0)
			return ret;
		shard = &all->runtime->shards.shards[b->shard];
		is_renamed = sfs_runtime_renames(all->runtime, &key, b);
		from = at - spot.offset;
		n = b->n_bytes - from < end - at ? b->n_bytes - from : end - at;
		if (is_renamed || b->has_global)
			sfs_gather_add_patched(g,
					       &(struct sfs_patched_sample){shard,
									    b->start,
									    b->n_bytes,
									    is_renamed},
					       from, n);
		else if (b->is_unverified && from == 0)
			sfs_gather_add_unverified(g, shard, b->start, n);
		else
			sfs_gather_add(g, shard, b->start + from, n);
		at += n;
		if (at < end) {
			ret = sfs_locator_next(&all->locator, &spot, ret_shard);
			if (ret < 0)
				return ret;
		}
	}
	sfs_gather_add_zeros(g, end - at);
	return at < end ? check_end(all) : 0;
}

static void on_gathered(struct sfs_read *inner, int err)
{
	struct random_read *r = sfs_container(inner, struct random_read, inner);
	struct sfs_random_reads *all = r->all;
	struct sfs_read *read;
	struct sfs_deferred out;

	sfs_deferred_init(&out);
	pthread_mutex_lock(all->owner.lock);
	read = r->read;
	if (err < 0) {
		end_read(r, err, &out);
	} else if (!read) {
		sfs_gather_release(r->gather, inner);
		free_read(r);
	} else {
		r->is_answered = true;
		read->iov = inner->iov;
		read->n_iov = inner->n_iov;
		read->n_answered = inner->n_answered;
		atomic_fetch_add(&all->runtime->counters.delivered_bytes,
				 inner->n_answered);
		sfs_read_tell(read, 0, &out);
	}
	all->owner.wake(all->owner.ctx);
	pthread_mutex_unlock(all->owner.lock);
	sfs_deferred_run(&out);
}

static void new_gather(struct sfs_random_reads *all, struct random_read *r)
{
	r->inner.offset = r->read->offset;
	r->inner.n_bytes = r->read->n_bytes;
	r->inner.done = on_gathered;
	r->gather = sfs_gather_new(&all->runtime->range_reader, &r->inner);
}

/* Does the read continue others, long enough for a cursor? */
static bool is_sequential(struct sfs_random_reads *all, const struct sfs_read *read)
{
	return sfs_sequential_note(&all->sequential, all, read->offset, read->n_bytes) >=
	       SEQUENTIAL_BYTES;
}

/* Offer the read to the owner, for a cursor at this spot.  true: the owner has it. */
static bool hand_over(struct sfs_random_reads *all, struct random_read *r,
		      const struct sfs_spot *spot, uint64_t key_before,
		      struct sfs_deferred *out)
{
	if (!all->owner.take_over(all->owner.ctx, r->read, spot, key_before, out))
		return false;
	free_read(r);
	return true;
}

/* Ask the locator, while no table can be dropped.  0: the read has a gather that begins,
 * or was handed over.  Or the locator's error. */
static int resolve(struct sfs_random_reads *all, struct random_read *r,
		   struct sfs_deferred *out, uint32_t *ret_shard)
{
	struct sfs_spot spot;
	uint64_t key = 0;
	int ret;

	if (all->stretches && atomic_load(&all->stretches->is_wrong))
		return -EIO; /* the ledger has it */
	ret = sfs_locator_find(&all->locator, r->read->offset, &spot, ret_shard);
	if (ret == 0)
		ret = find_key_before(all, &spot, &key, ret_shard);
	if (ret < 0)
		return ret;
	if ((is_sequential(all, r->read) || r->read->is_first) && !spot.is_end &&
	    hand_over(all, r, &spot, key, out))
		return 0;
	new_gather(all, r);
	ret = collect(all, r->gather, r->read, spot, key, ret_shard);
	if (ret < 0)
		sfs_gather_free(steal(&r->gather));
	else
		sfs_gather_post(r->gather, sfs_read_err, out);
	return ret;
}

static void note_too_many_scans(struct sfs_random_reads *all)
{
	sfs_ledger_add(SFS_EVENT_LOST, "(epoch)", SFS_NO_OFFSET,
		       "a random read, or a look-up, gets EIO; a larger "
		       "budget= helps",
		       "the tables of the samples do not fit a quarter of the budget");
}

/* Try to answer a read; what waits goes on in on_scanned() or on_gathered(). */
static void go_on(struct sfs_random_reads *all, struct random_read *r,
		  struct sfs_deferred *out)
{
	uint32_t shard;
	int ret;

	for (;;) {
		pthread_rwlock_rdlock(&all->runtime->shards.drop_lock);
		ret = resolve(all, r, out, &shard);
		pthread_rwlock_unlock(&all->runtime->shards.drop_lock);
		if (ret == 0)
			return;
		if (ret == -EAGAIN && r->read->offset < START_WINDOW &&
		    hand_over(all, r, NULL, 0, out))
			return;
		if (ret == -EAGAIN &&
		    ++r->n_scans > 4 * sfs_order_slices(all->order) + 100) {
			note_too_many_scans(all);
			ret = -EIO;
		}
		if (ret == -EINPROGRESS) {
			sfs_list_push(&all->proving, &r->link);
			all->owner.wake(all->owner.ctx);
			return;
		}
		r->waiter.done = on_scanned;
		if (ret == -EAGAIN)
			ret = scan(all, shard, N_SCANS_AHEAD, &r->waiter);
		if (ret == -EINPROGRESS)
			return;
		if (ret < 0)
			break;
	}
	end_read(r, sfs_read_err(ret), out);
}

static struct random_read *new_read(struct sfs_random_reads *all, struct sfs_read *read)
{
	struct random_read *r = sfs_calloc(1, sizeof *r);

	r->all = all;
	r->read = read;
	read->state = r;
	all->n++;
	return r;
}

struct sfs_gather *sfs_random_gather(struct sfs_random_reads *all, struct sfs_read *read,
				     struct sfs_deferred *out)
{
	struct random_read *r = new_read(all, read);

	new_gather(all, r);
	sfs_gather_post(r->gather, sfs_read_err, out);
	return r->gather;
}

/* The shards of dealt lanes, by the time at which their first byte falls due. */
static void make_schedule(struct sfs_random_reads *all)
{
	const struct sfs_order *o = all->order;
	uint32_t *next = sfs_calloc(o->n_lanes, sizeof *next), l, n;
	struct sfs_merge lanes;

	all->schedule = sfs_calloc(sfs_order_slices(o), sizeof *all->schedule);
	sfs_merge_init(&lanes, o->n_lanes);
	for (l = 0; l < o->n_lanes; l++)
		if (sfs_order_lane_slices(o, l) > 0)
			sfs_merge_add(&lanes, l, 0);
	for (n = 0; lanes.n > 0; n++) {
		l = sfs_merge_lane(&lanes);
		all->schedule[n] = sfs_order_slice(o, l, next[l]++).shard;
		if (next[l] == sfs_order_lane_slices(o, l))
			sfs_merge_set(&lanes, SFS_NEVER);
		else
			sfs_merge_set(&lanes,
				      sfs_order_due(o, l, sfs_order_base(o, l, next[l])));
	}
	all->n_scheduled = n;
	sfs_merge_done(&lanes);
	free(next);
}

static void have_locator(struct sfs_random_reads *all)
{
	const struct sfs_sample_tables tables = sfs_shards_tables(&all->runtime->shards);

	if (all->has_locator)
		return;
	sfs_locator_init(&all->locator, all->order, &tables, sfs_shards_totals);
	if (sfs_order_is_dealt(all->order))
		make_schedule(all);
	all->has_locator = true;
}

/* Ask the locator, while no table can be dropped. */
static int locate(struct sfs_random_reads *all, uint64_t number,
		  struct sfs_place *ret_place, uint32_t *ret_shard)
{
	struct sfs_spot at, end;
	uint64_t n_samples;
	int ret;

	pthread_rwlock_rdlock(&all->runtime->shards.drop_lock);
	ret = sfs_locator_nth(&all->locator, number, &at, ret_shard);
	if (ret == 0)
		ret = sfs_locator_nth(&all->locator, UINT64_MAX, &end, ret_shard);
	if (ret == 0)
		ret = sfs_locator_number(&all->locator, &end, &n_samples, ret_shard);
	if (ret == 0)
		*ret_place = (struct sfs_place){.offset = at.offset,
						.end = end.offset,
						.n_samples = n_samples,
						.n_repeated = all->order->repeating !=
							      SFS_NO_LANE,
						.n_dropped = all->order->shortened !=
							     SFS_NO_LANE};
	pthread_rwlock_unlock(&all->runtime->shards.drop_lock);
	return ret;
}

static int find_number(struct sfs_random_reads *all, uint64_t offset,
		       uint64_t *ret_number, uint32_t *ret_shard)
{
	struct sfs_spot at;
	int ret;

	pthread_rwlock_rdlock(&all->runtime->shards.drop_lock);
	ret = sfs_locator_find(&all->locator, offset, &at, ret_shard);
	if (ret == 0)
		ret = sfs_locator_number(&all->locator, &at, ret_number, ret_shard);
	pthread_rwlock_unlock(&all->runtime->shards.drop_lock);
	return ret;
}

/* Was the table of a shard, or of the one that a stretch is of, there before? */
static bool was_dropped(struct sfs_random_reads *all, uint32_t shard)
{
	struct sfs_shard *whole = all->runtime->shards.shards[shard].part.whole;
	uint64_t n, bytes;

	return is_known(all, shard) ||
	       (whole && sfs_shard_totals(whole, &n, &bytes) && !sfs_shard_table(whole));
}

/* The locator needs this shard's table.  If it had that table before, tables are dropped
 * as fast as they are made: give up after some time. */
static int look_at(struct sfs_random_reads *all, uint32_t shard, uint32_t n_ahead,
		   struct sfs_waiter *waiter)
{
	if (waiter && was_dropped(all, shard) &&
	    ++waiter->n_again > 2 * all->order->n_lanes + 100) {
		note_too_many_scans(all);
		return -EIO;
	}
	if (waiter)
		waiter->translate = sfs_read_err;
	return scan(all, shard, n_ahead, waiter);
}

/* Have the shards of a share scanned until all of its stretches are sure. */
static int prove(struct sfs_random_reads *all, struct sfs_waiter *waiter)
{
	struct sfs_shard *stretch;
	uint32_t n_asked = 0;
	uint64_t i;
	int ret;

	for (i = 0; i < sfs_order_slices(all->order) && n_asked < N_LOCATE_AHEAD; i++) {
		stretch = &all->runtime->shards.shards[all->order->slices[i].shard];
		if (sfs_stretch_is_sure(stretch))
			continue;
		ret = sfs_header_scan_table(all->scanner, stretch->part.whole,
					    n_asked == 0 ? waiter : NULL);
		if (ret == -EINPROGRESS)
			n_asked++;
		else if (ret == 0)
			sfs_stretch_catch_up(&all->runtime->shards, stretch);
		if (n_asked == 0 && (ret < 0 || !sfs_stretch_is_sure(stretch)))
			return ret < 0 ? ret : -EIO; /* damage, or a wrong guess */
	}
	if (n_asked > 0)
		return -EINPROGRESS;
	return atomic_load(&all->stretches->is_wrong) ? -EIO : 0;
}

int sfs_random_locate(struct sfs_random_reads *all, uint64_t number,
		      struct sfs_waiter *waiter, struct sfs_place *ret_place)
{
	uint32_t shard;
	int ret;

	if (sfs_shards_damaged(&all->runtime->shards, all->order))
		return -EIO; /* the ledger has it */
	have_locator(all);
	while ((ret = locate(all, number, ret_place, &shard)) == -EAGAIN) {
		ret = look_at(all, shard, N_LOCATE_AHEAD, waiter);
		if (ret < 0)
			break;
	}
	if (ret == 0 && is_share(all))
		ret = prove(all, waiter);
	else if (ret == 0 && all->stretches &&
		 !sfs_stretches_agree(&all->runtime->shards, all->stretches))
		ret = -EIO; /* the ledger has it */
	return ret == 0 || ret == -EINPROGRESS ? ret : sfs_read_err(ret);
}

int sfs_random_number(struct sfs_random_reads *all, uint64_t offset,
		      struct sfs_waiter *waiter, uint64_t *ret_number)
{
	uint32_t shard;
	int ret;

	have_locator(all);
	while ((ret = find_number(all, offset, ret_number, &shard)) == -EAGAIN) {
		ret = look_at(all, shard, N_SCANS_AHEAD, waiter);
		if (ret < 0)
			break;
	}
	if (ret == 0 && is_share(all))
		ret = prove(all, waiter);
	return ret == 0 || ret == -EINPROGRESS ? ret : sfs_read_err(ret);
}

void sfs_random_read(struct sfs_random_reads *all, struct sfs_read *read,
		     struct sfs_deferred *out)
{
	struct random_read *r = new_read(all, read);

	have_locator(all);
	atomic_fetch_add(&all->runtime->counters.reads_far, 1);
	go_on(all, r, out);
}

void sfs_random_run(struct sfs_random_reads *all, bool is_closing,
		    struct sfs_deferred *out)
{
	struct sfs_link *link;
	struct random_read *r;

	if (is_closing ||
	    (!sfs_list_is_empty(&all->proving) && sfs_proof_state(all->proof) != -EAGAIN))
		sfs_list_move(&all->ready, &all->proving);
	while ((link = sfs_list_pop(&all->ready)) != NULL) {
		r = sfs_container(link, struct random_read, link);
		if (r->err < 0)
			end_read(r, sfs_read_err(r->err), out);
		else if (!r->read || is_closing)
			end_read(r, -ECANCELED, out);
		else
			go_on(all, r, out);
	}
}

bool sfs_random_cancel(struct sfs_random_reads *all, struct sfs_read *read)
{
	struct random_read *r = read->state;

	if (r->is_answered)
		return false;
	r->read = NULL; /* a scan ends by itself */
	if (sfs_link_is_in(&r->link)) { /* it waits for the proof */
		sfs_link_remove(&r->link);
		sfs_list_push(&all->ready, &r->link);
		all->owner.wake(all->owner.ctx);
	}
	if (r->gather && sfs_gather_cancel(r->gather, &r->inner)) {
		free_read(r);
		all->owner.wake(all->owner.ctx);
	}
	return true;
}

void sfs_random_explain(const struct sfs_read *read, struct sfs_cause *cause)
{
	struct random_read *r = read->state;

	if (r->is_answered)
		return;
	if (r->gather)
		sfs_gather_explain(r->gather, cause);
	else if (r->all->proof && sfs_link_is_in(&r->link))
		sfs_proof_explain(r->all->proof, cause);
	else if (r->waiter.lock)
		sfs_waiter_explain(&r->waiter, cause);
}

bool sfs_random_needs_proof(const struct sfs_random_reads *all)
{
	return !sfs_list_is_empty(&all->proving);
}

void sfs_random_release(struct sfs_random_reads *all, struct sfs_read *read)
{
	struct random_read *r = read->state;

	read->iov = NULL; /* the gather's */
	sfs_gather_release(r->gather, &r->inner);
	free_read(r);
	all->owner.wake(all->owner.ctx);
}
