/* SPDX-License-Identifier: MIT */
/* How this works: bits 32 to 59 of a node are the shard's index, the lower ones the
 * number of the entry in the listing of its members. */
#include "tree/sample-files.h"

#include "catalog/directory.h"
#include "engine/engine.h"

#include <errno.h>

#define SHARD_SHIFT 32

uint64_t sfs_sample_files_node(uint64_t shard_index)
{
	return sfs_node_make(SFS_NODE_MEMBER, shard_index << SHARD_SHIFT);
}

struct sfs_shard *sfs_sample_files_shard(struct sfs_engine *engine, uint64_t node)
{
	uint64_t index = sfs_node_rest(node) >> SHARD_SHIFT;
	struct sfs_shards *shards = &engine->runtime.shards;

	return index < shards->n ? &shards->shards[index] : NULL;
}

static uint32_t entry_of(uint64_t node)
{
	return (uint32_t)node;
}

/* The same shard's entry. */
static uint64_t sibling(uint64_t node, uint32_t entry)
{
	return (node & ~(uint64_t)UINT32_MAX) | entry;
}

const struct sfs_directory_node *sfs_sample_files_entry(
	const struct sfs_cached_directory *listing, uint64_t node)
{
	return &listing->listing->nodes[entry_of(node)];
}

int sfs_sample_files_listing(struct sfs_engine *engine, uint64_t node,
			     struct sfs_waiter *waiter,
			     struct sfs_cached_directory **ret_listing)
{
	struct sfs_shard *shard = sfs_sample_files_shard(engine, node);
	int ret;

	if (!shard)
		return -ENOENT;
	if (waiter)
		waiter->translate = sfs_shard_read_err;
	ret = sfs_sizes_shard(engine->sizes, shard, waiter);
	if (ret == 0)
		ret = sfs_header_scan_listing(&engine->scanner, shard, waiter,
					      ret_listing);
	if (ret == 0 && entry_of(node) >= (*ret_listing)->listing->n) {
		sfs_header_scan_put(&engine->scanner, *ret_listing);
		ret = -ENOENT;
	}
	return ret < 0 && ret != -EINPROGRESS ? sfs_shard_read_err(ret) : ret;
}

/* May what the listing lacks be in the damaged part of the shard? */
static bool is_doubtful(const struct sfs_engine *engine,
			const struct sfs_cached_directory *listing)
{
	return listing->is_damaged && !engine->runtime.shards.skip_damaged;
}

int sfs_sample_files_lookup(struct sfs_engine *engine, uint64_t parent, const char *name,
			    struct sfs_waiter *waiter, uint64_t *ret_node)
{
	struct sfs_cached_directory *listing;
	uint32_t entry;
	int ret;

	ret = sfs_sample_files_listing(engine, parent, waiter, &listing);
	if (ret < 0)
		return ret == -ENOENT ? -ENODEV : ret;
	entry = sfs_directory_find(listing->listing, entry_of(parent), name);
	if (!sfs_sample_files_entry(listing, parent)->is_folder)
		ret = -ENOTDIR;
	else if (entry == 0)
		ret = is_doubtful(engine, listing) ? -EIO : -ENOENT;
	else
		*ret_node = sibling(parent, entry);
	sfs_header_scan_put(&engine->scanner, listing);
	return ret;
}

int sfs_sample_files_attr(struct sfs_engine *engine, uint64_t node,
			  struct sfs_waiter *waiter, struct sfs_attr *attr)
{
	const struct sfs_directory_node *entry;
	struct sfs_cached_directory *listing;
	int ret;

	if (entry_of(node) == SFS_DIRECTORY_ROOT) {
		/* The shard's own folder: its members need not be known. */
		attr->is_folder = true;
		return sfs_sample_files_shard(engine, node) ? 0 : -ENOENT;
	}
	ret = sfs_sample_files_listing(engine, node, waiter, &listing);
	if (ret < 0)
		return ret;
	entry = sfs_sample_files_entry(listing, node);
	attr->is_folder = entry->is_folder;
	if (!entry->is_folder) {
		attr->size = entry->size;
		attr->mtime = entry->mtime;
	}
	sfs_header_scan_put(&engine->scanner, listing);
	return 0;
}

uint64_t sfs_sample_files_parent(struct sfs_engine *engine, uint64_t node)
{
	struct sfs_cached_directory *listing;
	uint64_t parent;

	if (entry_of(node) == SFS_DIRECTORY_ROOT ||
	    sfs_sample_files_listing(engine, node, NULL, &listing) < 0)
		return SFS_NODE_SAMPLES;
	parent = sibling(node, sfs_sample_files_entry(listing, node)->parent);
	sfs_header_scan_put(&engine->scanner, listing);
	return parent;
}

int sfs_sample_files_list(struct sfs_engine *engine, uint64_t node, uint64_t cookie,
			  struct sfs_waiter *waiter, sfs_add_entry *add, void *ctx)
{
	struct sfs_cached_directory *listing;
	const struct sfs_directory *d;
	uint32_t entry, folder = entry_of(node);
	int ret;

	ret = sfs_sample_files_listing(engine, node, waiter, &listing);
	if (ret < 0)
		return ret;
	d = listing->listing;
	entry = sfs_directory_next(d, folder, cookie);
	if (!d->nodes[folder].is_folder)
		ret = -ENOTDIR;
	else if (entry == 0 && is_doubtful(engine, listing))
		ret = -EIO; /* these were all that is known; there may be more */
	for (; ret == 0 && entry; entry = d->nodes[entry].next_sibling)
		if (!add(ctx, sfs_directory_name(d, entry), sibling(node, entry),
			 d->nodes[entry].is_folder, entry))
			break;
	sfs_header_scan_put(&engine->scanner, listing);
	return ret;
}
