/* SPDX-License-Identifier: MIT */
/* window - reads of shards as they are, with a prefetch window for those who read
 * on.
 *
 * A read of a shard's bytes is answered by fetching just them.  Reads that go on
 * where an earlier one ended, whoever they come from (a copy of the shard, or its
 * members one after the other), share a window: large parts, fetched ahead, and
 * further ahead the longer the row becomes.
 *
 * Any thread may call.  Nothing waits.
 */
#ifndef SFS_SHARD_READER_H
#define SFS_SHARD_READER_H

#include "io/request.h"
#include "io/runtime.h"

struct sfs_shard_readers;

struct sfs_shard_readers *sfs_shard_readers_new(struct sfs_runtime *runtime);

/* Every second: end windows that nobody has read for long. */
void sfs_shard_readers_tick(struct sfs_shard_readers *w);

/* Wait until all has gone; the sources must be stopped, and all reads answered. */
void sfs_shard_readers_free(struct sfs_shard_readers *w);

/* Answer a read of the bytes [base, base + size) of a shard, in which the read's
 * offset counts; it is clipped there.  Errors are those of the source: -ENOENT,
 * -EACCES, -ESTALE, others as -EIO. */
void sfs_shard_readers_read(struct sfs_shard_readers *w, struct sfs_shard *shard,
			    uint64_t base, uint64_t size, struct sfs_read *read);

/* What a source's error is to a reader of a shard. */
int sfs_shard_read_err(int err);

#endif
