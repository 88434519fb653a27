/* SPDX-License-Identifier: MIT */
/* stream - an epoch, or a share of it, as a file: any byte of it, to any number of
 * readers.
 *
 * A cursor answers the reads near it.  Other reads are random reads: only their bytes are
 * fetched, after the shards that come before them in the epoch were scanned once.  Random
 * reads that continue one another get a cursor of their own; a stream has at most four.
 *
 * Any thread may call.  Nothing waits.
 */
#ifndef SFS_STREAM_H
#define SFS_STREAM_H

#include "base/json-writer.h"
#include "io/header-scan.h"
#include "io/request.h"
#include "io/runtime.h"
#include "order/order.h"
#include "stream/random.h"

struct sfs_stream;

/* For who needs to know how far streams have come.  A stream's lock is held in these
 * calls (in changed() not always); they must not call back. */
struct sfs_stream_observer {
	void *ctx; /* NULL: there is no observer */
	/* All of an epoch was requested, to its end; once for each time. */
	void (*nears_end)(void *ctx, uint64_t epoch, struct sfs_share share);
	/* A reader has got the last sample. */
	void (*read_out)(void *ctx, uint64_t epoch, struct sfs_share share);
	/* One of these, a first read, or a stream that got what it needs or lacks it; and
	 * every second. */
	void (*changed)(void *ctx);
};

/* The streams of a mount that are open. */
struct sfs_streams {
	struct sfs_runtime *runtime;
	struct sfs_header_scanner *scanner;
	pthread_mutex_t lock; /* guards the rest */
	pthread_cond_t is_empty;
	struct sfs_link list;
	uint32_t n; /* streams that have not gone yet, closed ones too */
	struct sfs_stream_observer observer;
	atomic_bool has_said_crowded;
};

void sfs_streams_init(struct sfs_streams *streams, struct sfs_runtime *runtime,
		      struct sfs_header_scanner *scanner);

/* Before any stream is opened. */
void sfs_streams_observe(struct sfs_streams *streams,
			 const struct sfs_stream_observer *observer);

/* Wait until all streams have gone; all must be closed and the sources stopped. */
void sfs_streams_done(struct sfs_streams *streams);

/* Every second: end cursors that were not read for long, if somebody else needs their
 * memory; and those that have waited too long for memory, whose readers do without. */
void sfs_streams_tick(struct sfs_streams *streams);

/* For the rest, all sizes of shards must be known, and all tables, if they are needed. */
bool sfs_streams_need_tables(const struct sfs_runtime *runtime);

/* The size of a stream in bytes: docs/ORDER.md, section 7.  false: an open stream must
 * find it, sfs_stream_size(). */
bool sfs_streams_size(struct sfs_runtime *runtime, uint64_t epoch, struct sfs_share share,
		      uint64_t *ret_bytes);

/* Open a share of an epoch; all its readers have the same stream. */
struct sfs_stream *sfs_stream_open(struct sfs_streams *streams, uint64_t epoch,
				   struct sfs_share share);
void sfs_stream_close(struct sfs_stream *stream); /* as often as opened */

/* Its size in bytes, which must be found before it is read; so are indexes then, and
 * nothing is guessed of shards that have one.  *ret_is_sure: no wrong guess can change
 * it. -EINPROGRESS: wait.  -ENFILE: too many epochs of random segments are open. */
int sfs_stream_size(struct sfs_stream *stream, struct sfs_waiter *waiter,
		    uint64_t *ret_bytes, bool *ret_is_sure);

/* Was a sample taken where there is none?  Then all its reads fail. */
bool sfs_stream_is_wrong(struct sfs_stream *stream);

/* Where the last sample ends and only zeros follow; UINT64_MAX while
 * that is not known. */
uint64_t sfs_stream_end(struct sfs_stream *stream);

/* Tell the stream where its last sample ends, which was found before: with
 * segment=sample, the stream of a rank need not visit all its samples for it. */
void sfs_stream_know_end(struct sfs_stream *stream, uint64_t end);

/* Where is sample `number`?  At or beyond the last one: at the end.  -EINPROGRESS: wait,
 * shards are being scanned.  Other errors are those that a reader would get there. */
int sfs_stream_locate(struct sfs_stream *stream, uint64_t number,
		      struct sfs_waiter *waiter, struct sfs_place *ret_place);

/* Which sample holds byte `offset`?  After the last one: how many there
 * are.  As above. */
int sfs_stream_number(struct sfs_stream *stream, uint64_t offset,
		      struct sfs_waiter *waiter, uint64_t *ret_number);

/* A file is opened, and will probably be read from byte `at` of the stream on; or it is
 * closed.  What its reader needs is kept a little longer for it (readers.h). */
void sfs_stream_expect(struct sfs_stream *stream, const void *file, uint64_t at);
void sfs_stream_forget(struct sfs_stream *stream, const void *file);

/* Begin a read (request.h); it is clipped at the end of the stream. */
void sfs_stream_read(struct sfs_stream *stream, struct sfs_read *read);

/* For next-epoch.h, which keeps streams that nobody has open.  (These calls take the
 * locks of the list and of streams.) */

/* Has anybody this share of an epoch open? */
bool sfs_streams_have(struct sfs_streams *streams, uint64_t epoch,
		      struct sfs_share share);

/* Has every cursor that is read enough for now? */
bool sfs_streams_are_sated(struct sfs_streams *streams);

/* Keep a stream until sfs_stream_let_go().  NULL: it is there already. */
struct sfs_stream *sfs_stream_keep(struct sfs_streams *streams, uint64_t epoch,
				   struct sfs_share share);
void sfs_stream_let_go(struct sfs_stream *stream);

/* Have a stream that was never read prefetch from its start, soon, if there is memory; or
 * (false) request nothing more.  Its first read ends that. */
void sfs_stream_prefetch(struct sfs_stream *stream, bool is_on);
bool sfs_stream_was_read(struct sfs_stream *stream);

/* Write one object for each open stream, into an array that the caller has opened. */
void sfs_streams_print(struct sfs_streams *streams, struct sfs_json_writer *writer);

#endif
