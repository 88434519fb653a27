/* SPDX-License-Identifier: MIT */
/* file - an open file of the tree: a stream, a shard, a member, or a text made for it.
 *
 * Any thread may call. */
#ifndef SFS_FILE_H
#define SFS_FILE_H

#include "base/error.h"
#include "base/waiter.h"
#include "io/request.h"

#include <stdbool.h>
#include <stdint.h>

struct sfs_file;
struct sfs_tree;

/* Open a file.  -EINPROGRESS: the waiter is called when it can go on.  -EISDIR; others as
 * sfs_tree_attr(). */
int sfs_file_open(struct sfs_tree *tree, uint64_t node, struct sfs_waiter *waiter,
		  struct sfs_file **ret_file);
void sfs_file_close(struct sfs_file *file); /* no read may be in progress */

/* Read: see request.h.  Does not wait. */
void sfs_file_read(struct sfs_file *file, struct sfs_read *read);

bool sfs_file_is_stream(const struct sfs_file *file);

/* May bytes be wrong that were given before the file was opened?  (A random
 * segment was taken to begin where no sample does: catalog/stretches.h.) */
bool sfs_file_is_stale(const struct sfs_file *file);

/* The same of this file itself: it can only fail, and has no size any more. */
bool sfs_file_is_wrong(const struct sfs_file *file);

/* The byte from which on the file holds only padding (the zeros after the last sample of
 * a stream).  UINT64_MAX: not known, or not a stream. */
uint64_t sfs_file_padding(struct sfs_file *file);

/* Look up a path and open the file.  Waits: not for the threads of a front end.  < 0:
 * with an error. */
int sfs_file_open_path(struct sfs_tree *tree, const char *path,
		       struct sfs_file **ret_file, struct sfs_error *err);

#endif
