/* SPDX-License-Identifier: MIT */
/* node - the number of a file or folder of the tree, and its attributes.
 *
 * The number says what the node is: its kind in the top four bits, and below that a node
 * of epochs.h, a shard's index, or (of a member) a shard's index and a number in its
 * listing.
 */
#ifndef SFS_NODE_H
#define SFS_NODE_H

#include <stdbool.h>
#include <stdint.h>

enum sfs_node_kind {
	SFS_NODE_FIXED,		 /* one of enum sfs_fixed_node */
	SFS_NODE_UNDER_EPOCHS,	 /* a node of epochs.h */
	SFS_NODE_SHARDS_FOLDER,	 /* a folder below shards/, by shards' names */
	SFS_NODE_SHARD,		 /* shards/NAME */
	SFS_NODE_SAMPLES_FOLDER, /* the same below samples/ */
	SFS_NODE_MEMBER,	 /* samples/NAME, and what is in it */
	SFS_NODE_SHARD_INDEX	 /* shards/NAME.idx */
};

enum sfs_fixed_node {
	SFS_NODE_ROOT = 1,
	SFS_NODE_README,
	SFS_NODE_EPOCHS,
	SFS_NODE_SHARDS,
	SFS_NODE_SAMPLES,
	SFS_NODE_CONTROL, /* .shufflefs */
	SFS_NODE_STATS,
	SFS_NODE_METRICS,
	SFS_NODE_CONFIG,
	SFS_NODE_ERRORS
};

#define SFS_NODE_KIND_SHIFT 60

static inline uint64_t sfs_node_make(enum sfs_node_kind kind, uint64_t rest)
{
	return (uint64_t)kind << SFS_NODE_KIND_SHIFT | rest;
}

static inline enum sfs_node_kind sfs_node_kind(uint64_t node)
{
	return (enum sfs_node_kind)(node >> SFS_NODE_KIND_SHIFT);
}

static inline uint64_t sfs_node_rest(uint64_t node)
{
	return node & (((uint64_t)1 << SFS_NODE_KIND_SHIFT) - 1);
}

struct sfs_attr {
	uint64_t node;
	bool is_folder;
	bool is_live; /* sfs_tree_is_live() */
	bool is_unsure; /* its size was guessed (of a rank, with random segments) */
	uint64_t size;
	int64_t mtime; /* seconds since 1970 */
	uint32_t mtime_ns;
};

/* Gets the entries of a folder, one at a time.  Listing can go on after this one from
 * `cookie`.  Returns false to stop. */
typedef bool sfs_add_entry(void *ctx, const char *name, uint64_t node, bool is_folder,
			   uint64_t cookie);

#endif
