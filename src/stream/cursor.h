/* SPDX-License-Identifier: MIT */
/* cursor - a position in a stream, and the bytes around it.
 *
 * It lays the samples of its lanes end to end into a log: the next bytes of the
 * stream, as ranges of the slabs that hold them.  Reads inside the log, a little
 * behind its front or a little ahead of it are its own; they wait here until what
 * they need is there, and then are answered without a copy.
 *
 * Everything is called with the stream's lock held.  Nothing waits.
 */
#ifndef SFS_CURSOR_H
#define SFS_CURSOR_H

#include "base/deferred.h"
#include "base/waits.h"
#include "io/gather.h"
#include "io/request.h"
#include "io/runtime.h"
#include "order/locate.h"
#include "order/order.h"

struct sfs_cursor;

struct sfs_cursor_owner {
	void *ctx;
	/* Call sfs_cursor_run() soon.  Called on any thread, with other locks held. */
	void (*wake)(void *ctx);
	/* A read that waits here, but that there is no memory for, goes: a gather for
	 * it, to be filled now.  Called with the lock held. */
	struct sfs_gather *(*gather)(void *ctx, struct sfs_read *read,
				     struct sfs_deferred *out);
};

/* A cursor at the start of the stream.  `stream_bytes` is the size of the file.  If the
 * budget has no room for its lanes, its reads wait for that. */
struct sfs_cursor *sfs_cursor_new(struct sfs_runtime *runtime,
				  const struct sfs_order *order, uint64_t stream_bytes,
				  const struct sfs_cursor_owner *owner);

/* The same, before anybody wants to read it: until then its memory is a guest's
 * (budget.h). -ENOMEM: the budget has no room for its lanes. */
int sfs_cursor_new_ahead(struct sfs_runtime *runtime, const struct sfs_order *order,
			 uint64_t stream_bytes, const struct sfs_cursor_owner *owner,
			 struct sfs_cursor **ret_cursor);

/* A cursor at a spot of the map, whose tables are at hand; `key_before` is
 * sfs_rewrite_key() of the sample before.
 * -ENOMEM: the budget has no room for its lanes.  Or an error of the map. */
int sfs_cursor_new_at(struct sfs_runtime *runtime, const struct sfs_order *order,
		      uint64_t stream_bytes, const struct sfs_cursor_owner *owner,
		      struct sfs_locator *map, const struct sfs_spot *at,
		      uint64_t key_before, struct sfs_cursor **ret_cursor);

/* End it: reads that wait get `err`.  It goes away when all that is on its way has
 * ended: keep calling sfs_cursor_run(). */
void sfs_cursor_close(struct sfs_cursor *cursor, int err, struct sfs_deferred *out);

/* Take account of what arrived, and go on as far as possible.
 * false: the cursor was closed and is gone now. */
bool sfs_cursor_run(struct sfs_cursor *cursor, struct sfs_deferred *out);

/* Is a read at this offset the cursor's? */
bool sfs_cursor_covers(const struct sfs_cursor *cursor, uint64_t offset);

/* Begin a read, which must be covered.  It is answered (through the outbox) now or
 * by a later call.  One that was answered without an error must be given back. */
void sfs_cursor_read(struct sfs_cursor *cursor, struct sfs_read *read,
		     struct sfs_deferred *out);
void sfs_cursor_release(struct sfs_cursor *cursor, struct sfs_read *read,
			struct sfs_deferred *out);

/* Take a waiting read back; false: it does not wait any more. */
bool sfs_cursor_cancel(struct sfs_cursor *cursor, struct sfs_read *read);

/* What does a waiting read wait for? */
void sfs_cursor_explain(const struct sfs_cursor *cursor, const struct sfs_read *read,
			struct sfs_cause *cause);

/* For the stream's list of cursors, and for choosing whom to end. */
struct sfs_link *sfs_cursor_link(struct sfs_cursor *cursor);
struct sfs_cursor *sfs_cursor_of(struct sfs_link *link);
uint64_t sfs_cursor_last_read_ns(const struct sfs_cursor *cursor);
bool sfs_cursor_is_closed(const struct sfs_cursor *cursor);
uint64_t sfs_cursor_starved_ns(
	const struct sfs_cursor *cursor);		  /* waits for the budget */
bool sfs_cursor_is_busy(const struct sfs_cursor *cursor); /* reads wait or are answered */

/* For next.h.  Has it never been read?  Then it may be held (true): it asks for nothing
 * more, until it is let go (run it then) or read. */
bool sfs_cursor_is_ahead(const struct sfs_cursor *cursor);
void sfs_cursor_hold(struct sfs_cursor *cursor, bool is_held);

/* Has it enough for now?  Has all up to the end been asked for, and the reader come so
 * far that what is left fits into memory?  Has the reader got the last sample? */
bool sfs_cursor_is_sated(struct sfs_cursor *cursor);
bool sfs_cursor_nears_end(struct sfs_cursor *cursor);
bool sfs_cursor_is_read_out(const struct sfs_cursor *cursor);

/* No read that was given away by owner->gather() is under way any more. */
void sfs_cursor_gathers_ended(struct sfs_cursor *cursor);

/* Bring its tally of who is waited for up to date. */
void sfs_cursor_tick(struct sfs_cursor *cursor);

/* For stats: where its front is, how many bytes it holds, and how many of these somebody
 * needs (sfs_slice_buffer_live_bytes(); holes count whole); who is waited for.
 *
 * The tally goes by the read that has waited for longest.  It says CPU from the moment
 * when what that read needs is here, as far as the stream's task has been woken for it,
 * until the reply is with the reader; READER between a reply and the next read.  The
 * kernel's readahead is a reader like any other. */
struct sfs_cursor_state {
	uint64_t offset, log_end, held_bytes, live_bytes;
	uint64_t n_samples;
	uint32_t n_in_flight, n_waiting;
	bool is_complete;
	struct sfs_waits_sums window, sums;
};
void sfs_cursor_state(struct sfs_cursor *cursor, struct sfs_cursor_state *ret_state);

#endif
