/* SPDX-License-Identifier: MIT */
/* index-import - reads the indexes of other tools.
 *
 * Such an index may be wrong or old: it is checked, never believed.  What it says are
 * claims, which sfs_index_import_agrees() compares with the headers.  There are two
 * formats, which differ in their first bytes:
 *
 * DALI (tools/wds2idx.py at commits 0aa2ef5f and 3564e16f, and what reads it,
 * dali/operators/reader/loader/webdataset_loader.cc at 010a519f): a text, "v1.1 N" or
 * "v1.2 N" with the number of samples, and a line for each sample, "EXT OFFSET SIZE" of
 * each member, in v1.2 "EXT OFFSET SIZE NAME".  OFFSET is where the member's data begin;
 * EXT has no leading dot.  Words are separated by blanks, so that names with blanks
 * make an index that neither DALI nor we can read.
 *
 * Energon (Megatron-Energon 7.4 at commit bef8be24, flavors/webdataset/itar.py and
 * prepare.py), SHARD.tar.idx: 64-bit numbers, lowest byte first: where the first header
 * group of each sample begins, and then where the last member ends.
 *
 * Where their rules differ from ours (tar/key.h), their samples do too, and the index
 * does not agree: wds2idx counts members without a dot and of __folders__, and leaves out
 * hidden ones.  Worse, its offsets can be wrong, because it computes them from the block
 * numbers of GNU tar: since DALI's pull request 4226 (2022-09) for members with a GNU
 * long name, before it for those that a pax extension follows.
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

/* The maximum size of an index of either kind for such a shard: DALI's has each name of a
 * member twice, and two numbers. */
static inline uint64_t sfs_index_import_bytes_max(uint64_t shard_bytes)
{
	return 2 * shard_bytes + 64;
}

/* Bytes of memory that the claims take. */
uint64_t sfs_index_import_memory(const struct sfs_index_import *import);

/* Read an index of n bytes for a shard of shard_bytes (less than 2^63).
 *
 * 0: *ret is filled; free it with sfs_index_import_done().
 * -EBADMSG: neither format, cut off, or impossible for a shard of this size; *err says
 * what is wrong, and in which line. */
int sfs_index_import_parse(const void *bytes, size_t n, uint64_t shard_bytes,
			   struct sfs_index_import *ret, struct sfs_error *err);

void sfs_index_import_done(struct sfs_index_import *import); /* zeros are fine */

/* Do the claims agree with the samples of the shard?  Energon: each sample begins where
 * it says.  DALI: the data of all members that it names lie in their samples; whether
 * they begin exactly there is for sfs_index_import_agrees_members() to say.
 *
 * 0: yes.  -EBADMSG: no; *err has the first difference. */
int sfs_index_import_agrees(const struct sfs_index_import *import,
			    const struct sfs_extent *extents, size_t n_extents,
			    struct sfs_error *err);

/* The same for DALI's members: those of the shard that have a key, in order. */
int sfs_index_import_agrees_members(const struct sfs_index_import *import,
				    const struct sfs_index_import_member *members,
				    size_t n_members, struct sfs_error *err);

#endif
