/* SPDX-License-Identifier: MIT */
/* How this works: the first sample of a stretch is looked for from some bytes before the
 * cut on.  The first bytes of the shard are looked at before.  If these, or those before
 * the cut, or the beginning of any member that was read, show that members hold what
 * looks like headers, nothing is guessed in the dataset any more: stretches wait until
 * somebody has scanned their shard so far, once for all of them, and take what they have
 * of its table.
 *
 * From its first sample on a stretch is scanned like a shard, up to the first sample
 * behind it.  The next stretch must begin with that one.  So a stretch is sure where all
 * before it were read.  Damage may mean that the first sample was none: it counts when
 * that is sure. */
#include "base/ledger.h"
#include "catalog/shard-internal.h"

#include <errno.h>

#define LOOK_BACK_MIN ((uint64_t)32 << 10)
#define LOOK_BACK_MAX ((uint64_t)32 << 20)
#define LOOK_BACK     ((uint64_t)128 << 10) /* while nothing is known */

/* ---- where it begins and ends ---- */

/* A stretch was taken to begin where no sample does. */
static void fail_set(const struct sfs_shard *stretch)
{
	atomic_store(&stretch->part.set->shards->has_hidden, true);
	atomic_store(&stretch->part.set->shards->was_wrong, true);
	if (atomic_exchange(&stretch->part.set->is_wrong, true))
		return;
	sfs_ledger_add(
		SFS_EVENT_LOST, stretch->name, atomic_load(&stretch->part.first),
		"readers of this epoch get EIO: open it again, or run "
		"'shufflefs index' before",
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
	first = atomic_load(&before->part.first);
	if (stop == SFS_NOT_FOUND && first >= next->part.begin)
		stop = first; /* it has no sample */
	first = atomic_load(&next->part.first);
	if (stop != SFS_NOT_FOUND && first != SFS_NOT_FOUND && stop != first)
		fail_set(next);
}

static void set_first(struct sfs_shard *shard, uint64_t first)
{
	atomic_store(&shard->part.first, first);
	compare(shard->part.before, shard);
	compare(shard, shard->part.next);
}

/* The same, of which its shard's headers say that it is so. */
static void set_sure_first(struct sfs_shard *shard, uint64_t first)
{
	uint64_t guessed = atomic_load(&shard->part.first);

	if (guessed != SFS_NOT_FOUND && guessed != first) {
		fail_set(shard);
		return;
	}
	set_first(shard, first);
	atomic_store(&shard->part.is_sure, true);
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

bool sfs_stretch_is_sure(struct sfs_shard *stretch)
{
	const struct sfs_shard *at = stretch, *before;
	uint64_t first;

	for (; at->part.begin > 0 && !atomic_load(&at->part.is_sure); at = before) {
		before = at->part.before;
		first = atomic_load(&at->part.first);
		if (!before || first == SFS_NOT_FOUND ||
		    atomic_load(&before->part.stop) != first)
			return false;
	}
	if (stretch->part.begin > 0)
		atomic_store(&stretch->part.is_sure, true);
	return true;
}

/* ---- the search ---- */

/* Nothing is guessed here: the table of the shard will say where it begins. */
static void wait_for_whole(struct sfs_shard *shard)
{
	shard->growth->is_searching = shard->growth->is_waiting = true;
	shard->growth->is_looking = false;
	sfs_resync_done(&shard->growth->resync);
	atomic_fetch_add(&shard->part.set->n_waits, 1);
}

static void search_from(struct sfs_shard *shard, uint64_t offset, uint64_t end)
{
	struct sfs_growth *g = shard->growth;

	g->searched = offset;
	g->search_end = end;
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

/* How far before a cut a search begins: most samples fit in. */
static uint64_t look_back(const struct sfs_shards *s, const struct sfs_shard *shard)
{
	uint64_t n = atomic_load(&s->n_seen);

	n = n > 0 ? atomic_load(&s->seen_bytes) / n
		  : 3 * atomic_load(&shard->part.whole->longest_member) / 2;
	if (n == 0)
		return LOOK_BACK;
	return n < LOOK_BACK_MIN ? LOOK_BACK_MIN : n > LOOK_BACK_MAX ? LOOK_BACK_MAX : n;
}

static void search_before_cut(const struct sfs_shards *s, struct sfs_shard *shard)
{
	search_from(shard, before_cut(shard, look_back(s, shard)), shard->part.begin);
}

/* What lies before the cut is requested for the search alone, and then what follows from
 * the first sample on.  But when nothing is known yet, a reader waits for the first
 * stretches: all is requested at once, and kept. */
static void begin_search(struct sfs_shards *s, struct sfs_shard *shard)
{
	struct sfs_growth *g = shard->growth;

	g->from = shard->part.begin;
	if (atomic_load(&s->has_hidden)) {
		wait_for_whole(shard);
		return;
	}
	if (atomic_load(&s->n_seen) == 0)
		g->from = before_cut(shard, look_back(s, shard));
	g->is_looking = !atomic_load(&shard->part.whole->was_looked_at);
	if (g->is_looking)
		search_from(shard, 0, SFS_STRETCH_LOOK_BYTES);
	else
		search_before_cut(s, shard);
}

uint64_t sfs_stretch_wanted_end(const struct sfs_growth *g)
{
	uint64_t wanted = sfs_growth_wanted(g);

	if (wanted >= SFS_WANTED_LATER)
		return wanted;
	return wanted < g->search_end ? g->search_end : wanted + SFS_HEADER_BYTES;
}

/* The first sample begins there; or, at the end of the shard, there is none. */
static void begin_scan(struct sfs_shard *shard, uint64_t first)
{
	shard->growth->is_searching = false;
	shard->growth->scan.pos = shard->growth->from = first;
	if (first >= shard->part.end && !shard->growth->has_stopped)
		set_stop(shard, first);
}

/* It was found.  (By now its shard may have been scanned, and say otherwise.) */
static void end_search(struct sfs_shard *shard, uint64_t first)
{
	if (atomic_load(&shard->part.is_sure))
		first = atomic_load(&shard->part.first);
	set_first(shard, first);
	if (shard->growth->searched == 0)
		atomic_store(&shard->part.is_sure, true);
	begin_scan(shard, first);
}

/* The same; other stretches may begin with that sample, too. */
static void end_found(struct sfs_shard *shard, uint64_t first)
{
	share_first(shard, shard->growth->resync.before, first);
	end_search(shard, first);
}

/* The shard is damaged before the cut. */
static void fail_search(struct sfs_shard *shard)
{
	struct sfs_growth *g = shard->growth;

	g->is_searching = false;
	g->scan.err = g->resync.scan.err;
	g->scan.pos = g->resync.scan.pos;
	sfs_error_set(&g->scan.error, g->scan.err, "%s", g->resync.scan.error.text);
}

/* The first bytes of the shard were looked at.  Unless something is hidden there, or the
 * cut is near, the search goes on before the cut. */
static void end_look(struct sfs_shards *s, struct sfs_shard *shard)
{
	struct sfs_growth *g = shard->growth;
	struct sfs_shard *whole = shard->part.whole;

	g->is_looking = false;
	atomic_store(&whole->longest_member, g->resync.longest);
	atomic_store(&whole->was_looked_at, true);
	if (g->resync.has_hidden)
		sfs_shards_note_hidden(s, shard->name);
	if (g->resync.state != SFS_RESYNC_READING)
		return;
	if (atomic_load(&s->has_hidden))
		wait_for_whole(shard);
	else
		search_before_cut(s, shard);
}

void sfs_stretch_check_damage(struct sfs_shard *shard)
{
	if (atomic_load(&shard->part.first) == SFS_NOT_FOUND)
		return; /* the search came from the start */
	if (sfs_stretch_is_sure(shard) || atomic_load(&shard->part.set->is_wrong))
		return;
	shard->growth->is_checking = true;
	wait_for_whole(shard);
}

/* Has another search, in a stretch nearby, found where this one begins? */
static bool is_found(const struct sfs_shard *shard)
{
	return !shard->growth->is_looking &&
	       atomic_load(&shard->part.first) != SFS_NOT_FOUND;
}

void sfs_stretch_search(struct sfs_shards *s, struct sfs_shard *shard, uint64_t offset,
			const void *bytes, size_t n)
{
	struct sfs_growth *g = shard->growth;
	struct sfs_resync *r = &g->resync;
	uint64_t wanted;

	if (!g->is_waiting && !g->is_looking && atomic_load(&s->has_hidden))
		wait_for_whole(shard);
	if (g->is_waiting)
		return;
	if (is_found(shard)) {
		begin_scan(shard, atomic_load(&shard->part.first));
		return;
	}
	wanted = sfs_resync_feed(r, offset, bytes, n);
	if (r->state == SFS_RESYNC_READING && !g->is_looking)
		g->from = sfs_resync_from(r);
	if (g->is_looking && wanted >= SFS_STRETCH_LOOK_BYTES)
		end_look(s, shard);
	if (g->is_waiting)
		return;
	if (r->has_hidden && g->searched > 0) { /* it may be one that was found */
		sfs_shards_note_hidden(s, shard->name);
		wait_for_whole(shard);
		return;
	}
	switch (r->state) {
	case SFS_RESYNC_READING: break;
	case SFS_RESYNC_LOST: fail_search(shard); break;
	case SFS_RESYNC_LATE:
		search_from(shard,
			    before_cut(shard, 2 * (shard->part.begin - g->searched)),
			    g->searched);
		break;
	case SFS_RESYNC_FOUND: end_found(shard, r->start); break;
	case SFS_RESYNC_NONE:
		end_found(shard, sfs_tar_padded(shard->object->size));
		break;
	}
}

/* ---- what its shard says ---- */

/* Does the table of the shard know of all samples that start before `offset`? */
static bool covers(const struct sfs_sample_table *whole, uint64_t offset)
{
	enum sfs_sample_table_state state = sfs_sample_table_state(whole);
	uint64_t n = sfs_sample_table_n(whole);

	return state == SFS_SAMPLE_TABLE_WHOLE ||
	       (n > 0 && sfs_sample_table_start(whole, n - 1) >= offset);
}

/* The start of the first sample from `offset` on, which it covers. */
static uint64_t first_from(const struct sfs_shard *shard,
			   const struct sfs_sample_table *whole, uint64_t offset)
{
	uint64_t n = sfs_sample_table_n(whole),
		 i = sfs_sample_table_from(whole, n, offset);

	return i < n ? sfs_sample_table_start(whole, i)
		     : sfs_tar_padded(shard->object->size);
}

/* The stretch gets what the table of its shard has of it. */
static void copy(struct sfs_shard *shard, const struct sfs_sample_table *whole)
{
	struct sfs_sample_table *to = &shard->growth->table;
	uint64_t n = sfs_sample_table_n(whole);
	uint64_t i = sfs_sample_table_from(whole, n, shard->part.begin);
	uint64_t end = sfs_sample_table_from(whole, n, shard->part.end);
	struct sfs_extent extent;

	if (atomic_load(&whole->is_unverified))
		sfs_sample_table_set_unverified(to);
	for (; i < end; i++) {
		extent = sfs_sample_table_extent(whole, i);
		sfs_sample_table_add(to, &extent);
	}
}

/* The table of its shard ends with damage, which the ledger has: so does its own. */
static void end_with_damage(struct sfs_shard *shard)
{
	struct sfs_growth *g = shard->growth;

	g->is_noted = true;
	if (g->scan.err == 0)
		g->scan.err = -EBADMSG;
}

/* All that it waits for is there. */
static void take_samples(struct sfs_shard *shard, const struct sfs_sample_table *whole)
{
	copy(shard, whole);
	if (covers(whole, shard->part.end))
		set_stop(shard, first_from(shard, whole, shard->part.end));
	else
		end_with_damage(shard);
}

bool sfs_stretch_take_whole(struct sfs_shard *shard, const struct sfs_sample_table *whole)
{
	struct sfs_growth *g = shard->growth;
	bool is_damaged = sfs_sample_table_state(whole) == SFS_SAMPLE_TABLE_DAMAGED;

	if (shard->part.begin > 0 && covers(whole, shard->part.begin))
		set_sure_first(shard, first_from(shard, whole, shard->part.begin));
	if (!g || !g->is_waiting)
		return false;
	if (!is_damaged &&
	    !covers(whole, g->is_checking ? shard->part.begin : shard->part.end))
		return false;
	g->is_searching = g->is_waiting = false;
	if (!g->is_checking)
		take_samples(shard, whole);
	else if (is_damaged)
		end_with_damage(shard);
	g->is_checking = false;
	return true;
}

/* ---- its growth ---- */

void sfs_stretch_begin(struct sfs_shards *s, struct sfs_shard *shard,
		       const struct sfs_sample_table *whole)
{
	uint64_t first = shard->part.begin == 0 ? 0 : atomic_load(&shard->part.first);

	if (whole && covers(whole, shard->part.end)) {
		if (shard->part.begin > 0)
			first = first_from(shard, whole, shard->part.begin);
		set_sure_first(shard, first);
		shard->growth->from = first;
		take_samples(shard, whole);
		return;
	}
	if (first == SFS_NOT_FOUND) {
		begin_search(s, shard);
	} else {
		set_first(shard, first);
		begin_scan(shard, first);
	}
	if (whole && shard->growth->is_waiting)
		sfs_stretch_take_whole(shard, whole);
}
