/* SPDX-License-Identifier: MIT */
/* How this works: find the read's first sample on the map; if the map does not know
 * so far, have shards surveyed, in the order in which the epoch needs them, and try
 * again; then gather the ranges.  A read that continues another far read is offered
 * to the owner for a cursor; so is one near the stream's start, where a cursor is
 * cheaper than surveys of all lanes' first shards.
 *
 * A survey or a gather ends on another thread, which takes the owner's lock: so a
 * far read is alive for as long as one of them is under way, taken back or not. */
#include "stream/random.h"

#include "base/alloc.h"
#include "base/ledger.h"
#include "tar/rewrite.h"

#include <errno.h>

#define START_WINDOW	 ((uint64_t)64 << 20) /* nearer the start than a survey is worth */
#define SEQUENTIAL_BYTES ((uint64_t)2 << 20)  /* far reads in a row that earn a cursor */
#define N_SURVEYS_AHEAD	 8
#define N_LOCATE_AHEAD	 64 /* where all shards will be needed */

/* A far read, until it is answered and released. */
struct far {
	struct sfs_random_reads *all;
	struct sfs_read *read;	   /* NULL: taken back */
	struct sfs_read inner;	   /* what the gather answers */
	struct sfs_gather *gather; /* NULL: not that far yet */
	struct sfs_waiter waiter;
	struct sfs_link link; /* in `ready` */
	uint32_t n_surveys;
	bool is_told; /* the read has its answer */
	int err;      /* of the survey that it waited for */
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
	if (f->has_map)
		sfs_locator_done(&f->map);
}

static void free_far(struct far *far)
{
	far->all->n--;
	free(far);
}

static void end_far(struct far *far, int err, struct sfs_deferred *out)
{
	struct sfs_read *read = far->read;

	free_far(far);
	if (!read)
		return;
	read->state = NULL;
	sfs_read_tell(read, err, out);
}

static void on_survey(struct sfs_waiter *waiter, int err)
{
	struct far *far = sfs_container(waiter, struct far, waiter);
	struct sfs_random_reads *f = far->all;

	pthread_mutex_lock(f->owner.lock);
	far->err = err;
	sfs_list_push(&f->ready, &far->link);
	f->owner.wake(f->owner.ctx);
	pthread_mutex_unlock(f->owner.lock);
}

static bool is_known(struct sfs_random_reads *f, uint32_t shard)
{
	uint64_t n, bytes;

	return sfs_shards_totals(&f->runtime->shards, shard, &n, &bytes) ||
	       sfs_shard_is_damaged(&f->runtime->shards.shards[shard]);
}

/* Have the shard surveyed that the map asked for, and the next ones with it.
 * Returns as sfs_header_scan_table(). */
static int survey(struct sfs_random_reads *f, uint32_t shard, uint32_t n_ahead,
		  struct sfs_waiter *waiter)
{
	struct sfs_shard *shards = f->runtime->shards.shards;
	uint32_t i, n = 0, next;

	for (i = f->next_survey; i < sfs_order_slices(f->order) && n < n_ahead; i++) {
		next = sfs_order_dealt(f->order, i);
		if (is_known(f, next)) {
			f->next_survey += i == f->next_survey;
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
	       sfs_locator_previous(&f->map, &at)) {
		ret = sfs_locator_sample(&f->map, &at, &sample, ret_shard);
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

/* Collect the pieces of a far read from its first sample on. */
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
		ret = sfs_locator_sample(&f->map, &spot, &b, ret_shard);
		if (ret < 0)
			return ret;
		shard = &f->runtime->shards.shards[b->shard];
		is_renamed = sfs_runtime_renames(f->runtime, &key, b);
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
			ret = sfs_locator_next(&f->map, &spot, ret_shard);
			if (ret < 0)
				return ret;
		}
	}
	sfs_gather_add_zeros(g, end - at);
	return 0;
}

/* The gather has ended: so has the far read. */
static void on_gathered(struct sfs_read *inner, int err)
{
	struct far *far = sfs_container(inner, struct far, inner);
	struct sfs_random_reads *f = far->all;
	struct sfs_read *read;
	struct sfs_deferred out;

	sfs_deferred_init(&out);
	pthread_mutex_lock(f->owner.lock);
	read = far->read;
	if (err < 0) {
		end_far(far, err, &out);
	} else if (!read) {
		sfs_gather_release(far->gather, inner);
		free_far(far);
	} else {
		far->is_told = true;
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

static void new_gather(struct sfs_random_reads *f, struct far *far)
{
	far->inner.offset = far->read->offset;
	far->inner.n_bytes = far->read->n_bytes;
	far->inner.done = on_gathered;
	far->gather = sfs_gather_new(&f->runtime->range_reader, &far->inner);
}

/* Is this far read one of a row? */
static bool is_in_row(struct sfs_random_reads *f, const struct sfs_read *read)
{
	return sfs_sequential_note(&f->trails, f, read->offset, read->n_bytes) >=
	       SEQUENTIAL_BYTES;
}

/* Offer the read to the owner, for a cursor at this spot.  true: the far read has gone.
 */
static bool hand_over(struct sfs_random_reads *f, struct far *far,
		      const struct sfs_spot *spot, uint64_t key_before,
		      struct sfs_deferred *out)
{
	if (!f->owner.take_over(f->owner.ctx, far->read, spot, key_before, out))
		return false;
	free_far(far);
	return true;
}

/* What the map says, while no table can be dropped: now the far read has a gather
 * that begins, or was handed over, or it is an error. */
static int resolve(struct sfs_random_reads *f, struct far *far, struct sfs_deferred *out,
		   uint32_t *ret_shard)
{
	struct sfs_spot spot;
	uint64_t key = 0;
	int ret;

	ret = sfs_locator_find(&f->map, far->read->offset, &spot, ret_shard);
	if (ret == 0)
		ret = find_key_before(f, &spot, &key, ret_shard);
	if (ret < 0)
		return ret;
	if ((is_in_row(f, far->read) || far->read->is_first) && !spot.is_end &&
	    hand_over(f, far, &spot, key, out))
		return 0;
	new_gather(f, far);
	ret = collect(f, far->gather, far->read, spot, key, ret_shard);
	if (ret < 0)
		sfs_gather_free(steal(&far->gather));
	else
		sfs_gather_post(far->gather, sfs_read_err, out);
	return ret;
}

static void note_too_many_surveys(struct sfs_random_reads *f)
{
	sfs_ledger_add(SFS_EVENT_LOST, "(epoch)", SFS_NO_OFFSET,
		       "a read far from the others, or a look-up, gets EIO; a larger "
		       "budget= helps",
		       "the tables of the samples do not fit a quarter of the budget");
}

/* Try to answer a far read; what waits goes on by on_survey() or on_gathered(). */
static void go_on(struct sfs_random_reads *f, struct far *far, struct sfs_deferred *out)
{
	uint32_t shard;
	int ret;

	for (;;) {
		pthread_rwlock_rdlock(&f->runtime->shards.drop_lock);
		ret = resolve(f, far, out, &shard);
		pthread_rwlock_unlock(&f->runtime->shards.drop_lock);
		if (ret == 0)
			return;
		if (ret == -EAGAIN && far->read->offset < START_WINDOW &&
		    hand_over(f, far, NULL, 0, out))
			return;
		if (ret == -EAGAIN &&
		    ++far->n_surveys > 4 * sfs_order_slices(f->order) + 100) {
			note_too_many_surveys(f);
			ret = -EIO;
		}
		far->waiter.done = on_survey;
		if (ret == -EAGAIN)
			ret = survey(f, shard, N_SURVEYS_AHEAD, &far->waiter);
		if (ret == -EINPROGRESS)
			return;
		if (ret < 0)
			break;
	}
	end_far(far, sfs_read_err(ret), out);
}

static struct far *new_far(struct sfs_random_reads *f, struct sfs_read *read)
{
	struct far *far = sfs_calloc(1, sizeof *far);

	far->all = f;
	far->read = read;
	read->state = far;
	f->n++;
	return far;
}

struct sfs_gather *sfs_random_apart(struct sfs_random_reads *f, struct sfs_read *read,
				    struct sfs_deferred *out)
{
	struct far *far = new_far(f, read);

	new_gather(f, far);
	sfs_gather_post(far->gather, sfs_read_err, out);
	return far->gather;
}

static void have_map(struct sfs_random_reads *f)
{
	const struct sfs_sample_tables tables = sfs_shards_tables(&f->runtime->shards);

	if (!f->has_map)
		sfs_locator_init(&f->map, f->order, &tables, sfs_shards_totals);
	f->has_map = true;
}

/* Ask the map, while no table can be dropped. */
static int locate(struct sfs_random_reads *f, uint64_t number,
		  struct sfs_place *ret_place, uint32_t *ret_shard)
{
	struct sfs_spot at, end;
	int ret;

	pthread_rwlock_rdlock(&f->runtime->shards.drop_lock);
	ret = sfs_locator_nth(&f->map, number, &at, ret_shard);
	if (ret == 0)
		ret = sfs_locator_nth(&f->map, UINT64_MAX, &end, ret_shard);
	if (ret == 0)
		*ret_place =
			(struct sfs_place){.offset = at.offset,
					   .end = end.offset,
					   .n_samples = sfs_locator_number(&f->map, &end),
					   .n_repeated =
						   f->order->repeating != SFS_NO_LANE,
					   .n_dropped =
						   f->order->shortened != SFS_NO_LANE};
	pthread_rwlock_unlock(&f->runtime->shards.drop_lock);
	return ret;
}

static int find_number(struct sfs_random_reads *f, uint64_t offset, uint64_t *ret_number,
		       uint32_t *ret_shard)
{
	struct sfs_spot at;
	int ret;

	pthread_rwlock_rdlock(&f->runtime->shards.drop_lock);
	ret = sfs_locator_find(&f->map, offset, &at, ret_shard);
	if (ret == 0)
		*ret_number = sfs_locator_number(&f->map, &at);
	pthread_rwlock_unlock(&f->runtime->shards.drop_lock);
	return ret;
}

/* The map needs this shard's table.  If it had it before, tables are being dropped as
 * fast as they are made, and that must have an end. */
static int look_at(struct sfs_random_reads *f, uint32_t shard, uint32_t n_ahead,
		   struct sfs_waiter *waiter)
{
	if (waiter && is_known(f, shard) &&
	    ++waiter->n_again > 2 * f->order->n_lanes + 100) {
		note_too_many_surveys(f);
		return -EIO;
	}
	if (waiter)
		waiter->translate = sfs_read_err;
	return survey(f, shard, n_ahead, waiter);
}

int sfs_random_locate(struct sfs_random_reads *f, uint64_t number,
		      struct sfs_waiter *waiter, struct sfs_place *ret_place)
{
	uint32_t shard;
	int ret;

	if (sfs_shards_damaged(&f->runtime->shards, f->order))
		return -EIO; /* the ledger has it */
	have_map(f);
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

	have_map(f);
	while ((ret = find_number(f, offset, ret_number, &shard)) == -EAGAIN) {
		ret = look_at(f, shard, N_SURVEYS_AHEAD, waiter);
		if (ret < 0)
			break;
	}
	return ret == 0 || ret == -EINPROGRESS ? ret : sfs_read_err(ret);
}

void sfs_random_read(struct sfs_random_reads *f, struct sfs_read *read,
		     struct sfs_deferred *out)
{
	struct far *far = new_far(f, read);

	have_map(f);
	atomic_fetch_add(&f->runtime->counters.reads_far, 1);
	go_on(f, far, out);
}

void sfs_random_run(struct sfs_random_reads *f, bool is_closing, struct sfs_deferred *out)
{
	struct sfs_link *link;
	struct far *far;

	while ((link = sfs_list_pop(&f->ready)) != NULL) {
		far = sfs_container(link, struct far, link);
		if (far->err < 0)
			end_far(far, sfs_read_err(far->err), out);
		else if (!far->read || is_closing)
			end_far(far, -ECANCELED, out);
		else
			go_on(f, far, out);
	}
}

bool sfs_random_cancel(struct sfs_random_reads *f, struct sfs_read *read)
{
	struct far *far = read->state;

	if (far->is_told)
		return false;
	far->read = NULL; /* a survey ends by itself */
	if (far->gather && sfs_gather_cancel(far->gather, &far->inner)) {
		free_far(far);
		f->owner.wake(f->owner.ctx);
	}
	return true;
}

void sfs_random_explain(const struct sfs_read *read, struct sfs_cause *cause)
{
	struct far *far = read->state;

	if (far->is_told)
		return;
	if (far->gather)
		sfs_gather_explain(far->gather, cause);
	else if (far->waiter.lock)
		sfs_waiter_explain(&far->waiter, cause);
}

void sfs_random_release(struct sfs_random_reads *f, struct sfs_read *read)
{
	struct far *far = read->state;

	read->iov = NULL; /* the gather's */
	sfs_gather_release(far->gather, &far->inner);
	free_far(far);
	f->owner.wake(f->owner.ctx);
}
