/* SPDX-License-Identifier: MIT */
#include "tree/file.h"

#include "base/alloc.h"
#include "base/ledger.h"
#include "catalog/directory.h"
#include "engine/engine.h"
#include "io/gather.h"
#include "tree/epochs.h"
#include "tree/sample-files.h"
#include "tree/tree.h"

#include <errno.h>

struct sfs_file {
	struct sfs_engine *engine;
	uint64_t node;
	struct sfs_stream *stream;
	struct sfs_extract extract; /* of the stream */
	struct sfs_shard *shard;
	struct sfs_cached_directory *listing; /* of a member */
	struct sfs_order_file *order;
	struct sfs_idx_file *idx;
	struct sfs_snapshot *snapshot;
};

/* ---- opening ---- */

static int open_epoch(struct sfs_epochs *epochs, struct sfs_file *file,
		      struct sfs_waiter *waiter)
{
	uint64_t node = sfs_node_rest(file->node);
	int ret;

	if (sfs_epochs_is_text(epochs, node))
		return sfs_epochs_open_text(epochs, node, waiter, &file->order);
	ret = sfs_epochs_open(epochs, node, waiter, &file->stream, &file->extract);
	if (ret == 0)
		sfs_stream_expect(file->stream, file, file->extract.offset);
	return ret;
}

static int open_member(struct sfs_file *file, struct sfs_waiter *waiter)
{
	file->shard = sfs_sample_files_shard(file->engine, file->node);
	return sfs_sample_files_listing(file->engine, file->node, waiter, &file->listing);
}

static int open_node(struct sfs_tree *tree, struct sfs_file *file,
		     struct sfs_waiter *waiter)
{
	switch (sfs_node_kind(file->node)) {
	case SFS_NODE_UNDER_EPOCHS:
		return open_epoch(sfs_tree_epochs(tree), file, waiter);
	case SFS_NODE_SHARD_INDEX:
		return sfs_idx_file_open(file->engine->idx_files,
					 sfs_tree_shard(tree, file->node), waiter,
					 &file->idx);
	case SFS_NODE_SHARD: file->shard = sfs_tree_shard(tree, file->node); return 0;
	case SFS_NODE_MEMBER: return open_member(file, waiter);
	default: return sfs_tree_open_snapshot(tree, file->node, &file->snapshot);
	}
}

/* To open a text needs no size: that of one about a stream takes long to find, and `cat`
 * reads an .order without; and to find another's is to make it. */
static bool is_text(struct sfs_tree *tree, uint64_t node)
{
	switch (sfs_node_kind(node)) {
	case SFS_NODE_FIXED: return true;
	case SFS_NODE_UNDER_EPOCHS:
		return sfs_epochs_is_text(sfs_tree_epochs(tree), sfs_node_rest(node));
	default: return false;
	}
}

int sfs_file_open(struct sfs_tree *tree, uint64_t node, struct sfs_waiter *waiter,
		  struct sfs_file **ret_file)
{
	struct sfs_attr attr = {0};
	struct sfs_file *file;
	int ret = 0;

	if (!is_text(tree, node))
		ret = sfs_tree_attr(tree, node, waiter, &attr);
	if (ret < 0)
		return ret;
	if (attr.is_folder)
		return -EISDIR;
	file = sfs_calloc(1, sizeof *file);
	file->engine = sfs_tree_engine(tree);
	file->node = node;
	ret = open_node(tree, file, waiter);
	if (ret < 0) {
		free(file);
		return ret;
	}
	*ret_file = file;
	return 0;
}

int sfs_file_open_path(struct sfs_tree *tree, const char *path,
		       struct sfs_file **ret_file, struct sfs_error *err)
{
	struct sfs_sync sync;
	uint64_t node;
	int ret;

	ret = sfs_tree_walk(tree, path, &node);
	sfs_sync_init(&sync);
	if (ret == 0)
		while ((ret = sfs_file_open(tree, node, &sync.waiter, ret_file)) ==
			       -EINPROGRESS &&
		       (ret = sfs_sync_wait(&sync)) == 0)
			;
	sfs_sync_done(&sync);
	if (ret == 0)
		return 0;
	sfs_ledger_why(path, ret, err);
	return sfs_error_wrap(err, ret, "%s", path);
}

void sfs_file_close(struct sfs_file *file)
{
	if (!file)
		return;
	if (file->stream) {
		sfs_stream_forget(file->stream, file);
		sfs_stream_close(file->stream);
	}
	if (file->listing)
		sfs_header_scan_put(&file->engine->scanner, file->listing);
	sfs_order_file_close(file->order);
	if (file->idx)
		sfs_idx_file_close(file->idx);
	sfs_snapshot_close(file->snapshot);
	free(file);
}

/* ---- reading ---- */

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
	/* A copy: the file may be closed before the thread that replies has sent it. */
	read->release = sfs_read_reset;
	if (read->n_bytes > 0)
		sfs_read_add_copy(read, text->s + read->offset, read->n_bytes);
	read->done(read, 0);
}

/* A sparse file: its runs are stored consecutively, the rest reads as zeros. */
static void read_sparse(struct sfs_file *file, const struct sfs_directory_node *n,
			struct sfs_read *read)
{
	struct sfs_gather *g = sfs_gather_new(&file->engine->runtime.range_reader, read);
	uint64_t at = read->offset, end, stored = n->data, run_end, piece;
	size_t i;

	clip(read, n->size);
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

/* The bytes of the stream, as far as the file shows them. */
static void read_stream(struct sfs_file *file, struct sfs_read *read)
{
	uint64_t end = file->extract.n_bytes;
	uint64_t offset = read->offset < end ? read->offset : end;

	read->file = file;
	read->is_first = offset == 0;
	read->offset = file->extract.offset + offset;
	if (read->n_bytes > end - offset)
		read->n_bytes = (size_t)(end - offset);
	sfs_stream_read(file->stream, read);
}

static void read_member(struct sfs_file *file, struct sfs_read *read)
{
	const struct sfs_directory_node *n =
		sfs_sample_files_entry(file->listing, file->node);

	if (n->runs)
		read_sparse(file, n, read);
	else
		sfs_shard_readers_read(file->engine->shard_readers, file->shard, n->data,
				       n->size, read);
}

void sfs_file_read(struct sfs_file *file, struct sfs_read *read)
{
	if (file->stream)
		read_stream(file, read);
	else if (file->listing)
		read_member(file, read);
	else if (file->shard)
		sfs_shard_readers_read(file->engine->shard_readers, file->shard, 0,
				       file->shard->object->size, read);
	else if (file->order)
		sfs_order_file_read(file->order, read);
	else if (file->idx)
		read_text(sfs_idx_file_text(file->idx), read);
	else
		sfs_snapshot_read(file->snapshot, read);
}

bool sfs_file_is_stream(const struct sfs_file *file)
{
	return file->stream != NULL;
}

bool sfs_file_is_stale(const struct sfs_file *file)
{
	return file->stream && atomic_load(&file->engine->runtime.shards.was_wrong);
}

bool sfs_file_is_wrong(const struct sfs_file *file)
{
	return file->stream && sfs_stream_is_wrong(file->stream);
}

uint64_t sfs_file_padding(struct sfs_file *file)
{
	uint64_t end = file->stream ? sfs_stream_end(file->stream) : UINT64_MAX;

	return end == UINT64_MAX ? end : end - file->extract.offset;
}
