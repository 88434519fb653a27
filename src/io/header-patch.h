/* SPDX-License-Identifier: MIT */
/* walk - finds what must be edited in a sample that is not at hand, by fetching
 * only its headers.
 *
 * Most samples are edited where they lie, in the slabs that hold them (edit.h).
 * This is for those that are fetched in pieces.
 */
#ifndef SFS_HEADER_PATCH_H
#define SFS_HEADER_PATCH_H

#include "io/range.h"

struct sfs_patched_bytes {
	uint64_t at; /* from the sample's start */
	size_t n;
	unsigned char *bytes;
};

struct sfs_header_patch {
	/* Set by the caller, the rest zero. */
	struct sfs_shard *shard;
	uint64_t start, n_bytes; /* of the sample */
	bool is_renamed;	 /* put the shard's folder before its names */
	/* Once, on a thread of the source or the pool.  -ENAMETOOLONG: a name has no
	 * room for the folder; -EBADMSG; or an error of the source. */
	void (*done)(struct sfs_header_patch *walk, int err);

	/* The walk's own; patches may be read after done(0). */
	atomic_bool is_cancelled;
	struct sfs_patched_bytes *patches;
	size_t n_patches;
	struct sfs_range_reader *range_reader;
	struct sfs_range grab;
	uint64_t pos;
};

void sfs_header_patch_start(struct sfs_range_reader *range_reader,
			    struct sfs_header_patch *walk);

/* Ask for done(-ECANCELED) after the look that runs.  It must not be done yet. */
void sfs_header_patch_cancel(struct sfs_header_patch *walk);

void sfs_header_patch_done(struct sfs_header_patch *walk); /* free the patches */

/* Apply the patches to a grab that begins `at` bytes from the sample's start. */
void sfs_header_patch_apply(const struct sfs_header_patch *walk,
			    const struct sfs_range *grab, uint64_t at);

/* Say in the ledger that a sample cannot be renamed. */
void sfs_header_patch_note(const struct sfs_shard *shard, uint64_t start,
			   const char *why);

#endif
