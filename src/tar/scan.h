/* SPDX-License-Identifier: MIT */
/* scan - scans the headers of a shard and finds its samples.
 *
 * The scan says which byte it wants next, jumps over data that it does not need, and
 * calls back for each member and each complete sample.  Bytes may be cut anywhere: a
 * header group that is not complete is carried over.  The extent of a sample reaches from
 * its first member's header group to the padding of its last.
 *
 * "No more headers" is never taken for the end: a shard ends with a zero block and zeros
 * to its last byte, or it is damaged.  Every sample that is complete before the damage is
 * found, also the last one, if the shard just stops after it or within a member of
 * another sample.  Pure; one thread.
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
	uint64_t key_hash;	 /* of the key: base/keyhash.h */
	bool has_global;	 /* a pax global header is inside: it must be blanked */
};

struct sfs_scan_sink {
	void *ctx;
	/* A member at `start` of the shard; group->next is relative to it.  `group`
	 * and its name are valid during the call.  NULL: not wanted. */
	void (*member)(void *ctx, uint64_t start, const struct sfs_tar_entry *group);
	void (*sample)(void *ctx, const struct sfs_extent *extent);
	/* A member that is not plain, or a global header: group->data bytes are at
	 * `bytes`, during the call, which follows that of `member`.  NULL: not wanted. */
	void (*odd)(void *ctx, uint64_t start, const unsigned char *bytes,
		    const struct sfs_tar_entry *group);
};

struct sfs_scan {
	uint64_t shard_bytes;
	uint64_t pos; /* start of the current header group */
	int err;      /* -EBADMSG, -EOVERFLOW once damaged at pos; `error` says how */
	struct sfs_error error;

	bool is_in_trailer, is_complete;
	bool lacks_end;	      /* damaged only in that there is no end-of-archive mark */
	uint64_t trailer;     /* of its first zero block */
	size_t need;	      /* bytes that it wants at pos, in one piece */
	unsigned char *carry; /* the first n_carry of them */
	size_t n_carry;
	struct {
		bool is_open, has_global, saw_global;
		uint64_t start, end;
		char *key;
		size_t n_key, capacity;
	} sample; /* the sample that may still grow */
};

void sfs_scan_init(struct sfs_scan *scan, uint64_t shard_bytes);
void sfs_scan_done(struct sfs_scan *scan);

/* The next byte that it wants; UINT64_MAX: none, as it is complete or damaged. */
uint64_t sfs_scan_wanted(const struct sfs_scan *scan);

/* Scan the n bytes at `offset`, as far as they are wanted.  Returns the next wanted byte.
 * (n = 0 is for an empty file.) */
uint64_t sfs_scan_feed(struct sfs_scan *scan, uint64_t offset, const void *bytes,
		       size_t n, const struct sfs_scan_sink *sink);

#endif
