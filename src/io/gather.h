/* SPDX-License-Identifier: MIT */
/* gather - answers one read from ranges that are fetched for it alone.
 *
 * Its pieces are ranges of shards (some of them patched), copies and zeros, in the order
 * of the read's bytes.  All its memory is one grant of the range reader's, so that
 * gathers never wait for each other.
 */
#ifndef SFS_GATHER_H
#define SFS_GATHER_H

#include "io/header-patch.h"
#include "io/range.h"
#include "io/request.h"

#include <stdatomic.h>

struct sfs_gather;

/* A gather for `read`, without pieces yet. */
struct sfs_gather *sfs_gather_new(struct sfs_range_reader *range_reader,
				  struct sfs_read *read);

/* Append n bytes at `offset` of the shard. */
void sfs_gather_add(struct sfs_gather *g, struct sfs_shard *shard, uint64_t offset,
		    uint64_t n);

/* The same, at `start` of a sample that only an index says is there: if there is no
 * header, the read fails. */
void sfs_gather_add_unverified(struct sfs_gather *g, struct sfs_shard *shard,
			       uint64_t start, uint64_t n);

/* Append n bytes at `at` of a sample that is rewritten. */
void sfs_gather_add_patched(struct sfs_gather *g, const struct sfs_patched_sample *sample,
			    uint64_t at, uint64_t n);

/* Append n bytes; they are copied now. */
void sfs_gather_add_copy(struct sfs_gather *g, const void *bytes, size_t n);
void sfs_gather_add_zeros(struct sfs_gather *g, uint64_t n);

/* Fetch all pieces, then call read->done().  The gather owns itself from now on, and sets
 * the read's cancel and release.  `map_err`, unless NULL, turns an error of a source into
 * the one that the reader gets. */
void sfs_gather_start(struct sfs_gather *g, int (*map_err)(int err));

/* The same as soon as `out` is run, which the caller does without its lock.  The read's
 * cancel, explain and release stay the caller's, who calls those below. */
void sfs_gather_post(struct sfs_gather *g, int (*map_err)(int err),
		     struct sfs_deferred *out);
bool sfs_gather_cancel(struct sfs_gather *g,
		       struct sfs_read *read); /* as sfs_read_cancel() */
void sfs_gather_explain(struct sfs_gather *g,
			struct sfs_cause *cause); /* as sfs_read_explain() */
void sfs_gather_release(struct sfs_gather *g, struct sfs_read *read); /* after done(0) */

/* Free a gather that was never started. */
void sfs_gather_free(struct sfs_gather *g);

#endif
