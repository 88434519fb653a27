/* SPDX-License-Identifier: MIT */
#include "tar/magic.h"

#include "base/alloc.h"
#include "tar/header.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

/* clang-format off: a line here is a line there */
#define MAGIC(bytes, what, advice) {bytes, sizeof bytes - 1, what, advice}
/* clang-format on */

static const struct sfs_magic magics[] = {
	MAGIC("\x1f\x8b", "gzip data", "unpack it first (gunzip)"),
	MAGIC("BZh", "bzip2 data", "unpack it first (bunzip2)"),
	MAGIC("\xfd" "7zXZ", "xz data", "unpack it first (unxz)"),
	MAGIC("\x28\xb5\x2f\xfd", "zstd data", "unpack it first (unzstd)"),
	MAGIC("\x04\x22\x4d\x18", "lz4 data", "unpack it first (unlz4)"),
	MAGIC("PK\x03\x04", "a zip file", "repack its files as a tar"),
	MAGIC("PK\x05\x06", "an empty zip file", "repack its files as a tar"),
	MAGIC("7z\xbc\xaf\x27\x1c", "a 7z file", "repack its files as a tar"),
	MAGIC("Rar!\x1a\x07", "a rar file", "repack its files as a tar"),
	MAGIC("PAR1", "a Parquet file", "write its rows to a tar"),
	MAGIC("\x89HDF\r\n\x1a\n", "an HDF5 file", "write its contents to a tar"),
	MAGIC("version https://git-lfs", "a git-lfs pointer",
	      "fetch the real file (git lfs pull)"),
};

/* Pages may begin with blanks; the case of letters does not matter. */
static const char page_advice[] = "perhaps a login or error page instead of the file";
static const struct sfs_magic pages[] = {
	MAGIC("<?xml", "an XML page", page_advice),
	MAGIC("<!", "an HTML or XML page", page_advice),
	MAGIC("<html", "an HTML page", page_advice),
	MAGIC("<head", "an HTML page", page_advice),
	MAGIC("<error", "an XML page", page_advice),
};

static const struct sfs_magic *find_page(const char *p, size_t n)
{
	const char *end = p + n;
	size_t i;

	if (n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0)
		p += 3; /* a byte order mark */
	while (p < end && strchr(" \t\r\n", *p) && *p)
		p++;
	for (i = 0; i < SFS_COUNT(pages); i++)
		if (pages[i].n_bytes <= (size_t)(end - p) &&
		    strncasecmp(p, pages[i].bytes, pages[i].n_bytes) == 0)
			return &pages[i];
	return NULL;
}

const struct sfs_magic *sfs_magic_find(const void *bytes, size_t n)
{
	size_t i;

	for (i = 0; i < SFS_COUNT(magics); i++)
		if (magics[i].n_bytes <= n &&
		    memcmp(bytes, magics[i].bytes, magics[i].n_bytes) == 0)
			return &magics[i];
	return find_page(bytes, n);
}

const struct sfs_magic *sfs_magic_instead_of_tar(const void *bytes, size_t n)
{
	const unsigned char *block = bytes;

	/* A member may be called "BZh". */
	if (n >= SFS_TAR_BLOCK && (sfs_tar_look(block).kind != SFS_TAR_BAD ||
				   memcmp(block + SFS_TAR_MAGIC, "ustar", 5) == 0))
		return NULL;
	return sfs_magic_find(bytes, n);
}
