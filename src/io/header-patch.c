/* SPDX-License-Identifier: MIT */
#include "io/header-patch.h"

#include "base/alloc.h"
#include "base/ledger.h"
#include "tar/rewrite.h"

#include <errno.h>
#include <string.h>

#define LOOK_BYTES 4096 /* enough for most header groups */

static void on_grab(struct sfs_range *grab, int err);

/* Fetch n bytes of headers at walk->pos. */
static void look(struct sfs_header_patch *w, size_t n)
{
	uint64_t left = w->n_bytes - w->pos;

	w->grab = (struct sfs_range){
		.shard = w->shard,
		.offset = w->start + w->pos,
		.n_bytes = n < left ? n : left,
		.is_urgent = true,
		.done = on_grab,
	};
	sfs_range_start(w->range_reader, &w->grab, NULL);
}

static void add_patch(struct sfs_header_patch *w, const unsigned char *bytes, size_t n)
{
	struct sfs_patched_bytes *p;

	w->patches = sfs_reallocarray(w->patches, w->n_patches + 1, sizeof *w->patches);
	p = &w->patches[w->n_patches++];
	*p = (struct sfs_patched_bytes){.at = w->pos, .n = n, .bytes = sfs_malloc(n)};
	memcpy(p->bytes, bytes, n);
}

/* Edit the groups in the n bytes at pos.  0: look on at pos.  > 0: that many bytes
 * are needed at pos. */
static int edit_all(struct sfs_header_patch *w, unsigned char *bytes, size_t n)
{
	const char *folder = w->is_renamed ? w->shard->folder : NULL;
	uint64_t first = w->pos, next;
	struct sfs_error why;
	size_t n_edited;
	int ret;

	while (w->pos < first + n && w->pos < w->n_bytes) {
		ret = sfs_rewrite_entry(bytes + (w->pos - first),
					(size_t)(first + n - w->pos), w->n_bytes - w->pos,
					folder, &n_edited, &next, &why);
		if (ret == -EAGAIN)
			return (int)n_edited;
		if (ret < 0) {
			sfs_header_patch_note(w->shard, w->start + w->pos, why.text);
			return ret;
		}
		add_patch(w, bytes + (w->pos - first), n_edited);
		w->pos += next;
	}
	return 0;
}

static void on_grab(struct sfs_range *grab, int err)
{
	struct sfs_header_patch *w = sfs_container(grab, struct sfs_header_patch, grab);
	sfs_autofree unsigned char *bytes = NULL;
	int ret = err;

	if (err == 0) {
		bytes = sfs_malloc(grab->n_bytes);
		sfs_range_read(grab, 0, bytes, grab->n_bytes);
		ret = edit_all(w, bytes, grab->n_bytes);
	}
	sfs_range_drop(grab);
	if (ret >= 0 && atomic_load(&w->is_cancelled))
		ret = -ECANCELED;
	if (ret < 0 || w->pos >= w->n_bytes)
		w->done(w, ret < 0 ? ret : 0);
	else
		look(w, ret > LOOK_BYTES ? (size_t)ret : LOOK_BYTES);
}

void sfs_header_patch_start(struct sfs_range_reader *range_reader,
			    struct sfs_header_patch *walk)
{
	walk->range_reader = range_reader;
	look(walk, LOOK_BYTES);
}

void sfs_header_patch_cancel(struct sfs_header_patch *walk)
{
	atomic_store(&walk->is_cancelled, true);
}

void sfs_header_patch_done(struct sfs_header_patch *walk)
{
	while (walk->n_patches > 0)
		free(walk->patches[--walk->n_patches].bytes);
	free(steal(&walk->patches));
}

void sfs_header_patch_apply(const struct sfs_header_patch *walk,
			    const struct sfs_range *grab, uint64_t at)
{
	uint64_t end = at + grab->n_bytes, from, to;
	const struct sfs_patched_bytes *p;
	size_t i;

	for (i = 0; i < walk->n_patches; i++) {
		p = &walk->patches[i];
		from = p->at > at ? p->at : at;
		to = p->at + p->n < end ? p->at + p->n : end;
		if (from < to)
			sfs_range_write(grab, from - at, p->bytes + (from - p->at),
					to - from);
	}
}

void sfs_header_patch_note(const struct sfs_shard *shard, uint64_t start, const char *why)
{
	sfs_ledger_add(SFS_EVENT_LOST, shard->name, start,
		       "readers get EIO; keys=asis leaves names alone", "%s", why);
}
