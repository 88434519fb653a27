/* SPDX-License-Identifier: MIT */
/* members - the regular files of one shard: name, offset and size of each, in the order
 * of the shard.
 *
 * Member i is found at once, and the first member of a sample by binary search.  Members
 * are added as a scan finds them, or borrowed from the bytes of an index
 * (index-format.h).  Names are data: they may hold any byte but NUL, and need not be safe
 * paths (directory.h).  One thread may add; any number may read when none adds.  Pure.
 */
#ifndef SFS_MEMBERS_H
#define SFS_MEMBERS_H

#include "base/error.h"
#include "tar/entry.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sfs_member_entry; /* as stored; see members.c */

/* All zeros: no members. */
struct sfs_members {
	struct sfs_member_entry *entries;
	char *names; /* one after another, not terminated */
	uint64_t n, capacity;
	size_t names_bytes, names_capacity;
	bool is_borrowed;
};

struct sfs_member {
	const char *name; /* not NUL-terminated; valid as long as the members */
	size_t n_name;
	uint64_t start; /* of its header group, in the shard; a multiple of 512 */
	uint64_t data;	/* of its stored data, in the shard */
	uint64_t size;	/* of the file; all of it is stored unless is_sparse */
	int64_t mtime;	/* seconds since 1970 */
	uint32_t mode;	/* permission bits */
	bool is_sparse; /* only its header group says where its runs are */
};

void sfs_members_done(struct sfs_members *m); /* empty again */

/* Add a member whose header group is at `start` of the shard, after those that were added
 * before.  Members that are not regular files are ignored. */
void sfs_members_add(struct sfs_members *m, uint64_t start,
		     const struct sfs_tar_entry *group);

/* Free unused memory: no member will be added any more. */
void sfs_members_trim(struct sfs_members *m);

/* Member i < n. */
struct sfs_member sfs_members_get(const struct sfs_members *m, uint64_t i);

/* The first member whose header group is at byte `offset` of the shard or after it; m->n
 * if there is none. */
uint64_t sfs_members_find(const struct sfs_members *m, uint64_t offset);

/* Bytes of memory that it takes, without what it borrows. */
uint64_t sfs_members_memory(const struct sfs_members *m);

/* ---- as stored ---- */

/* The maximum size of the stored form of n members whose names have names_bytes. */
uint64_t sfs_members_stored_max(uint64_t n, uint64_t names_bytes);

/* The size of the stored form, never 0; and write it, to memory aligned to 8. */
size_t sfs_members_stored_bytes(const struct sfs_members *m);
void sfs_members_store(const struct sfs_members *m, void *ret_bytes);

/* Read n members of a shard of `shard_bytes` in their stored form, `n_bytes` at `bytes`.
 * These may be any bytes, aligned to 8; they are borrowed and must stay unchanged as long
 * as *ret is used.
 * 0.  -EBADMSG: they are damaged; *err says how, and *ret is unchanged. */
int sfs_members_borrow(const void *bytes, size_t n_bytes, uint64_t n,
		       uint64_t shard_bytes, struct sfs_members *ret,
		       struct sfs_error *err);

#endif
