/* SPDX-License-Identifier: MIT */
/* How this works: find the read's first sample on the locator; if the locator does not
 * know so r, have shards surveyed, in the order in which the epoch needs them, and try
 * again; then gather the ranges.  A read that continues another r read is offered
 * to the owner for a cursor; so is one near the stream's start, where a cursor is
 * cheaper than surveys of all lanes' first shards.
 *
 * A scan or a gather ends on another thread, which takes the owner's lock: so a
 * r read is alive for as long as one of them is under way, taken back or not. */
#include "stream/random.h"

#include "base/alloc.h"
#include "base/ledger.h"
#include "tar/rewrite.h"

#include <errno.h>

#define START_WINDOW	 ((uint64_t)64 << 20) /* nearer the start than a scan is worth */
#define SEQUENTIAL_BYTES ((uint64_t)2 << 20)  /* r reads in a row that earn a cursor */
#define N_SCANS_AHEAD	 8
#define N_LOCATE_AHEAD	 64 /* where all shards will be needed */

/* A r read, until it is answered and released. */
struct random_read {
	struct sfs_random_reads *all;
	struct sfs_read *read;	   /* NULL: taken back */
	struct sfs_read inner;	   /* what the gather answers */
	struct sfs_gather *gather; /* NULL: not that r yet */
	struct sfs_waiter waiter;
	struct sfs_link link; /* in `ready` */
	uint32_t n_scans;
	bool is_told; /* the read has its answer */
	int err;      /* of the scan that it waited for */
};

void sfs_random_init(struct sfs_random_reads *f, struct sfs_runtime *runtime,
		     struct sfs_header_scanner *scanner, const struct sfs_order *order,
		     const struct sfs_random_owner *owner)
{
	*f = (struct sfs_random_reads){.runtime = runtime,
				       .scanner = scanner,
				       .order = order,
				       .owner = *owner};
	sfs_list_init(&f->ready);
}

void sfs_random_done(struct sfs_random_reads *f)
{
	if (f->has_locator)
		sfs_locator_done(&f->locator);
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
	struct sfs_random_reads *f = r->all;

	pthread_mutex_lock(f->owner.lock);
	r->err = err;
	sfs_list_push(&f->ready, &r->link);
	f->owner.wake(f->owner.ctx);
	pthread_mutex_unlock(f->owner.lock);
}

static bool is_known(struct sfs_random_reads *f, uint32_t shard)
{
	uint64_t n, bytes;

	return sfs_shards_totals(&f->runtime->shards, shard, &n, &bytes) ||
	       sfs_shard_is_damaged(&f->runtime->shards.shards[shard]);
}

/* Have the shard surveyed that the locator asked for, and the next ones with it.
 * Returns as sfs_header_scan_table(). */
static int scan(struct sfs_random_reads *f, uint32_t shard, uint32_t n_ahead,
		struct sfs_waiter *waiter)
{
	struct sfs_shard *shards = f->runtime->shards.shards;
	uint32_t i, n = 0, next;

	for (i = f->next_scan; i < sfs_order_slices(f->order) && n < n_ahead; i++) {
		next = sfs_order_dealt(f->order, i);
		if (is_known(f, next)) {
			f->next_scan += i == f->next_scan;
			continue;
		}
		sfs_header_scan_table(f->scanner, &shards[next], NULL);
		n++;
	}
	return sfs_header_scan_table(f->scanner, &shards[shard], waiter);
}

/* The key, as the stream has it, of the sample before a spot: sfs_rewrite_key(). */
static int find_key_before(struct sfs_random_reads *f, const struct sfs_spot *spot,
			   uint64_t *ret_key, uint32_t *ret_shard)
{
	const struct sfs_shards *shards = &f->runtime->shards;
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
	/* Back to a sample whose key cannot have clashed with the one before. */
	while (f->runtime->keys == SFS_KEYS_AUTO && is_open &&
	       sfs_locator_previous(&f->locator, &at)) {
		ret = sfs_locator_sample(&f->locator, &at, &sample, ret_shard);
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
	while (n > 0 && ret == 0) {
		n--;
		*ret_key = sfs_rewrite_key(*ret_key, chain[n].hash,
					   shards->shards[chain[n].shard].folder,
					   &is_renamed);
	}
	free(chain);
	return ret;
}

/* Collect the pieces of a r read from its first sample on. */
static int collect(struct sfs_random_reads *f, struct sfs_gather *g,
		   const struct sfs_read *read, struct sfs_spot spot, uint64_t key,
		   uint32_t *ret_shard)
{
	uint64_t at = read->offset, end = read->offset + read->n_bytes, from, n;
	const struct sfs_block_sample *b;
	struct sfs_shard *shard;
	bool is_renamed;
	int ret;

	while (at < end && !spot.is_end) {
		ret = sfs_locator_sample(&f->locator, &spot, &b, ret_shard);
		if (ret < 0)
			return ret;
		shard = &f->runtime->shards.shards[b->shard];
		is_renamed = sfs_runtime_renames(f->runtime, &key, b);
		from = at - spot.offset;
		n = b->n_bytes - from < end - at ? b->n_bytes - from : end - at;
		if (is_renamed || b->has_global)
			sfs_gather_add_edited(g, shard, b->start, b->n_bytes, is_renamed,
					      from, n);
		else if (b->is_told && from == 0)
			sfs_gather_add_told(g, shard, b->start, n);
		else
			sfs_gather_add(g, shard, b->start + from, n);
		at += n;
		if (at < end) {
			ret = sfs_locator_next(&f->locator, &spot, ret_shard);
			if (ret < 0)
				return ret;
		}
	}
	sfs_gather_add_zeros(g, end - at);
	return 0;
}

/* The gather has ended: so has the r read. */
static void on_gathered(struct sfs_read *inner, int err)
{
	struct random_read *r = sfs_container(inner, struct random_read, inner);
	struct sfs_random_reads *f = r->all;
	struct sfs_read *read;
	struct sfs_deferred out;

	sfs_deferred_init(&out);
	pthread_mutex_lock(f->owner.lock);
	read = r->read;
	if (err < 0) {
		end_read(r, err, &out);
	} else if (!read) {
		sfs_gather_release(r->gather, inner);
		free_read(r);
	} else {
		r->is_told = true;
		read->iov = inner->iov;
		read->n_iov = inner->n_iov;
		read->n_answered = inner->n_answered;
		atomic_fetch_add(&f->runtime->counters.delivered_bytes,
				 inner->n_answered);
		sfs_read_tell(read, 0, &out);
	}
	f->owner.wake(f->owner.ctx);
	pthread_mutex_unlock(f->owner.lock);
	sfs_deferred_run(&out);
}

static void new_gather(struct sfs_random_reads *f, struct random_read *r)
{
	r->inner.offset = r->read->offset;
	r->inner.n_bytes = r->read->n_bytes;
	r->inner.done = on_gathered;
	r->gather = sfs_gather_new(&f->runtime->range_reader, &r->inner);
}

/* Is this r read one of a row? */
static bool is_in_row(struct sfs_random_reads *f, const struct sfs_read *read)
{
	return sfs_sequential_note(&f->sequential, f, read->offset, read->n_bytes) >=
	       SEQUENTIAL_BYTES;
}

/* Offer the read to the owner, for a cursor at this spot.  true: the r read has gone.
 */
static bool hand_over(struct sfs_random_reads *f, struct random_read *r,
		      const struct sfs_spot *spot, uint64_t key_before,
		      struct sfs_deferred *out)
{
	if (!f->owner.take_over(f->owner.ctx, r->read, spot, key_before, out))
		return false;
	free_read(r);
	return true;
}

/* What the locator says, while no table can be dropped: now the r read has a gather
 * that begins, or was handed over, or it is an error. */
static int resolve(struct sfs_random_reads *f, struct random_read *r,
		   struct sfs_deferred *out, uint32_t *ret_shard)
{
	struct sfs_spot spot;
	uint64_t key = 0;
	int ret;

	ret = sfs_locator_find(&f->locator, r->read->offset, &spot, ret_shard);
	if (ret == 0)
		ret = find_key_before(f, &spot, &key, ret_shard);
	if (ret < 0)
		return ret;
	if ((is_in_row(f, r->read) || r->read->is_first) && !spot.is_end &&
	    hand_over(f, r, &spot, key, out))
		return 0;
	new_gather(f, r);
	ret = collect(f, r->gather, r->read, spot, key, ret_shard);
	if (ret < 0)
		sfs_gather_free(steal(&r->gather));
	else
		sfs_gather_post(r->gather, sfs_read_err, out);
	return ret;
}

static void note_too_many_scans(struct sfs_random_reads *f)
{
	sfs_ledger_add(SFS_EVENT_LOST, "(epoch)", SFS_NO_OFFSET,
		       "a read r from the others, or a look-up, gets EIO; a larger "
		       "budget= helps",
		       "the tables of the samples do not fit a quarter of the budget");
}

/* Try to answer a r read; what waits goes on by on_scanned() or on_gathered(). */
static void go_on(struct sfs_random_reads *f, struct random_read *r,
		  struct sfs_deferred *out)
{
	uint32_t shard;
	int ret;

	for (;;) {
		pthread_rwlock_rdlock(&f->runtime->shards.drop_lock);
		ret = resolve(f, r, out, &shard);
		pthread_rwlock_unlock(&f->runtime->shards.drop_lock);
		if (ret == 0)
			return;
		if (ret == -EAGAIN && r->read->offset < START_WINDOW &&
		    hand_over(f, r, NULL, 0, out))
			return;
		if (ret == -EAGAIN &&
		    ++r->n_scans > 4 * sfs_order_slices(f->order) + 100) {
			note_too_many_scans(f);
			ret = -EIO;
		}
		r->waiter.done = on_scanned;
		if (ret == -EAGAIN)
			ret = scan(f, shard, N_SCANS_AHEAD, &r->waiter);
		if (ret == -EINPROGRESS)
			return;
		if (ret < 0)
			break;
	}
	end_read(r, sfs_read_err(ret), out);
}

static struct random_read *new_read(struct sfs_random_reads *f, struct sfs_read *read)
{
	struct random_read *r = sfs_calloc(1, sizeof *r);

	r->all = f;
	r->read = read;
	read->state = r;
	f->n++;
	return r;
}

struct sfs_gather *sfs_random_gather(struct sfs_random_reads *f, struct sfs_read *read,
				     struct sfs_deferred *out)
{
	struct random_read *r = new_read(f, read);

	new_gather(f, r);
	sfs_gather_post(r->gather, sfs_read_err, out);
	return r->gather;
}

static void have_locator(struct sfs_random_reads *f)
{
	const struct sfs_sample_tables tables = sfs_shards_tables(&f->runtime->shards);

	if (!f->has_locator)
		sfs_locator_init(&f->locator, f->order, &tables, sfs_shards_totals);
	f->has_locator = true;
}

/* Ask the locator, while no table can be dropped. */
static int locate(struct sfs_random_reads *f, uint64_t number,
		  struct sfs_place *ret_place, uint32_t *ret_shard)
{
	struct sfs_spot at, end;
	int ret;

	pthread_rwlock_rdlock(&f->runtime->shards.drop_lock);
	ret = sfs_locator_nth(&f->locator, number, &at, ret_shard);
	if (ret == 0)
		ret = sfs_locator_nth(&f->locator, UINT64_MAX, &end, ret_shard);
	if (ret == 0)
		*ret_place = (struct sfs_place){
			.offset = at.offset,
			.end = end.offset,
			.n_samples = sfs_locator_number(&f->locator, &end),
			.n_repeated = f->order->repeating != SFS_NO_LANE,
			.n_dropped = f->order->shortened != SFS_NO_LANE};
	pthread_rwlock_unlock(&f->runtime->shards.drop_lock);
	return ret;
}

static int find_number(struct sfs_random_reads *f, uint64_t offset, uint64_t *ret_number,
		       uint32_t *ret_shard)
{
	struct sfs_spot at;
	int ret;

	pthread_rwlock_rdlock(&f->runtime->shards.drop_lock);
	ret = sfs_locator_find(&f->locator, offset, &at, ret_shard);
	if (ret == 0)
		*ret_number = sfs_locator_number(&f->locator, &at);
	pthread_rwlock_unlock(&f->runtime->shards.drop_lock);
	return ret;
}

/* The locator needs this shard's table.  If it had it before, tables are being dropped as
 * fast as they are made, and that must have an end. */
static int look_at(struct sfs_random_reads *f, uint32_t shard, uint32_t n_ahead,
		   struct sfs_waiter *waiter)
{
	if (waiter && is_known(f, shard) &&
	    ++waiter->n_again > 2 * f->order->n_lanes + 100) {
		note_too_many_scans(f);
		return -EIO;
	}
	if (waiter)
		waiter->translate = sfs_read_err;
	return scan(f, shard, n_ahead, waiter);
}

int sfs_random_locate(struct sfs_random_reads *f, uint64_t number,
		      struct sfs_waiter *waiter, struct sfs_place *ret_place)
{
	uint32_t shard;
	int ret;

	if (sfs_shards_damaged(&f->runtime->shards, f->order))
		return -EIO; /* the ledger has it */
	have_locator(f);
	while ((ret = locate(f, number, ret_place, &shard)) == -EAGAIN) {
		ret = look_at(f, shard, N_LOCATE_AHEAD, waiter);
		if (ret < 0)
			break;
	}
	return ret == 0 || ret == -EINPROGRESS ? ret : sfs_read_err(ret);
}

int sfs_random_number(struct sfs_random_reads *f, uint64_t offset,
		      struct sfs_waiter *waiter, uint64_t *ret_number)
{
	uint32_t shard;
	int ret;

	have_locator(f);
	while ((ret = find_number(f, offset, ret_number, &shard)) == -EAGAIN) {
		ret = look_at(f, shard, N_SCANS_AHEAD, waiter);
		if (ret < 0)
			break;
	}
	return ret == 0 || ret == -EINPROGRESS ? ret : sfs_read_err(ret);
}

void sfs_random_read(struct sfs_random_reads *f, struct sfs_read *read,
		     struct sfs_deferred *out)
{
	struct random_read *r = new_read(f, read);

	have_locator(f);
	atomic_fetch_add(&f->runtime->counters.reads_far, 1);
	go_on(f, r, out);
}

void sfs_random_run(struct sfs_random_reads *f, bool is_closing, struct sfs_deferred *out)
{
	struct sfs_link *link;
	struct random_read *r;

	while ((link = sfs_list_pop(&f->ready)) != NULL) {
		r = sfs_container(link, struct random_read, link);
		if (r->err < 0)
			end_read(r, sfs_read_err(r->err), out);
		else if (!r->read || is_closing)
			end_read(r, -ECANCELED, out);
		else
			go_on(f, r, out);
	}
}

bool sfs_random_cancel(struct sfs_random_reads *f, struct sfs_read *read)
{
	struct random_read *r = read->state;

	if (r->is_told)
		return false;
	r->read = NULL; /* a scan ends by itself */
	if (r->gather && sfs_gather_cancel(r->gather, &r->inner)) {
		free_read(r);
		f->owner.wake(f->owner.ctx);
	}
	return true;
}

void sfs_random_explain(const struct sfs_read *read, struct sfs_cause *cause)
{
	struct random_read *r = read->state;

	if (r->is_told)
		return;
	if (r->gather)
		sfs_gather_explain(r->gather, cause);
	else if (r->waiter.lock)
		sfs_waiter_explain(&r->waiter, cause);
}

void sfs_random_release(struct sfs_random_reads *f, struct sfs_read *read)
{
	struct random_read *r = read->state;

	read->iov = NULL; /* the gather's */
	sfs_gather_release(r->gather, &r->inner);
	free_read(r);
	f->owner.wake(f->owner.ctx);
}
