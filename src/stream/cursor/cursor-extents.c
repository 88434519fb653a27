/* SPDX-License-Identifier: MIT */
/* How this works: the extents say what the next bytes of the stream are.  The next sample
 * is the prefetch's.  One that it does not hold is appended in pieces (oversize.h).
 *
 * A reader's next request most often begins where its last one ended.  But kernels ask
 * out of order and several readers share a cursor, so some of what was delivered is kept
 * (readers.h).
 *
 * At the end, the extents must be exactly as long as the samples of all
 * shards together; if not, readers get EIO rather than a short epoch. */
#include "stream/cursor/cursor-internal.h"

#include "base/clock.h"
#include "base/ledger.h"
#include "catalog/stretches.h"
#include "io/header-patch.h"
#include "tar/rewrite.h"

#include <errno.h>

#define MIB	    ((uint64_t)1 << 20)
#define AHEAD_BYTES (16 * MIB)
#define LEAST_KEPT  (2 * MIB)	/* of what was delivered, */
#define KEPT_BACK   (16 * MIB)	/* at most, whoever reads; */
#define MOST_KEPT   (256 * MIB) /* and for readers who are behind */

void sfs_cursor_drop_extent(struct sfs_cursor *c, const struct sfs_mapped_extent *e)
{
	if (e->buffer)
		sfs_prefetch_release(c->prefetch, e->buffer, e->start, e->n_bytes);
	if (e->piece)
		sfs_oversize_drop(&c->oversize, e->piece);
	if (e->flat)
		sfs_cursor_drop_flat(c, e);
}

struct sfs_readers_span sfs_cursor_span(struct sfs_cursor *c)
{
	uint64_t share = sfs_account_share(&c->account), least = share / 16,
		 most = share / 4;

	least = least < LEAST_KEPT ? LEAST_KEPT : least > KEPT_BACK ? KEPT_BACK : least;
	most = most < least ? least : most > MOST_KEPT ? MOST_KEPT : most;
	return (struct sfs_readers_span){.start = c->extents.start,
					 .front = c->front,
					 .least = least,
					 .most = most,
					 .end = c->stream_bytes};
}

void sfs_cursor_trim(struct sfs_cursor *c)
{
	const struct sfs_readers_span span = sfs_cursor_span(c);
	uint64_t keep = sfs_readers_keep_from(c->readers, &span, sfs_clock_ns());
	uint64_t pin = c->flat.n_runs > 0 ? c->flat.runs[0].first : c->extents.tail;
	uint64_t kept_end, kept_from;
	const struct sfs_mapped_extent *e;

	SFS_EACH (read, &c->waiting, struct sfs_read, link) {
		keep = read->offset < keep ? read->offset : keep;
	}
	SFS_EACH (read, &c->answered, struct sfs_read, link) {
		pin = read->pin < pin ? read->pin : pin;
	}
	while (c->extents.head < pin) {
		e = sfs_extent_map_at(&c->extents, c->extents.head);
		if (e->offset + e->n_bytes > keep)
			break;
		sfs_cursor_drop_extent(c, e);
		sfs_extent_map_drop_head(&c->extents);
	}
	/* Not what is there only for a pin: on a busy machine a thread may have no turn for
	 * a tenth of a second after its reply has reached the reader, who goes on. */
	kept_end = c->flat.end > c->front ? c->flat.end : c->front;
	kept_from = keep > c->extents.start ? keep : c->extents.start;
	sfs_prefetch_set_kept(c->prefetch,
			      kept_end > kept_from ? kept_end - kept_from : 0);
}

/* A sample that a buffer holds. */
static void append_held(struct sfs_cursor *c, const struct sfs_prefetch_next *next,
			bool is_renamed)
{
	const struct sfs_block_sample *s = next->sample;
	struct sfs_shard *shard = &c->runtime->shards.shards[s->shard];
	struct sfs_mapped_extent *e =
		sfs_extent_map_append(&c->extents, next->start, s->n_bytes);
	struct sfs_error why;
	uint64_t at;

	e->buffer = next->buffer;
	if (s->is_unverified &&
	    sfs_slice_buffer_check(next->buffer, next->start, s, &at, &why) < 0) {
		sfs_shard_note_lie(shard, s->start + at, why.text);
		e->err = -EIO;
		return;
	}
	if (!is_renamed && !s->has_global)
		return;
	if (sfs_slice_buffer_rewrite(next->buffer, next->start, s->n_bytes,
				     is_renamed ? shard->folder : NULL, &at, &why) < 0) {
		sfs_header_patch_note(shard, s->start + at, why.text);
		e->err = -EIO;
	}
}

static void append(struct sfs_cursor *c, const struct sfs_prefetch_next *next)
{
	bool is_renamed = sfs_runtime_renames(c->runtime, &c->key_before, next->sample);

	if (is_renamed)
		atomic_fetch_add(&c->runtime->counters.renamed, 1);
	if (next->buffer)
		append_held(c, next, is_renamed);
	else
		sfs_oversize_append(&c->oversize, next->sample, is_renamed);
	c->n_samples++;
}

bool sfs_cursor_has_long_path(const struct sfs_cursor *c)
{
	struct sfs_netpath path = sfs_runtime_path(c->runtime);

	return sfs_netpath_is_long(&path);
}

/* How far ahead of the reads the extents should end.  What the prefetch gave to the
 * extents does not count as held ahead; without this bound they would fill all memory.
 * (Chunks of single samples are ahead themselves, and need that memory.) */
static uint64_t ahead_bytes(struct sfs_cursor *c)
{
	uint64_t reserve =
		sfs_cursor_has_long_path(c) ? sfs_shaper_reserve_bytes(&c->shaper) : 0;
	uint64_t n = AHEAD_BYTES, quarter;

	if (sfs_order_is_single(c->order)) {
		quarter = sfs_account_share(&c->account) / 4;
		n = quarter < n ? quarter : n;
	}
	return n + reserve + reserve / 4;
}

/* Was a sample taken where there is none?  (catalog/stretches.h) */
static bool is_wrong(const struct sfs_cursor *c)
{
	return c->stretches && atomic_load(&c->stretches->is_wrong);
}

/* Do all stretches begin where samples do?  0, or as sfs_proof_state().  Of a whole epoch
 * all were read, and must begin where those before them end. */
static int prove(const struct sfs_cursor *c)
{
	if (!c->stretches)
		return 0;
	if (c->order->share.step > 1)
		return sfs_proof_state(c->proof);
	return sfs_stretches_agree(&c->runtime->shards, c->stretches) ? 0 : -EIO;
}

/* The prefetch has come to the end: are all samples there? */
static void complete(struct sfs_cursor *c)
{
	uint64_t sum = 0;
	int ret = prove(c);

	c->is_proving = ret == -EAGAIN;
	if (c->is_proving)
		return;
	if (ret < 0 && !is_wrong(c) && ret == sfs_proof_err(c->proof)) {
		c->is_proving = true; /* it is tried again */
		c->proof_err = sfs_read_err(ret);
		return;
	}
	c->is_complete = sfs_shards_sum(&c->runtime->shards, c->order, &sum) &&
			 sum == c->extents.end && sum <= c->stream_bytes && ret == 0;
	if (c->is_complete)
		return;
	c->err = -EIO;
	if (is_wrong(c) || (ret < 0 && c->order->share.step > 1))
		return; /* the ledger has it */
	sfs_ledger_add(
		SFS_EVENT_LOST, "(the whole epoch)", SFS_NO_OFFSET, "readers get EIO",
		"the epoch ended after %llu bytes of samples, but its shards hold %llu: "
		"this is a bug in shufflefs, please report it",
		(unsigned long long)c->extents.end, (unsigned long long)sum);
}

void sfs_cursor_extend(struct sfs_cursor *c)
{
	const uint64_t window = sfs_oversize_window(&c->oversize);
	const uint64_t end = c->read_end + ahead_bytes(c);
	struct sfs_prefetch_next next;
	int ret;

	c->is_blocked = c->is_proving = false;
	c->proof_err = 0;
	while (!c->is_complete && c->err == 0 && c->extents.end <= end) {
		if (is_wrong(c)) {
			c->err = -EIO;
			return;
		}
		ret = sfs_prefetch_peek(c->prefetch, &next);
		if (ret == -ENODATA) {
			complete(c);
			return;
		}
		if (ret == -EAGAIN) {
			c->is_blocked = true;
			return;
		}
		if (ret < 0) {
			c->err = -EIO;
			return;
		}
		if (!next.buffer && c->extents.end > c->read_end + window)
			return;
		append(c, &next);
		sfs_prefetch_take(c->prefetch);
	}
}
