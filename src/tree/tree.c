/* SPDX-License-Identifier: MIT */
/* How this works: a node's number says what it is: its kind in the top four bits,
 * and below that a node of epochs.h, a shard's index, or a folder's or member's number
 * in a listing.  So nothing is remembered for a node but what epochs.h remembers, and
 * the kernel may forget and ask again as it likes.
 *
 * The folders that shards' names make ("a/x-0.tar") are a listing too, whose files
 * are shards: shards/ shows them as files, samples/ as folders. */
#include "tree/tree.h"

#include "base/alloc.h"
#include "base/ledger.h"
#include "catalog/directory.h"
#include "engine/engine.h"
#include "io/gather.h"
#include "memory/charge.h"
#include "tree/epochs.h"
#include "tree/status.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum kind {
	FIXED,
	UNDER_EPOCHS,
	SHARDS_FOLDER,
	SHARD,
	SAMPLES_FOLDER,
	MEMBER,
	SHARD_INDEX
};
enum {
	ROOT = SFS_NODE_ROOT,
	README,
	EPOCHS,
	SHARDS,
	SAMPLES,
	CONTROL,
	STATS,
	METRICS,
	CONFIG,
	ERRORS
};

#define KIND_SHIFT  60
#define SHARD_SHIFT 32

struct sfs_tree {
	struct sfs_engine *engine;
	struct sfs_epochs *epochs;
	struct sfs_directory *names; /* of the shards; data is the shard's index */
};

static const struct fixed {
	uint64_t node, parent;
	const char *name;
	bool is_folder;
	/* NULL, of a file: it is read from the ledger. */
	void (*print)(struct sfs_engine *engine, struct sfs_strbuf *text);
} fixed[] = {
	{README, ROOT, "README", false, sfs_status_readme},
	{EPOCHS, ROOT, "epochs", true, NULL},
	{SHARDS, ROOT, "shards", true, NULL},
	{SAMPLES, ROOT, "samples", true, NULL},
	{CONTROL, ROOT, ".shufflefs", true, NULL},
	{STATS, CONTROL, "stats.json", false, sfs_status_stats},
	{METRICS, CONTROL, "metrics.prom", false, sfs_status_metrics},
	{CONFIG, CONTROL, "config", false, sfs_status_config},
	{ERRORS, CONTROL, "errors", false, NULL},
};

static uint64_t node_of(enum kind kind, uint64_t rest)
{
	return (uint64_t)kind << KIND_SHIFT | rest;
}

static enum kind kind_of(uint64_t node)
{
	return (enum kind)(node >> KIND_SHIFT);
}

static uint64_t rest_of(uint64_t node)
{
	return node & ((1ULL << KIND_SHIFT) - 1);
}

/* Nodes of epochs.h, and back. */
static bool is_under_epochs(uint64_t node)
{
	return node == EPOCHS || kind_of(node) == UNDER_EPOCHS;
}

static uint64_t to_epochs(uint64_t node)
{
	return node == EPOCHS ? SFS_EPOCHS_ROOT : rest_of(node);
}

static uint64_t from_epochs(uint64_t node)
{
	return node == SFS_EPOCHS_ROOT ? EPOCHS : node_of(UNDER_EPOCHS, node);
}

static struct sfs_shard *shard_at(struct sfs_tree *t, uint64_t index)
{
	return index < t->engine->runtime.shards.n
		       ? &t->engine->runtime.shards.shards[index]
		       : NULL;
}

static const struct fixed *find_fixed(uint64_t node)
{
	size_t i;

	for (i = 0; i < SFS_COUNT(fixed); i++)
		if (fixed[i].node == node)
			return &fixed[i];
	return NULL;
}

/* A folder of shards' names: which one in the listing?  false: the node is none. */
static bool is_names_folder(uint64_t node, uint32_t *ret_folder, bool *ret_is_samples)
{
	*ret_is_samples = node == SAMPLES || kind_of(node) == SAMPLES_FOLDER;
	*ret_folder = node == SHARDS || node == SAMPLES ? SFS_DIRECTORY_ROOT
							: (uint32_t)rest_of(node);
	return node == SHARDS || node == SAMPLES || kind_of(node) == SHARDS_FOLDER ||
	       kind_of(node) == SAMPLES_FOLDER;
}

/* The node of an entry of the names' listing. */
static uint64_t name_node(const struct sfs_tree *t, uint32_t id, bool is_samples)
{
	const struct sfs_directory_node *n = &t->names->nodes[id];

	if (n->is_folder)
		return node_of(is_samples ? SAMPLES_FOLDER : SHARDS_FOLDER, id);
	return is_samples ? node_of(MEMBER, n->data << SHARD_SHIFT)
			  : node_of(SHARD, n->data);
}

/* ---- members ---- */

/* What the waiter is told may be any error of a source: a reader gets it as one of files.
 */
static void expect_source_err(struct sfs_waiter *waiter)
{
	if (waiter)
		waiter->translate = sfs_shard_read_err;
}

/* The listing of a member's shard; put it back with sfs_header_scan_put(). */
static int get_listing(struct sfs_tree *t, uint64_t node, struct sfs_waiter *waiter,
		       struct sfs_cached_directory **ret_listed)
{
	struct sfs_shard *shard = shard_at(t, rest_of(node) >> SHARD_SHIFT);
	int ret;

	if (!shard)
		return -ENOENT;
	expect_source_err(waiter);
	ret = sfs_sizes_shard(t->engine->sizes, shard, waiter);
	if (ret == 0)
		ret = sfs_header_scan_listing(&t->engine->scanner, shard, waiter,
					      ret_listed);
	if (ret == 0 && (uint32_t)rest_of(node) >= (*ret_listed)->listing->n) {
		sfs_header_scan_put(&t->engine->scanner, *ret_listed);
		ret = -ENOENT;
	}
	return ret < 0 && ret != -EINPROGRESS ? sfs_shard_read_err(ret) : ret;
}

/* May what the listing lacks be in the part of the shard that is damaged? */
static bool is_doubtful(const struct sfs_tree *t,
			const struct sfs_cached_directory *listed)
{
	return listed->is_damaged && !t->engine->runtime.shards.skip_damaged;
}

static int lookup_member(struct sfs_tree *t, uint64_t parent, const char *name,
			 struct sfs_waiter *waiter, uint64_t *ret_node)
{
	struct sfs_cached_directory *listed;
	uint32_t id;
	int ret;

	ret = get_listing(t, parent, waiter, &listed);
	if (ret < 0)
		return ret == -ENOENT ? -ENODEV : ret;
	id = sfs_directory_find(listed->listing, (uint32_t)rest_of(parent), name);
	if (!listed->listing->nodes[(uint32_t)rest_of(parent)].is_folder)
		ret = -ENOTDIR;
	else if (id == 0)
		ret = is_doubtful(t, listed) ? -EIO : -ENOENT;
	else
		*ret_node = (parent & ~(uint64_t)UINT32_MAX) | id;
	sfs_header_scan_put(&t->engine->scanner, listed);
	return ret;
}

/* ---- lookup ---- */

static int lookup_fixed(uint64_t parent, const char *name, uint64_t *ret_node)
{
	size_t i;

	for (i = 0; i < SFS_COUNT(fixed); i++) {
		if (fixed[i].parent == parent && strcmp(fixed[i].name, name) == 0) {
			*ret_node = fixed[i].node;
			return 0;
		}
	}
	return -ENOENT;
}

/* A shard, a folder of shards, or (found by name, not listed) a shard's .idx. */
static int lookup_name(struct sfs_tree *t, uint32_t folder, bool is_samples,
		       const char *name, uint64_t *ret_node)
{
	uint32_t id = sfs_directory_find(t->names, folder, name);
	size_t n = strlen(name);

	if (id) {
		*ret_node = name_node(t, id, is_samples);
		return 0;
	}
	if (is_samples || n < 5 || strcmp(name + n - 4, ".idx") != 0)
		return -ENOENT;
	sfs_autofree char *shard = sfs_asprintf("%.*s.tar", (int)(n - 4), name);

	id = sfs_directory_find(t->names, folder, shard);
	if (!id || t->names->nodes[id].is_folder)
		return -ENOENT;
	*ret_node = node_of(SHARD_INDEX, t->names->nodes[id].data);
	return 0;
}

int sfs_tree_lookup(struct sfs_tree *t, uint64_t parent, const char *name,
		    struct sfs_waiter *waiter, uint64_t *ret_node)
{
	bool is_samples;
	uint32_t folder;
	int ret;

	if (parent == ROOT || parent == CONTROL)
		return lookup_fixed(parent, name, ret_node);
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
	if (kind_of(parent) == MEMBER)
		return lookup_member(t, parent, name, waiter, ret_node);
	return -ENOTDIR;
}

/* ---- attributes ---- */

static int attr_member(struct sfs_tree *t, uint64_t node, struct sfs_waiter *waiter,
		       struct sfs_attr *attr)
{
	const struct sfs_directory_node *n;
	struct sfs_cached_directory *listed;
	int ret;

	if ((uint32_t)rest_of(node) == SFS_DIRECTORY_ROOT) {
		/* The shard's own folder: its members need not be known. */
		attr->is_folder = true;
		return shard_at(t, rest_of(node) >> SHARD_SHIFT) ? 0 : -ENOENT;
	}
	ret = get_listing(t, node, waiter, &listed);
	if (ret < 0)
		return ret;
	n = &listed->listing->nodes[(uint32_t)rest_of(node)];
	attr->is_folder = n->is_folder;
	if (!n->is_folder) {
		attr->size = n->size;
		attr->mtime = n->mtime;
	}
	sfs_header_scan_put(&t->engine->scanner, listed);
	return 0;
}

static int attr_shard(struct sfs_tree *t, uint64_t node, struct sfs_waiter *waiter,
		      struct sfs_attr *attr)
{
	struct sfs_shard *shard = shard_at(t, rest_of(node));
	int ret;

	if (!shard)
		return -ENOENT;
	ret = sfs_sizes_shard(t->engine->sizes, shard, waiter);
	if (ret < 0)
		return ret == -EINPROGRESS ? ret : sfs_shard_read_err(ret);
	attr->size = shard->object.size;
	attr->mtime = shard->object.mtime_s ? shard->object.mtime_s : attr->mtime;
	return 0;
}

int sfs_tree_attr(struct sfs_tree *t, uint64_t node, struct sfs_waiter *waiter,
		  struct sfs_attr *attr)
{
	const struct fixed *f;

	*attr = (struct sfs_attr){.node = node,
				  .mtime = (int64_t)(t->engine->started_ms / 1000)};
	if (is_under_epochs(node))
		return sfs_epochs_attr(t->epochs, to_epochs(node), waiter, attr);
	switch (kind_of(node)) {
	case FIXED:
		f = find_fixed(node);
		attr->is_folder = node == ROOT || (f && f->is_folder);
		attr->is_snapshot = f && !f->is_folder;
		return f || node == ROOT ? 0 : -ENOENT;
	case SHARDS_FOLDER:
	case SAMPLES_FOLDER:
		attr->is_folder = true;
		return rest_of(node) < t->names->n ? 0 : -ENOENT;
	case UNDER_EPOCHS: break;
	case SHARD: return attr_shard(t, node, waiter, attr);
	case SHARD_INDEX:
		attr->is_snapshot = true;
		return shard_at(t, rest_of(node)) ? 0 : -ENOENT;
	case MEMBER: return attr_member(t, node, waiter, attr);
	}
	return -ENOENT;
}

uint64_t sfs_tree_parent(struct sfs_tree *t, uint64_t node)
{
	const struct fixed *f = kind_of(node) == FIXED ? find_fixed(node) : NULL;
	struct sfs_cached_directory *listed;
	uint64_t parent = ROOT;
	uint32_t id;

	switch (kind_of(node)) {
	case FIXED: return f ? f->parent : ROOT;
	case UNDER_EPOCHS:
		return from_epochs(sfs_epochs_parent(t->epochs, rest_of(node)));
	case SHARD:
	case SHARD_INDEX:
	case SHARDS_FOLDER: return SHARDS; /* good enough for ".." */
	case SAMPLES_FOLDER: return SAMPLES;
	case MEMBER:
		id = (uint32_t)rest_of(node);
		if (id == SFS_DIRECTORY_ROOT || get_listing(t, node, NULL, &listed) < 0)
			return SAMPLES;
		parent = (node & ~(uint64_t)UINT32_MAX) |
			 listed->listing->nodes[id].parent;
		sfs_header_scan_put(&t->engine->scanner, listed);
	}
	return parent;
}

/* ---- folders ---- */

typedef bool tell_fn(void *ctx, const char *name, uint64_t node, bool is_folder,
		     uint64_t cookie);

static int list_fixed(uint64_t folder, uint64_t cookie, tell_fn *tell, void *ctx)
{
	uint64_t i;

	for (i = cookie; i < SFS_COUNT(fixed); i++)
		if (fixed[i].parent == folder &&
		    !tell(ctx, fixed[i].name, fixed[i].node, fixed[i].is_folder, i + 1))
			break;
	return 0;
}

struct told {
	tell_fn *tell;
	void *ctx;
};

static bool tell_epoch(void *ctx, const char *name, uint64_t node, bool is_folder,
		       uint64_t cookie)
{
	const struct told *told = ctx;

	return told->tell(told->ctx, name, from_epochs(node), is_folder, cookie);
}

/* The child behind the one that the cookie names; 0 at the end. */
static uint32_t next_child(const struct sfs_directory *l, uint32_t folder,
			   uint64_t cookie)
{
	if (cookie >= l->n)
		return 0;
	return cookie ? l->nodes[cookie].next_sibling : l->nodes[folder].first_child;
}

static int list_names(struct sfs_tree *t, uint32_t folder, bool is_samples,
		      uint64_t cookie, tell_fn *tell, void *ctx)
{
	uint32_t id = next_child(t->names, folder, cookie);

	for (; id; id = t->names->nodes[id].next_sibling)
		if (!tell(ctx, sfs_directory_name(t->names, id),
			  name_node(t, id, is_samples),
			  is_samples || t->names->nodes[id].is_folder, id))
			break;
	return 0;
}

static int list_members(struct sfs_tree *t, uint64_t node, uint64_t cookie,
			struct sfs_waiter *waiter, tell_fn *tell, void *ctx)
{
	struct sfs_cached_directory *listed;
	const struct sfs_directory *l;
	uint32_t id;
	int ret;

	ret = get_listing(t, node, waiter, &listed);
	if (ret < 0)
		return ret;
	l = listed->listing;
	if (!l->nodes[(uint32_t)rest_of(node)].is_folder)
		ret = -ENOTDIR;
	else if (cookie && next_child(l, 0, cookie) == 0 && is_doubtful(t, listed))
		ret = -EIO; /* all told that is there; there may be more */
	for (id = ret < 0 ? 0 : next_child(l, (uint32_t)rest_of(node), cookie); id;
	     id = l->nodes[id].next_sibling)
		if (!tell(ctx, sfs_directory_name(l, id),
			  (node & ~(uint64_t)UINT32_MAX) | id, l->nodes[id].is_folder,
			  id))
			break;
	if (ret == 0 && cookie == 0 &&
	    l->nodes[(uint32_t)rest_of(node)].first_child == 0 && is_doubtful(t, listed))
		ret = -EIO;
	sfs_header_scan_put(&t->engine->scanner, listed);
	return ret;
}

int sfs_tree_list(struct sfs_tree *t, uint64_t node, uint64_t cookie,
		  struct sfs_waiter *waiter, tell_fn *tell, void *ctx)
{
	struct told told = {.tell = tell, .ctx = ctx};
	bool is_samples;
	uint32_t folder;

	if (node == ROOT || node == CONTROL)
		return list_fixed(node, cookie, tell, ctx);
	if (is_under_epochs(node))
		return sfs_epochs_list(t->epochs, to_epochs(node), cookie, tell_epoch,
				       &told);
	if (is_names_folder(node, &folder, &is_samples))
		return folder < t->names->n
			       ? list_names(t, folder, is_samples, cookie, tell, ctx)
			       : -ENOENT;
	if (kind_of(node) == MEMBER)
		return list_members(t, node, cookie, waiter, tell, ctx);
	return -ENOTDIR;
}

/* ---- files ---- */

struct sfs_file {
	struct sfs_tree *tree;
	uint64_t node;
	struct sfs_stream *stream;
	struct sfs_extract extract; /* of the stream */
	struct sfs_shard *shard;
	struct sfs_cached_directory *listed; /* of a member */
	struct sfs_order_file *script;
	struct sfs_idx_file *idx;
	struct sfs_strbuf text; /* of a snapshot */
	struct sfs_charge held; /* counts it */
	struct sfs_ledger_view errors;
};

static int open_epoch(struct sfs_tree *t, struct sfs_file *file,
		      struct sfs_waiter *waiter)
{
	uint64_t node = rest_of(file->node);

	if (sfs_epochs_is_script(t->epochs, node))
		return sfs_epochs_open_script(t->epochs, node, waiter, &file->script);
	return sfs_epochs_open(t->epochs, node, waiter, &file->stream, &file->extract);
}

/* A text that is made now, and stays as it is until the file is closed.  All who have one
 * open share a part of the budget. */
static int open_fixed(struct sfs_tree *t, struct sfs_file *file)
{
	struct sfs_runtime *runtime = &t->engine->runtime;

	const struct fixed *f = find_fixed(file->node);

	if (!f->print) {
		file->errors = sfs_ledger_look();
		return 0;
	}
	f->print(t->engine, &file->text);
	return sfs_charge_count(&file->held, &runtime->texts, file->text.capacity,
				sfs_runtime_texts_most(runtime));
}

int sfs_file_open(struct sfs_tree *t, uint64_t node, struct sfs_waiter *waiter,
		  struct sfs_file **ret_file)
{
	struct sfs_file *file;
	struct sfs_attr attr;
	int ret;

	ret = sfs_tree_attr(t, node, waiter, &attr);
	if (ret < 0)
		return ret;
	if (attr.is_folder)
		return -EISDIR;
	file = sfs_calloc(1, sizeof *file);
	file->tree = t;
	file->node = node;
	switch (kind_of(node)) {
	case UNDER_EPOCHS: ret = open_epoch(t, file, waiter); break;
	case SHARD_INDEX:
		ret = sfs_idx_file_open(t->engine->idx_files, shard_at(t, rest_of(node)),
					waiter, &file->idx);
		break;
	case SHARD: file->shard = shard_at(t, rest_of(node)); break;
	case MEMBER:
		file->shard = shard_at(t, rest_of(node) >> SHARD_SHIFT);
		ret = get_listing(t, node, waiter, &file->listed);
		break;
	default: ret = open_fixed(t, file);
	}
	if (ret < 0) {
		sfs_strbuf_done(&file->text);
		free(file);
	} else {
		*ret_file = file;
	}
	return ret;
}

void sfs_file_close(struct sfs_file *file)
{
	if (!file)
		return;
	if (file->stream)
		sfs_stream_close(file->stream);
	if (file->listed)
		sfs_header_scan_put(&file->tree->engine->scanner, file->listed);
	sfs_order_file_close(file->script);
	if (file->idx)
		sfs_idx_file_close(file->idx);
	sfs_strbuf_done(&file->text);
	sfs_charge_done(&file->held);
	free(file);
}

static void clip(struct sfs_read *read, uint64_t size)
{
	if (read->offset >= size)
		read->n_bytes = 0;
	else if (read->n_bytes > size - read->offset)
		read->n_bytes = (size_t)(size - read->offset);
}

static void read_text(const struct sfs_strbuf *text, struct sfs_read *read)
{
	clip(read, text->n);
	/* A copy: the file may be closed before the reply's thread has seen it go out. */
	read->release = sfs_read_reset;
	if (read->n_bytes > 0)
		sfs_read_add_copy(read, text->s + read->offset, read->n_bytes);
	read->done(read, 0);
}

static void read_errors(const struct sfs_ledger_view *view, struct sfs_read *read)
{
	sfs_autofree char *bytes = NULL;
	int ret;

	clip(read, view->n_bytes);
	bytes = sfs_malloc(read->n_bytes + 1);
	ret = sfs_ledger_read(view, read->offset, bytes, read->n_bytes);
	read->release = sfs_read_reset;
	if (ret == 0 && read->n_bytes > 0)
		sfs_read_add_copy(read, bytes, read->n_bytes);
	read->done(read, ret);
}

/* A sparse file: its runs lie one behind the other, the rest reads as zeros. */
static void read_sparse(struct sfs_file *file, const struct sfs_directory_node *n,
			struct sfs_read *read)
{
	struct sfs_gather *g =
		sfs_gather_new(&file->tree->engine->runtime.range_reader, read);
	uint64_t at = read->offset, end, stored = n->data, run_end, piece;
	size_t i;

	if (at >= n->size)
		read->n_bytes = 0;
	else if (read->n_bytes > n->size - at)
		read->n_bytes = (size_t)(n->size - at);
	end = at + read->n_bytes;
	for (i = 0; i < n->n_runs && at < end; stored += n->runs[i++].n_bytes) {
		run_end = n->runs[i].offset + n->runs[i].n_bytes;
		if (run_end <= at)
			continue;
		if (n->runs[i].offset > at) {
			piece = n->runs[i].offset < end ? n->runs[i].offset - at
							: end - at;
			sfs_gather_add_zeros(g, piece);
			at += piece;
		}
		piece = run_end < end ? run_end - at : end - at;
		if (at < end)
			sfs_gather_add(g, file->shard, stored + (at - n->runs[i].offset),
				       piece);
		at += at < end ? piece : 0;
	}
	sfs_gather_add_zeros(g, end - at);
	sfs_gather_start(g, sfs_shard_read_err);
}

/* The stream's bytes, as far as the file shows them. */
static void read_stream(struct sfs_file *file, struct sfs_read *read)
{
	uint64_t end = file->extract.n_bytes;
	uint64_t offset = read->offset < end ? read->offset : end;

	read->is_first = offset == 0;
	read->offset = file->extract.offset + offset;
	if (read->n_bytes > end - offset)
		read->n_bytes = (size_t)(end - offset);
	sfs_stream_read(file->stream, read);
}

void sfs_file_read(struct sfs_file *file, struct sfs_read *read)
{
	struct sfs_shard_readers *shard_readers = file->tree->engine->shard_readers;
	const struct sfs_directory_node *n;

	if (file->stream) {
		read_stream(file, read);
	} else if (file->listed) {
		n = &file->listed->listing->nodes[(uint32_t)rest_of(file->node)];
		if (n->runs)
			read_sparse(file, n, read);
		else
			sfs_shard_readers_read(shard_readers, file->shard, n->data,
					       n->size, read);
	} else if (file->shard) {
		sfs_shard_readers_read(shard_readers, file->shard, 0,
				       file->shard->object.size, read);
	} else if (file->script) {
		sfs_order_file_read(file->script, read);
	} else if (file->node == ERRORS) {
		read_errors(&file->errors, read);
	} else {
		read_text(file->idx ? sfs_idx_file_text(file->idx) : &file->text, read);
	}
}

bool sfs_tree_is_growing(uint64_t node)
{
	return node != EPOCHS && is_under_epochs(node);
}

bool sfs_file_is_stream(const struct sfs_file *file)
{
	return file->stream != NULL;
}

uint64_t sfs_file_padding(struct sfs_file *file)
{
	uint64_t end = file->stream ? sfs_stream_end(file->stream) : UINT64_MAX;

	return end == UINT64_MAX ? end : end - file->extract.offset;
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

int sfs_file_open_path(struct sfs_tree *t, const char *path, struct sfs_file **ret_file,
		       struct sfs_error *err)
{
	struct sfs_sync sync;
	uint64_t node;
	int ret;

	ret = sfs_tree_walk(t, path, &node);
	if (ret < 0) {
		sfs_ledger_why(path, ret, err);
		return sfs_error_wrap(err, ret, "%s", path);
	}
	sfs_sync_init(&sync);
	while ((ret = sfs_file_open(t, node, &sync.waiter, ret_file)) == -EINPROGRESS &&
	       (ret = sfs_sync_wait(&sync)) == 0)
		;
	sfs_sync_done(&sync);
	if (ret < 0) {
		sfs_ledger_why(path, ret, err);
		sfs_error_wrap(err, ret, "%s", path);
	}
	return ret;
}

/* ---- life ---- */

struct sfs_tree *sfs_tree_new(struct sfs_engine *engine)
{
	struct sfs_tree *t = sfs_calloc(1, sizeof *t);

	t->engine = engine;
	t->epochs = sfs_epochs_new(engine);
	t->names = engine->names;
	return t;
}

struct sfs_engine *sfs_tree_engine(const struct sfs_tree *t)
{
	return t->engine;
}

void sfs_tree_free(struct sfs_tree *t)
{
	if (!t || sfs_threads_are_left())
		return;
	sfs_epochs_free(t->epochs);
	free(t);
}
