/* SPDX-License-Identifier: MIT */
/* core - everything behind a mount or a `shufflefs cat`, started and stopped in
 * order. */
#ifndef SFS_CORE_H
#define SFS_CORE_H

#include "census.h"
#include "env.h"
#include "idx.h"
#include "indexer.h"
#include "indexes.h"
#include "options.h"
#include "stream.h"
#include "survey.h"
#include "thrift.h"
#include "tree.h"
#include "window.h"

#include <pthread.h>

struct sfs_core {
	struct sfs_options *options; /* borrowed */
	struct sfs_strings specs;    /* as people may read them: without secrets */
	char *title;		     /* the first spec, or "the first, ..." */
	uint64_t started_ms;	     /* wall time, for people */
	uint64_t started_ns;

	struct sfs_env env;
	struct sfs_thrift thrift;
	struct sfs_source *files, *http; /* NULL: none of that kind */
	struct sfs_indexes *indexes;
	struct sfs_census *census;
	struct sfs_surveyor surveyor;
	struct sfs_indexer *indexer, *members; /* of the tables; of the members, too */
	struct sfs_streams streams;
	struct sfs_windows *windows;
	struct sfs_idxs *idxs;
	struct sfs_tree *tree;

	pthread_t ticker;
	pthread_mutex_t lock; /* guards is_stopping */
	pthread_cond_t wake;
	bool is_stopping, has_ticker;
};

/* The folder in which indexes are kept, by index-cache= or by default; the caller frees
 * it.  NULL: none. */
char *sfs_core_index_cache(const struct sfs_options *options);

/* Start: expand the specs, ask a few shards whether they are there, begin to ask
 * all sizes.  Waits for the answers to those few.  `is_cat`: the default budget is
 * that of one stream.  Call it after the last fork.
 * < 0: with a sentence, and nothing is left running. */
int sfs_core_start(struct sfs_options *options, const struct sfs_strings *specs,
		   bool is_cat, struct sfs_core **ret_core, struct sfs_error *err);

/* Wait until the sizes of all shards are known.  < 0, with a sentence: they cannot be
 * had. Else a line in the log says what is left out, if anything is. */
int sfs_core_wait_for_sizes(struct sfs_core *core, struct sfs_error *err);

/* The same for who has waited, and was told `ret`. */
int sfs_core_tell_sizes(struct sfs_core *core, int ret, struct sfs_error *err);

/* Stop; all files must be closed and nobody may wait any more.  Waits until all has
 * ended, which nothing at the other end of a network can delay; a disk that does not
 * answer is left behind after seconds, and then the core is, too
 * (sfs_threads_are_left()). */
void sfs_core_stop(struct sfs_core *core);

#endif
