/* SPDX-License-Identifier: MIT */
/* Indexes of other tools.  What is taken lies inside the shard, in order, agrees with a
 * shard that is just so, and reads the same when it is written anew.  What dali.c writes
 * of any names is taken. */
#include "fuzz.h"

#include "base/strbuf.h"
#include "catalog/index-export.h"
#include "catalog/index-import.h"
#include "tar/key.h"

#include <errno.h>
#include <inttypes.h>

static void rewrite_members(const struct sfs_index_import *f, uint64_t shard_bytes)
{
	struct sfs_strbuf text = {0};
	struct sfs_index_import again;
	uint64_t sample = UINT64_MAX;
	size_t i;

	sfs_strbuf_printf(&text, "v1.1 %" PRIu64, f->n_samples);
	for (i = 0; i < f->n_members; i++) {
		sfs_strbuf_puts(&text, f->members[i].sample == sample ? " " : "\n");
		sample = f->members[i].sample;
		sfs_strbuf_printf(&text, "x %" PRIu64 " %" PRIu64, f->members[i].data,
				  f->members[i].n_bytes);
	}
	sfs_strbuf_puts(&text, "\n");
	MUST(sfs_index_import_parse(text.s, text.n, shard_bytes, &again, NULL) == 0);
	MUST(sfs_index_import_agrees_members(f, again.members, again.n_members, NULL) ==
	     0);
	sfs_index_import_done(&again);
	sfs_strbuf_done(&text);
}

static void check_dali(const struct sfs_index_import *f, uint64_t shard_bytes)
{
	struct sfs_extent *extents = calloc(f->n_samples, sizeof *extents);
	uint64_t pos = 0;
	size_t i;

	MUST(extents && f->n_members >= f->n_samples && f->n_samples > 0);
	for (i = 0; i < f->n_members; i++) {
		const struct sfs_index_import_member *m = &f->members[i];
		struct sfs_extent *e = &extents[m->sample];

		MUST(m->sample < f->n_samples && m->data % 512 == 0);
		MUST(m->data >= pos + 512 && m->data + m->n_bytes <= shard_bytes);
		if (e->n_bytes == 0)
			e->start = m->data - 512;
		pos = (m->data + m->n_bytes + 511) / 512 * 512;
		e->n_bytes = pos - e->start;
	}
	MUST(f->members[0].sample == 0 && f->members[i - 1].sample == f->n_samples - 1);
	MUST(sfs_index_import_agrees(f, extents, f->n_samples, NULL) == 0);
	MUST(sfs_index_import_agrees(f, extents, f->n_samples - 1, NULL) == -EBADMSG);
	extents[0].start += extents[0].n_bytes;
	MUST(sfs_index_import_agrees(f, extents, f->n_samples, NULL) == -EBADMSG ||
	     f->members[0].data == extents[0].start);
	free(extents);
	rewrite_members(f, shard_bytes);
}

static void check_energon(const struct sfs_index_import *f, uint64_t shard_bytes)
{
	struct sfs_extent *extents = calloc(f->n_samples + 1, sizeof *extents);
	uint64_t i;

	MUST(extents && f->starts[f->n_samples] <= shard_bytes);
	for (i = 0; i < f->n_samples; i++) {
		MUST(f->starts[i] < f->starts[i + 1] && f->starts[i] % 512 == 0);
		extents[i].start = f->starts[i];
		extents[i].n_bytes = f->starts[i + 1] - f->starts[i];
	}
	MUST(sfs_index_import_agrees(f, extents, f->n_samples, NULL) == 0);
	MUST(sfs_index_import_agrees(f, extents, f->n_samples + 1, NULL) == -EBADMSG);
	if (f->n_samples > 0) {
		extents[i - 1].n_bytes += 512;
		MUST(sfs_index_import_agrees(f, extents, f->n_samples, NULL) == -EBADMSG);
	}
	free(extents);
}

static void check_index(const uint8_t *data, size_t n, uint64_t shard_bytes)
{
	struct sfs_index_import f = {0};
	struct sfs_error err = {0};
	void *bytes = fuzz_copy(data, n);
	int ret = sfs_index_import_parse(bytes, n, shard_bytes, &f, &err);

	MUST(ret == 0 || ret == -EBADMSG);
	MUST((ret == 0) == (err.text[0] == 0));
	if (ret == 0 && f.kind == SFS_INDEX_IMPORT_DALI)
		check_dali(&f, shard_bytes);
	else if (ret == 0)
		check_energon(&f, shard_bytes);
	sfs_index_import_done(&f);
	free(bytes);
}

/* The input is names, each with a NUL behind it. */
static void check_writer(const uint8_t *data, size_t n)
{
	char *names = fuzz_copy(data, n), *p, *nul;
	struct sfs_index_export dali = {0};
	struct sfs_strbuf text = {0};
	struct sfs_index_import f;
	uint64_t at = 512;
	size_t n_added = 0;
	int ret;

	for (p = names; (nul = memchr(p, 0, n - (size_t)(p - names))); p = nul + 1) {
		ret = sfs_index_export_add(&dali, p, (size_t)(nul - p), at, 1, NULL);
		MUST(ret == 0 || ret == -EILSEQ);
		n_added += ret == 0 && sfs_key_length(p, (size_t)(nul - p)) > 0;
		at += 1024;
	}
	ret = sfs_index_export_print(&dali, &text, NULL);
	MUST(ret == (n_added > 0 ? 0 : -ENODATA));
	if (ret == 0) {
		MUST(sfs_index_import_parse(text.s, text.n, at, &f, NULL) == 0);
		MUST(f.n_members == n_added && f.n_samples == dali.n_samples);
		sfs_index_import_done(&f);
	}
	sfs_strbuf_done(&text);
	sfs_index_export_done(&dali);
	free(names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	if (n == 0)
		return 0;
	if (*data == 'N')
		check_writer(data + 1, n - 1);
	else if (*data == 0xff)
		check_index(data + 1, n - 1, INT64_MAX);
	else
		check_index(data + 1, n - 1, 512 * (uint64_t)*data + *data % 2);
	return 0;
}
