/* SPDX-License-Identifier: MIT */
/* stream - an epoch, or a share of it, as a file: any byte of it, to any number of
 * readers.
 *
 * A read near a cursor is the cursor's.  A read far from all of them is answered
 * by fetching just its bytes: which they are, the map of the epoch tells, and for
 * that the shards up to there are surveyed once.  Far reads that go on where the
 * last one ended get a cursor of their own; a stream has at most four.
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

/* Who wants to know how far streams are.  The calls are made with a stream's lock held
 * (changed() also without), and must not call back. */
struct sfs_stream_observer {
	void *ctx; /* NULL: there is no observer */
	/* All of an epoch was requested, to its end; once for each time. */
	void (*nears_end)(void *ctx, uint64_t epoch, struct sfs_share share);
	/* A reader has got the last sample. */
	void (*read_out)(void *ctx, uint64_t epoch, struct sfs_share share);
	/* One of these, a first read, or a stream that got or lacks what it needs; and
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
};

void sfs_streams_init(struct sfs_streams *streams, struct sfs_runtime *runtime,
		      struct sfs_header_scanner *scanner);

/* Before any stream is opened. */
void sfs_streams_observe(struct sfs_streams *streams,
			 const struct sfs_stream_observer *observer);

/* Wait until all streams have gone; all must be closed and the sources stopped. */
void sfs_streams_done(struct sfs_streams *streams);

/* Every second: end cursors that nobody has read for long, if somebody else needs
 * their memory; try again what waits for memory. */
void sfs_streams_tick(struct sfs_streams *streams);

/* Below, all sizes must be known, and all tables if the order wants equal lanes. */

/* The size of a stream: 1024, and the size of each of its shards rounded up to 512; with
 * equal lanes, of its samples. */
uint64_t sfs_stream_bytes(struct sfs_runtime *runtime, uint64_t epoch,
			  struct sfs_share share);

/* Open a share of an epoch; its readers share the stream. */
struct sfs_stream *sfs_stream_open(struct sfs_streams *streams, uint64_t epoch,
				   struct sfs_share share);
void sfs_stream_close(struct sfs_stream *stream); /* as often as opened */

/* Where the last sample ends and only zeros follow; UINT64_MAX while that is not
 * known. */
uint64_t sfs_stream_end(struct sfs_stream *stream);

/* Where is sample `number`?  At or beyond the last one: at the end.  -EINPROGRESS: wait,
 * while shards are being surveyed.  Or why that is not to be known: an error as a reader
 * would get it. */
int sfs_stream_locate(struct sfs_stream *stream, uint64_t number,
		      struct sfs_waiter *waiter, struct sfs_place *ret_place);

/* Which sample holds byte `offset`?  Behind the last one: their number.  As above. */
int sfs_stream_number(struct sfs_stream *stream, uint64_t offset,
		      struct sfs_waiter *waiter, uint64_t *ret_number);

/* Begin a read (read.h); it is clipped at the end of the stream. */
void sfs_stream_read(struct sfs_stream *stream, struct sfs_read *read);

/* For next-epoch.h: which streams are kept although nobody has them open.  (Their locks
 * and the streams' are taken inside.) */

/* Has anybody this part of an epoch open? */
bool sfs_streams_have(struct sfs_streams *streams, uint64_t epoch,
		      struct sfs_share share);

/* Has every cursor that is read enough for now? */
bool sfs_streams_are_sated(struct sfs_streams *streams);

/* Keep a stream, until sfs_stream_let_go().  NULL: there is one already. */
struct sfs_stream *sfs_stream_keep(struct sfs_streams *streams, uint64_t epoch,
				   struct sfs_share share);
void sfs_stream_let_go(struct sfs_stream *stream);

/* Have a stream that was never read prefetch from its start, soon, if there is memory; or
 * (false) ask for nothing more.  Its first read ends that. */
void sfs_stream_prefetch(struct sfs_stream *stream, bool is_on);
bool sfs_stream_was_read(struct sfs_stream *stream);

/* Write one object per open stream, into an array that the caller has opened. */
void sfs_streams_print(struct sfs_streams *streams, struct sfs_json_writer *writer);

#endif
