/* SPDX-License-Identifier: MIT */
/* index-format - what is known of one shard as the bytes of a file: its samples and, if
 * they were asked for, its members.
 *
 * The bytes are used in place: a table borrows the order part without a copy.  An index
 * must not be trusted: it may be torn, truncated, of another shard, or forged.  One that
 * was opened can break nothing; whether it is for this shard, in this version, is for the
 * caller to check (shard_bytes, version), and only the headers could show that it is
 * true. docs/internals/catalog.md describes the format; little endian.  Pure; opening
 * reads all bytes of a part, once.
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
#define SFS_INDEX_VERSION 3

struct sfs_index {
	uint64_t shard_bytes;
	uint64_t version; /* of the shard, as given to sfs_index_write(); 0: unknown */
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

/* The maximum size of an index of such a shard: each sample and each member has a header
 * in the shard, and all names lie there too. */
uint64_t sfs_index_bytes_max(uint64_t shard_bytes);

/* Read the header alone: `first` bytes of an index of n_file bytes.  All pointers of
 * *ret_index are NULL.  Errors as of sfs_index_open(). */
int sfs_index_look(const void *bytes, size_t first, uint64_t n_file,
		   struct sfs_index *ret_index, struct sfs_error *err);

/* Check header and order part of an index: n bytes, aligned to 8, all n_file bytes of its
 * file or the first order_end.  *ret_index points into them; they must stay unchanged as
 * long as it is used.
 * 0.  -EBADMSG: no index, or damaged.  -EPROTONOSUPPORT: an unknown version of the
 * format.  On errors *err says why, and *ret_index is unchanged. */
int sfs_index_open(const void *bytes, size_t n, uint64_t n_file,
		   struct sfs_index *ret_index, struct sfs_error *err);

/* Could these n bytes be the start of an index of ours, in any version of the format?  n
 * may be 0. */
bool sfs_index_begins_so(const void *bytes, size_t n);

/* The members of an opened index with has_members; they borrow its bytes.
 * 0.  -EBADMSG: this part is damaged; *err says how, and *ret_members is unchanged. */
int sfs_index_members(const struct sfs_index *index, struct sfs_members *ret_members,
		      struct sfs_error *err);

/* Make the index of a shard of `shard_bytes` in version `version`.  The table is
 * whole, and the shard is undamaged.  `members` may be NULL.  The caller frees
 * the *ret_n bytes. */
void *sfs_index_write(const struct sfs_sample_table *table, uint64_t shard_bytes,
		      uint64_t version, const struct sfs_members *members, size_t *ret_n);

#endif
