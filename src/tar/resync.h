/* SPDX-License-Identifier: MIT */
/* resync - finds the first sample of a shard that starts at or after a byte, the cut,
 * from the bytes around it alone.
 *
 * Reading begins somewhere before the cut.  The first block that may be a header, and
 * from which header leads to header (the chain), counts as one of the shard's own.  Of
 * the samples along the chain the first may have begun earlier; each other one begins
 * where the chain says.  So a member with a key must start before the cut, or else
 * reading must begin further back.
 *
 * It is a guess.  What lies in a member may look like headers and lead to others: a tar
 * in a tar, or bytes that somebody chose.  Of those that it sees it takes note: if there
 * is one (has_hidden), nobody should rely on what it found.  It sees those that it tried
 * in vain, and those in data that the chain passes over, as far as they are fed.  But in
 * a member that is longer than the look back it may see nothing else.  Only the chain
 * from the shard's start, which sfs_scan follows, is sure.  (With `from` = 0 it is that
 * chain.) Pure; one thread.
 */
#ifndef SFS_RESYNC_H
#define SFS_RESYNC_H

#include "tar/scan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* When so many chains have broken, it gives up (LATE).  So it wants each block so often
 * at most. */
#define SFS_RESYNC_TRIES 8

enum sfs_resync_state {
	SFS_RESYNC_READING,
	SFS_RESYNC_FOUND, /* at `start` */
	SFS_RESYNC_NONE,  /* no sample starts at or after the cut */
	SFS_RESYNC_LATE,  /* `from` is not far enough back; or too many chains break */
	SFS_RESYNC_LOST,  /* from 0: the shard is damaged before the cut */
};

struct sfs_resync {
	uint64_t shard_bytes, cut;
	enum sfs_resync_state state;
	uint64_t start;
	uint64_t before;  /* FOUND, NONE: no sample starts behind it and before `start`,
			   * or the shard's end */
	bool has_hidden;  /* a block that may be a header is not the chain's */
	uint64_t longest; /* of the chain's members, in bytes */

	/* Private to resync.c. */
	enum { SFS_RESYNC_SEARCH, SFS_RESYNC_FIRST, SFS_RESYNC_CHAIN } phase;
	uint64_t pos; /* the block that may be a header; in a chain, the one before it */
	struct sfs_scan scan;
	uint64_t n_members, n_since; /* of the chain; since `start` */
	bool has_first, has_start, is_late, is_certain;
	unsigned n_tries; /* that failed */
	uint64_t passed;  /* where the member begins that does not count */
	uint64_t first;	  /* where the chain's first sample begins, or is seen first */
	uint64_t data, data_end; /* of the latest member of the chain: its data */
};

/* `from` is 0, or less than `cut`; both are multiples of 512.  The shard has bytes. */
void sfs_resync_init(struct sfs_resync *r, uint64_t shard_bytes, uint64_t from,
		     uint64_t cut);
void sfs_resync_done(struct sfs_resync *r);

/* The next byte that it wants, in whole blocks; UINT64_MAX: none, it is not READING any
 * more.  It goes back when a chain turns out to be none: bytes from `from` on must stay
 * at hand. */
uint64_t sfs_resync_wanted(const struct sfs_resync *r);

/* READING: the sample that it is looking for begins there or behind that, unless what the
 * chain has led to is none. */
uint64_t sfs_resync_from(const struct sfs_resync *r);

/* Look at the n bytes at `offset`, as far as they are wanted; those that the chain passes
 * over may be fed with them.  Returns the next wanted byte. */
uint64_t sfs_resync_feed(struct sfs_resync *r, uint64_t offset, const void *bytes,
			 size_t n);

#endif
