/* SPDX-License-Identifier: MIT */
/* How this works: an index, or all stretches of a shard, know its samples.  Its table
 * takes them over, also one that a stream has started to fill.  Members come with an
 * index, or from a scan of their own. */
#include "base/alloc.h"
#include "base/ledger.h"
#include "catalog/index-find.h"
#include "catalog/shard-internal.h"

#include <errno.h>

/* ---- indexes ---- */

/* Is the table the start of the whole one? */
static bool is_start_of(const struct sfs_sample_table *table,
			const struct sfs_sample_table *whole)
{
	uint64_t n = sfs_sample_table_n(table), i;
	struct sfs_sample_table_sample a, b;

	for (i = 0; i < n; i++) {
		if (i == sfs_sample_table_n(whole))
			return false;
		a = sfs_sample_table_get(table, i);
		b = sfs_sample_table_get(whole, i);
		if (a.start != b.start || a.n_bytes != b.n_bytes ||
		    a.key_hash != b.key_hash || a.has_global != b.has_global)
			return false;
	}
	return true;
}

/* A stream has started to fill the table, and others may be reading it: add what it
 * lacks. */
static bool add_rest(struct sfs_sample_table *table, const struct sfs_index *index)
{
	struct sfs_sample_table whole = {0};
	struct sfs_extent extent;
	uint64_t i;
	bool is_same;

	sfs_sample_table_borrow(&whole, index->entries, index->n_samples);
	is_same = is_start_of(table, &whole);
	if (is_same)
		sfs_sample_table_set_unverified(table);
	for (i = sfs_sample_table_n(table); is_same && i < index->n_samples; i++) {
		extent = sfs_sample_table_extent(&whole, i);
		sfs_sample_table_add(table, &extent);
	}
	sfs_sample_table_done(&whole);
	return is_same;
}

/* The table is whole by an index, or not (-ESTALE).  The shard is locked. */
static int end_by_index(struct sfs_shard *shard, bool is_same)
{
	if (!is_same) {
		sfs_ledger_add(SFS_EVENT_INDEX, shard->name, SFS_NO_OFFSET,
			       "its headers are read instead; index it again",
			       "the index does not match the shard");
		return -ESTALE;
	}
	sfs_scan_done(&shard->growth->scan);
	shard->growth->scan.is_complete = true;
	sfs_shard_sum_up(shard);
	return 0;
}

/* The shard is locked, and its table grows. */
static int adopt_copy(struct sfs_shards *s, struct sfs_shard *shard,
		      const struct sfs_index *index)
{
	struct sfs_growth *g = shard->growth;
	bool is_same = add_rest(&g->table, index);

	if (is_same)
		sfs_sample_table_end(&g->table, SFS_SAMPLE_TABLE_WHOLE);
	sfs_shard_note_memory(s, g);
	return end_by_index(shard, is_same);
}

static int adopt(struct sfs_shards *s, struct sfs_shard *shard,
		 struct sfs_index_search *found)
{
	struct sfs_growth *g = shard->growth;

	if (sfs_sample_table_n(&g->table) > 0)
		return adopt_copy(s, shard, &found->index);
	sfs_sample_table_borrow(&g->table, found->index.entries, found->index.n_samples);
	g->bytes = found->bytes;
	found->bytes = (struct sfs_charge){0};
	return end_by_index(shard, true);
}

static bool is_growing(const struct sfs_shard *shard)
{
	return sfs_sample_table_state(&shard->growth->table) == SFS_SAMPLE_TABLE_GROWING;
}

int sfs_shard_adopt(struct sfs_shards *s, struct sfs_shard *shard,
		    struct sfs_index_search *found)
{
	int ret = 0;

	pthread_mutex_lock(&shard->lock);
	if (is_growing(shard))
		ret = adopt(s, shard, found);
	pthread_mutex_unlock(&shard->lock);
	sfs_charge_done(&found->bytes);
	return ret;
}

void sfs_shard_note_lie(struct sfs_shard *shard, uint64_t at, const char *why)
{
	bool is_first;

	pthread_mutex_lock(&shard->lock);
	is_first = !shard->has_lied;
	shard->has_lied = true;
	pthread_mutex_unlock(&shard->lock);
	if (is_first)
		sfs_ledger_add(SFS_EVENT_LOST, shard->name, at,
			       "readers get EIO; remove the index: next to the shard, in "
			       "index=, or the whole cache folder",
			       "no sample where its index says: %s", why);
}

int sfs_shard_adopt_copy(struct sfs_shards *s, struct sfs_shard *shard,
			 const struct sfs_index *index)
{
	int ret = 0;

	pthread_mutex_lock(&shard->lock);
	if (is_growing(shard))
		ret = adopt_copy(s, shard, index);
	pthread_mutex_unlock(&shard->lock);
	return ret;
}

static uint64_t memory_of(const struct sfs_growth *g)
{
	if (g->bytes.n > 0)
		return g->bytes.n;
	return sfs_sample_table_memory(sfs_sample_table_n(&g->table));
}

uint64_t sfs_shard_memory(struct sfs_shard *shard)
{
	uint64_t n;

	pthread_mutex_lock(&shard->lock);
	n = shard->growth ? memory_of(shard->growth) : 0;
	pthread_mutex_unlock(&shard->lock);
	return n;
}

/* ---- stretches ---- */

/* The shard's table takes the samples of a stretch, from its own number *n on.  false: it
 * has others. */
static bool add_stretch(struct sfs_sample_table *table,
			const struct sfs_sample_table *stretch, uint64_t *n)
{
	uint64_t n_stretch = sfs_sample_table_n(stretch), i;
	struct sfs_extent extent, known;

	for (i = 0; i < n_stretch; i++, (*n)++) {
		extent = sfs_sample_table_extent(stretch, i);
		if (*n == sfs_sample_table_n(table)) {
			sfs_sample_table_add(table, &extent);
			continue;
		}
		known = sfs_sample_table_extent(table, *n);
		if (known.start != extent.start || known.n_bytes != extent.n_bytes)
			return false;
	}
	return true;
}

/* The table of a stretch that is whole, and not a copy of what is known of its shard. */
static const struct sfs_sample_table *table_of_stretch(struct sfs_shard *stretch)
{
	const struct sfs_sample_table *table = sfs_shard_table(stretch);

	if (!table || sfs_sample_table_state(table) != SFS_SAMPLE_TABLE_WHOLE ||
	    atomic_load(&table->is_unverified))
		return NULL;
	return table;
}

/* Is all known from `first`, the shard's first stretch, on? */
static bool are_whole(struct sfs_shard *first)
{
	struct sfs_shard *stretch;

	for (stretch = first; stretch; stretch = stretch->part.next)
		if (!table_of_stretch(stretch) || !sfs_stretch_meets_next(stretch))
			return false;
	return true;
}

/* The shard is locked, and its table grows; the tables of its stretches stay and are
 * whole. */
static void take_stretches(struct sfs_shards *s, struct sfs_shard *shard,
			   struct sfs_shard *first)
{
	struct sfs_growth *g = shard->growth;
	struct sfs_shard *stretch;
	uint64_t n = 0;

	for (stretch = first; stretch; stretch = stretch->part.next)
		if (!add_stretch(&g->table, &stretch->growth->table, &n))
			return;
	sfs_sample_table_end(&g->table, SFS_SAMPLE_TABLE_WHOLE);
	sfs_scan_done(&g->scan);
	g->scan.is_complete = true;
	sfs_shard_sum_up(shard);
	sfs_shard_note_memory(s, g);
	if (s->indexes && !s->saves_members)
		sfs_index_finder_keep(s->indexes, shard->object, &g->table, NULL);
}

void sfs_shard_adopt_stretches(struct sfs_shards *s, struct sfs_shard *stretch)
{
	struct sfs_shard *shard = stretch->part.whole;

	while (stretch->part.before)
		stretch = stretch->part.before;
	sfs_shard_pin(s, shard);
	pthread_rwlock_rdlock(&s->drop_lock); /* the tables of stretches stay */
	if (are_whole(stretch)) {
		pthread_mutex_lock(&shard->lock);
		if (is_growing(shard))
			take_stretches(s, shard, stretch);
		pthread_mutex_unlock(&shard->lock);
	}
	pthread_rwlock_unlock(&s->drop_lock);
	sfs_shard_unpin(s, shard);
}

/* ---- members ---- */

const struct sfs_members *sfs_shard_members(struct sfs_shard *shard)
{
	const struct sfs_members *members = NULL;

	pthread_mutex_lock(&shard->lock);
	if (shard->growth && shard->growth->has_members)
		members = &shard->growth->members;
	pthread_mutex_unlock(&shard->lock);
	return members;
}

void sfs_shard_keep_members(struct sfs_shard *shard, struct sfs_members *members,
			    struct sfs_charge *held)
{
	struct sfs_growth *g;

	pthread_mutex_lock(&shard->lock);
	g = shard->growth;
	if (!g->has_members) {
		g->members = *members;
		g->members_held = *held;
		g->has_members = true;
		*members = (struct sfs_members){0};
		*held = (struct sfs_charge){0};
	}
	pthread_mutex_unlock(&shard->lock);
	sfs_members_done(members);
	sfs_charge_done(held);
}

void sfs_shard_save(struct sfs_shards *s, struct sfs_shard *shard)
{
	pthread_mutex_lock(&shard->lock);
	if (s->indexes && shard->growth && shard->growth->scan.err == 0 &&
	    sfs_sample_table_state(&shard->growth->table) == SFS_SAMPLE_TABLE_WHOLE)
		sfs_index_finder_keep(s->indexes, shard->object, &shard->growth->table,
				      shard->growth->has_members ? &shard->growth->members
								 : NULL);
	pthread_mutex_unlock(&shard->lock);
}
