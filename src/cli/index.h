/* SPDX-License-Identifier: MIT */
/* indexing - makes the indexes of a dataset ahead, for `shufflefs index`.
 *
 * Each shard is looked at once, a few at a time; what has an index already is left alone,
 * so it can be stopped and begun again.  Several machines may share the work: machine I
 * of N takes every N-th shard.  On standard error, if that is a terminal, a line tells
 * how far it is.
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

/* Waits until all is done.  *text gets a line for the user, that says what was done.
 * < 0: a sentence; what could be indexed was.  options->index_to says where indexes go,
 * by name; NULL: into the cache folder. */
int sfs_index_dataset(struct sfs_options *options, const struct sfs_strings *specs,
		      const struct sfs_index_dataset_options *wanted,
		      struct sfs_strbuf *text, struct sfs_error *err);

#endif
