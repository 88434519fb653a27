/* SPDX-License-Identifier: MIT */
/* header-fetch - fetches the parts of one shard in which its headers lie.
 *
 * The caller says which byte it wants next.  While headers lie close together, chunks are
 * large and the next one is fetched ahead; when the wanted byte jumps, chunks are small
 * and single, unless the index of another tool says where the headers after it may be.
 *
 * One task uses it at a time; chunks end on other threads, which post that task.
 */
#ifndef SFS_HEADER_FETCH_H
#define SFS_HEADER_FETCH_H

#include "base/threadpool.h"
#include "catalog/index-import.h"
#include "io/range.h"
#include "io/runtime.h"

#define SFS_HEADER_FETCH_CHUNKS 8

/* How long chunks took of late, in nanoseconds; 0: not known.  Shared by all fetches. */
struct sfs_header_fetch_times {
	uint64_t small_ns, large_ns;
};

struct sfs_header_fetch_chunk {
	struct sfs_range range;
	struct sfs_header_fetch *fetch;
	bool is_used;
	uint64_t begun_ns;

	bool has_ended; /* guarded by fetch->lock, as err */
	int err;
};

struct sfs_header_fetch {
	/* Set by the caller, the rest zero. */
	struct sfs_runtime *runtime;
	struct sfs_shard *shard;
	struct sfs_task *task; /* posted when a chunk ends */
	pthread_mutex_t *lock; /* guards *times, and how chunks ended */
	struct sfs_header_fetch_times *times;
	const struct sfs_index_import *hints; /* where headers may be; NULL: no hints */
	bool is_proof;			      /* see sfs_header_scan_proof() */
	const atomic_bool *is_quiet;	      /* the same; or NULL */
	bool is_for_first; /* of a stretch: nothing behind it is wanted */

	/* Private. */
	struct sfs_header_fetch_chunk chunks[SFS_HEADER_FETCH_CHUNKS];
	int n_chunks;	 /* that are used */
	uint64_t next;	 /* bytes before it were asked for or jumped over */
	/* The last wanted byte was too far ahead to read up to it.  (Or it begins like
	 * that; then the caller has set it.) */
	bool is_jumping;
	uint64_t target; /* of the last jump; fetched if next is greater */
	int n_close;	 /* chunks since then that were worth no jump */
};

typedef void sfs_header_fetch_feed(void *ctx, uint64_t offset, const void *bytes,
				   size_t n);

/* Feed the bytes of all chunks that have ended, in the order of the shard, and free them.
 * 0, or the error of the first chunk that failed. */
int sfs_header_fetch_take(struct sfs_header_fetch *f, sfs_header_fetch_feed *feed,
			  void *ctx);

/* Ask for chunks from the byte `want` on.  UINT64_MAX: nothing more is wanted.  false: no
 * chunk is in flight, so nothing will post the task. */
bool sfs_header_fetch_ask(struct sfs_header_fetch *f, uint64_t want);

#endif
