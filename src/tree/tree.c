/* SPDX-License-Identifier: MIT */
/* How this works: the number of a node says what it is (node.h), so only epochs.h
 * remembers nodes; the kernel may forget a node and look it up again.
 *
 * The folders in shards' names ("a/x-0.tar") make a listing too, whose files are shards:
 * shards/ shows these as files, samples/ as folders. */
#include "tree/tree.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "catalog/directory.h"
#include "engine/engine.h"
#include "tree/epochs.h"
#include "tree/sample-files.h"
#include "tree/status.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

struct sfs_tree {
	struct sfs_engine *engine;
	struct sfs_epochs *epochs;
	struct sfs_directory *names; /* of the shards; data is the shard's index */
	struct sfs_snapshots *snapshots;
	_Atomic bool *named; /* of each shard: was it looked up in samples/? */
};

static enum sfs_choice_samples samples_of(const struct sfs_tree *t)
{
	return (enum sfs_choice_samples)t->engine->options->samples;
}

/* Is there this file or folder of fixed[]? */
static bool is_there(const struct sfs_tree *t, uint64_t node)
{
	return node != SFS_NODE_SAMPLES || samples_of(t) != SFS_SAMPLES_NO;
}

static const struct fixed {
	uint64_t node, parent;
	const char *name;
	bool is_folder, is_live;
	sfs_snapshot_print *print;
} fixed[] = {
	{SFS_NODE_README, SFS_NODE_ROOT, "README", false, false, sfs_status_readme},
	{SFS_NODE_EPOCHS, SFS_NODE_ROOT, "epochs", true, false, NULL},
	{SFS_NODE_SHARDS, SFS_NODE_ROOT, "shards", true, false, NULL},
	{SFS_NODE_SAMPLES, SFS_NODE_ROOT, "samples", true, false, NULL},
	{SFS_NODE_CONTROL, SFS_NODE_ROOT, ".shufflefs", true, false, NULL},
	{SFS_NODE_STATS, SFS_NODE_CONTROL, "stats.json", false, true, sfs_status_stats},
	{SFS_NODE_METRICS, SFS_NODE_CONTROL, "metrics.prom", false, true,
	 sfs_status_metrics},
	{SFS_NODE_CONFIG, SFS_NODE_CONTROL, "config", false, true, sfs_status_config},
	{SFS_NODE_ERRORS, SFS_NODE_CONTROL, "errors", false, true, NULL},
};

/* Nodes of epochs.h, and back. */
static bool is_under_epochs(uint64_t node)
{
	return node == SFS_NODE_EPOCHS || sfs_node_kind(node) == SFS_NODE_UNDER_EPOCHS;
}

static uint64_t to_epochs(uint64_t node)
{
	return node == SFS_NODE_EPOCHS ? SFS_EPOCHS_ROOT : sfs_node_rest(node);
}

static uint64_t from_epochs(uint64_t node)
{
	return node == SFS_EPOCHS_ROOT ? SFS_NODE_EPOCHS
				       : sfs_node_make(SFS_NODE_UNDER_EPOCHS, node);
}

struct sfs_shard *sfs_tree_shard(struct sfs_tree *t, uint64_t node)
{
	struct sfs_shards *shards = &t->engine->runtime.shards;
	uint64_t index = sfs_node_rest(node);

	return index < shards->n ? &shards->shards[index] : NULL;
}

static const struct fixed *find_fixed(uint64_t node)
{
	size_t i;

	for (i = 0; i < SFS_COUNT(fixed); i++)
		if (fixed[i].node == node)
			return &fixed[i];
	return NULL;
}

bool sfs_tree_is_live(uint64_t node)
{
	const struct fixed *f = find_fixed(node);

	return f && f->is_live;
}

int sfs_tree_open_snapshot(struct sfs_tree *t, uint64_t node,
			   struct sfs_snapshot **ret_snapshot)
{
	const struct fixed *f = find_fixed(node);

	if (!f || f->is_folder)
		return -EISDIR;
	return sfs_snapshot_open(t->snapshots, (unsigned)(f - fixed), f->print,
				 ret_snapshot);
}

/* ---- folders by shards' names ---- */

/* Which folder of the listing?  false: the node is none. */
static bool is_names_folder(uint64_t node, uint32_t *ret_folder, bool *ret_is_samples)
{
	enum sfs_node_kind kind = sfs_node_kind(node);
	bool is_top = node == SFS_NODE_SHARDS || node == SFS_NODE_SAMPLES;

	*ret_is_samples = node == SFS_NODE_SAMPLES || kind == SFS_NODE_SAMPLES_FOLDER;
	*ret_folder = is_top ? SFS_DIRECTORY_ROOT : (uint32_t)sfs_node_rest(node);
	return is_top || kind == SFS_NODE_SHARDS_FOLDER ||
	       kind == SFS_NODE_SAMPLES_FOLDER;
}

/* The node of an entry of the listing. */
static uint64_t name_node(const struct sfs_tree *t, uint32_t id, bool is_samples)
{
	const struct sfs_directory_node *n = &t->names->nodes[id];

	if (n->is_folder)
		return sfs_node_make(is_samples ? SFS_NODE_SAMPLES_FOLDER
						: SFS_NODE_SHARDS_FOLDER,
				     id);
	return is_samples ? sfs_sample_files_node(n->data)
			  : sfs_node_make(SFS_NODE_SHARD, n->data);
}

/* A shard, a folder of shards, or (found by name, not listed) a shard's .idx. */
static int lookup_name(struct sfs_tree *t, uint32_t folder, bool is_samples,
		       const char *name, uint64_t *ret_node)
{
	uint32_t id = sfs_directory_find(t->names, folder, name);
	size_t n = strlen(name);

	if (id) {
		*ret_node = name_node(t, id, is_samples);
		if (is_samples && !t->names->nodes[id].is_folder)
			atomic_store(&t->named[t->names->nodes[id].data], true);
		return 0;
	}
	if (is_samples || n < 5 || strcmp(name + n - 4, ".idx") != 0)
		return -ENOENT;
	sfs_autofree char *shard = sfs_asprintf("%.*s.tar", (int)(n - 4), name);

	id = sfs_directory_find(t->names, folder, shard);
	if (!id || t->names->nodes[id].is_folder)
		return -ENOENT;
	*ret_node = sfs_node_make(SFS_NODE_SHARD_INDEX, t->names->nodes[id].data);
	return 0;
}

/* To list the folder of a shard is to read its headers.  A program that walks all
 * folders would do that with all shards, if it saw them. */
static bool is_listed(const struct sfs_tree *t, uint32_t id, bool is_samples)
{
	const struct sfs_directory_node *n = &t->names->nodes[id];

	return !is_samples || n->is_folder || samples_of(t) != SFS_SAMPLES_LAZY ||
	       atomic_load(&t->named[n->data]);
}

static int list_names(struct sfs_tree *t, uint32_t folder, bool is_samples,
		      uint64_t cookie, sfs_add_entry *add, void *ctx)
{
	uint32_t id = sfs_directory_next(t->names, folder, cookie);

	for (; id; id = t->names->nodes[id].next_sibling)
		if (is_listed(t, id, is_samples) &&
		    !add(ctx, sfs_directory_name(t->names, id),
			 name_node(t, id, is_samples),
			 is_samples || t->names->nodes[id].is_folder, id))
			break;
	return 0;
}

/* ---- lookup ---- */

static int lookup_fixed(const struct sfs_tree *t, uint64_t parent, const char *name,
			uint64_t *ret_node)
{
	size_t i;

	for (i = 0; i < SFS_COUNT(fixed); i++) {
		if (fixed[i].parent == parent && strcmp(fixed[i].name, name) == 0 &&
		    is_there(t, fixed[i].node)) {
			*ret_node = fixed[i].node;
			return 0;
		}
	}
	return -ENOENT;
}

int sfs_tree_lookup(struct sfs_tree *t, uint64_t parent, const char *name,
		    struct sfs_waiter *waiter, uint64_t *ret_node)
{
	bool is_samples;
	uint32_t folder;
	int ret;

	if (parent == SFS_NODE_ROOT || parent == SFS_NODE_CONTROL)
		return lookup_fixed(t, parent, name, ret_node);
	if (is_under_epochs(parent)) {
		ret = sfs_epochs_lookup(t->epochs, to_epochs(parent), name, ret_node);
		if (ret == 0)
			*ret_node = from_epochs(*ret_node);
		return ret;
	}
	if (is_names_folder(parent, &folder, &is_samples)) {
		if (folder >= t->names->n)
			return -ENOENT;
		return lookup_name(t, folder, is_samples, name, ret_node);
	}
	if (sfs_node_kind(parent) == SFS_NODE_MEMBER)
		return sfs_sample_files_lookup(t->engine, parent, name, waiter, ret_node);
	return -ENOTDIR;
}

/* ---- attributes ---- */

static int attr_shard(struct sfs_tree *t, uint64_t node, struct sfs_waiter *waiter,
		      struct sfs_attr *attr)
{
	struct sfs_shard *shard = sfs_tree_shard(t, node);
	int ret;

	if (!shard)
		return -ENOENT;
	ret = sfs_sizes_shard(t->engine->sizes, shard, waiter);
	if (ret < 0)
		return ret == -EINPROGRESS ? ret : sfs_shard_read_err(ret);
	attr->size = shard->object->size;
	attr->mtime = shard->object->mtime_s ? shard->object->mtime_s : attr->mtime;
	return 0;
}

static int attr_shard_index(struct sfs_tree *t, uint64_t node, struct sfs_waiter *waiter,
			    struct sfs_attr *attr)
{
	struct sfs_shard *shard = sfs_tree_shard(t, node);
	int ret;

	if (!shard)
		return -ENOENT;
	ret = sfs_idx_file_size(t->engine->idx_files, shard, waiter, &attr->size);
	if (ret == 0 && shard->object->mtime_s)
		attr->mtime = shard->object->mtime_s;
	return ret;
}

static int attr_fixed(struct sfs_tree *t, uint64_t node, struct sfs_attr *attr)
{
	const struct fixed *f = find_fixed(node);
	uint64_t mtime_ns;

	attr->is_folder = node == SFS_NODE_ROOT || (f && f->is_folder);
	if (attr->is_folder)
		return 0;
	if (!f)
		return -ENOENT;
	attr->is_live = sfs_tree_is_live(node);
	sfs_snapshot_look(t->snapshots, (unsigned)(f - fixed), f->print, &attr->size,
			  &mtime_ns);
	if (f->is_live) {
		attr->mtime = (int64_t)(mtime_ns / SFS_NS_PER_S);
		attr->mtime_ns = (uint32_t)(mtime_ns % SFS_NS_PER_S);
	}
	return 0;
}

int sfs_tree_attr(struct sfs_tree *t, uint64_t node, struct sfs_waiter *waiter,
		  struct sfs_attr *attr)
{
	*attr = (struct sfs_attr){.node = node,
				  .mtime = (int64_t)(t->engine->started_ms / 1000)};
	if (is_under_epochs(node))
		return sfs_epochs_attr(t->epochs, to_epochs(node), waiter, attr);
	switch (sfs_node_kind(node)) {
	case SFS_NODE_FIXED: return attr_fixed(t, node, attr);
	case SFS_NODE_SHARDS_FOLDER:
	case SFS_NODE_SAMPLES_FOLDER:
		attr->is_folder = true;
		return sfs_node_rest(node) < t->names->n ? 0 : -ENOENT;
	case SFS_NODE_SHARD: return attr_shard(t, node, waiter, attr);
	case SFS_NODE_SHARD_INDEX: return attr_shard_index(t, node, waiter, attr);
	case SFS_NODE_MEMBER: return sfs_sample_files_attr(t->engine, node, waiter, attr);
	case SFS_NODE_UNDER_EPOCHS: break;
	}
	return -ENOENT;
}

uint64_t sfs_tree_parent(struct sfs_tree *t, uint64_t node)
{
	const struct fixed *f;

	switch (sfs_node_kind(node)) {
	case SFS_NODE_FIXED: f = find_fixed(node); return f ? f->parent : SFS_NODE_ROOT;
	case SFS_NODE_UNDER_EPOCHS:
		return from_epochs(sfs_epochs_parent(t->epochs, sfs_node_rest(node)));
	case SFS_NODE_SHARD:
	case SFS_NODE_SHARD_INDEX:
	case SFS_NODE_SHARDS_FOLDER: return SFS_NODE_SHARDS; /* good enough for ".." */
	case SFS_NODE_SAMPLES_FOLDER: return SFS_NODE_SAMPLES;
	case SFS_NODE_MEMBER: return sfs_sample_files_parent(t->engine, node);
	}
	return SFS_NODE_ROOT;
}

/* ---- folders ---- */

static int list_fixed(const struct sfs_tree *t, uint64_t folder, uint64_t cookie,
		      sfs_add_entry *add, void *ctx)
{
	uint64_t i;

	for (i = cookie; i < SFS_COUNT(fixed); i++)
		if (fixed[i].parent == folder && is_there(t, fixed[i].node) &&
		    !add(ctx, fixed[i].name, fixed[i].node, fixed[i].is_folder, i + 1))
			break;
	return 0;
}

struct list {
	sfs_add_entry *add;
	void *ctx;
};

static bool add_epoch(void *ctx, const char *name, uint64_t node, bool is_folder,
		      uint64_t cookie)
{
	const struct list *list = ctx;

	return list->add(list->ctx, name, from_epochs(node), is_folder, cookie);
}

int sfs_tree_list(struct sfs_tree *t, uint64_t node, uint64_t cookie,
		  struct sfs_waiter *waiter, sfs_add_entry *add, void *ctx)
{
	struct list list = {.add = add, .ctx = ctx};
	bool is_samples;
	uint32_t folder;

	if (node == SFS_NODE_ROOT || node == SFS_NODE_CONTROL)
		return list_fixed(t, node, cookie, add, ctx);
	if (is_under_epochs(node))
		return sfs_epochs_list(t->epochs, to_epochs(node), cookie, add_epoch,
				       &list);
	if (is_names_folder(node, &folder, &is_samples))
		return folder < t->names->n
			       ? list_names(t, folder, is_samples, cookie, add, ctx)
			       : -ENOENT;
	if (sfs_node_kind(node) == SFS_NODE_MEMBER)
		return sfs_sample_files_list(t->engine, node, cookie, waiter, add, ctx);
	return -ENOTDIR;
}

bool sfs_tree_is_growing(const struct sfs_tree *t, uint64_t node)
{
	bool is_samples;
	uint32_t folder;

	if (is_names_folder(node, &folder, &is_samples))
		return is_samples && samples_of(t) == SFS_SAMPLES_LAZY;
	return node != SFS_NODE_EPOCHS && is_under_epochs(node);
}

/* ---- extended attributes ---- */

int sfs_tree_xattr(struct sfs_tree *t, uint64_t node, const char *name,
		   struct sfs_waiter *waiter, struct sfs_strbuf *text)
{
	if (!is_under_epochs(node))
		return -ENODATA;
	return sfs_epochs_xattr(t->epochs, to_epochs(node), name, waiter, text);
}

void sfs_tree_list_xattrs(struct sfs_tree *t, uint64_t node, struct sfs_strbuf *text)
{
	if (is_under_epochs(node))
		sfs_epochs_list_xattrs(t->epochs, to_epochs(node), text);
}

/* ---- paths ---- */

int sfs_tree_walk(struct sfs_tree *t, const char *path, uint64_t *ret_node)
{
	uint64_t node = SFS_NODE_ROOT;
	struct sfs_sync sync;
	int ret = 0;
	size_t n;

	sfs_sync_init(&sync);
	while (ret == 0) {
		path += strspn(path, "/");
		n = strcspn(path, "/");
		if (n == 0)
			break;
		sfs_autofree char *name = sfs_strndup(path, n);

		path += n;
		if (strcmp(name, ".") == 0)
			continue;
		while ((ret = sfs_tree_lookup(t, node, name, &sync.waiter, &node)) ==
			       -EINPROGRESS &&
		       (ret = sfs_sync_wait(&sync)) == 0)
			;
	}
	sfs_sync_done(&sync);
	*ret_node = node;
	return ret == -ENODEV ? -ENOENT : ret;
}

/* ---- life ---- */

struct sfs_tree *sfs_tree_new(struct sfs_engine *engine)
{
	struct sfs_tree *t = sfs_calloc(1, sizeof *t);

	t->engine = engine;
	t->epochs = sfs_epochs_new(engine);
	t->names = engine->names;
	t->named = sfs_calloc(engine->runtime.shards.n, sizeof *t->named);
	t->snapshots = sfs_snapshots_new(engine, SFS_COUNT(fixed));
	return t;
}

struct sfs_engine *sfs_tree_engine(const struct sfs_tree *t)
{
	return t->engine;
}

struct sfs_epochs *sfs_tree_epochs(const struct sfs_tree *t)
{
	return t->epochs;
}

void sfs_tree_free(struct sfs_tree *t)
{
	if (!t || sfs_threads_are_left())
		return;
	sfs_epochs_free(t->epochs);
	sfs_snapshots_free(t->snapshots);
	free(t->named);
	free(t);
}
