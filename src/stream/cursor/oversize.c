/* SPDX-License-Identifier: MIT */
/* How this works: a piece is one range, of at most PIECE_BYTES.  The pieces of a sample
 * whose headers change share one header patch; a piece is here when both its range and
 * the patch have ended.
 *
 * They end on other threads; they are queued under `arrived_lock`, and taken with the
 * stream's lock held. */
#include "stream/cursor/oversize.h"

#include "base/alloc.h"
#include "base/lock.h"
#include "io/header-patch.h"

#define PIECE_BYTES SFS_RANGE_MAX

enum state { WAITING, FETCHING, READY };

/* The header patch of a sample; its pieces share it. */
struct patch {
	struct sfs_header_patch header_patch;
	struct sfs_oversize *oversize;
	int n_users; /* pieces, and 1 while it runs */
	enum state state;
	int err;
	struct sfs_deferred_call job; /* to begin */
	struct sfs_link link;	      /* in arrived_patches */
};

struct sfs_oversize_piece {
	struct sfs_range range;
	struct sfs_oversize *oversize;
	struct patch *patch; /* NULL: none */
	uint64_t at;	     /* of the piece, from the sample's start */
	enum state state;
	bool is_fetched; /* the range has ended; perhaps the patch has not */
	bool has_failed; /* only a waiting reader has it fetched again */
	bool is_orphan;	 /* its extent is gone */
	int err;
	_Atomic uint64_t begun_ns;    /* see sfs_request */
	struct sfs_deferred_call job; /* to begin */
	struct sfs_link link;	      /* in arrived */
};

void sfs_oversize_init(struct sfs_oversize *o, struct sfs_runtime *runtime,
		       struct sfs_account *account, struct sfs_extent_map *extents,
		       const struct sfs_oversize_owner *owner)
{
	*o = (struct sfs_oversize){.runtime = runtime,
				   .account = account,
				   .extents = extents,
				   .owner = *owner};
	sfs_lock_init(&o->arrived_lock, SFS_LOCK_OVERSIZE);
	sfs_list_init(&o->arrived);
	sfs_list_init(&o->arrived_patches);
}

void sfs_oversize_done(struct sfs_oversize *o)
{
	pthread_mutex_destroy(&o->arrived_lock);
}

uint64_t sfs_oversize_window(const struct sfs_oversize *o)
{
	uint64_t n = sfs_account_share(o->account) / 4;

	return n < 2 * PIECE_BYTES ? 2 * PIECE_BYTES : n;
}

/* ---- arrivals, on other threads ---- */

static void arrive(struct sfs_oversize *o, struct sfs_link *list, struct sfs_link *link)
{
	/* With the lock held: once it is taken from the list, all may go away. */
	pthread_mutex_lock(&o->arrived_lock);
	sfs_list_push(list, link);
	o->owner.wake(o->owner.ctx);
	pthread_mutex_unlock(&o->arrived_lock);
}

static void on_range(struct sfs_range *range, int err)
{
	struct sfs_oversize_piece *piece =
		sfs_container(range, struct sfs_oversize_piece, range);

	piece->err = err;
	arrive(piece->oversize, &piece->oversize->arrived, &piece->link);
}

static void on_patch(struct sfs_header_patch *header_patch, int err)
{
	struct patch *e = sfs_container(header_patch, struct patch, header_patch);

	e->err = err;
	arrive(e->oversize, &e->oversize->arrived_patches, &e->link);
}

/* ---- life of a piece ---- */

static struct patch *new_patch(struct sfs_oversize *o, const struct sfs_block_sample *s,
			       bool is_renamed)
{
	struct patch *e = sfs_calloc(1, sizeof *e);

	e->oversize = o;
	e->header_patch =
		(struct sfs_header_patch){.sample = {&o->runtime->shards.shards[s->shard],
						     s->start, s->n_bytes, is_renamed},
					  .done = on_patch};
	return e;
}

static void drop_patch(struct patch *e)
{
	if (!e || --e->n_users > 0)
		return;
	sfs_header_patch_done(&e->header_patch);
	free(e);
}

static void free_piece(struct sfs_oversize_piece *piece)
{
	sfs_range_drop(&piece->range);
	drop_patch(piece->patch);
	free(piece);
}

void sfs_oversize_append(struct sfs_oversize *o, const struct sfs_block_sample *s,
			 bool is_renamed)
{
	struct patch *patch =
		is_renamed || s->has_global ? new_patch(o, s, is_renamed) : NULL;
	struct sfs_oversize_piece *piece;
	uint64_t at, n;

	for (at = 0; at < s->n_bytes; at += n) {
		n = s->n_bytes - at < PIECE_BYTES ? s->n_bytes - at : PIECE_BYTES;
		piece = sfs_calloc(1, sizeof *piece);
		piece->oversize = o;
		piece->at = at;
		piece->patch = patch;
		if (patch)
			patch->n_users++;
		piece->range =
			(struct sfs_range){.shard = &o->runtime->shards.shards[s->shard],
					   .offset = s->start + at,
					   .n_bytes = n,
					   .is_unverified = s->is_unverified && at == 0,
					   .begun_ns = &piece->begun_ns,
					   .done = on_range};
		sfs_extent_map_append(o->extents, s->start + at, n)->piece = piece;
	}
}

void sfs_oversize_drop(struct sfs_oversize *o, struct sfs_oversize_piece *piece)
{
	if (piece->state != WAITING)
		o->n_bytes -= piece->range.n_bytes;
	if (piece->state == FETCHING && !piece->is_fetched)
		piece->is_orphan = true; /* freed when the range has ended */
	else
		free_piece(piece);
}

bool sfs_oversize_piece_is_here(const struct sfs_oversize_piece *piece)
{
	return piece->state == READY;
}

enum sfs_wait sfs_oversize_piece_wait(const struct sfs_oversize_piece *piece,
				      uint64_t *ret_since_ns)
{
	if (piece->state == WAITING)
		return SFS_WAIT_BUDGET;
	if (piece->is_fetched)
		return SFS_WAIT_SOURCE;
	*ret_since_ns = atomic_load(&piece->begun_ns);
	if (*ret_since_ns)
		return SFS_WAIT_NETWORK;
	*ret_since_ns = UINT64_MAX;
	return sfs_object_netpath(piece->range.shard->object).is_slow ? SFS_WAIT_NETWORK
								      : SFS_WAIT_SOURCE;
}

void sfs_oversize_piece_explain(const struct sfs_oversize_piece *piece,
				struct sfs_cause *cause)
{
	const struct sfs_object *object = piece->range.shard->object;

	if (piece->state == WAITING)
		sfs_cause_set(cause, object->name, piece->range.offset,
			      "memory for a large sample: budget= is used up");
	else if (piece->is_fetched)
		sfs_object_explain(object, piece->patch->header_patch.sample.start,
				   "the headers of a large sample", cause);
	else
		sfs_object_explain(object, piece->range.offset, "bytes", cause);
}

unsigned char *sfs_oversize_piece_at(const struct sfs_oversize_piece *piece, uint64_t at,
				     size_t *ret_n)
{
	return sfs_range_at(&piece->range, at, ret_n);
}

void sfs_oversize_piece_gather(const struct sfs_oversize_piece *piece, uint64_t at,
			       uint64_t n, struct sfs_gather *g)
{
	size_t n_piece;

	if (piece->state != READY && piece->patch) {
		sfs_gather_add_patched(g, &piece->patch->header_patch.sample,
				       piece->at + at, n);
		return;
	}
	if (piece->state != READY && piece->range.is_unverified && at == 0) {
		sfs_gather_add_unverified(g, piece->range.shard, piece->range.offset, n);
		return;
	}
	if (piece->state != READY) {
		sfs_gather_add(g, piece->range.shard, piece->range.offset + at, n);
		return;
	}
	for (; n > 0; n -= n_piece, at += n_piece) {
		const void *p = sfs_range_at(&piece->range, at, &n_piece);

		n_piece = n_piece < n ? n_piece : (size_t)n;
		sfs_gather_add_copy(g, p, n_piece);
	}
}

/* ---- fetching ---- */

static void begin_patch(struct sfs_deferred_call *job)
{
	struct patch *e = sfs_container(job, struct patch, job);

	sfs_header_patch_start(&e->oversize->runtime->range_reader, &e->header_patch);
}

static void begin_range(struct sfs_deferred_call *job)
{
	struct sfs_oversize_piece *piece =
		sfs_container(job, struct sfs_oversize_piece, job);

	sfs_range_start(&piece->oversize->runtime->range_reader, &piece->range,
			piece->oversize->account);
}

/* A patch that failed stays failed until one of its pieces is fetched again. */
static void reset_patch(struct patch *e)
{
	sfs_header_patch_done(&e->header_patch);
	e->header_patch.pos = 0;
	e->err = 0;
	e->state = WAITING;
}

static void start_patch(struct sfs_oversize *o, struct patch *e, struct sfs_deferred *out)
{
	if (e && e->state == READY && e->err < 0)
		reset_patch(e);
	if (!e || e->state != WAITING)
		return;
	e->state = FETCHING;
	e->n_users++;
	o->n_pending++;
	sfs_deferred_add(out, &e->job, begin_patch);
}

/* false: no memory. */
static bool start(struct sfs_oversize *o, struct sfs_oversize_piece *piece,
		  bool is_needed, struct sfs_deferred *out)
{
	if (sfs_account_take(o->account, sfs_range_cost(piece->range.n_bytes)) < 0)
		return false;
	piece->state = FETCHING;
	piece->is_fetched = false;
	piece->has_failed = false;
	piece->err = 0;
	atomic_store(&piece->begun_ns, 0);
	piece->range.is_urgent = is_needed;
	o->n_bytes += piece->range.n_bytes;
	o->n_pending++;
	sfs_deferred_add(out, &piece->job, begin_range);
	start_patch(o, piece->patch, out);
	return true;
}

/* Fetch what the read needs.  false: there is no memory for all of it, and the read does
 * not wait here any more. */
static bool start_needed(struct sfs_oversize *o, const struct sfs_read *read,
			 struct sfs_deferred *out)
{
	const struct sfs_extent_map *l = o->extents;
	const struct sfs_mapped_extent *e;
	uint64_t i;

	if (read->offset >= l->end)
		return true;
	for (i = sfs_extent_map_find(l, read->offset); i < l->tail; i++) {
		e = sfs_extent_map_at(l, i);
		if (!sfs_mapped_extent_overlaps(e, read))
			break;
		if (e->piece && e->piece->state == WAITING &&
		    !start(o, e->piece, true, out) &&
		    o->owner.no_memory(o->owner.ctx, e, out))
			return false;
	}
	return true;
}

/* Fetch on, within the window ahead of the front. */
static void start_ahead(struct sfs_oversize *o, uint64_t front, struct sfs_deferred *out)
{
	const uint64_t window = sfs_oversize_window(o);
	const struct sfs_mapped_extent *e;
	uint64_t i;

	if (o->next < o->extents->head)
		o->next = o->extents->head;
	for (i = o->next; i < o->extents->tail && o->n_bytes < window; i++) {
		e = sfs_extent_map_at(o->extents, i);
		if (!e->piece || e->piece->state != WAITING) {
			o->next += i == o->next;
			continue;
		}
		if (e->offset + e->n_bytes <= front)
			continue; /* readers skipped it */
		if (e->piece->has_failed || !start(o, e->piece, false, out))
			return;
	}
}

void sfs_oversize_start(struct sfs_oversize *o, const struct sfs_link *waiting,
			uint64_t front, struct sfs_deferred *out)
{
	const struct sfs_link *link = waiting->next;

	while (link != waiting) {
		if (start_needed(o, sfs_container(link, struct sfs_read, link), out))
			link = link->next;
		else
			link = waiting->next; /* the list has changed */
	}
	start_ahead(o, front, out);
}

/* ---- taking what arrived ---- */

/* The number of the piece's extent, which is there. */
static uint64_t number_of(const struct sfs_oversize *o,
			  const struct sfs_oversize_piece *piece)
{
	uint64_t i = o->extents->head;

	while (sfs_extent_map_at(o->extents, i)->piece != piece)
		i++;
	return i;
}

/* Reads that wait for the piece fail. */
static void fail_readers(struct sfs_oversize *o, const struct sfs_oversize_piece *piece,
			 int err, struct sfs_deferred *out)
{
	uint64_t i = number_of(o, piece);

	o->owner.failed(o->owner.ctx, sfs_extent_map_at(o->extents, i), err, out);
}

/* The piece is fetched again once a reader waits for it. */
static void reset(struct sfs_oversize *o, struct sfs_oversize_piece *piece)
{
	uint64_t i = number_of(o, piece);

	sfs_range_drop(&piece->range);
	o->n_bytes -= piece->range.n_bytes;
	piece->state = WAITING;
	piece->has_failed = true;
	if (i < o->next)
		o->next = i;
}

/* The range has ended.  If the patch has, too, the piece is here.  If the patch has
 * failed, the reads that waited then have failed; for later ones the piece is fetched
 * again. */
static void settle(struct sfs_oversize *o, struct sfs_oversize_piece *piece,
		   struct sfs_deferred *out)
{
	struct patch *patch = piece->patch;

	if (piece->err == 0 && patch && patch->state != READY)
		return; /* the patch's end settles it */
	if (piece->err < 0 || (patch && patch->err < 0)) {
		reset(o, piece);
		if (piece->err < 0)
			fail_readers(o, piece, piece->err, out);
		return;
	}
	if (patch)
		sfs_header_patch_apply(&patch->header_patch, &piece->range, piece->at);
	piece->state = READY;
}

static void take_patch(struct sfs_oversize *o, struct patch *e, struct sfs_deferred *out)
{
	struct sfs_oversize_piece *piece;
	uint64_t i;

	o->n_pending--;
	e->state = READY;
	for (i = o->extents->head; i < o->extents->tail; i++) {
		piece = sfs_extent_map_at(o->extents, i)->piece;
		if (!piece || piece->patch != e || piece->state != FETCHING)
			continue;
		if (piece->is_fetched)
			settle(o, piece, out);
		if (e->err < 0)
			fail_readers(o, piece, e->err, out);
	}
	drop_patch(e);
}

static void take_piece(struct sfs_oversize *o, struct sfs_oversize_piece *piece,
		       struct sfs_deferred *out)
{
	o->n_pending--;
	if (piece->is_orphan) {
		free_piece(piece);
		return;
	}
	piece->is_fetched = true;
	settle(o, piece, out);
}

static struct sfs_link *pop(struct sfs_oversize *o, struct sfs_link *list)
{
	struct sfs_link *link;

	pthread_mutex_lock(&o->arrived_lock);
	link = sfs_list_pop(list);
	pthread_mutex_unlock(&o->arrived_lock);
	return link;
}

void sfs_oversize_take(struct sfs_oversize *o, struct sfs_deferred *out)
{
	struct sfs_link *link;

	while ((link = pop(o, &o->arrived_patches)) != NULL)
		take_patch(o, sfs_container(link, struct patch, link), out);
	while ((link = pop(o, &o->arrived)) != NULL)
		take_piece(o, sfs_container(link, struct sfs_oversize_piece, link), out);
}
