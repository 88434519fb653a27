/* SPDX-License-Identifier: MIT */
/* stream-internal - what stream.c (one stream), streams.c (those of a mount) and
 * stream-stats.c (their JSON) share. */
#ifndef SFS_STREAM_INTERNAL_H
#define SFS_STREAM_INTERNAL_H

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
	bool has_order;
	uint64_t n_bytes; /* if has_order: of the file */
	struct sfs_readers readers;
	struct sfs_link cursors;
	int n_cursors; /* that are not closed */
	struct sfs_random_reads random;
	bool was_read;
	bool is_ahead,
		has_begun; /* to prefetch before the first read; has a cursor for that */
	bool is_held;	   /* but request nothing now */

	_Atomic unsigned status; /* written with the lock held */
};

/* Bits of sfs_stream.status: what is true of one of the stream's cursors that are read.
 */
enum sfs_stream_status {
	SFS_STREAM_HUNGRY = 1,	  /* it has not enough */
	SFS_STREAM_NEARS_END = 2, /* all was requested up to the end */
	SFS_STREAM_READ_OUT = 4,  /* its reader has got the last sample */
	SFS_STREAM_WAS_READ = 8,  /* the stream was read */
};

struct sfs_stream *sfs_stream_new(struct sfs_streams *streams, uint64_t epoch,
				  struct sfs_share share);

/* See sfs_streams_tick(); streams->lock is held. */
void sfs_stream_tick(struct sfs_stream *s, bool is_short, bool is_starved,
		     struct sfs_deferred *out);

#endif
