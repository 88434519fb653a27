/* SPDX-License-Identifier: MIT */
/* index - what is known of one shard, as bytes for a file: its samples, and if they were
 * asked for its members.
 *
 * The bytes are used as they are: a table borrows the order part, without a copy.  Who
 * opens an index must not trust it: it may be torn, truncated, somebody else's or a lie.
 * What has been opened can break nothing; whether it is this shard's index, in this
 * version, is for the caller to see (shard_bytes, version), and that it tells the truth
 * only the shard's headers could show.  The format is in docs/internals/index.md; little
 * endian.  Pure; opening reads all bytes of a part, once.
 */
#ifndef SFS_INDEX_FORMAT_H
#define SFS_INDEX_FORMAT_H

#include "base/error.h"
#include "catalog/members.h"
#include "order/samples.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SFS_INDEX_HEADER_BYTES 112

/* Raise it when the bytes change, or what they mean: the rule of keys, or of samples. */
#define SFS_INDEX_VERSION 2

struct sfs_index {
	uint64_t shard_bytes;
	uint64_t version; /* of the shard, as sfs_index_write() was told; 0: unknown */
	uint64_t n_samples, sample_bytes; /* the sum of their extents */
	uint64_t n_members;		  /* if has_members */
	bool has_members;
	uint64_t order_end; /* bytes of the file up to here suffice without members */

	/* Among the bytes that were opened; for sfs_sample_table_borrow(). */
	const struct sfs_sample_table_entry *entries;

	/* The same, for sfs_index_members(). */
	const void *members;
	size_t members_bytes;
	uint64_t members_checksum;
};

/* How many bytes an index of such a shard can have: each sample and each member has a
 * header in it, and all names lie there, too. */
uint64_t sfs_index_bytes_max(uint64_t shard_bytes);

/* Read the header alone: `first` bytes of an index of n_file bytes.  All pointers of
 * *ret_index are NULL.  Errors as of sfs_index_open(). */
int sfs_index_look(const void *bytes, size_t first, uint64_t n_file,
		   struct sfs_index *ret_index, struct sfs_error *err);

/* Look at the n bytes of an index, aligned to 8, and see that header and order part are
 * sound.  *ret_index points into them, and they must stay unchanged as long as it is
 * used.  They are all of its file's n_file bytes, or those that it takes without members.
 * 0; -EBADMSG: they are no index, or damaged; -EPROTONOSUPPORT: an index in a version
 * that we cannot read.  Then *err has a sentence, and *ret_index is as it was. */
int sfs_index_open(const void *bytes, size_t n, uint64_t n_file,
		   struct sfs_index *ret_index, struct sfs_error *err);

/* Does an index of ours, in whichever version of the format, begin with these n bytes?
 * None at all are fine. */
bool sfs_index_begins_so(const void *bytes, size_t n);

/* The members of an opened index that has_members; they borrow its bytes.
 * 0; -EBADMSG: this part is damaged; *err has a sentence, *ret_members is as it was. */
int sfs_index_members(const struct sfs_index *index, struct sfs_members *ret_members,
		      struct sfs_error *err);

/* The bytes of an index of a shard of `shard_bytes` in its version `version`.  The table
 * is whole, and the shard sound to its end.  `members` may be NULL.
 * Returns *ret_n bytes; the caller frees them. */
void *sfs_index_write(const struct sfs_sample_table *table, uint64_t shard_bytes,
		      uint64_t version, const struct sfs_members *members, size_t *ret_n);

#endif
