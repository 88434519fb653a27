/* SPDX-License-Identifier: MIT */
/* A header group with a folder before its name has the same length, right checksums, and
 * a second reader sees the new name; or it is refused and not a byte has changed.  A
 * blanked global header sets nothing.  With
 * SHUFFLEFS_FUZZ_OUT=FOLDER each renamed member is written there for judge.py, which asks
 * Python's tarfile.
 *
 * The first byte is the length of the folder's name, 0 for none; the rest is for
 * maketar.h, and each group of that file is edited. */
#include "fuzz.h"
#include "maketar.h"
#include "names.h"

#include "tar/entry.h"
#include "tar/key.h"
#include "tar/pax.h"
#include "tar/rewrite.h"

#include <errno.h>

static void check_checksums(const unsigned char *group, size_t n)
{
	struct sfs_tar_header h;
	size_t at = 0;

	while (at < n) {
		h = sfs_tar_look(group + at);
		MUST(h.kind != SFS_TAR_BAD && h.kind != SFS_TAR_ZERO);
		at += SFS_TAR_BLOCK;
		if (h.kind == SFS_TAR_EXTENSION || h.kind == SFS_TAR_GLOBAL)
			at += sfs_tar_padded(h.size);
	}
	MUST(at == n);
}

static void check_blanked(const unsigned char *group)
{
	const char *p = (const char *)group + SFS_TAR_BLOCK;
	const char *end = p + sfs_tar_look(group).size;
	struct sfs_pax_record r;
	int ret;

	while ((ret = sfs_pax_next(&p, end, &r)) == 1)
		MUST(sfs_pax_is(&r, "comment") || sfs_pax_is(&r, "c"));
	MUST(ret == 0);
}

/* An ordinary GNU header with a sparse map: libarchive reads that, tarfile does not, and
 * an edited header has none (see fuzz-tar-differential.c).  Nobody writes such. */
static bool is_disputed(const unsigned char *header)
{
	return header[SFS_TAR_TYPE] != 'S' &&
	       memcmp(header + SFS_TAR_MAGIC, "ustar  ", 8) == 0 &&
	       !sfs_tar_is_zero(header + 386, 495 - 386);
}

static bool has_name(const char *name, size_t n, const char *folder,
		     const struct sfs_tar_entry *was)
{
	size_t n_folder = folder ? strlen(folder) + 1 : 0;

	if (n != n_folder + was->n_name ||
	    memcmp(name + n_folder, was->name, was->n_name) != 0)
		return false;
	return n_folder == 0 ||
	       (memcmp(name, folder, n_folder - 1) == 0 && name[n_folder - 1] == '/');
}

static void check_member(const unsigned char *group, const struct sfs_tar_entry *was,
			 uint64_t n_left, const char *folder)
{
	struct fuzz_name name;
	struct sfs_tar_entry is;

	MUST(sfs_tar_entry_read(group, was->n_bytes, n_left, &is, NULL) == 0 ||
	     sfs_tar_entry_read(group, n_left, n_left, &is, NULL) == 0);
	MUST(is.kind == SFS_TAR_ENTRY_MEMBER && is.n_bytes == was->n_bytes);
	MUST(is.data == was->data && is.next == was->next && is.size == was->size);
	MUST(is.is_regular == was->is_regular && is.mtime == was->mtime &&
	     is.mode == was->mode);
	MUST(is.n_runs == was->n_runs);
	MUST(has_name(is.name, is.n_name, folder, was));
	sfs_tar_entry_done(&is);

	if (!was->is_regular)
		return;
	name = fuzz_name_read(group, n_left);
	MUST(name.s && has_name(name.s, name.n, folder, was));
	free(name.s);
}

/* For judge.py: the renamed member alone, and what its name must be. */
static void write_out(const unsigned char *group, const struct sfs_tar_entry *was,
		      const char *folder)
{
	static const char zeros[1024 + SFS_TAR_BLOCK];
	static unsigned number;
	FILE *f = fuzz_open_out(++number, "tar");
	size_t n_folder = strlen(folder) + 1;
	char *name;

	if (!f)
		return;
	fwrite(group, 1, (size_t)was->next, f);
	fwrite(zeros, 1, 1024 + (size_t)(sfs_tar_padded(was->next) - was->next), f);
	MUST(fclose(f) == 0);
	name = malloc(n_folder + was->n_name + 1);
	sprintf(name, "%s/%.*s", folder, (int)was->n_name, was->name);
	f = fuzz_open_out(number, "list");
	fprintf(f, "complete\n");
	fuzz_list(f, was->size, "?", name, n_folder + was->n_name);
	MUST(fclose(f) == 0);
	free(name);
}

/* Edit the group at `from`; where the next one begins, 0 at the end or at damage. */
static uint64_t edit_one(const unsigned char *from, size_t n_left, const char *folder)
{
	struct sfs_error err = {0};
	struct sfs_tar_entry was, entry;
	unsigned char *group;
	size_t n;
	uint64_t next;
	bool is_renamed;
	int ret;

	if (sfs_tar_entry_read(from, n_left, n_left, &was, &err) < 0)
		return 0;
	if (was.kind == SFS_TAR_ENTRY_END)
		return 0;
	group = fuzz_copy(from, n_left);
	if (is_disputed(from + was.n_bytes - SFS_TAR_BLOCK))
		folder = NULL;
	is_renamed = folder && was.kind == SFS_TAR_ENTRY_MEMBER && was.is_regular &&
		     sfs_key_length(was.name, was.n_name) > 0;
	MUST(sfs_tar_entry_read(group, n_left, n_left, &entry, NULL) == 0);
	ret = sfs_rewrite_entry(group, &entry, folder, &err);
	sfs_tar_entry_done(&entry);
	if (ret == 0) {
		n = was.n_bytes;
		MUST(memcmp(group + n, from + n, n_left - n) == 0);
		check_checksums(group, n);
		if (was.kind == SFS_TAR_ENTRY_GLOBAL) {
			check_blanked(group);
		} else {
			MUST(is_renamed || memcmp(group, from, n_left) == 0);
			check_member(group, &was, n_left, is_renamed ? folder : NULL);
			if (is_renamed)
				write_out(group, &was, folder);
		}
	} else {
		MUST(ret == -ENAMETOOLONG && is_renamed && err.text[0]);
		MUST(memcmp(group, from, n_left) == 0);
	}
	next = was.next;
	sfs_tar_entry_done(&was);
	free(group);
	return next;
}

/* Of a part of a group more is asked for, or it is enough to rewrite it. */
static void edit_cut(const unsigned char *from, size_t n, size_t n_left,
		     const char *folder)
{
	unsigned char *group = fuzz_copy(from, n);
	struct sfs_tar_entry entry;
	int ret = sfs_tar_entry_read(group, n, n_left, &entry, NULL);

	if (ret == -EAGAIN)
		MUST(entry.need > n && entry.need <= n_left);
	if (ret == 0) {
		ret = sfs_rewrite_entry(group, &entry, folder, NULL);
		sfs_tar_entry_done(&entry);
	}
	MUST(ret == 0 || memcmp(group, from, n) == 0);
	free(group);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_data)
{
	struct fuzz_in in = {data, n_data};
	size_t n_folder = fuzz_byte(&in), at = 0, i;
	struct fuzz_tar tar = fuzz_tar_make(in.p, in.n);
	uint64_t next;
	char folder[256];

	for (i = 0; i < n_folder; i++)
		folder[i] = (char)(i % 40 == 39 ? '/' : 'A' + i % 26);
	if (n_folder > 0)
		folder[n_folder - 1] = 'Z';
	folder[n_folder] = 0;
	for (; at < tar.n; at += next) {
		edit_cut(tar.bytes + at, (tar.n - at) * (n_folder % 7) / 7, tar.n - at,
			 n_folder ? folder : NULL);
		next = edit_one(tar.bytes + at, tar.n - at, n_folder ? folder : NULL);
		if (next == 0)
			break;
	}
	free(tar.bytes);
	return 0;
}
