/* SPDX-License-Identifier: MIT */
/* tree - the files and folders that a mount shows, without a mount.
 *
 *     README  epochs/E.tar  shards/NAME  samples/NAME/MEMBER  .shufflefs/...
 *
 * A node is a number that stays the same for the life of the mount.  Calls that need a
 * size or a listing that is not known yet take a waiter (waiter.h) and return
 * -EINPROGRESS.  Any thread may call.
 */
#ifndef SFS_TREE_H
#define SFS_TREE_H

#include "base/error.h"
#include "base/strbuf.h"
#include "base/waiter.h"
#include "io/request.h"
#include "tree/node.h"

#include <stdbool.h>
#include <stdint.h>

struct sfs_engine;
struct sfs_tree;

/* Build it over an engine, which stays borrowed.  Free it between sfs_engine_stop() and
 * sfs_engine_free(); NULL is fine. */
struct sfs_tree *sfs_tree_new(struct sfs_engine *engine);
void sfs_tree_free(struct sfs_tree *tree);
struct sfs_engine *sfs_tree_engine(const struct sfs_tree *tree);

/* -ENOENT: there is no such name, for good.  -ENODEV: the shard is missing at its
 * source, now.  -EINVAL: an epoch has no such part.  -ENOTDIR, -EINPROGRESS, or why else
 * a shard cannot be listed. */
int sfs_tree_lookup(struct sfs_tree *tree, uint64_t parent, const char *name,
		    struct sfs_waiter *waiter, uint64_t *ret_node);

/* -EINPROGRESS; -ENOENT, -EACCES, -EIO: the source does not give the size. */
int sfs_tree_attr(struct sfs_tree *tree, uint64_t node, struct sfs_waiter *waiter,
		  struct sfs_attr *ret_attr);

/* Tell the entries of a folder from `cookie` on (0: from the start).  `tell` gets
 * each name, node and kind, and the cookie behind it; it returns false to stop.
 * -ENOTDIR, -EINPROGRESS, -EIO: a damaged shard could not be listed to its end. */
int sfs_tree_list(struct sfs_tree *tree, uint64_t node, uint64_t cookie,
		  struct sfs_waiter *waiter,
		  bool (*tell)(void *ctx, const char *name, uint64_t node, bool is_folder,
			       uint64_t cookie),
		  void *ctx);

/* May the folder list more later?  Then its entries are not to be cached. */
bool sfs_tree_is_growing(uint64_t node);

/* An extended attribute of a stream, as text; and all their names, each with its NUL.
 * See epochs.h. */
int sfs_tree_xattr(struct sfs_tree *tree, uint64_t node, const char *name,
		   struct sfs_waiter *waiter, struct sfs_strbuf *text);
void sfs_tree_list_xattrs(struct sfs_tree *tree, uint64_t node, struct sfs_strbuf *text);

/* The folder above. */
uint64_t sfs_tree_parent(struct sfs_tree *tree, uint64_t node);

struct sfs_file;

/* Open a file.  -EISDIR; others as attr. */
int sfs_file_open(struct sfs_tree *tree, uint64_t node, struct sfs_waiter *waiter,
		  struct sfs_file **ret_file);
void sfs_file_close(struct sfs_file *file); /* no read may be under way */
void sfs_file_read(struct sfs_file *file, struct sfs_read *read); /* read.h */

bool sfs_file_is_stream(const struct sfs_file *file);

/* From which byte on does the file hold nothing but padding (the zeros behind a
 * stream's last sample)?  UINT64_MAX: not known, or no stream. */
uint64_t sfs_file_padding(struct sfs_file *file);

/* Follow a path ("epochs/0.tar").  Waits: not for a front end's threads. */
int sfs_tree_walk(struct sfs_tree *tree, const char *path, uint64_t *ret_node);

/* Walk there, and open the file.  Waits too.  < 0: with a sentence. */
int sfs_file_open_path(struct sfs_tree *tree, const char *path,
		       struct sfs_file **ret_file, struct sfs_error *err);

#endif
