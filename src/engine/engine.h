/* SPDX-License-Identifier: MIT */
/* engine - everything behind a mount or a command, started and stopped in order. */
#ifndef SFS_ENGINE_H
#define SFS_ENGINE_H

#include "catalog/directory.h"
#include "catalog/index-find.h"
#include "catalog/sizes.h"
#include "config/options.h"
#include "engine/reclaim.h"
#include "engine/stores.h"
#include "engine/weak-order.h"
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
	struct sfs_strings specs;    /* without secrets */
	char *title;		     /* the first spec, or "the first, ..." */
	const char *mountpoint;	     /* borrowed; NULL: there is none */
	struct sfs_error not_taken;  /* see dataset.h */
	uint64_t started_ms;	     /* wall time */
	uint64_t started_ns;

	struct sfs_runtime runtime;

	/* Of the shards; the data of a node is the number of the shard. */
	struct sfs_directory *names;
	struct sfs_reclaim reclaim;
	struct sfs_source *files, *http; /* NULL: none of that kind */
	struct sfs_stores stores;	 /* of the HTTP source */
	struct sfs_index_finder *indexes;
	struct sfs_sizes *sizes;
	struct sfs_header_scanner scanner;
	struct sfs_weak_order weak_order;
	struct sfs_scan_all *scan_all, *members; /* for tables; for tables and members */
	struct sfs_streams streams;
	struct sfs_next_epoch next_epoch;
	struct sfs_shard_readers *shard_readers;
	struct sfs_idx_files *idx_files;

	pthread_t ticker;
	pthread_mutex_t lock; /* guards is_stopping */
	pthread_cond_t wake;
	bool is_stopping, has_ticker;
};

/* The folder for indexes, from index-cache= or the default; the caller frees it.  NULL:
 * none. */
char *sfs_engine_index_cache(const struct sfs_options *options);

/* Start: expand the specs, probe a few shards, and start to request all sizes.  Waits for
 * the responses of those few.  `is_cat`: the default budget is that of one stream.  Call
 * it after the last fork.  < 0: with an error, and nothing is left running. */
int sfs_engine_start(struct sfs_options *options, const struct sfs_strings *specs,
		     bool is_cat, struct sfs_engine **ret_engine, struct sfs_error *err);

/* Log a line that says what in the folders of the dataset is no shard, if anything: for
 * commands that show a user the dataset. */
void sfs_engine_warn_of_folders(const struct sfs_engine *engine);

/* Wait until the sizes of all shards are known.  Calls show(ctx) every tenth of a second
 * meanwhile, unless `show` is NULL.  0: they are; a line in the log says which shards
 * are left out, if any.  < 0: some cannot be read, or the sources stall; *err says why.
 */
int sfs_engine_wait_for_sizes(struct sfs_engine *engine, void (*show)(void *ctx),
			      void *ctx, struct sfs_error *err);

/* Stop.  All files must be closed, and no waiter may be kept.  Waits until everything has
 * ended, which no server can delay.  After some seconds it stops waiting for a disk that
 * does not respond (sfs_threads_are_left()). */
void sfs_engine_stop(struct sfs_engine *engine);

/* Free a stopped engine, after its tree.  NULL is fine.  Frees nothing if a thread is
 * left running, because that may still use the memory. */
void sfs_engine_free(struct sfs_engine *engine);

#endif
