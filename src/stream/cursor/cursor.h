/* SPDX-License-Identifier: MIT */
/* cursor - a position in a stream, and the bytes around it.
 *
 * It lays the samples of its lanes end to end into extents: the next bytes of the stream,
 * as ranges of the slabs that hold them.  It answers reads inside the extents, and reads
 * a little ahead of them, which wait until their bytes are here; without a copy, unless
 * the samples are small.
 *
 * The stream's lock is held in all calls.  Nothing waits.
 */
#ifndef SFS_CURSOR_H
#define SFS_CURSOR_H

#include "base/deferred.h"
#include "base/waits.h"
#include "io/gather.h"
#include "io/proof.h"
#include "io/request.h"
#include "io/runtime.h"
#include "order/locate.h"
#include "order/order.h"
#include "stream/cursor/readers.h"

struct sfs_cursor;

struct sfs_cursor_owner {
	void *ctx;
	/* Call sfs_cursor_run() soon.  On any thread, with other locks held. */
	void (*wake)(void *ctx);
	/* There is no memory for a read that waits here.  It leaves the cursor: return a
	 * gather for it, to be filled now.  With the lock held. */
	struct sfs_gather *(*gather)(void *ctx, struct sfs_read *read,
				     struct sfs_deferred *out);
};

/* All of it stays borrowed but the owner, which is copied. */
struct sfs_cursor_settings {
	struct sfs_runtime *runtime;
	const struct sfs_order *order;
	uint64_t stream_bytes;	     /* the size of the file */
	const struct sfs_stretch_set *stretches; /* that the order has; or NULL */
	struct sfs_proof *proof;		 /* of these; or NULL */
	struct sfs_readers *readers; /* all of the stream */
	struct sfs_cursor_owner owner;
};

/* A cursor at the start of the stream.  If the budget has no room for its lanes, its
 * reads wait for that. */
struct sfs_cursor *sfs_cursor_new(const struct sfs_cursor_settings *settings);

/* A cursor that only queues for the memory of its lanes, while its readers do without: it
 * covers nothing.  Or one whose reads have waited too long: take them back, too.  When it
 * has room, it may begin (at the start of the stream) or give way to a cursor elsewhere,
 * by sfs_cursor_new_at(). */
struct sfs_cursor *sfs_cursor_new_queued(const struct sfs_cursor_settings *settings);
void sfs_cursor_queue(struct sfs_cursor *cursor);
bool sfs_cursor_is_queued(const struct sfs_cursor *cursor);
bool sfs_cursor_has_room(struct sfs_cursor *cursor);
void sfs_cursor_begin(struct sfs_cursor *cursor);

/* Somebody could do with it. */
void sfs_cursor_touch(struct sfs_cursor *cursor);

/* The same, before there is a reader: until its first read its account is a guest
 * (budget.h).  -ENOMEM: the budget has no room for its lanes. */
int sfs_cursor_new_ahead(const struct sfs_cursor_settings *settings,
			 struct sfs_cursor **ret_cursor);

/* A cursor at a spot that the locator found and whose tables are at hand; `key_before` is
 * sfs_rewrite_key() of the sample before.  It gets the memory of `queued`, which has room
 * and must be closed then; or NULL.
 * -ENOMEM: the budget has no room for its lanes.  Or an error of the locator. */
int sfs_cursor_new_at(const struct sfs_cursor_settings *settings,
		      struct sfs_cursor *queued, struct sfs_locator *locator,
		      const struct sfs_spot *at, uint64_t key_before,
		      struct sfs_cursor **ret_cursor);

/* End it: reads that wait get `err`.  It goes away when nothing of it is in flight any
 * more and all answers are released: keep calling sfs_cursor_run(). */
void sfs_cursor_close(struct sfs_cursor *cursor, int err, struct sfs_deferred *out);

/* Take what arrived, and go on as far as possible.
 * false: the cursor was closed and is gone now. */
bool sfs_cursor_run(struct sfs_cursor *cursor, struct sfs_deferred *out);

/* Small samples that are read soon are copied together, so that a reply has few pieces.
 * begin: is there something to copy?  If so: copy (without the lock), then end; others
 * may call all functions but sfs_cursor_run() meanwhile.  Afterwards run the cursor. */
bool sfs_cursor_flatten_begin(struct sfs_cursor *cursor);
void sfs_cursor_flatten_copy(const struct sfs_cursor *cursor);
void sfs_cursor_flatten_end(struct sfs_cursor *cursor);

/* Is a read at this offset the cursor's? */
bool sfs_cursor_covers(const struct sfs_cursor *cursor, uint64_t offset);

/* The bytes before this one are laid out. */
uint64_t sfs_cursor_extents_end(const struct sfs_cursor *cursor);

/* Can `other` serve all readers of a cursor that is not closed? */
bool sfs_cursor_is_needless(const struct sfs_cursor *cursor,
			    const struct sfs_cursor *other);

/* Begin a read, which must be covered.  It is answered (through `out`) now or by a later
 * call.  An answer without an error must be released. */
void sfs_cursor_read(struct sfs_cursor *cursor, struct sfs_read *read,
		     struct sfs_deferred *out);
void sfs_cursor_release(struct sfs_cursor *cursor, struct sfs_read *read,
			struct sfs_deferred *out);

/* Take a waiting read back.  false: it does not wait any more. */
bool sfs_cursor_cancel(struct sfs_cursor *cursor, struct sfs_read *read);

/* Take the read back that has waited for longest.  NULL: none waits. */
struct sfs_read *sfs_cursor_take_back(struct sfs_cursor *cursor);

/* What does a waiting read wait for? */
void sfs_cursor_explain(const struct sfs_cursor *cursor, const struct sfs_read *read,
			struct sfs_cause *cause);

/* For the stream's list of cursors, and for choosing which one to end. */
struct sfs_link *sfs_cursor_link(struct sfs_cursor *cursor);
struct sfs_cursor *sfs_cursor_of(struct sfs_link *link);
uint64_t sfs_cursor_last_read_ns(const struct sfs_cursor *cursor);
bool sfs_cursor_is_closed(const struct sfs_cursor *cursor);
bool sfs_cursor_is_busy(const struct sfs_cursor *cursor); /* reads wait or are answered */

/* For how long has it waited for room in the budget?  0: it does not. */
uint64_t sfs_cursor_starved_ns(const struct sfs_cursor *cursor);

/* For next-epoch.h.  Was it begun ahead and never read?  Then it may be held (true): it
 * requests nothing more, until it is not held (run it then) or read. */
bool sfs_cursor_is_ahead(const struct sfs_cursor *cursor);
void sfs_cursor_hold(struct sfs_cursor *cursor, bool is_held);

/* Has it enough for now?  Was all up to the end requested, and what the reader has not
 * got yet fits into memory?  Has the reader got the last sample? */
bool sfs_cursor_is_sated(struct sfs_cursor *cursor);
bool sfs_cursor_nears_end(struct sfs_cursor *cursor);
bool sfs_cursor_is_read_out(const struct sfs_cursor *cursor);

/* Are all samples here, and only the proof is not? */
bool sfs_cursor_needs_proof(const struct sfs_cursor *cursor);

/* All reads that went to owner->gather() have ended. */
void sfs_cursor_gathers_ended(struct sfs_cursor *cursor);

/* Bring the tally of its waits up to date. */
void sfs_cursor_tick(struct sfs_cursor *cursor);

/* For stats: the highest byte that was answered, where the extents end, how many bytes it
 * holds, and how many of these somebody needs (sfs_slice_buffer_live_bytes(); pieces of
 * oversize samples count whole); and what was waited for.
 *
 * The tally goes by the read that has waited for longest.  It says CPU from the moment
 * when what that read needs is here, as far as the stream's task was woken for it, until
 * the reader has the reply; READER between a reply and the next read.  The kernel's
 * readahead is a reader like any other. */
struct sfs_cursor_state {
	uint64_t offset, extents_end, held_bytes, live_bytes;
	uint64_t n_samples;
	uint32_t n_in_flight, n_waiting;
	bool is_complete;
	struct sfs_waits_sums window, sums;
};
void sfs_cursor_state(struct sfs_cursor *cursor, struct sfs_cursor_state *ret_state);

#endif
