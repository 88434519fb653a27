/* SPDX-License-Identifier: MIT */
/* stream-internal - what stream.c (one stream), stream-order.c (its order and its size),
 * stream-cursors.c (its cursors), streams.c (those of a mount) and stream-stats.c (their
 * JSON) share. */
#ifndef SFS_STREAM_INTERNAL_H
#define SFS_STREAM_INTERNAL_H

#include "catalog/stretches.h"
#include "io/proof.h"
#include "stream/cursor/cursor.h"
#include "stream/stream.h"

struct sfs_stream {
	struct sfs_streams *streams;
	struct sfs_runtime *runtime;
	uint64_t epoch;
	struct sfs_share share;
	struct sfs_task task;

	pthread_mutex_t lock; /* guards all below */
	struct sfs_link link; /* in streams->list, under its lock */
	uint32_t n_open;      /* likewise */
	bool is_kept;	      /* likewise: by next-epoch.h */
	bool is_closed;
	uint64_t known_end; /* before there is an order: sfs_stream_know_end(), or 0 */
	struct sfs_order order;
	struct sfs_stretch_set *stretches; /* that the order has; or NULL */
	struct sfs_proof *proof;	   /* of these */
	bool has_sought;		   /* indexes of its shards */
	bool has_order, has_size;
	uint64_t n_bytes;	    /* if has_size: of the file */
	struct sfs_waiter measured; /* for the size, by the task */
	bool is_measuring;
	struct sfs_readers readers;
	struct sfs_link cursors;
	int n_cursors; /* that are not closed */
	struct sfs_random_reads random;
	bool was_read;
	bool is_ahead;	/* prefetch before the first read */
	bool has_begun; /* has a cursor for that */
	bool is_held;	/* but request nothing now */

	_Atomic unsigned status; /* written with the lock held */
};

/* Bits of sfs_stream.status: what is true of one of the stream's cursors
 * that are read. */
enum sfs_stream_status {
	SFS_STREAM_HUNGRY = 1,	  /* it has not enough */
	SFS_STREAM_NEARS_END = 2, /* all was requested up to the end */
	SFS_STREAM_READ_OUT = 4,  /* its reader has got the last sample */
	SFS_STREAM_WAS_READ = 8,  /* the stream was read */
};

/* Whose a read is, while read->state is not NULL. */
enum { SFS_STREAM_AT_CURSOR, SFS_STREAM_AT_RANDOM };

struct sfs_stream *sfs_stream_new(struct sfs_streams *streams, uint64_t epoch,
				  struct sfs_share share);

/* See sfs_streams_tick(); streams->lock is held. */
void sfs_stream_tick(struct sfs_stream *s, bool is_short, bool is_starved,
		     struct sfs_deferred *out);

void sfs_stream_wake(void *s); /* post its task */

/* ---- with the stream's lock ---- */

/* ---- stream-order.c, with the stream's lock */

/* Have its order.  -ENFILE: not now, as too many epochs have one. */
int sfs_stream_have_order(struct sfs_stream *s);

/* And its size; and have had indexes looked for, if anything would be guessed without.
 * -EINPROGRESS: wait. */
int sfs_stream_know_size(struct sfs_stream *s, struct sfs_waiter *waiter);

/* Is it certain that it has this size?  Its order is known. */
bool sfs_stream_has_sure_size(const struct sfs_stream *s);

/* ---- stream-cursors.c, with the stream's lock ---- */

struct sfs_cursor_settings sfs_stream_cursor_settings(struct sfs_stream *s);
void sfs_stream_add_cursor(struct sfs_stream *s, struct sfs_cursor *c);

/* A new cursor at the start (`at` is NULL) or at a spot.  < 0: not now. */
int sfs_stream_start_cursor(struct sfs_stream *s, const struct sfs_spot *at,
			    uint64_t key_before, struct sfs_deferred *out,
			    struct sfs_cursor **ret_cursor);

/* Of those that cover the byte, the one that is furthest: who comes into its range is one
 * of its readers from now on.  Then end the cursors whose readers have all come there. */
struct sfs_cursor *sfs_stream_find_cursor(struct sfs_stream *s, uint64_t offset);
void sfs_stream_merge_cursors(struct sfs_stream *s, const struct sfs_cursor *c,
			      struct sfs_deferred *out);

void sfs_stream_read_at(struct sfs_cursor *c, struct sfs_read *read,
			struct sfs_deferred *out);

/* A cursor for a random read: see sfs_random_owner. */
bool sfs_stream_take_over(void *s, struct sfs_read *read, const struct sfs_spot *at,
			  uint64_t key_before, struct sfs_deferred *out);

/* Reads that wait there get `err`. */
void sfs_stream_close_cursor(struct sfs_stream *s, struct sfs_cursor *c, int err,
			     struct sfs_deferred *out);
void sfs_stream_close_cursors(struct sfs_stream *s, struct sfs_deferred *out);
void sfs_stream_close_idle(struct sfs_stream *s, uint64_t idle_ns,
			   struct sfs_deferred *out);

void sfs_stream_tick_cursors(struct sfs_stream *s);

/* The reads of cursors that have waited too long for the budget do without: those who
 * have their lanes may keep them for hours.  The bytes are gathered, in memory that all
 * take in turn, and the cursor queues on. */
void sfs_stream_relieve_starved(struct sfs_stream *s, struct sfs_deferred *out);

#endif
