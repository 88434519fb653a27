/* SPDX-License-Identifier: MIT */
/* shard-internal - how a table of samples grows: what shard.c (pins, and bytes that are
 * fed), shard-known.c (what is known without them) and shard-stretch.c share. */
#ifndef SFS_SHARD_INTERNAL_H
#define SFS_SHARD_INTERNAL_H

#include "catalog/shard.h"
#include "tar/resync.h"
#include "tar/scan.h"

/* The scan of one shard or stretch, and the table that it fills. */
struct sfs_growth {
	struct sfs_scan scan;
	struct sfs_sample_table table;
	struct sfs_charge bytes; /* that the table borrows, if it came from an index */
	uint64_t counted_bytes;	 /* in the account, if it did not */

	/* Its members, if they were read. */
	bool has_members;
	struct sfs_members members;
	struct sfs_charge members_held; /* what they borrow, or their count */

	/* Of a stretch. */
	bool is_searching; /* its first sample; the scan begins then */
	bool is_looking;   /* at the first bytes of its shard, before */
	bool is_waiting;   /* for the table of its shard, while it is searching */
	bool is_checking;  /* waits to know whether its first sample is one */
	bool is_noted;	   /* in the ledger: its damage */
	bool has_stopped;  /* all its samples are in the table */
	uint64_t from;	   /* where bytes to be kept for it begin, as far as is known */
	uint64_t searched; /* where the latest search began */
	uint64_t search_end; /* it wants all bytes before, until it finds a header */
	struct sfs_resync resync;
};

/* A member of that shard holds what looks like a header: nothing is guessed any more. */
void sfs_shards_note_hidden(struct sfs_shards *s, const char *shard);

/* All with the shard locked. */

/* The table is whole. */
void sfs_shard_sum_up(struct sfs_shard *shard);

/* A table in use stays, whether or not the budget has room. */
void sfs_shard_note_memory(struct sfs_shards *s, struct sfs_growth *g);

/* The next byte that the table needs; UINT64_MAX: none; or SFS_WANTED_LATER. */
uint64_t sfs_growth_wanted(const struct sfs_growth *g);

/* ---- shard-stretch.c; the shard is a stretch ---- */

/* Its growth is new.  `whole` is the table of its shard, or NULL, and drop_lock is held
 * for reading. */
void sfs_stretch_begin(struct sfs_shards *s, struct sfs_shard *shard,
		       const struct sfs_sample_table *whole);

/* See sfs_stretch_catch_up(); drop_lock is held for reading.  If it waits, and its shard
 * is known so far, then its table ends: true. */
bool sfs_stretch_take_whole(struct sfs_shard *shard,
			    const struct sfs_sample_table *whole);

/* Feed its search. */
void sfs_stretch_search(struct sfs_shards *s, struct sfs_shard *shard, uint64_t offset,
			const void *bytes, size_t n);

/* It looks for its first sample.  How far, from the byte that it wants on, are bytes
 * worth requesting for that? */
uint64_t sfs_stretch_wanted_end(const struct sfs_growth *g);

/* Does a sample that starts there lie behind it?  Then it has come to its end. */
bool sfs_stretch_ends_before(struct sfs_shard *shard, uint64_t start);

/* Its shard has come to its end. */
void sfs_stretch_end(struct sfs_shard *shard);

/* Its scan has found damage.  Unless it is sure of its first sample, it waits until that
 * is known. */
void sfs_stretch_check_damage(struct sfs_shard *shard);

#endif
