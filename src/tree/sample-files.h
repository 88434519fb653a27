/* SPDX-License-Identifier: MIT */
/* sample-files - the files and folders below samples/NAME: the members of a shard.
 *
 * Their numbers are nodes of kind SFS_NODE_MEMBER.  What needs the names of the members
 * takes a waiter, and returns -EINPROGRESS until the shard's headers have been read;
 * other errors are those of reading a shard.  Any thread may call.
 */
#ifndef SFS_SAMPLE_FILES_H
#define SFS_SAMPLE_FILES_H

#include "base/waiter.h"
#include "tree/node.h"

struct sfs_cached_directory;
struct sfs_directory_node;
struct sfs_engine;
struct sfs_shard;

/* The folder of a shard. */
uint64_t sfs_sample_files_node(uint64_t shard_index);

/* The shard of a node; NULL: there is none. */
struct sfs_shard *sfs_sample_files_shard(struct sfs_engine *engine, uint64_t node);

/* The listing that the node is in; give it back with sfs_header_scan_put(). */
int sfs_sample_files_listing(struct sfs_engine *engine, uint64_t node,
			     struct sfs_waiter *waiter,
			     struct sfs_cached_directory **ret_listing);
const struct sfs_directory_node *sfs_sample_files_entry(
	const struct sfs_cached_directory *listing, uint64_t node);

/* As the functions of tree.h. */
int sfs_sample_files_lookup(struct sfs_engine *engine, uint64_t parent, const char *name,
			    struct sfs_waiter *waiter, uint64_t *ret_node);
int sfs_sample_files_attr(struct sfs_engine *engine, uint64_t node,
			  struct sfs_waiter *waiter, struct sfs_attr *attr);
int sfs_sample_files_list(struct sfs_engine *engine, uint64_t node, uint64_t cookie,
			  struct sfs_waiter *waiter, sfs_add_entry *add, void *ctx);

/* The folder above; samples/ itself, if it is not known. */
uint64_t sfs_sample_files_parent(struct sfs_engine *engine, uint64_t node);

#endif
