/* SPDX-License-Identifier: MIT */
/* index - `shufflefs index`: creates the indexes of a dataset in advance.
 *
 * Each shard is scanned once, several in parallel; shards with an index are skipped, so
 * the command can be interrupted and repeated.  Several machines may share the work:
 * machine I of N takes every N-th shard.  On a terminal, standard error shows the
 * progress.
 */
#ifndef SFS_CLI_INDEX_H
#define SFS_CLI_INDEX_H

#include "base/error.h"
#include "base/strbuf.h"
#include "config/options.h"

#include <stdint.h>

struct sfs_index_dataset_options {
	uint32_t part, n_parts; /* the shards `part`, `part` + n_parts, ... */
};

/* Index all shards of the part.  Waits.  *text gets a line that says what was done.
 * options->index_to is the folder for the indexes; NULL: the cache folder.  < 0: with an
 * error; the other shards are indexed. */
int sfs_index_dataset(struct sfs_options *options, const struct sfs_strings *specs,
		      const struct sfs_index_dataset_options *wanted,
		      struct sfs_strbuf *text, struct sfs_error *err);

#endif
