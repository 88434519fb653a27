/* SPDX-License-Identifier: MIT */
/* foreign - reads the indexes that other tools leave beside a shard.
 *
 * An index is what somebody else said of a shard, some time ago: it is checked, never
 * believed.  So this yields claims, and sfs_index_import_agrees() holds them to what the
 * headers say.  Two formats, told apart by their first bytes:
 *
 * DALI (tools/wds2idx.py at commits 0aa2ef5f and 3564e16f, and what reads it,
 * dali/operators/reader/loader/webdataset_loader.cc at 010a519f): a text, "v1.1 N" or
 * "v1.2 N" with the number of samples, and a line for each sample, "EXT OFFSET SIZE" of
 * each member, in v1.2 "EXT OFFSET SIZE NAME".  OFFSET is where the member's data begin;
 * EXT has no dot before it.  Words are separated by blanks, so that names with blanks
 * make an index that neither DALI nor we can read.
 *
 * Energon (Megatron-Energon 7.4 at commit bef8be24, flavors/webdataset/itar.py and
 * prepare.py), SHARD.tar.idx: 64-bit numbers, lowest byte first: where the first header
 * group of each sample begins, and then where the last member ends.
 *
 * Where their rules differ from ours (key.h), so do their samples, and the index does not
 * agree: wds2idx counts members without a dot and of __folders__, and leaves out hidden
 * ones.  Worse, its offsets can be wrong, for it reckons them from the block numbers that
 * GNU tar tells: since DALI's pull request 4226 (2022-09) for members with a GNU long
 * name, before it for those that a pax extension follows.
 *
 * Pure; one thread.
 */
#ifndef SFS_INDEX_IMPORT_H
#define SFS_INDEX_IMPORT_H

#include "base/error.h"
#include "tar/scan.h"

#include <stddef.h>
#include <stdint.h>

enum sfs_index_import_kind { SFS_INDEX_IMPORT_DALI, SFS_INDEX_IMPORT_ENERGON };

struct sfs_index_import_member {
	uint64_t sample;	/* counted from 0 */
	uint64_t data, n_bytes; /* where in the shard its data begin, and how many */
};

/* What an index claims, in the order of the shard. */
struct sfs_index_import {
	enum sfs_index_import_kind kind;
	uint64_t n_samples;
	struct sfs_index_import_member *members; /* DALI; else NULL */
	size_t n_members;
	uint64_t *starts; /* ENERGON: n_samples, and the end; else NULL */
};

/* How many bytes an index of either kind can have beside such a shard: DALI's has each
 * name of a member twice, and two numbers. */
static inline uint64_t sfs_index_import_bytes_max(uint64_t shard_bytes)
{
	return 2 * shard_bytes + 64;
}

/* Bytes of memory that the claims take. */
uint64_t sfs_index_import_memory(const struct sfs_index_import *foreign);

/* Read an index of n bytes beside a shard of shard_bytes (below 2^63).
 *
 * 0: *ret is filled; free it with sfs_index_import_done().
 * -EBADMSG: neither of the two, cut off, or no shard of this size can be so; *err says
 * what is wrong, and in which line. */
int sfs_index_import_parse(const void *bytes, size_t n, uint64_t shard_bytes,
			   struct sfs_index_import *ret, struct sfs_error *err);

void sfs_index_import_done(struct sfs_index_import *foreign); /* zeros are fine */

/* Are these the shard's samples, by what an index claims?  Energon: all of them begin
 * where it says.  DALI: all members it names have their data inside their samples; that
 * they begin just there sfs_index_import_agrees_members() says.
 *
 * 0: yes.  -EBADMSG: no; *err says of the first difference what the shard has, and what
 * the index has. */
int sfs_index_import_agrees(const struct sfs_index_import *foreign,
			    const struct sfs_extent *extents, size_t n_extents,
			    struct sfs_error *err);

/* The same for DALI's members: those of the shard that have a key, in order. */
int sfs_index_import_agrees_members(const struct sfs_index_import *foreign,
				    const struct sfs_index_import_member *members,
				    size_t n_members, struct sfs_error *err);

#endif
