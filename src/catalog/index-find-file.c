/* SPDX-License-Identifier: MIT */
/* Reads the index of a shard from a local file. */
#include "catalog/index-find-internal.h"

#include "base/localfile.h"

#include <errno.h>
#include <string.h>

/* Read our index in an open file into f. */
static int read_index(struct sfs_index_search *f, const struct sfs_localfile *file,
		      struct sfs_error *err)
{
	char header[SFS_INDEX_HEADER_BYTES];
	size_t first = file->n < sizeof header ? (size_t)file->n : sizeof header;
	struct sfs_charge bytes = {0};
	struct sfs_index index;
	uint64_t n;
	int ret;

	ret = sfs_localfile_read(file, 0, header, first);
	if (ret == 0)
		ret = sfs_index_look(header, first, file->n, &index, err);
	if (ret == 0)
		ret = sfs_index_search_check(f, &index, err);
	if (ret < 0)
		return ret;
	n = sfs_index_search_wanted(f, &index, file->n);
	ret = sfs_index_search_hold(f, &bytes, n, f->wants_members, err);
	if (ret < 0)
		return ret;
	memcpy(bytes.bytes, header, sizeof header);
	ret = sfs_localfile_read(file, sizeof header, (char *)bytes.bytes + sizeof header,
				 (size_t)n - sizeof header);
	if (ret == 0)
		ret = sfs_index_search_open(f, &bytes, file->n, err);
	sfs_charge_done(&bytes);
	return ret;
}

static int read_claims(struct sfs_index_search *f, const struct sfs_localfile *file,
		       struct sfs_error *err)
{
	struct sfs_charge bytes = {0};
	int ret;

	if (file->n > sfs_index_import_bytes_max(f->object->size))
		return sfs_error_set(err, -EFBIG,
				     "it is too large for an index of this shard");
	ret = sfs_index_search_hold(f, &bytes, file->n, true, err);
	if (ret == 0)
		ret = sfs_localfile_read(file, 0, bytes.bytes, bytes.n);
	if (ret == 0)
		ret = sfs_index_search_open_claims(f, &bytes, err);
	sfs_charge_done(&bytes);
	return ret;
}

int sfs_index_search_read(struct sfs_index_search *f, const char *path,
			  struct sfs_error *err)
{
	struct sfs_localfile file;
	int ret;

	ret = sfs_localfile_open(path, &file, err);
	if (ret < 0)
		return ret;
	err->text[0] = 0;
	ret = sfs_index_search_is_import(f) ? read_claims(f, &file, err)
					    : read_index(f, &file, err);
	sfs_localfile_close(&file);
	if (ret < 0 && !err->text[0])
		sfs_error_set(err, ret, "%s",
			      ret == -ESTALE ? "it is being written" : strerror(-ret));
	return ret;
}
