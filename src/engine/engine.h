/* SPDX-License-Identifier: MIT */
/* engine - everything behind a mount or a `shufflefs cat`, started and stopped in
 * order. */
#ifndef SFS_ENGINE_H
#define SFS_ENGINE_H

#include "catalog/directory.h"
#include "catalog/index-find.h"
#include "catalog/sizes.h"
#include "config/options.h"
#include "engine/reclaim.h"
#include "io/header-scan.h"
#include "io/idx-file.h"
#include "io/runtime.h"
#include "io/scan-all.h"
#include "io/shard-reader.h"
#include "stream/next-epoch.h"
#include "stream/stream.h"

#include <pthread.h>

struct sfs_engine {
	struct sfs_options *options; /* borrowed */
	struct sfs_strings specs;    /* as people may read them: without secrets */
	char *title;		     /* the first spec, or "the first, ..." */
	uint64_t started_ms;	     /* wall time, for people */
	uint64_t started_ns;

	struct sfs_runtime runtime;
	struct sfs_directory
		*names; /* of the shards; each node's data is the shard's number */
	struct sfs_reclaim reclaim;
	struct sfs_source *files, *http; /* NULL: none of that kind */
	struct sfs_index_finder *indexes;
	struct sfs_sizes *sizes;
	struct sfs_header_scanner scanner;
	struct sfs_scan_all *scan_all, *members; /* of the tables; of the members, too */
	struct sfs_streams streams;
	struct sfs_next_epoch next_epoch;
	struct sfs_shard_readers *shard_readers;
	struct sfs_idx_files *idx_files;

	pthread_t ticker;
	pthread_mutex_t lock; /* guards is_stopping */
	pthread_cond_t wake;
	bool is_stopping, has_ticker;
};

/* The folder in which indexes are kept, by index-cache= or by default; the caller frees
 * it.  NULL: none. */
char *sfs_engine_index_cache(const struct sfs_options *options);

/* Start: expand the specs, ask a few shards whether they are there, begin to ask
 * all sizes.  Waits for the answers to those few.  `is_cat`: the default budget is
 * that of one stream.  Call it after the last fork.
 * < 0: with a sentence, and nothing is left running. */
int sfs_engine_start(struct sfs_options *options, const struct sfs_strings *specs,
		     bool is_cat, struct sfs_engine **ret_core, struct sfs_error *err);

/* Wait until the sizes of all shards are known.  Calls show(ctx) every tenth of a second
 * meanwhile, unless `show` is NULL.  0: they are; a line in the log says which shards
 * are left out, if any.  < 0: some cannot be read, or the sources stall; *err says why.
 */
int sfs_engine_wait_for_sizes(struct sfs_engine *engine, void (*show)(void *ctx),
			      void *ctx, struct sfs_error *err);

/* Stop; all files must be closed and nobody may wait any more.  Waits until all has
 * ended, which nothing at the other end of a network can delay.  A disk that does not
 * answer is left alone after some seconds (sfs_threads_are_left()). */
void sfs_engine_stop(struct sfs_engine *engine);

/* Free what was stopped, after whatever stands on it: a tree.  NULL is fine.  Memory that
 * a thread which was left alone may still write to stays. */
void sfs_engine_free(struct sfs_engine *engine);

#endif
