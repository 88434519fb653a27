/* SPDX-License-Identifier: MIT */
/* shard-list - reads a list of shards: a text with a path or URL in each line.
 *
 * Blank lines and lines that begin with '#' are skipped.  Spaces, tabs and a CR at
 * either end of a line are no part of it, nor is a byte order mark at the beginning of
 * the text.  All else is taken as it is: braces, stars and "::" are characters.
 *
 *	struct sfs_shard_list list;
 *
 *	sfs_shard_list_init(&list, bytes, n);
 *	while ((ret = sfs_shard_list_next(&list, &line, &err)) > 0)
 *		...
 *
 * Pure; one thread.
 */
#ifndef SFS_SHARD_LIST_H
#define SFS_SHARD_LIST_H

#include "base/error.h"

#include <stddef.h>

struct sfs_shard_list {
	const char *p, *end;
	unsigned n_lines; /* lines that were read: the number of the last one */
};

/* The n bytes are borrowed. */
void sfs_shard_list_init(struct sfs_shard_list *list, const char *bytes, size_t n);

/* 1: *ret_line is the next path or URL, which the caller frees.  0: there is none.
 * -EBADMSG: a line has a NUL in it; *err names the line. */
int sfs_shard_list_next(struct sfs_shard_list *list, char **ret_line,
			struct sfs_error *err);

#endif
