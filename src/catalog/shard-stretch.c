/* SPDX-License-Identifier: MIT */
/* How this works: the first sample of a stretch is looked for from some bytes before the
 * cut on.  How many, the first bytes of the shard tell, which are looked at before.  If
 * these, or those before the cut, show that members hold what looks like headers, the
 * search begins anew at the start of the shard, which takes longer and is sure; so do all
 * later searches in that shard.
 *
 * From its first sample on a stretch is scanned like a shard, up to the first sample
 * behind it.  The next stretch must begin with that one.  Damage may mean that the first
 * sample was none: it counts when a search from the start of the shard has found the same
 * one. */
#include "base/ledger.h"
#include "base/log.h"
#include "catalog/shard-internal.h"

#define LOOK_BYTES    ((uint64_t)16 << 10) /* at the start of a shard */
#define LOOK_BACK_MIN ((uint64_t)64 << 10)
#define LOOK_BACK_MAX ((uint64_t)32 << 20)
#define LOOK_BACK     ((uint64_t)128 << 10) /* while nothing is known */

/* ---- where it begins and ends ---- */

/* A stretch was taken to begin where no sample does. */
static void fail_set(const struct sfs_shard *stretch)
{
	atomic_store(&stretch->part.whole->has_hidden, true);
	atomic_store(&stretch->part.set->shards->was_wrong, true);
	if (atomic_exchange(&stretch->part.set->is_wrong, true))
		return;
	sfs_ledger_add(SFS_EVENT_LOST, stretch->name, atomic_load(&stretch->part.first),
		       "readers of this epoch get EIO: open it again",
		       "a member holds what looks like a tar: a sample was taken to begin "
		       "here, but none does");
}

/* Two neighbours have each found where one ends and the other begins: is it one place? */
static void compare(const struct sfs_shard *before, const struct sfs_shard *next)
{
	uint64_t stop, first;

	if (!before || !next)
		return;
	stop = atomic_load(&before->part.stop);
	first = atomic_load(&next->part.first);
	if (stop != SFS_NOT_FOUND && first != SFS_NOT_FOUND && stop != first)
		fail_set(next);
}

static void set_first(struct sfs_shard *shard, uint64_t first)
{
	shard->growth->from = first;
	atomic_store(&shard->part.first, first);
	compare(shard->part.before, shard);
}

/* Unless it has found its first sample by itself, it is this one. */
static void know_first(struct sfs_shard *stretch, uint64_t first)
{
	uint64_t unknown = SFS_NOT_FOUND;

	if (atomic_compare_exchange_strong(&stretch->part.first, &unknown, first))
		compare(stretch->part.before, stretch);
}

/* No sample starts behind `before` and before `first`: stretches that begin there need no
 * search of their own.  (There may be many in a long sample.) */
static void share_first(const struct sfs_shard *shard, uint64_t before, uint64_t first)
{
	struct sfs_shard *other;

	for (other = shard->part.next; other && other->part.begin <= first;
	     other = other->part.next)
		know_first(other, first);
	for (other = shard->part.before; other && other->part.begin > before;
	     other = other->part.before)
		know_first(other, first);
}

static void set_stop(struct sfs_shard *shard, uint64_t stop)
{
	shard->growth->has_stopped = true;
	atomic_store(&shard->part.stop, stop);
	compare(shard, shard->part.next);
	share_first(shard, shard->part.end, stop);
}

bool sfs_stretch_ends_before(struct sfs_shard *shard, uint64_t start)
{
	if (start < shard->part.end)
		return false;
	if (!shard->growth->has_stopped)
		set_stop(shard, start);
	return true;
}

void sfs_stretch_end(struct sfs_shard *shard)
{
	if (!shard->growth->has_stopped)
		set_stop(shard, sfs_tar_padded(shard->object->size));
}

/* ---- the search ---- */

static void search_from(struct sfs_shard *shard, uint64_t offset)
{
	struct sfs_growth *g = shard->growth;

	g->searched = offset;
	g->is_searching = true;
	sfs_resync_done(&g->resync);
	sfs_resync_init(&g->resync, shard->object->size, offset, shard->part.begin);
}

/* `back` bytes before the cut, or at the start of the shard. */
static uint64_t before_cut(const struct sfs_shard *shard, uint64_t back)
{
	uint64_t begin = shard->part.begin;

	back = sfs_tar_padded(back);
	return begin > back ? begin - back : 0;
}

/* How far before a cut a search begins: a member should fit in. */
static uint64_t look_back(const struct sfs_shards *s, const struct sfs_shard *shard)
{
	uint64_t n = atomic_load(&s->longest_sample),
		 member = atomic_load(&shard->part.whole->longest_member);

	n = n > member ? n : member;
	if (n == 0)
		return LOOK_BACK;
	n += n / 2;
	return n < LOOK_BACK_MIN ? LOOK_BACK_MIN : n > LOOK_BACK_MAX ? LOOK_BACK_MAX : n;
}

/* Begin.  The bytes before the cut are fetched in any case. */
static void begin_search(const struct sfs_shards *s, struct sfs_shard *shard)
{
	struct sfs_growth *g = shard->growth;
	const struct sfs_shard *whole = shard->part.whole;

	g->from = before_cut(shard, look_back(s, shard));
	g->is_looking = !atomic_load(&whole->was_looked_at);
	search_from(shard,
		    g->is_looking || atomic_load(&whole->has_hidden) ? 0 : g->from);
}

static void begin_scan(struct sfs_shard *shard, uint64_t first, bool is_sure)
{
	shard->growth->is_searching = false;
	shard->growth->is_sure = is_sure;
	shard->growth->scan.pos = first;
	set_first(shard, first);
	if (first >= shard->part.end)
		set_stop(shard, first);
}

/* Its first sample was found. */
static void end_found(struct sfs_shard *shard)
{
	const struct sfs_resync *r = &shard->growth->resync;

	share_first(shard, r->before, r->start);
	begin_scan(shard, r->start, shard->growth->searched == 0);
}

/* No sample starts from the cut on. */
static void end_search(struct sfs_shard *shard)
{
	shard->growth->is_searching = false;
	set_first(shard, sfs_tar_padded(shard->object->size));
	sfs_stretch_end(shard);
}

/* The shard is damaged before the cut. */
static void fail_search(struct sfs_shard *shard)
{
	struct sfs_growth *g = shard->growth;

	g->is_searching = g->is_checking = false;
	g->is_sure = true;
	g->scan.err = g->resync.scan.err;
	g->scan.pos = g->resync.scan.pos;
	sfs_error_set(&g->scan.error, g->scan.err, "%s", g->resync.scan.error.text);
}

/* The first bytes of the shard were looked at.  Unless something is hidden there, or the
 * cut is near, the search goes on before the cut. */
static void end_look(const struct sfs_shards *s, struct sfs_shard *shard)
{
	struct sfs_growth *g = shard->growth;
	struct sfs_shard *whole = shard->part.whole;

	g->is_looking = false;
	atomic_store(&whole->longest_member, g->resync.longest);
	if (g->resync.has_hidden)
		atomic_store(&whole->has_hidden, true);
	atomic_store(&whole->was_looked_at, true);
	if (g->resync.state == SFS_RESYNC_READING && !atomic_load(&whole->has_hidden))
		search_from(shard, before_cut(shard, look_back(s, shard)));
}

/* Damage was found, and then where the first sample is. */
static void end_check(struct sfs_shard *shard)
{
	struct sfs_growth *g = shard->growth;

	g->is_searching = g->is_checking = false;
	g->is_sure = g->resync.state == SFS_RESYNC_FOUND &&
		     g->resync.start == atomic_load(&shard->part.first);
	if (!g->is_sure)
		fail_set(shard);
}

void sfs_stretch_check_damage(struct sfs_shard *shard)
{
	struct sfs_growth *g = shard->growth;

	if (g->is_sure || atomic_load(&shard->part.set->is_wrong))
		return;
	g->is_checking = true;
	search_from(shard, 0);
}

/* What was found may lie within a member: search from the start of the shard. */
static void search_from_start(struct sfs_shard *shard)
{
	if (!atomic_exchange(&shard->part.whole->has_hidden, true))
		sfs_info(
			"%s: a member holds what looks like a tar: headers are read from "
			"the start of the shard",
			shard->name);
	search_from(shard, 0);
}

/* Begin where another search, in a stretch nearby, has found that it begins. */
static void begin_at(struct sfs_shard *shard, uint64_t first)
{
	if (first < sfs_tar_padded(shard->object->size))
		begin_scan(shard, first, shard->part.begin == 0);
	else
		end_search(shard);
}

/* Has another search found it meanwhile?  (Where something is hidden, nobody relies on
 * that.) */
static bool is_found(const struct sfs_shard *shard)
{
	const struct sfs_growth *g = shard->growth;

	return !g->is_looking && !g->is_checking &&
	       !atomic_load(&shard->part.whole->has_hidden) &&
	       atomic_load(&shard->part.first) != SFS_NOT_FOUND;
}

void sfs_stretch_search(const struct sfs_shards *s, struct sfs_shard *shard,
			uint64_t offset, const void *bytes, size_t n)
{
	struct sfs_growth *g = shard->growth;
	struct sfs_resync *r = &g->resync;
	uint64_t wanted;

	if (is_found(shard)) {
		begin_at(shard, atomic_load(&shard->part.first));
		return;
	}
	wanted = sfs_resync_feed(r, offset, bytes, n);
	if (g->is_looking && wanted >= LOOK_BYTES)
		end_look(s, shard);
	if (r->has_hidden && g->searched > 0) {
		search_from_start(shard);
		return;
	}
	switch (r->state) {
	case SFS_RESYNC_READING: break;
	case SFS_RESYNC_LOST: fail_search(shard); break;
	case SFS_RESYNC_LATE:
		search_from(shard,
			    before_cut(shard, 2 * (shard->part.begin - g->searched)));
		break;
	case SFS_RESYNC_FOUND:
	case SFS_RESYNC_NONE:
		if (g->is_checking)
			end_check(shard);
		else if (r->state == SFS_RESYNC_FOUND)
			end_found(shard);
		else
			end_search(shard);
	}
}

/* ---- its growth ---- */

/* The samples of its shard's table from i to end - 1. */
static void copy(struct sfs_sample_table *to, const struct sfs_sample_table *whole,
		 uint64_t i, uint64_t end)
{
	struct sfs_extent extent;

	if (atomic_load(&whole->is_unverified))
		sfs_sample_table_set_unverified(to);
	for (; i < end; i++) {
		extent = sfs_sample_table_extent(whole, i);
		sfs_sample_table_add(to, &extent);
	}
}

static void copy_from_whole(struct sfs_shard *shard, const struct sfs_sample_table *whole)
{
	uint64_t n = sfs_sample_table_n(whole);
	uint64_t i = sfs_sample_table_from(whole, n, shard->part.begin);
	uint64_t end = sfs_sample_table_from(whole, n, shard->part.end);
	uint64_t shard_end = sfs_tar_padded(shard->object->size);

	set_first(shard, shard->part.begin == 0 ? 0
			 : i < n		? sfs_sample_table_start(whole, i)
						: shard_end);
	set_stop(shard, end < n ? sfs_sample_table_start(whole, end) : shard_end);
	copy(&shard->growth->table, whole, i, end);
	sfs_sample_table_end(&shard->growth->table, SFS_SAMPLE_TABLE_WHOLE);
}

bool sfs_stretch_begin(const struct sfs_shards *s, struct sfs_shard *shard,
		       const struct sfs_sample_table *whole)
{
	uint64_t first = atomic_load(&shard->part.first);

	if (whole && sfs_sample_table_state(whole) == SFS_SAMPLE_TABLE_WHOLE) {
		copy_from_whole(shard, whole);
		return true;
	}
	if (shard->part.begin == 0)
		first = 0;
	if (first == SFS_NOT_FOUND)
		begin_search(s, shard);
	else
		begin_at(shard, first);
	if (shard->growth->has_stopped)
		sfs_sample_table_end(&shard->growth->table, SFS_SAMPLE_TABLE_WHOLE);
	return shard->growth->has_stopped;
}
