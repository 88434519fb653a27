/* SPDX-License-Identifier: MIT */
/* indexing - makes the indexes of a dataset ahead, for `shufflefs index`.
 *
 * Each shard is looked at once, a few at a time; what has an index already is left alone,
 * so it can be stopped and begun again.  Several machines may share the work: machine I
 * of N takes every N-th shard.  On standard error, if that is a terminal, a line tells
 * how far it is.
 */
#ifndef SFS_INDEXING_H
#define SFS_INDEXING_H

#include "error.h"
#include "options.h"
#include "text.h"

#include <stdint.h>

struct sfs_indexing_options {
	uint32_t part, n_parts; /* the shards `part`, `part` + n_parts, ... */
};

/* Waits until all is done.  *text gets a line for the user, that says what was done.
 * < 0: a sentence; what could be indexed was.  options->index_to says where indexes go,
 * by name; NULL: into the cache folder. */
int sfs_indexing(struct sfs_options *options, const struct sfs_strings *specs,
		 const struct sfs_indexing_options *wanted, struct sfs_text *text,
		 struct sfs_error *err);

#endif
