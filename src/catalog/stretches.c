/* SPDX-License-Identifier: MIT */
#include "catalog/stretches.h"

#include "base/alloc.h"
#include "order/cuts.h"

#include <assert.h>

#define N_KEPT 3 /* sets that nobody has */

static const struct sfs_share everything = {.first = 0, .step = 1, .n_ranks = 1};

/* Neighbours in the ring are neighbours in their shard, but at its ends. */
static void link_neighbours(struct sfs_shard *stretches, uint32_t n)
{
	struct sfs_shard *a, *b;
	uint32_t i;

	for (i = 0; i < n; i++) {
		a = &stretches[i];
		b = &stretches[(i + 1) % n];
		if (a->part.whole != b->part.whole || a->part.end != b->part.begin)
			continue;
		a->part.next = b;
		b->part.before = a;
	}
}

static struct sfs_stretch_set *make(struct sfs_shards *s, int slot,
				    const struct sfs_order_settings *settings,
				    uint64_t epoch)
{
	struct sfs_stretch_set *set = sfs_calloc(1, sizeof *set);
	sfs_autofree uint64_t *sizes = sfs_shards_sizes(s);
	struct sfs_order order = sfs_order_empty(settings, epoch, everything);
	struct sfs_cuts cuts;
	uint32_t i;

	sfs_cuts_make(&cuts, order.name, sizes, s->n);
	set->shards = s;
	set->epoch = epoch;
	set->first = s->n + (uint32_t)slot * (s->n + SFS_CUTS_MAX);
	set->n = (uint32_t)cuts.starts[cuts.n_segments];
	assert(set->n <= s->n + SFS_CUTS_MAX);
	for (i = 0; i < set->n; i++) {
		sfs_shard_init_stretch(&s->shards[set->first + i], set->first + i,
				       &s->shards[cuts.stretches[i].shard],
				       cuts.stretches[i].begin, cuts.stretches[i].end);
		s->shards[set->first + i].part.set = set;
	}
	link_neighbours(&s->shards[set->first], set->n);
	sfs_cuts_done(&cuts);
	return set;
}

/* Locked, as all below. */
static void drop_set(struct sfs_shards *s, int slot)
{
	struct sfs_stretch_set *set = steal(&s->sets[slot]);
	uint32_t i;

	for (i = 0; i < set->n; i++)
		sfs_shard_done_stretch(s, &s->shards[set->first + i]);
	free(set);
}

static bool is_unused(const struct sfs_stretch_set *set)
{
	return set && set->n_users == 0;
}

/* Drop the sets that nobody has, but the `n_kept` latest. */
static void drop_unused(struct sfs_shards *s, int n_kept)
{
	int slot, n, oldest;

	do {
		for (slot = n = 0, oldest = -1; slot < SFS_STRETCH_SETS; slot++) {
			if (!is_unused(s->sets[slot]))
				continue;
			n++;
			if (oldest < 0 ||
			    s->sets[slot]->released < s->sets[oldest]->released)
				oldest = slot;
		}
		if (n > n_kept)
			drop_set(s, oldest);
	} while (n > n_kept);
}

static struct sfs_stretch_set *find(struct sfs_shards *s, uint64_t epoch)
{
	int slot;

	for (slot = 0; slot < SFS_STRETCH_SETS; slot++)
		if (s->sets[slot] && s->sets[slot]->epoch == epoch &&
		    !atomic_load(&s->sets[slot]->is_wrong))
			return s->sets[slot];
	return NULL;
}

static int empty_slot(const struct sfs_shards *s)
{
	int slot = 0;

	while (slot < s->n_sets && s->sets[slot])
		slot++;
	return slot;
}

/* A place for one more; s->n_sets: all are in use. */
static int make_room(struct sfs_shards *s)
{
	if (empty_slot(s) == s->n_sets)
		drop_unused(s, 0);
	return empty_slot(s);
}

struct sfs_stretch_set *sfs_stretches_take(struct sfs_shards *s,
					   const struct sfs_order_settings *settings,
					   uint64_t epoch)
{
	struct sfs_stretch_set *set;
	int slot;

	pthread_mutex_lock(&s->sets_lock);
	set = find(s, epoch);
	if (!set) {
		slot = make_room(s);
		if (slot < s->n_sets)
			set = s->sets[slot] = make(s, slot, settings, epoch);
	}
	if (set)
		set->n_users++;
	pthread_mutex_unlock(&s->sets_lock);
	return set;
}

void sfs_stretches_release(struct sfs_shards *s, struct sfs_stretch_set *set)
{
	pthread_mutex_lock(&s->sets_lock);
	if (--set->n_users == 0) {
		/* A wrong one goes first. */
		set->released = atomic_load(&set->is_wrong) ? 0 : ++s->n_released;
		drop_unused(s, N_KEPT);
	}
	pthread_mutex_unlock(&s->sets_lock);
}

void sfs_stretch_hold(struct sfs_shards *s, struct sfs_shard *shard)
{
	if (!shard->part.whole)
		return;
	pthread_mutex_lock(&s->sets_lock);
	shard->part.set->n_users++;
	pthread_mutex_unlock(&s->sets_lock);
}

void sfs_stretch_let_go(struct sfs_shards *s, struct sfs_shard *shard)
{
	if (shard->part.whole)
		sfs_stretches_release(s, shard->part.set);
}

bool sfs_stretches_agree(const struct sfs_shards *s, const struct sfs_stretch_set *set)
{
	uint32_t i;

	for (i = 0; i < set->n; i++)
		if (!sfs_stretch_meets_next(&s->shards[set->first + i]))
			return false;
	return !atomic_load(&set->is_wrong);
}

void sfs_stretches_done(struct sfs_shards *s)
{
	drop_unused(s, 0);
}
