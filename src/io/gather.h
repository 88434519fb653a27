/* SPDX-License-Identifier: MIT */
/* gather - answers one read from ranges that are fetched for it alone.
 *
 * The pieces are grabs (some with edits), copies and zeros, in the order of the bytes.
 * Its memory is one grant of the grabber's, so that gathers never wait for each other.
 */
#ifndef SFS_GATHER_H
#define SFS_GATHER_H

#include "io/header-patch.h"
#include "io/range.h"
#include "io/request.h"

#include <stdatomic.h>

struct sfs_gather;

/* A gather of nothing yet, for `read`. */
struct sfs_gather *sfs_gather_new(struct sfs_range_reader *range_reader,
				  struct sfs_read *read);

/* Append n bytes at `offset` of the shard. */
void sfs_gather_add(struct sfs_gather *g, struct sfs_shard *shard, uint64_t offset,
		    uint64_t n);

/* The same, where an index says that a sample begins. */
void sfs_gather_add_told(struct sfs_gather *g, struct sfs_shard *shard, uint64_t start,
			 uint64_t n);

/* Append n bytes at `at` of a sample that is edited. */
void sfs_gather_add_edited(struct sfs_gather *g, struct sfs_shard *shard,
			   uint64_t sample_start, uint64_t sample_bytes, bool is_renamed,
			   uint64_t at, uint64_t n);

/* Append n bytes that are copied now. */
void sfs_gather_add_copy(struct sfs_gather *g, const void *bytes, size_t n);
void sfs_gather_add_zeros(struct sfs_gather *g, uint64_t n);

/* Fetch all of it, then call read->done().  The gather belongs to itself from now
 * on, and the read's cancel and release are the gather's.  If `mapped_err` is not
 * NULL, it turns an error of a source into that for the reader. */
void sfs_gather_start(struct sfs_gather *g, int (*mapped_err)(int err));

/* The same when the lock is free, for a read whose cancel and release stay those of
 * its owner, who calls these instead. */
void sfs_gather_post(struct sfs_gather *g, int (*mapped_err)(int err),
		     struct sfs_deferred *out);
bool sfs_gather_cancel(struct sfs_gather *g,
		       struct sfs_read *read); /* as sfs_read_cancel() */
void sfs_gather_explain(struct sfs_gather *g,
			struct sfs_cause *cause); /* as sfs_read_explain() */
void sfs_gather_release(struct sfs_gather *g, struct sfs_read *read); /* after done(0) */

/* Free one that was never started. */
void sfs_gather_free(struct sfs_gather *g);

#endif
