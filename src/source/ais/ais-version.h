/* SPDX-License-Identifier: MIT */
/* ais-version - what tells versions of an object of AIStore apart.
 *
 * It has no ETag: a tag like one is made of the version and the checksum that come with
 * each response and in listings.  A version stays 1 in a bucket without versioning; a
 * checksum may be the range's.  So it depends on the bucket's properties which of them
 * count.  Every byte of it comes from a server.  Pure.
 */
#ifndef SFS_AIS_VERSION_H
#define SFS_AIS_VERSION_H

#include <stdbool.h>
#include <stddef.h>

#define SFS_AIS_TAG_BYTES 256

/* What counts. */
struct sfs_ais_props {
	bool has_versions;
	bool has_checksums; /* of whole objects */
};

/* The properties of a bucket, as JSON.  false: they are not understood. */
bool sfs_ais_props_read(const char *json, size_t n, struct sfs_ais_props *ret);

/* Write the tag, with its quotes; "" if there is none.  A part that is too long, or that
 * no tag may hold, is left out. */
void sfs_ais_tag(const struct sfs_ais_props *props, const char *version,
		 const char *checksum, char ret[SFS_AIS_TAG_BYTES]);

#endif
