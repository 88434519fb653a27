/* SPDX-License-Identifier: MIT */
/* cursor-internal - what cursor.c (life, and what to do when), cursor-extents.c (which
 * bytes the stream's next ones are), cursor-flat.c (small samples, copied together) and
 * cursor-reads.c (answers) share. */
#ifndef SFS_CURSOR_INTERNAL_H
#define SFS_CURSOR_INTERNAL_H

#include "stream/cursor/cursor.h"
#include "stream/cursor/oversize.h"
#include "stream/prefetch/prefetch.h"
#include "stream/cursor/shaper.h"

enum { SFS_FLAT_RUNS = 8, SFS_FLAT_PIECES = 256 };

/* Extents that are being copied into one slab. */
struct sfs_flat_run {
	void *slab;
	uint64_t first, n_bytes; /* the number of the first extent */
	uint32_t n_extents, n_pieces;
	struct iovec pieces[SFS_FLAT_PIECES];
};

struct sfs_flat {
	uint64_t end;	  /* of the last run in the stream */
	uint64_t n_bytes; /* in slabs of runs */
	uint32_t n_runs;  /* being copied: only between begin and end */
	struct sfs_flat_run runs[SFS_FLAT_RUNS];
};

struct sfs_cursor {
	struct sfs_runtime *runtime;
	const struct sfs_order *order;
	const struct sfs_stretch_set *stretches;
	struct sfs_proof *proof;
	uint64_t stream_bytes;
	struct sfs_readers *readers; /* of the stream */
	struct sfs_cursor_owner owner;
	struct sfs_account account;
	struct sfs_prefetch *prefetch; /* NULL: the account is not open yet */
	uint64_t born_ns;
	struct sfs_link link; /* in the stream's list */
	bool is_closed;
	bool is_ahead;	/* nobody has read it yet; its account is a guest */
	bool is_held;	/* requests nothing more */
	bool is_queued; /* its account waits; its readers do not, they do without */

	struct sfs_extent_map extents;
	struct sfs_oversize oversize;
	struct sfs_flat flat;

	/* What comes next. */
	bool is_blocked; /* sfs_cursor_extend() stopped at a sample that is not here */
	uint64_t key_before;
	uint64_t n_samples; /* appended */
	bool is_complete;   /* the epoch ends where the extents end; zeros follow */
	int err;	    /* from the end of the extents on, for good */
	bool is_proving;    /* all samples are here; that each is one is not proven */
	int proof_err;	    /* why it is not, for now */

	struct sfs_link waiting, answered; /* reads */
	uint64_t read_end; /* the highest byte that a read asked for, + 1 */
	uint64_t front;	   /* the highest byte answered, + 1 */
	uint64_t last_read_ns;

	struct sfs_shaper shaper;
	struct sfs_patience patience;
	struct sfs_timer timer;	   /* when a read that is early may be answered */
	uint64_t early_since_ns;   /* the first that waits is; 0: it is not */
	enum sfs_wait early_cause; /* of it: NETWORK (the shaper), or READER (others) */

	struct sfs_waits_tally waits;
	bool is_gathering;	   /* reads that went to owner.gather() have not ended */
	_Atomic uint64_t woken_ns; /* the first time since the last run; 0: not yet */

	pthread_mutex_t arrived_lock; /* guards the rest */
	struct sfs_link arrived;      /* parts */
};

static inline uint64_t sfs_read_end(const struct sfs_read *read)
{
	return read->offset + read->n_bytes;
}

/* ---- cursor-extents.c ---- */

/* Append samples until the next one is not here, the extents end far
 * enough ahead of the reads, or the epoch ends. */
void sfs_cursor_extend(struct sfs_cursor *c);

/* Drop the extents that no reader is near any more. */
void sfs_cursor_trim(struct sfs_cursor *c);

struct sfs_readers_span sfs_cursor_span(struct sfs_cursor *c);

/* Release what holds the bytes of an extent. */
void sfs_cursor_drop_extent(struct sfs_cursor *c, const struct sfs_mapped_extent *e);

bool sfs_cursor_has_long_path(const struct sfs_cursor *c);

/* ---- cursor-flat.c ---- */

/* Are there small samples to be copied together?  (A guess that costs nothing.) */
bool sfs_cursor_should_flatten(const struct sfs_cursor *c);

/* The extent, which is a run, goes. */
void sfs_cursor_drop_flat(struct sfs_cursor *c, const struct sfs_mapped_extent *e);

/* ---- cursor-reads.c ---- */

/* Are the read's bytes here?  1: yes.  0: not yet.  < 0: the read fails. */
int sfs_cursor_check(const struct sfs_cursor *c, const struct sfs_read *read);

/* Should a read whose bytes are here wait a little all the same?  See shaper.h and
 * readers.h. */
bool sfs_cursor_is_early(struct sfs_cursor *c, const struct sfs_read *read);

/* Answer the read, which is in no list; or fail it and take it out of its list. */
void sfs_cursor_answer(struct sfs_cursor *c, struct sfs_read *read,
		       struct sfs_deferred *out);
void sfs_cursor_fail(struct sfs_read *read, int err, struct sfs_deferred *out);

/* Answer what can be answered, the oldest read first. */
void sfs_cursor_serve(struct sfs_cursor *c, struct sfs_deferred *out);

/* What blocks failed: so do the reads that need more than there is.  The next
 * read tries again. */
void sfs_cursor_fail_blocked(struct sfs_cursor *c, int err, struct sfs_deferred *out);

/* As an owner of oversize samples (oversize.h). */
bool sfs_cursor_on_no_memory(void *ctx, const struct sfs_mapped_extent *e,
			     struct sfs_deferred *out);
void sfs_cursor_on_failed(void *ctx, const struct sfs_mapped_extent *e, int err,
			  struct sfs_deferred *out);

/* The first piece of an oversize sample that the read needs and that is not here, or
 * NULL. */
const struct sfs_oversize_piece *sfs_cursor_missing_piece(const struct sfs_cursor *c,
							  const struct sfs_read *read);

#endif
