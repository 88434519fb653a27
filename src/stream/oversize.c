/* SPDX-License-Identifier: MIT */
/* How this works: a hole is one grab, of at most HOLE_BYTES; the holes of an edited
 * sample share one walk, and are here when both their grab and the walk have ended.
 *
 * Grabs and walks end on other threads; they are queued under `arrived_lock` and taken
 * with the stream's lock held. */
#include "stream/oversize.h"

#include "base/alloc.h"
#include "base/lock.h"
#include "io/header-patch.h"

#define HOLE_BYTES SFS_RANGE_MAX

enum state { WAITING, FETCHING, READY };

/* The edits of a sample; shared by its holes. */
struct edits {
	struct sfs_header_patch walk;
	struct sfs_oversize *holes;
	int n_users; /* holes, and 1 while it walks */
	enum state state;
	int err;
	struct sfs_deferred_call job; /* to begin */
	struct sfs_link link;	      /* in arrived_edits */
};

struct sfs_oversize_piece {
	struct sfs_range grab;
	struct sfs_oversize *holes;
	struct edits *edits; /* NULL: none */
	uint64_t at;	     /* of the piece, from the sample's start */
	enum state state;
	bool is_fetched; /* the grab has ended; perhaps the edits have not */
	bool has_failed; /* only a waiting reader asks anew */
	bool is_orphan;	 /* its entry is gone */
	int err;
	_Atomic uint64_t begun_ns;    /* see sfs_request */
	struct sfs_deferred_call job; /* to begin */
	struct sfs_link link;	      /* in arrived */
};

void sfs_oversize_init(struct sfs_oversize *h, struct sfs_runtime *runtime,
		       struct sfs_account *account, struct sfs_extent_map *entries,
		       const struct sfs_oversize_owner *owner)
{
	*h = (struct sfs_oversize){.runtime = runtime,
				   .account = account,
				   .entries = entries,
				   .owner = *owner};
	sfs_lock_init(&h->arrived_lock, SFS_LOCK_OVERSIZE);
	sfs_list_init(&h->arrived);
	sfs_list_init(&h->arrived_edits);
}

void sfs_oversize_done(struct sfs_oversize *h)
{
	pthread_mutex_destroy(&h->arrived_lock);
}

uint64_t sfs_oversize_window(const struct sfs_oversize *h)
{
	uint64_t n = sfs_account_share(h->account) / 4;

	return n < 2 * HOLE_BYTES ? 2 * HOLE_BYTES : n;
}

/* ---- arrivals, on other threads ---- */

static void arrive(struct sfs_oversize *h, struct sfs_link *list, struct sfs_link *link)
{
	/* With the lock held: once it is taken from the list, all may go away. */
	pthread_mutex_lock(&h->arrived_lock);
	sfs_list_push(list, link);
	h->owner.wake(h->owner.ctx);
	pthread_mutex_unlock(&h->arrived_lock);
}

static void on_grab(struct sfs_range *grab, int err)
{
	struct sfs_oversize_piece *hole =
		sfs_container(grab, struct sfs_oversize_piece, grab);

	hole->err = err;
	arrive(hole->holes, &hole->holes->arrived, &hole->link);
}

static void on_walk(struct sfs_header_patch *walk, int err)
{
	struct edits *e = sfs_container(walk, struct edits, walk);

	e->err = err;
	arrive(e->holes, &e->holes->arrived_edits, &e->link);
}

/* ---- life of a hole ---- */

static struct edits *new_edits(struct sfs_oversize *h, const struct sfs_block_sample *s,
			       bool is_renamed)
{
	struct edits *e = sfs_calloc(1, sizeof *e);

	e->holes = h;
	e->walk = (struct sfs_header_patch){.shard = &h->runtime->shards.shards[s->shard],
					    .start = s->start,
					    .n_bytes = s->n_bytes,
					    .is_renamed = is_renamed,
					    .done = on_walk};
	return e;
}

static void drop_edits(struct edits *e)
{
	if (!e || --e->n_users > 0)
		return;
	sfs_header_patch_done(&e->walk);
	free(e);
}

static void free_hole(struct sfs_oversize_piece *hole)
{
	sfs_range_drop(&hole->grab);
	drop_edits(hole->edits);
	free(hole);
}

void sfs_oversize_append(struct sfs_oversize *h, uint32_t lane,
			 const struct sfs_block_sample *s, bool is_renamed)
{
	struct edits *edits =
		is_renamed || s->has_global ? new_edits(h, s, is_renamed) : NULL;
	struct sfs_oversize_piece *hole;
	uint64_t at, n;

	for (at = 0; at < s->n_bytes; at += n) {
		n = s->n_bytes - at < HOLE_BYTES ? s->n_bytes - at : HOLE_BYTES;
		hole = sfs_calloc(1, sizeof *hole);
		hole->holes = h;
		hole->at = at;
		hole->edits = edits;
		if (edits)
			edits->n_users++;
		hole->grab =
			(struct sfs_range){.shard = &h->runtime->shards.shards[s->shard],
					   .offset = s->start + at,
					   .n_bytes = n,
					   .is_told = s->is_told && at == 0,
					   .begun_ns = &hole->begun_ns,
					   .done = on_grab};
		sfs_extent_map_append(h->entries, lane, s->start + at, n)->hole = hole;
	}
}

void sfs_oversize_drop(struct sfs_oversize *h, struct sfs_oversize_piece *hole)
{
	if (hole->state != WAITING)
		h->n_bytes -= hole->grab.n_bytes;
	if (hole->state == FETCHING && !hole->is_fetched)
		hole->is_orphan = true; /* freed when the grab has ended */
	else
		free_hole(hole);
}

bool sfs_oversize_piece_is_here(const struct sfs_oversize_piece *hole)
{
	return hole->state == READY;
}

enum sfs_wait sfs_oversize_piece_wait(const struct sfs_oversize_piece *hole,
				      uint64_t *ret_since_ns)
{
	if (hole->state == WAITING)
		return SFS_WAIT_BUDGET;
	*ret_since_ns = atomic_load(&hole->begun_ns);
	return *ret_since_ns && !hole->is_fetched ? SFS_WAIT_NETWORK : SFS_WAIT_SOURCE;
}

void sfs_hole_explain(const struct sfs_oversize_piece *hole, struct sfs_cause *cause)
{
	const struct sfs_object *object = &hole->grab.shard->object;

	if (hole->state == WAITING)
		sfs_cause_set(cause, object->name, hole->grab.offset,
			      "memory for a large sample: budget= is used up");
	else if (hole->is_fetched)
		sfs_object_explain(object, hole->edits->walk.start,
				   "the headers of a large sample", cause);
	else
		sfs_object_explain(object, hole->grab.offset, "bytes", cause);
}

unsigned char *sfs_oversize_piece_at(const struct sfs_oversize_piece *hole, uint64_t at,
				     size_t *ret_n)
{
	return sfs_range_at(&hole->grab, at, ret_n);
}

void sfs_oversize_piece_gather(const struct sfs_oversize_piece *hole, uint64_t at,
			       uint64_t n, struct sfs_gather *g)
{
	const struct sfs_header_patch *walk = hole->edits ? &hole->edits->walk : NULL;
	size_t piece;

	if (hole->state != READY && walk) {
		sfs_gather_add_edited(g, walk->shard, walk->start, walk->n_bytes,
				      walk->is_renamed, hole->at + at, n);
		return;
	}
	if (hole->state != READY && hole->grab.is_told && at == 0) {
		sfs_gather_add_told(g, hole->grab.shard, hole->grab.offset, n);
		return;
	}
	if (hole->state != READY) {
		sfs_gather_add(g, hole->grab.shard, hole->grab.offset + at, n);
		return;
	}
	for (; n > 0; n -= piece, at += piece) {
		const void *p = sfs_range_at(&hole->grab, at, &piece);

		piece = piece < n ? piece : (size_t)n;
		sfs_gather_add_copy(g, p, piece);
	}
}

/* ---- fetching ---- */

static void begin_walk(struct sfs_deferred_call *job)
{
	struct edits *e = sfs_container(job, struct edits, job);

	sfs_header_patch_start(&e->holes->runtime->range_reader, &e->walk);
}

static void begin_grab(struct sfs_deferred_call *job)
{
	struct sfs_oversize_piece *hole =
		sfs_container(job, struct sfs_oversize_piece, job);

	sfs_range_start(&hole->holes->runtime->range_reader, &hole->grab,
			hole->holes->account);
}

/* A walk that failed stays failed until a piece is tried anew: by then every piece that
 * it was for has been told, or will be. */
static void reset_edits(struct edits *e)
{
	sfs_header_patch_done(&e->walk);
	e->walk.pos = 0;
	e->err = 0;
	e->state = WAITING;
}

static void start_edits(struct sfs_oversize *h, struct edits *e, struct sfs_deferred *out)
{
	if (e && e->state == READY && e->err < 0)
		reset_edits(e);
	if (!e || e->state != WAITING)
		return;
	e->state = FETCHING;
	e->n_users++;
	h->n_pending++;
	sfs_deferred_add(out, &e->job, begin_walk);
}

/* false: no memory. */
static bool start(struct sfs_oversize *h, struct sfs_oversize_piece *hole, bool is_needed,
		  struct sfs_deferred *out)
{
	if (sfs_account_take(h->account, sfs_range_cost(hole->grab.n_bytes)) < 0)
		return false;
	hole->state = FETCHING;
	hole->is_fetched = false;
	hole->has_failed = false;
	hole->err = 0;
	atomic_store(&hole->begun_ns, 0);
	hole->grab.is_urgent = is_needed;
	h->n_bytes += hole->grab.n_bytes;
	h->n_pending++;
	sfs_deferred_add(out, &hole->job, begin_grab);
	start_edits(h, hole->edits, out);
	return true;
}

/* Begin to fetch what the read needs.  false: there is no memory for all of it, and the
 * read does not wait here any more. */
static bool start_needed(struct sfs_oversize *h, const struct sfs_read *read,
			 struct sfs_deferred *out)
{
	const struct sfs_extent_map *l = h->entries;
	const struct sfs_mapped_extent *e;
	uint64_t i;

	if (read->offset >= l->end)
		return true;
	for (i = sfs_extent_map_find(l, read->offset); i < l->tail; i++) {
		e = sfs_extent_map_at(l, i);
		if (!sfs_mapped_extent_overlaps(e, read))
			break;
		if (e->hole && e->hole->state == WAITING &&
		    !start(h, e->hole, true, out) && h->owner.lack(h->owner.ctx, e, out))
			return false;
	}
	return true;
}

/* Fetch on, within the window ahead of the front. */
static void start_ahead(struct sfs_oversize *h, uint64_t front, struct sfs_deferred *out)
{
	const uint64_t window = sfs_oversize_window(h);
	const struct sfs_mapped_extent *e;
	uint64_t i;

	if (h->next < h->entries->head)
		h->next = h->entries->head;
	for (i = h->next; i < h->entries->tail && h->n_bytes < window; i++) {
		e = sfs_extent_map_at(h->entries, i);
		if (!e->hole || e->hole->state != WAITING) {
			h->next += i == h->next;
			continue;
		}
		if (e->offset + e->n_bytes <= front)
			continue; /* jumped over */
		if (e->hole->has_failed || !start(h, e->hole, false, out))
			return;
	}
}

void sfs_oversize_start(struct sfs_oversize *h, const struct sfs_link *waiting,
			uint64_t front, struct sfs_deferred *out)
{
	const struct sfs_link *link = waiting->next;

	while (link != waiting) {
		if (start_needed(h, sfs_container(link, struct sfs_read, link), out))
			link = link->next;
		else
			link = waiting->next; /* the list has changed */
	}
	start_ahead(h, front, out);
}

/* ---- taking what arrived ---- */

/* The number of the hole's entry, which is there. */
static uint64_t number_of(const struct sfs_oversize *h,
			  const struct sfs_oversize_piece *hole)
{
	uint64_t i = h->entries->head;

	while (sfs_extent_map_at(h->entries, i)->hole != hole)
		i++;
	return i;
}

/* Who waits for the piece gets the error. */
static void tell(struct sfs_oversize *h, const struct sfs_oversize_piece *hole, int err,
		 struct sfs_deferred *out)
{
	uint64_t i = number_of(h, hole);

	h->owner.failed(h->owner.ctx, sfs_extent_map_at(h->entries, i), err, out);
}

/* It is to be fetched anew, once a reader waits for it. */
static void reset(struct sfs_oversize *h, struct sfs_oversize_piece *hole)
{
	uint64_t i = number_of(h, hole);

	sfs_range_drop(&hole->grab);
	h->n_bytes -= hole->grab.n_bytes;
	hole->state = WAITING;
	hole->has_failed = true;
	if (i < h->next)
		h->next = i;
}

/* The bytes have ended.  If the edits are there, too, so is the piece.  If these failed
 * before, who waited then has the error; who came later has the piece fetched anew. */
static void settle(struct sfs_oversize *h, struct sfs_oversize_piece *hole,
		   struct sfs_deferred *out)
{
	struct edits *edits = hole->edits;

	if (hole->err == 0 && edits && edits->state != READY)
		return; /* the walk's end settles it */
	if (hole->err < 0 || (edits && edits->err < 0)) {
		reset(h, hole);
		if (hole->err < 0)
			tell(h, hole, hole->err, out);
		return;
	}
	if (edits)
		sfs_header_patch_apply(&edits->walk, &hole->grab, hole->at);
	hole->state = READY;
}

static void take_edits(struct sfs_oversize *h, struct edits *e, struct sfs_deferred *out)
{
	struct sfs_oversize_piece *hole;
	uint64_t i;

	h->n_pending--;
	e->state = READY;
	for (i = h->entries->head; i < h->entries->tail; i++) {
		hole = sfs_extent_map_at(h->entries, i)->hole;
		if (!hole || hole->edits != e || hole->state != FETCHING)
			continue;
		if (hole->is_fetched)
			settle(h, hole, out);
		if (e->err < 0)
			tell(h, hole, e->err, out);
	}
	drop_edits(e);
}

static void take_hole(struct sfs_oversize *h, struct sfs_oversize_piece *hole,
		      struct sfs_deferred *out)
{
	h->n_pending--;
	if (hole->is_orphan) {
		free_hole(hole);
		return;
	}
	hole->is_fetched = true;
	settle(h, hole, out);
}

static struct sfs_link *pop(struct sfs_oversize *h, struct sfs_link *list)
{
	struct sfs_link *link;

	pthread_mutex_lock(&h->arrived_lock);
	link = sfs_list_pop(list);
	pthread_mutex_unlock(&h->arrived_lock);
	return link;
}

void sfs_oversize_take(struct sfs_oversize *h, struct sfs_deferred *out)
{
	struct sfs_link *link;

	while ((link = pop(h, &h->arrived_edits)) != NULL)
		take_edits(h, sfs_container(link, struct edits, link), out);
	while ((link = pop(h, &h->arrived)) != NULL)
		take_hole(h, sfs_container(link, struct sfs_oversize_piece, link), out);
}
