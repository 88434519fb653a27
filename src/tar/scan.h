/* SPDX-License-Identifier: MIT */
/* scan - walks a shard's headers and finds its samples.
 *
 * The scan says which byte it wants next, jumps over data it need not see, and
 * calls back for each member and for each sample that is complete.  Bytes may be
 * cut anywhere: a header group whose end is not there is carried over.  A sample's extent
 * reaches from its first member's header group to the padding of its last.
 * Nothing counts on "no more headers" as the end: a shard ends with a zero
 * block, and then zeros to its last byte, or it is damaged.  Every sample that is
 * complete before the damage is found: the last one, too, if the shard just stops behind
 * it, or within a member of another sample.  Pure; one thread.
 */
#ifndef SFS_SCAN_H
#define SFS_SCAN_H

#include "base/error.h"
#include "tar/entry.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sfs_extent {
	uint64_t start, n_bytes; /* in the shard; multiples of 512 */
	uint64_t key_hash;	 /* hash.h, of the key */
	bool has_global;	 /* a pax global header lies inside: to be blanked */
};

struct sfs_scan_sink {
	void *ctx;
	/* A member at `start` of the shard; group->next is relative to it.  `group`
	 * and its name are valid during the call.  NULL: not wanted. */
	void (*member)(void *ctx, uint64_t start, const struct sfs_tar_entry *group);
	void (*sample)(void *ctx, const struct sfs_extent *extent);
};

struct sfs_scan {
	uint64_t shard_bytes;
	uint64_t pos; /* where the group begins that it looks at */
	int err;      /* -EBADMSG, -EOVERFLOW once damaged at pos; `error` says how */
	struct sfs_error error;

	bool is_in_trailer, is_complete;
	bool lacks_end;	  /* damaged, but no member is: there is no end-of-archive mark */
	uint64_t trailer; /* where its first zero block is */
	size_t need;	  /* bytes at pos that it wants at once */
	unsigned char *carry; /* the first n_carry of them */
	size_t n_carry;
	struct {
		bool is_open, has_global, saw_global;
		uint64_t start, end;
		char *key;
		size_t n_key, capacity;
	} sample; /* the one that may still grow */
};

void sfs_scan_init(struct sfs_scan *scan, uint64_t shard_bytes);
void sfs_scan_done(struct sfs_scan *scan);

/* The next byte it wants; UINT64_MAX: none, for it is complete or damaged. */
uint64_t sfs_scan_wanted(const struct sfs_scan *scan);

/* Here are n bytes at `offset`: look at those that are wanted, and go on as far as
 * they reach.  (n = 0 is for an empty file.)  What is wanted then. */
uint64_t sfs_scan_feed(struct sfs_scan *scan, uint64_t offset, const void *bytes,
		       size_t n, const struct sfs_scan_sink *sink);

#endif
