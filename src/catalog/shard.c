/* SPDX-License-Identifier: MIT */
/* How this works: a shard's growth is a scan and the table it fills, both under
 * the shard's lock while bytes are fed; readers of the table need no lock.
 *
 * Dropping a table takes drop_lock for writing, and only tries to: readers of tables may
 * hold it. */
#include "base/alloc.h"
#include "base/ledger.h"
#include "base/lock.h"
#include "base/log.h"
#include "catalog/index-find.h"
#include "catalog/shard-internal.h"
#include "order/cuts.h"
#include "tar/header.h"
#include "tar/rewrite.h"

#include <assert.h>

void sfs_shards_init(struct sfs_shards *s, uint32_t n, char **names,
		     struct sfs_object *objects, bool skip_damaged, int n_sets,
		     struct sfs_budget *budget)
{
	uint32_t i;

	*s = (struct sfs_shards){
		.n = n, .skip_damaged = skip_damaged, .n_sets = n_sets};
	s->shards = sfs_calloc(n + (size_t)n_sets * ((size_t)n + SFS_CUTS_MAX),
			       sizeof *s->shards);
	s->objects = sfs_calloc(n, sizeof *s->objects);
	for (i = 0; i < n; i++) {
		struct sfs_shard *shard = &s->shards[i];

		shard->index = i;
		shard->name = names[i];
		shard->folder = sfs_rewrite_folder(names[i]);
		s->objects[i] = objects[i];
		shard->object = &s->objects[i];
		shard->object->name = shard->name;
		shard->said_bytes = shard->said_samples = UINT64_MAX;
		sfs_lock_init(&shard->lock, SFS_LOCK_SHARD);
	}
	sfs_rwlock_init(&s->drop_lock, SFS_LOCK_DROP);
	pthread_mutex_init(&s->lru_lock, NULL);
	sfs_lock_init(&s->sets_lock, SFS_LOCK_STRETCHES);
	sfs_list_init(&s->lru);
	sfs_account_open(&s->account, budget, 0, false, NULL);
}

/* Free the table.  Nobody reads it or feeds the shard. */
static void drop_growth(struct sfs_shards *s, struct sfs_shard *shard)
{
	struct sfs_growth *g = steal(&shard->growth);

	if (!g)
		return;
	sfs_account_give(&s->account, g->counted_bytes);
	sfs_scan_done(&g->scan);
	sfs_resync_done(&g->resync);
	sfs_sample_table_done(&g->table);
	sfs_charge_done(&g->bytes);
	sfs_members_done(&g->members);
	sfs_charge_done(&g->members_held);
	free(g);
}

void sfs_shards_done(struct sfs_shards *s)
{
	uint32_t i;

	for (i = 0; i < s->n; i++) {
		struct sfs_shard *shard = &s->shards[i];

		assert(shard->n_pins == 0);
		drop_growth(s, shard);
		free(shard->name);
		free(shard->folder);
		sfs_object_done(shard->object);
		pthread_mutex_destroy(&shard->lock);
	}
	if (s->account.budget)
		sfs_account_close(&s->account);
	pthread_rwlock_destroy(&s->drop_lock);
	pthread_mutex_destroy(&s->lru_lock);
	pthread_mutex_destroy(&s->sets_lock);
	free(s->shards);
	free(s->objects);
}

bool sfs_shards_drop_oldest(struct sfs_shards *s)
{
	struct sfs_shard *shard = NULL;
	struct sfs_link *link;

	/* Not while tables are being read, perhaps by this very thread. */
	if (pthread_rwlock_trywrlock(&s->drop_lock) != 0)
		return false;
	pthread_mutex_lock(&s->lru_lock);
	link = sfs_list_pop(&s->lru);
	if (link)
		shard = sfs_container(link, struct sfs_shard, lru);
	pthread_mutex_unlock(&s->lru_lock);
	if (shard)
		drop_growth(s, shard);
	pthread_rwlock_unlock(&s->drop_lock);
	return shard != NULL;
}

/* Tables may hold a quarter of the budget; those in use may exceed that. */
static bool is_over(struct sfs_shards *s)
{
	return sfs_account_used(&s->account) > s->account.budget->total_bytes / 4;
}

/* ---- pins ---- */

static void end_growth(struct sfs_shards *s, struct sfs_shard *shard);

/* An empty table.  Locked: the shard, and drop_lock for reading. */
static void begin_growth(struct sfs_shards *s, struct sfs_shard *shard,
			 const struct sfs_sample_table *whole)
{
	struct sfs_growth *g = shard->growth = sfs_calloc(1, sizeof *shard->growth);

	sfs_scan_init(&g->scan, shard->object->size);
	if (shard->has_totals && shard->object->size == 0) {
		/* A missing shard that counts as empty: nothing to scan. */
		g->scan.is_complete = true;
		sfs_sample_table_end(&g->table, SFS_SAMPLE_TABLE_WHOLE);
	} else if (shard->part.whole) {
		sfs_stretch_begin(s, shard, whole);
		if (sfs_growth_wanted(g) == UINT64_MAX)
			end_growth(s, shard);
		sfs_shard_note_memory(s, g);
	}
}

void sfs_shard_pin(struct sfs_shards *s, struct sfs_shard *shard)
{
	const struct sfs_sample_table *whole = NULL;

	pthread_rwlock_rdlock(&s->drop_lock);
	if (shard->part.whole)
		whole = sfs_shard_table(shard->part.whole);
	pthread_mutex_lock(&shard->lock);
	if (shard->n_pins++ == 0) {
		pthread_mutex_lock(&s->lru_lock);
		sfs_link_remove(&shard->lru);
		pthread_mutex_unlock(&s->lru_lock);
	}
	if (!shard->growth)
		begin_growth(s, shard, whole);
	pthread_mutex_unlock(&shard->lock);
	pthread_rwlock_unlock(&s->drop_lock);
}

void sfs_shard_unpin(struct sfs_shards *s, struct sfs_shard *shard)
{
	pthread_mutex_lock(&shard->lock);
	if (--shard->n_pins == 0) {
		pthread_mutex_lock(&s->lru_lock);
		sfs_list_push(&s->lru, &shard->lru);
		pthread_mutex_unlock(&s->lru_lock);
	}
	pthread_mutex_unlock(&shard->lock);
	while (is_over(s) && sfs_shards_drop_oldest(s))
		;
}

const struct sfs_sample_table *sfs_shard_table(struct sfs_shard *shard)
{
	struct sfs_growth *g;

	pthread_mutex_lock(&shard->lock);
	g = shard->growth;
	pthread_mutex_unlock(&shard->lock);
	return g ? &g->table : NULL;
}

uint64_t sfs_growth_wanted(const struct sfs_growth *g)
{
	if (g->has_stopped)
		return UINT64_MAX;
	if (g->is_waiting)
		return SFS_WANTED_LATER;
	return g->is_searching ? sfs_resync_wanted(&g->resync)
			       : sfs_scan_wanted(&g->scan);
}

uint64_t sfs_shard_wanted(struct sfs_shard *shard)
{
	uint64_t ret;

	pthread_mutex_lock(&shard->lock);
	ret = sfs_growth_wanted(shard->growth);
	pthread_mutex_unlock(&shard->lock);
	return ret;
}

static uint64_t frontier_of(const struct sfs_shard *shard)
{
	const struct sfs_growth *g = shard->growth;

	if (sfs_growth_wanted(g) == UINT64_MAX)
		return UINT64_MAX;
	if (g->is_searching && !g->is_checking) /* (`from` may turn out to be wrong) */
		return g->from < shard->part.begin ? g->from : shard->part.begin;
	return g->scan.sample.is_open ? g->scan.sample.start : g->scan.pos;
}

struct sfs_shard_progress sfs_shard_progress(struct sfs_shard *shard)
{
	struct sfs_shard_progress progress;

	pthread_mutex_lock(&shard->lock);
	progress = (struct sfs_shard_progress){
		.n_samples = sfs_sample_table_n(&shard->growth->table),
		.frontier = frontier_of(shard),
		.wanted = sfs_growth_wanted(shard->growth),
		.from = shard->growth->from,
		.wanted_end = shard->growth->is_searching
				      ? sfs_stretch_wanted_end(shard->growth)
				      : 0,
	};
	pthread_mutex_unlock(&shard->lock);
	return progress;
}

void sfs_shards_note_hidden(struct sfs_shards *s, const char *shard)
{
	if (!atomic_exchange(&s->has_hidden, true))
		sfs_info("%s: a member holds what looks like a tar: from now on, where "
			 "segments begin is read from the start of their shards",
			 shard);
}

struct feeding {
	struct sfs_shards *shards;
	struct sfs_shard *shard;
	uint64_t offset, n;
	const unsigned char *bytes;
};

/* A tar in a member begins with it: is there a header right behind the member's own? */
static void look_at_member(void *ctx, uint64_t start, const struct sfs_tar_entry *group)
{
	const struct feeding *f = ctx;
	uint64_t data = start + group->n_bytes;
	const unsigned char *block;

	if (data < f->offset || data + SFS_TAR_BLOCK > f->offset + f->n ||
	    data == start + group->next || atomic_load(&f->shards->has_hidden))
		return;
	block = f->bytes + (data - f->offset);
	if (sfs_tar_has_prefix(block) || sfs_tar_is_gnu(block))
		sfs_shards_note_hidden(f->shards, f->shard->name);
}

static void add_sample(void *ctx, const struct sfs_extent *extent)
{
	struct feeding *f = ctx;

	assert(extent->start >= f->shard->part.begin);
	if (!f->shard->part.whole || !sfs_stretch_ends_before(f->shard, extent->start))
		sfs_sample_table_add(&f->shard->growth->table, extent);
}

static void feed_scan(struct feeding *f, uint64_t offset, const void *bytes, size_t n)
{
	const struct sfs_scan_sink sink = {.ctx = f,
					   .sample = add_sample,
					   .member = f->shards->n_sets > 0
							     ? look_at_member
							     : NULL};
	struct sfs_growth *g = f->shard->growth;
	struct sfs_shard *shard = f->shard;

	sfs_scan_feed(&g->scan, offset, bytes, n, &sink);
	if (shard->part.whole && g->scan.sample.is_open)
		sfs_stretch_ends_before(shard, g->scan.sample.start);
	if (shard->part.whole && g->scan.is_complete)
		sfs_stretch_end(shard);
}

/* What on-error=skip does about the damage. */
static char *say_skipped(const struct sfs_scan *scan)
{
	int n_key = (int)scan->sample.n_key;
	const char *key = scan->sample.key;
	unsigned long long start = scan->sample.start;

	if (scan->lacks_end && n_key > 0)
		return sfs_asprintf("all its samples are kept; if the shard was cut off, "
				    "members of the last one, '%.*s' at byte %llu, are "
				    "missing",
				    n_key, key, start);
	if (scan->lacks_end)
		return sfs_strdup("it has no samples");
	if (scan->sample.is_open)
		return sfs_asprintf(
			"sample '%.*s' at byte %llu and the rest are left out", n_key,
			key, start);
	return sfs_strdup("the rest of the shard is left out");
}

/* Damage was found, perhaps again: by another stretch that looks at that byte, or by the
 * whole shard.  The shard is locked. */
static void note_damage(struct sfs_shards *s, struct sfs_shard *shard)
{
	const struct sfs_scan *scan = &shard->growth->scan;
	struct sfs_shard *whole = shard->part.whole ? shard->part.whole : shard;
	sfs_autofree char *then = NULL;

	if (atomic_exchange(&whole->noted, scan->pos + 1) == scan->pos + 1)
		return;
	if (s->skip_damaged)
		then = say_skipped(scan);
	else
		/* (A reader that takes errors as warnings does not come back.) */
		then = sfs_asprintf("streams get EIO there, and a reader that goes on "
				    "after errors ends its epoch early; on-error=skip "
				    "%s: shufflefs mount -o on-error=skip",
				    scan->lacks_end ? "keeps all samples"
						    : "leaves it out");
	sfs_ledger_add(s->skip_damaged ? SFS_EVENT_SKIP : SFS_EVENT_LOST, shard->name,
		       scan->pos, then, "%s", scan->error.text);
}

void sfs_shard_sum_up(struct sfs_shard *shard)
{
	const struct sfs_sample_table *table = &shard->growth->table;

	shard->n_samples = sfs_sample_table_n(table);
	shard->sample_bytes = sfs_sample_table_place(table, shard->n_samples);
	shard->has_totals = true;
}

/* The scan has come to an end, good or bad.  The shard is locked. */
static void end_growth(struct sfs_shards *s, struct sfs_shard *shard)
{
	struct sfs_growth *g = shard->growth;

	if (g->has_stopped)
		g->scan.err = 0; /* damage behind a stretch is not its own */
	if (g->scan.err < 0 && !g->is_noted &&
	    !(shard->part.set && atomic_load(&shard->part.set->is_wrong)))
		note_damage(s, shard);
	sfs_scan_done(&g->scan);
	if (g->scan.err < 0 && !s->skip_damaged) {
		shard->is_damaged = true;
		sfs_sample_table_end(&g->table, SFS_SAMPLE_TABLE_DAMAGED);
		return;
	}
	sfs_sample_table_end(&g->table, SFS_SAMPLE_TABLE_WHOLE);
	sfs_shard_sum_up(shard);
	atomic_fetch_add(&s->n_seen, shard->n_samples);
	atomic_fetch_add(&s->seen_bytes, shard->sample_bytes);
	if (s->indexes && !s->saves_members && !shard->part.whole &&
	    g->scan.err == 0) /* (a shard with skipped damage must be scanned again) */
		sfs_index_finder_keep(s->indexes, shard->object, &g->table, NULL);
}

void sfs_shard_note_memory(struct sfs_shards *s, struct sfs_growth *g)
{
	uint64_t bytes = sfs_sample_table_memory(sfs_sample_table_n(&g->table));

	if (bytes <= g->counted_bytes)
		return;
	sfs_account_hold(&s->account, bytes - g->counted_bytes, UINT64_MAX);
	g->counted_bytes = bytes;
}

uint64_t sfs_shard_feed(struct sfs_shards *s, struct sfs_shard *shard, uint64_t offset,
			const void *bytes, size_t n)
{
	struct feeding f = {s, shard, offset, n, bytes};
	struct sfs_growth *g;
	bool has_ended = false;
	uint64_t wanted;

	pthread_mutex_lock(&shard->lock);
	g = shard->growth;
	wanted = sfs_growth_wanted(g);
	if (wanted < SFS_WANTED_LATER) {
		if (shard->part.set)
			atomic_fetch_add_explicit(&shard->part.set->n_feeds, 1,
						  memory_order_relaxed);
		if (g->is_searching)
			sfs_stretch_search(s, shard, offset, bytes, n);
		if (!g->is_searching && !g->has_stopped)
			feed_scan(&f, offset, bytes, n);
		if (!g->is_searching && shard->part.whole && g->scan.err < 0 &&
		    !g->has_stopped)
			sfs_stretch_check_damage(shard);
		wanted = sfs_growth_wanted(g);
		has_ended = wanted == UINT64_MAX;
		if (has_ended)
			end_growth(s, shard);
		sfs_shard_note_memory(s, g);
	}
	pthread_mutex_unlock(&shard->lock);
	if (has_ended && shard->part.whole)
		sfs_shard_adopt_stretches(s, shard);
	return wanted;
}

/* ---- stretches ---- */

void sfs_shard_init_stretch(struct sfs_shard *shard, uint32_t index,
			    struct sfs_shard *whole, uint64_t begin, uint64_t end)
{
	*shard = (struct sfs_shard){.index = index,
				    .name = whole->name,
				    .folder = whole->folder,
				    .object = whole->object,
				    .part = {.whole = whole,
					     .begin = begin,
					     .end = end,
					     .first = SFS_NOT_FOUND,
					     .stop = SFS_NOT_FOUND},
				    .said_bytes = UINT64_MAX,
				    .said_samples = UINT64_MAX};
	sfs_lock_init(&shard->lock, SFS_LOCK_SHARD);
}

void sfs_shard_done_stretch(struct sfs_shards *s, struct sfs_shard *shard)
{
	assert(shard->n_pins == 0);
	pthread_rwlock_rdlock(&s->drop_lock); /* so nobody drops the table now */
	pthread_mutex_lock(&s->lru_lock);
	sfs_link_remove(&shard->lru);
	pthread_mutex_unlock(&s->lru_lock);
	drop_growth(s, shard);
	pthread_rwlock_unlock(&s->drop_lock);
	pthread_mutex_destroy(&shard->lock);
	*shard = (struct sfs_shard){0};
}

bool sfs_stretch_meets_next(const struct sfs_shard *stretch)
{
	const struct sfs_shard *next = stretch->part.next;
	uint64_t stop = atomic_load(&stretch->part.stop);

	return stop != SFS_NOT_FOUND && (!next || stop == atomic_load(&next->part.first));
}

bool sfs_stretch_waits(struct sfs_shard *stretch)
{
	bool waits;

	pthread_mutex_lock(&stretch->lock);
	waits = stretch->growth && stretch->growth->is_waiting;
	pthread_mutex_unlock(&stretch->lock);
	return waits;
}

void sfs_stretch_catch_up(struct sfs_shards *s, struct sfs_shard *stretch)
{
	const struct sfs_sample_table *whole;
	bool has_ended;

	pthread_rwlock_rdlock(&s->drop_lock);
	whole = sfs_shard_table(stretch->part.whole);
	pthread_mutex_lock(&stretch->lock);
	has_ended = whole && sfs_stretch_take_whole(stretch, whole);
	if (has_ended) {
		end_growth(s, stretch);
		sfs_shard_note_memory(s, stretch->growth);
	}
	pthread_mutex_unlock(&stretch->lock);
	pthread_rwlock_unlock(&s->drop_lock);
	if (has_ended)
		sfs_shard_adopt_stretches(s, stretch);
}

/* ---- what is known ---- */

bool sfs_shard_totals(struct sfs_shard *shard, uint64_t *ret_n, uint64_t *ret_bytes)
{
	bool has;

	pthread_mutex_lock(&shard->lock);
	has = shard->has_totals;
	*ret_n = shard->n_samples;
	*ret_bytes = shard->sample_bytes;
	pthread_mutex_unlock(&shard->lock);
	return has;
}

const struct sfs_sample_table *sfs_shards_table(void *ctx, uint32_t shard)
{
	struct sfs_shards *s = ctx;

	return sfs_shard_table(&s->shards[shard]);
}

uint64_t *sfs_shards_sizes(const struct sfs_shards *s)
{
	uint64_t *sizes = sfs_calloc(s->n, sizeof *sizes);
	uint32_t i;

	for (i = 0; i < s->n; i++)
		sizes[i] = s->shards[i].object->size;
	return sizes;
}

uint64_t sfs_shards_size(void *ctx, uint32_t shard)
{
	struct sfs_shards *s = ctx;

	return s->shards[shard].object->size;
}

bool sfs_shards_totals(void *ctx, uint32_t shard, uint64_t *ret_n, uint64_t *ret_bytes)
{
	struct sfs_shards *s = ctx;

	return sfs_shard_totals(&s->shards[shard], ret_n, ret_bytes);
}

bool sfs_shards_sum(struct sfs_shards *s, const struct sfs_order *order,
		    uint64_t *ret_bytes)
{
	uint64_t n_samples, n_bytes, sum = 0, i;

	if (order->has_equal_lanes) {
		*ret_bytes = order->n_bytes;
		return true;
	}
	for (i = 0; i < sfs_order_slices(order); i++) {
		n_bytes = (uint64_t)order->slices[i].n_blocks * SFS_TAR_BLOCK;
		if (order->slices[i].n == SFS_SLICE_ALL &&
		    !sfs_shards_totals(s, order->slices[i].shard, &n_samples, &n_bytes))
			return false;
		sum += n_bytes;
	}
	*ret_bytes = sum;
	return true;
}

bool sfs_shard_is_damaged(struct sfs_shard *shard)
{
	bool is_damaged;

	pthread_mutex_lock(&shard->lock);
	is_damaged = shard->is_damaged;
	pthread_mutex_unlock(&shard->lock);
	return is_damaged;
}

bool sfs_shards_damaged(struct sfs_shards *s, const struct sfs_order *order)
{
	bool is_damaged = false;
	uint64_t i;

	if (sfs_order_is_single(order)) { /* it may have samples of them all */
		for (i = 0; i < s->n && !is_damaged; i++)
			is_damaged = sfs_shard_is_damaged(&s->shards[i]);
		return is_damaged;
	}
	for (i = 0; i < sfs_order_slices(order) && !is_damaged; i++)
		is_damaged = sfs_shard_is_damaged(&s->shards[order->slices[i].shard]);
	return is_damaged;
}

void sfs_shards_drop_unused(struct sfs_shards *s)
{
	while (sfs_shards_drop_oldest(s))
		;
}
