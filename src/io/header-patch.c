/* SPDX-License-Identifier: MIT */
#include "io/header-patch.h"

#include "base/alloc.h"
#include "base/ledger.h"
#include "tar/rewrite.h"

#include <errno.h>
#include <string.h>

#define FETCH_BYTES 4096 /* enough for the headers of most members */

static void on_fetched(struct sfs_range *range, int err);

/* Fetch n bytes at p->pos. */
static void fetch(struct sfs_header_patch *p, size_t n)
{
	uint64_t left = p->sample.n_bytes - p->pos;

	p->range = (struct sfs_range){
		.shard = p->sample.shard,
		.offset = p->sample.start + p->pos,
		.n_bytes = n < left ? n : left,
		.is_urgent = true,
		.done = on_fetched,
	};
	sfs_range_start(p->range_reader, &p->range, NULL);
}

static void add_patch(struct sfs_header_patch *p, const unsigned char *bytes, size_t n)
{
	struct sfs_patched_bytes *new;

	p->patches = sfs_reallocarray(p->patches, p->n_patches + 1, sizeof *p->patches);
	new = &p->patches[p->n_patches++];
	*new = (struct sfs_patched_bytes){.at = p->pos, .n = n, .bytes = sfs_malloc(n)};
	memcpy(new->bytes, bytes, n);
}

/* Rewrite the entry at p->pos, of which n bytes are in memory.  0: p->pos is at the next
 * one.  > 0: that many bytes are needed. */
static int patch_entry(struct sfs_header_patch *p, unsigned char *bytes, size_t n)
{
	const char *folder = p->sample.is_renamed ? p->sample.shard->folder : NULL;
	struct sfs_tar_entry entry;
	struct sfs_error why;
	int ret;

	ret = sfs_tar_entry_read(bytes, n, p->sample.n_bytes - p->pos, &entry, &why);
	if (ret == -EAGAIN)
		return (int)entry.need;
	if (ret == 0) {
		ret = sfs_rewrite_entry(bytes, &entry, folder, &why);
		sfs_tar_entry_done(&entry);
	}
	if (ret < 0) {
		sfs_header_patch_note(p->sample.shard, p->sample.start + p->pos,
				      why.text);
		return ret;
	}
	add_patch(p, bytes, entry.n_bytes);
	p->pos += entry.next;
	return 0;
}

/* Rewrite the entries in the n bytes at p->pos.  0, or as patch_entry(). */
static int patch_all(struct sfs_header_patch *p, unsigned char *bytes, size_t n)
{
	uint64_t first = p->pos, end = first + n;
	int ret = 0;

	while (ret == 0 && p->pos < end && p->pos < p->sample.n_bytes)
		ret = patch_entry(p, bytes + (p->pos - first), (size_t)(end - p->pos));
	return ret;
}

static void on_fetched(struct sfs_range *range, int err)
{
	struct sfs_header_patch *p = sfs_container(range, struct sfs_header_patch, range);
	sfs_autofree unsigned char *bytes = NULL;
	int ret = err;

	if (err == 0) {
		bytes = sfs_malloc(range->n_bytes);
		sfs_range_read(range, 0, bytes, range->n_bytes);
		ret = patch_all(p, bytes, range->n_bytes);
	}
	sfs_range_drop(range);
	if (ret >= 0 && atomic_load(&p->is_cancelled))
		ret = -ECANCELED;
	if (ret < 0 || p->pos >= p->sample.n_bytes)
		p->done(p, ret < 0 ? ret : 0);
	else
		fetch(p, ret > FETCH_BYTES ? (size_t)ret : FETCH_BYTES);
}

void sfs_header_patch_start(struct sfs_range_reader *range_reader,
			    struct sfs_header_patch *patch)
{
	patch->range_reader = range_reader;
	fetch(patch, FETCH_BYTES);
}

void sfs_header_patch_cancel(struct sfs_header_patch *patch)
{
	atomic_store(&patch->is_cancelled, true);
}

void sfs_header_patch_done(struct sfs_header_patch *patch)
{
	while (patch->n_patches > 0)
		free(patch->patches[--patch->n_patches].bytes);
	free(steal(&patch->patches));
}

void sfs_header_patch_apply(const struct sfs_header_patch *patch,
			    const struct sfs_range *range, uint64_t at)
{
	uint64_t end = at + range->n_bytes, from, to;
	const struct sfs_patched_bytes *p;
	size_t i;

	for (i = 0; i < patch->n_patches; i++) {
		p = &patch->patches[i];
		from = p->at > at ? p->at : at;
		to = p->at + p->n < end ? p->at + p->n : end;
		if (from < to)
			sfs_range_write(range, from - at, p->bytes + (from - p->at),
					to - from);
	}
}

void sfs_header_patch_note(const struct sfs_shard *shard, uint64_t start, const char *why)
{
	sfs_ledger_add(SFS_EVENT_LOST, shard->name, start,
		       "readers get EIO; keys=asis keeps names", "%s", why);
}
