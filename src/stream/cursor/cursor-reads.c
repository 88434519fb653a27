/* SPDX-License-Identifier: MIT */
/* How this works: a read waits until all its bytes are here, and is answered with pieces
 * of the slabs that hold them.  `pin` of an answered read is the first extent that must
 * stay until its release. */
#include "stream/cursor/cursor-internal.h"

#include "base/clock.h"

#define RESERVE_PART 4 /* 1/RESERVE_PART of its memory is the shaper's reserve */
#define LOOK_NS	     (5 * SFS_NS_PER_MS) /* how often the front looks for others */

int sfs_cursor_check(const struct sfs_cursor *c, const struct sfs_read *read)
{
	const struct sfs_mapped_extent *e;
	int ret = 1;
	uint64_t i;

	if (read->offset < c->extents.end) {
		for (i = sfs_extent_map_find(&c->extents, read->offset);
		     i < c->extents.tail; i++) {
			e = sfs_extent_map_at(&c->extents, i);
			if (e->offset >= sfs_read_end(read))
				break;
			if (e->err < 0)
				return e->err;
			if (e->piece && !sfs_oversize_piece_is_here(e->piece))
				ret = 0;
		}
	}
	if (sfs_read_end(read) <= c->extents.end || c->is_complete)
		return ret;
	return c->err < 0 ? c->err : c->proof_err;
}

static void add_extent(struct sfs_read *read, const struct sfs_mapped_extent *e,
		       uint64_t from, uint64_t n)
{
	unsigned char *p;
	size_t n_piece;

	if (e->flat) {
		sfs_read_add(read, e->flat + from, n);
		return;
	}
	for (; n > 0; n -= n_piece, from += n_piece) {
		p = e->buffer ? sfs_slice_buffer_at(e->buffer, e->start + from, &n_piece)
			      : sfs_oversize_piece_at(e->piece, from, &n_piece);
		n_piece = n_piece < n ? n_piece : (size_t)n;
		sfs_read_add(read, p, n_piece);
	}
}

static void gather_extent(struct sfs_gather *g, const struct sfs_mapped_extent *e,
			  uint64_t from, uint64_t n)
{
	size_t n_piece;

	if (e->piece) {
		sfs_oversize_piece_gather(e->piece, from, n, g);
		return;
	}
	if (e->flat) {
		sfs_gather_add_copy(g, e->flat + from, n);
		return;
	}
	for (; n > 0; n -= n_piece, from += n_piece) {
		const void *p = sfs_slice_buffer_at(e->buffer, e->start + from, &n_piece);

		n_piece = n_piece < n ? n_piece : (size_t)n;
		sfs_gather_add_copy(g, p, n_piece);
	}
}

/* Add the bytes of the extents that a read needs to the read, or to the gather if there
 * is one; zeros follow the last extent.  Returns the number of the first. */
static uint64_t lay_out(struct sfs_cursor *c, struct sfs_read *read, struct sfs_gather *g)
{
	uint64_t at = read->offset, end = sfs_read_end(read), from, n;
	uint64_t i = at < c->extents.end ? sfs_extent_map_find(&c->extents, at)
					 : c->extents.tail,
		 first = i;
	const struct sfs_mapped_extent *e;

	for (; at < end && i < c->extents.tail; i++, at += n) {
		e = sfs_extent_map_at(&c->extents, i);
		from = at - e->offset;
		n = e->n_bytes - from < end - at ? e->n_bytes - from : end - at;
		if (g)
			gather_extent(g, e, from, n);
		else
			add_extent(read, e, from, n);
	}
	if (g)
		sfs_gather_add_zeros(g, end - at);
	else
		sfs_read_add_zeros(read, (size_t)(end - at));
	if (end > c->front)
		c->front = end;
	return first;
}

static void count(struct sfs_cursor *c, const struct sfs_read *read)
{
	struct sfs_counters *n = &c->runtime->counters;
	uint64_t waited_ns = read->begun_ns ? sfs_clock_ns() - read->begun_ns : 0;

	atomic_fetch_add_explicit(&n->delivered_bytes, read->n_bytes,
				  memory_order_relaxed);
	atomic_fetch_add_explicit(&n->reads, 1, memory_order_relaxed);
	if (waited_ns) {
		atomic_fetch_add_explicit(&n->reads_waited, 1, memory_order_relaxed);
		atomic_fetch_add_explicit(&n->waited_ns, waited_ns, memory_order_relaxed);
	}
}

void sfs_cursor_answer(struct sfs_cursor *c, struct sfs_read *read,
		       struct sfs_deferred *out)
{
	read->pin = lay_out(c, read, NULL);
	count(c, read);
	sfs_list_push(&c->answered, &read->link);
	if (sfs_cursor_should_flatten(c))
		c->owner.wake(c->owner.ctx);
	sfs_read_tell(read, 0, out);
}

void sfs_cursor_fail(struct sfs_read *read, int err, struct sfs_deferred *out)
{
	sfs_link_remove(&read->link);
	read->state = NULL; /* the cursor may go before the reader hears of it */
	sfs_read_tell(read, err, out);
}

static bool waits_for_others(struct sfs_cursor *c, uint64_t end, uint64_t now_ns)
{
	const struct sfs_readers_span span = sfs_cursor_span(c);

	if (!sfs_patience_waits(&c->patience, c->readers, &span, end, now_ns))
		return false;
	c->early_cause = SFS_WAIT_READER;
	sfs_timer_set(c->runtime->timers, &c->timer, now_ns + LOOK_NS);
	return true;
}

static bool is_shaped(struct sfs_cursor *c, uint64_t end, uint64_t now_ns)
{
	uint64_t next_ns;

	if (!sfs_cursor_has_long_path(c) || !c->prefetch ||
	    !sfs_prefetch_is_busy(c->prefetch) || c->oversize.n_pending > 0)
		return false;
	next_ns = sfs_shaper_ask(&c->shaper, end - c->front, c->extents.end - c->front,
				 sfs_prefetch_arrived_bytes(c->prefetch),
				 sfs_account_share(&c->account) / RESERVE_PART, now_ns);
	if (next_ns == 0)
		return false;
	c->early_cause = SFS_WAIT_NETWORK;
	sfs_timer_set(c->runtime->timers, &c->timer, next_ns);
	return true;
}

bool sfs_cursor_is_early(struct sfs_cursor *c, const struct sfs_read *read)
{
	uint64_t end = sfs_read_end(read), now_ns;

	if (end <= c->front)
		return false;
	now_ns = sfs_clock_ns();
	return waits_for_others(c, end, now_ns) || is_shaped(c, end, now_ns);
}

void sfs_cursor_serve(struct sfs_cursor *c, struct sfs_deferred *out)
{
	struct sfs_link *link, *following;
	struct sfs_read *read;
	bool has_early = false; /* the first one that still waits is early */
	int ret;

	for (link = c->waiting.next; link != &c->waiting; link = following) {
		following = link->next;
		read = sfs_container(link, struct sfs_read, link);
		ret = sfs_cursor_check(c, read);
		if (ret < 0) {
			sfs_cursor_fail(read, ret, out);
		} else if (ret > 0 && !sfs_cursor_is_early(c, read)) {
			sfs_link_remove(&read->link);
			sfs_cursor_answer(c, read, out);
		} else if (c->waiting.next == link) {
			has_early = ret > 0;
		}
	}
	if (!has_early)
		c->early_since_ns = 0;
	else if (c->early_since_ns == 0)
		c->early_since_ns = sfs_clock_ns();
}

void sfs_cursor_fail_blocked(struct sfs_cursor *c, int err, struct sfs_deferred *out)
{
	struct sfs_link *link, *following;
	struct sfs_read *read;

	for (link = c->waiting.next; link != &c->waiting; link = following) {
		following = link->next;
		read = sfs_container(link, struct sfs_read, link);
		if (sfs_read_end(read) > c->extents.end)
			sfs_cursor_fail(read, sfs_read_err(err), out);
	}
}

/* There is no memory for an extent.  The reads that need it, and no byte after the
 * extents, are gathered apart from the cursor: here, what one of them holds could keep
 * the others waiting for ever. */
bool sfs_cursor_on_no_memory(void *ctx, const struct sfs_mapped_extent *e,
			     struct sfs_deferred *out)
{
	struct sfs_cursor *c = ctx;
	struct sfs_link *link, *following;
	struct sfs_read *read;
	bool is_any = false;

	for (link = c->waiting.next; link != &c->waiting; link = following) {
		following = link->next;
		read = sfs_container(link, struct sfs_read, link);
		if (!sfs_mapped_extent_overlaps(e, read) ||
		    (sfs_read_end(read) > c->extents.end && !c->is_complete))
			continue;
		sfs_link_remove(link);
		lay_out(c, read, c->owner.gather(c->owner.ctx, read, out));
		c->is_gathering = is_any = true;
	}
	return is_any;
}

void sfs_cursor_on_failed(void *ctx, const struct sfs_mapped_extent *e, int err,
			  struct sfs_deferred *out)
{
	struct sfs_cursor *c = ctx;
	struct sfs_link *link, *following;
	struct sfs_read *read;

	for (link = c->waiting.next; link != &c->waiting; link = following) {
		following = link->next;
		read = sfs_container(link, struct sfs_read, link);
		if (sfs_mapped_extent_overlaps(e, read))
			sfs_cursor_fail(read, sfs_read_err(err), out);
	}
}

const struct sfs_oversize_piece *sfs_cursor_missing_piece(const struct sfs_cursor *c,
							  const struct sfs_read *read)
{
	const struct sfs_mapped_extent *e;
	uint64_t i;

	if (read->offset >= c->extents.end)
		return NULL;
	for (i = sfs_extent_map_find(&c->extents, read->offset); i < c->extents.tail;
	     i++) {
		e = sfs_extent_map_at(&c->extents, i);
		if (!sfs_mapped_extent_overlaps(e, read))
			break;
		if (e->piece && !sfs_oversize_piece_is_here(e->piece))
			return e->piece;
	}
	return NULL;
}
