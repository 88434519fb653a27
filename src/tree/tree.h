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

#include "base/strbuf.h"
#include "base/waiter.h"
#include "tree/node.h"
#include "tree/snapshot.h"

#include <stdbool.h>
#include <stdint.h>

struct sfs_engine;
struct sfs_epochs;
struct sfs_tree;

/* Build it over an engine, which stays borrowed.  Free it between sfs_engine_stop() and
 * sfs_engine_free(); NULL is fine. */
struct sfs_tree *sfs_tree_new(struct sfs_engine *engine);
void sfs_tree_free(struct sfs_tree *tree);
struct sfs_engine *sfs_tree_engine(const struct sfs_tree *tree);
struct sfs_epochs *sfs_tree_epochs(const struct sfs_tree *tree);

/* -ENOENT: there is no such name, for good.  -ENODEV: the shard is missing at its
 * source, now.  -EINVAL: an epoch has no such part.  -ENOTDIR, -EINPROGRESS, or the
 * reason why a shard cannot be listed. */
int sfs_tree_lookup(struct sfs_tree *tree, uint64_t parent, const char *name,
		    struct sfs_waiter *waiter, uint64_t *ret_node);

/* -EINPROGRESS; -ENOENT, -EACCES, -EIO: the source does not give the size. */
int sfs_tree_attr(struct sfs_tree *tree, uint64_t node, struct sfs_waiter *waiter,
		  struct sfs_attr *ret_attr);

/* List the entries of a folder from `cookie` on (0: from the start).  -ENOTDIR,
 * -EINPROGRESS, -EIO: a damaged shard could not be listed to its end. */
int sfs_tree_list(struct sfs_tree *tree, uint64_t node, uint64_t cookie,
		  struct sfs_waiter *waiter, sfs_add_entry *add, void *ctx);

/* May the folder have more entries later?  Then its listing must not be cached. */
bool sfs_tree_is_growing(const struct sfs_tree *tree, uint64_t node);

/* An extended attribute of a stream, as text; and the names of all, each with its NUL.
 * See epochs.h. */
int sfs_tree_xattr(struct sfs_tree *tree, uint64_t node, const char *name,
		   struct sfs_waiter *waiter, struct sfs_strbuf *text);
void sfs_tree_list_xattrs(struct sfs_tree *tree, uint64_t node, struct sfs_strbuf *text);

/* The folder above. */
uint64_t sfs_tree_parent(struct sfs_tree *tree, uint64_t node);

/* Do the text, size and time of a file change?  Then they must not be cached. */
bool sfs_tree_is_live(uint64_t node);

/* Open the text of README or of a file in .shufflefs.  -EISDIR, -ENOMEM. */
int sfs_tree_open_snapshot(struct sfs_tree *tree, uint64_t node,
			   struct sfs_snapshot **ret_snapshot);

/* The shard of a node of kind SHARD or SHARD_INDEX; NULL: there is none. */
struct sfs_shard *sfs_tree_shard(struct sfs_tree *tree, uint64_t node);

/* Follow a path ("epochs/0.tar").  Waits: not for the threads of a front end. */
int sfs_tree_walk(struct sfs_tree *tree, const char *path, uint64_t *ret_node);

#endif
