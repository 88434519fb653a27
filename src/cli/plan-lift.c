/* SPDX-License-Identifier: MIT */
/* How this works: each sample of the dataset has an entry in an array of batch numbers,
 * one array for epoch 0 and one for the epoch that is compared with it; the same again
 * for batches of ranks.  One play of an epoch fills both: with equal lanes ranks take
 * turns, and with dealt lanes each segment is in one rank. */
#include "cli/plan-lift.h"

#include "base/alloc.h"
#include "order/iterate.h"
#include "order/partition.h"
#include "order/quality.h"

#define N_PLAYED 10000000 /* samples in all epochs: half a second */

static const struct sfs_share everything = {.first = 0, .step = 1, .n_ranks = 1};

uint32_t sfs_plan_lift_epochs(const struct sfs_plan_dataset *d)
{
	uint64_t n = N_PLAYED / d->n_all;

	if (n < 2)
		return d->is_exact ? 2 : 0;
	return n < SFS_PLAN_LIFT_EPOCHS ? (uint32_t)n : SFS_PLAN_LIFT_EPOCHS;
}

/* ---- the batches of an epoch, of one reader or of ranks ---- */

struct reader {
	uint32_t number, n; /* of its last batch, and the samples in it */
};

struct batches {
	uint32_t n_readers; /* 0: not wanted */
	struct reader *readers;
	uint32_t n;		 /* batches that were begun */
	uint32_t *first, *later; /* of each sample: in epoch 0, in the other one */
	struct sfs_plan_lift lift;
};

static void batches_init(struct batches *b, uint32_t n_readers, uint64_t n_samples)
{
	*b = (struct batches){.n_readers = n_readers};
	if (n_readers == 0)
		return;
	b->readers = sfs_calloc(n_readers, sizeof *b->readers);
	b->first = sfs_reallocarray(NULL, n_samples, sizeof *b->first);
	b->later = sfs_reallocarray(NULL, n_samples, sizeof *b->later);
}

static void batches_done(struct batches *b)
{
	free(b->readers);
	free(b->first);
	free(b->later);
}

/* The batch of a reader's next sample. */
static uint32_t batch_of_next(struct batches *b, uint32_t reader, uint32_t batch)
{
	struct reader *r = &b->readers[reader];

	if (r->n == 0)
		r->number = b->n++;
	r->n = r->n + 1 < batch ? r->n + 1 : 0;
	return r->number;
}

/* The epoch has ended: number the batches that were filled anew, and
 * forget the others. */
static void end_epoch(struct batches *b, uint32_t *batches, uint64_t n_samples)
{
	sfs_autofree uint32_t *numbers = sfs_calloc((size_t)b->n + 1, sizeof *numbers);
	uint32_t n = 0, i;
	uint64_t k;

	if (b->n_readers == 0)
		return;
	for (i = 0; i < b->n_readers; i++) {
		if (b->readers[i].n > 0)
			numbers[b->readers[i].number] = SFS_NO_BATCH;
		b->readers[i] = (struct reader){0};
	}
	for (i = 0; i < b->n; i++)
		if (numbers[i] != SFS_NO_BATCH)
			numbers[i] = n++;
	for (k = 0; k < n_samples; k++)
		batches[k] = numbers[batches[k]];
	b->n = 0;
}

/* ---- playing ---- */

struct comparison {
	struct sfs_plan_dataset *d;
	const struct sfs_order_settings *settings;
	struct batches whole, ranks;
};

/* With dealt lanes: the rank of each sample.  NULL: ranks take turns. */
static uint32_t *ranks_of_samples(const struct comparison *c, const struct sfs_order *o)
{
	uint32_t *ranks, l, m;
	struct sfs_slice slice;
	uint64_t i, end;

	if (c->ranks.n_readers == 0 || sfs_order_wants_equal_lanes(c->settings))
		return NULL;
	ranks = sfs_calloc(c->d->n_all, sizeof *ranks);
	for (l = 0; l < o->n_lanes; l++) {
		for (m = 0; m < sfs_order_lane_slices(o, l); m++) {
			slice = sfs_order_slice(o, l, m);
			end = sfs_slice_end(&slice, c->d->n_samples[slice.shard]);
			for (i = slice.first; i < end; i++)
				ranks[c->d->base[slice.shard] + i] =
					l % c->ranks.n_readers;
		}
	}
	return ranks;
}

/* Play an epoch; note the batches of each sample. */
static void play(struct comparison *c, uint64_t epoch)
{
	const struct sfs_sample_tables tables = sfs_plan_tables(c->d);
	uint32_t *whole = epoch == 0 ? c->whole.first : c->whole.later;
	uint32_t *of_rank = epoch == 0 ? c->ranks.first : c->ranks.later;
	sfs_autofree uint32_t *ranks = NULL;
	const struct sfs_block_sample *s;
	struct sfs_iterator iterator;
	struct sfs_order order;
	uint64_t k, i;

	sfs_partition(&order, c->settings, epoch, c->d->n_shards, &tables, everything);
	ranks = ranks_of_samples(c, &order);
	sfs_iterator_init(&iterator, &order, &tables);
	for (k = 0; (s = sfs_iterator_next(&iterator)) != NULL; k++) {
		i = c->d->base[s->shard] + s->index;
		whole[i] = batch_of_next(&c->whole, 0, c->d->batch);
		if (of_rank)
			of_rank[i] = batch_of_next(&c->ranks,
						   ranks ? ranks[i]
							 : k % c->ranks.n_readers,
						   c->d->batch);
	}
	sfs_iterator_done(&iterator);
	sfs_order_done(&order);
	end_epoch(&c->whole, whole, c->d->n_all);
	end_epoch(&c->ranks, of_rank, c->d->n_all);
}

/* Add up the lift of epoch 0 to the other. */
static void compare(struct batches *b, const struct sfs_plan_dataset *d, uint64_t epoch)
{
	double lift;

	if (b->n_readers == 0)
		return;
	lift = sfs_quality_lift(b->first, b->later, d->n_all, d->batch);
	if (epoch == 1)
		b->lift.next = lift;
	b->lift.mean += lift;
}

struct sfs_plan_lifts sfs_plan_lift(struct sfs_plan_dataset *d,
				    const struct sfs_order_settings *settings,
				    uint32_t n_epochs)
{
	struct comparison c = {.d = d, .settings = settings};
	struct sfs_plan_lifts lifts = {.n_epochs = n_epochs};
	uint64_t epoch;

	batches_init(&c.whole, 1, d->n_all);
	batches_init(&c.ranks, d->n_ranks, d->n_all);
	for (epoch = 0; epoch < n_epochs; epoch++) {
		play(&c, epoch);
		if (epoch == 0)
			continue;
		compare(&c.whole, d, epoch);
		compare(&c.ranks, d, epoch);
	}
	lifts.whole = c.whole.lift;
	lifts.rank = c.ranks.lift;
	lifts.whole.mean /= n_epochs - 1;
	lifts.rank.mean /= n_epochs - 1;
	batches_done(&c.whole);
	batches_done(&c.ranks);
	return lifts;
}
