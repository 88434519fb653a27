/* SPDX-License-Identifier: MIT */
/* shard-reader - reads of the bytes of shards, with a prefetch window for sequential
 * reads.
 *
 * A random read is answered by fetching just its bytes.  Reads that continue where an
 * earlier one ended, from whichever reader (a copy of the shard, or its members one after
 * another), share a window: it fetches large chunks ahead, and further ahead the longer
 * they go on.
 *
 * Any thread may call.  Nothing waits.
 */
#ifndef SFS_SHARD_READER_H
#define SFS_SHARD_READER_H

#include "io/request.h"
#include "io/runtime.h"

struct sfs_shard_readers;

struct sfs_shard_readers *sfs_shard_readers_new(struct sfs_runtime *runtime);

/* Call it every second: it closes windows that nobody has read for 10 s. */
void sfs_shard_readers_tick(struct sfs_shard_readers *w);

/* Wait until all windows are gone; the sources are stopped and all reads answered. */
void sfs_shard_readers_free(struct sfs_shard_readers *w);

/* Answer a read of the file that is bytes [base, base + size) of a shard: the read's
 * offset is from `base`, and the read is clipped at `size`.  Errors are those of
 * sfs_shard_read_err(). */
void sfs_shard_readers_read(struct sfs_shard_readers *w, struct sfs_shard *shard,
			    uint64_t base, uint64_t size, struct sfs_read *read);

/* The error that the reader of a shard gets for an error of a source: -ENOENT, -EACCES,
 * -ESTALE and -ECANCELED stay, others are -EIO. */
int sfs_shard_read_err(int err);

#endif
