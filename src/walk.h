/* SPDX-License-Identifier: MIT */
/* walk - finds what must be edited in a sample that is not at hand, by fetching
 * only its headers.
 *
 * Most samples are edited where they lie, in the slabs that hold them (edit.h).
 * This is for those that are fetched in pieces.
 */
#ifndef SFS_WALK_H
#define SFS_WALK_H

#include "grab.h"

struct sfs_patch {
	uint64_t at; /* from the sample's start */
	size_t n;
	unsigned char *bytes;
};

struct sfs_walk {
	/* Set by the caller, the rest zero. */
	struct sfs_shard *shard;
	uint64_t start, n_bytes; /* of the sample */
	bool is_renamed;	 /* put the shard's folder before its names */
	/* Once, on a thread of the source or the pool.  -ENAMETOOLONG: a name has no
	 * room for the folder; -EBADMSG; or an error of the source. */
	void (*done)(struct sfs_walk *walk, int err);

	/* The walk's own; patches may be read after done(0). */
	atomic_bool is_cancelled;
	struct sfs_patch *patches;
	size_t n_patches;
	struct sfs_grabber *grabber;
	struct sfs_grab grab;
	uint64_t pos;
};

void sfs_walk_start(struct sfs_grabber *grabber, struct sfs_walk *walk);

/* Ask for done(-ECANCELED) after the look that runs.  It must not be done yet. */
void sfs_walk_cancel(struct sfs_walk *walk);

void sfs_walk_done(struct sfs_walk *walk); /* free the patches */

/* Apply the patches to a grab that begins `at` bytes from the sample's start. */
void sfs_walk_apply(const struct sfs_walk *walk, const struct sfs_grab *grab,
		    uint64_t at);

/* Say in the ledger that a sample cannot be renamed. */
void sfs_walk_note(const struct sfs_shard *shard, uint64_t start, const char *why);

#endif
