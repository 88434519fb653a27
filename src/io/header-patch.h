/* SPDX-License-Identifier: MIT */
/* header-patch - finds what must be rewritten in a sample by fetching only its headers.
 *
 * Most samples are rewritten in the slabs that hold them whole (tar/rewrite.h).  This is
 * for samples that are fetched in ranges: the patches are applied to each range.
 */
#ifndef SFS_HEADER_PATCH_H
#define SFS_HEADER_PATCH_H

#include "io/range.h"

/* A sample that is rewritten. */
struct sfs_patched_sample {
	struct sfs_shard *shard;
	uint64_t start, n_bytes; /* in the shard */
	bool is_renamed;	 /* the shard's folder goes before its names */
};

struct sfs_patched_bytes {
	uint64_t at; /* from the sample's start */
	size_t n;
	unsigned char *bytes;
};

struct sfs_header_patch {
	/* Set by the caller, the rest zero. */
	struct sfs_patched_sample sample;
	/* Called once, on a thread of the source or the pool.  -ENAMETOOLONG: a name has
	 * no room for the folder; -EBADMSG: no headers of a sample; or an error of the
	 * source. */
	void (*done)(struct sfs_header_patch *patch, int err);

	/* Private; the patches may be read after done(0). */
	atomic_bool is_cancelled;
	struct sfs_patched_bytes *patches;
	size_t n_patches;
	struct sfs_range_reader *range_reader;
	struct sfs_range range;
	uint64_t pos; /* of the next header, from the sample's start */
};

/* Begin; waits for nothing.  Holds at most one range of the range reader at a time. */
void sfs_header_patch_start(struct sfs_range_reader *range_reader,
			    struct sfs_header_patch *patch);

/* Ask for done(-ECANCELED) as soon as the current fetch ends.  done() must not have been
 * called yet. */
void sfs_header_patch_cancel(struct sfs_header_patch *patch);

void sfs_header_patch_done(struct sfs_header_patch *patch); /* free the patches */

/* Apply the patches to a range that begins `at` bytes from the sample's start. */
void sfs_header_patch_apply(const struct sfs_header_patch *patch,
			    const struct sfs_range *range, uint64_t at);

/* Add a line to the ledger: the sample at `start` cannot be rewritten. */
void sfs_header_patch_note(const struct sfs_shard *shard, uint64_t start,
			   const char *why);

#endif
