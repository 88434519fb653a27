/* SPDX-License-Identifier: MIT */
/* dali - writes a shard's index in the format of DALI's wds2idx, v1.2.
 *
 *	struct sfs_index_export dali = {0};
 *
 *	for each regular member, in the order of the shard: sfs_index_export_add(&dali,
 *...); sfs_index_export_print(&dali, &text, &err); sfs_index_export_done(&dali);
 *
 * For shards whose members all have a dot and no folder has underscores before and
 * behind, it is what wds2idx writes (foreign.h tells the format and what was read), byte
 *for byte, but for two things: offsets are right for long names and pax extensions too,
 *and names are the shard's bytes, as DALI itself reads them (wds2idx has them as GNU tar
 *lists them:
 * "\\" for a backslash).  Elsewhere samples are ours (key.h).
 *
 * Blanks separate words, so that a name with a blank, or a field without a letter, cannot
 * be written: wds2idx writes them, and DALI refuses such an index, or reads it wrongly.
 *
 * Pure; one thread.
 */
#ifndef SFS_INDEX_EXPORT_H
#define SFS_INDEX_EXPORT_H

#include "base/error.h"
#include "base/strbuf.h"

#include <stddef.h>
#include <stdint.h>

struct sfs_index_export {
	struct sfs_strbuf lines; /* of the samples so far; the last has no newline yet */
	uint64_t n_samples;
	struct sfs_strbuf key; /* of the last one */
};

void sfs_index_export_done(struct sfs_index_export *dali);

/* Add a regular member: its name of n bytes, where in the shard its data begin, and
 * how many.  One that is in no sample is left out.
 *
 * 0, or -EILSEQ: DALI's format cannot hold it; *err says so. */
int sfs_index_export_add(struct sfs_index_export *dali, const char *name, size_t n,
			 uint64_t data, uint64_t n_bytes, struct sfs_error *err);

/* The index's text, in *ret, which is empty; it takes the lines away, so that there is no
 * second copy of them.  0, or -ENODATA: DALI knows no index without samples. */
int sfs_index_export_print(struct sfs_index_export *dali, struct sfs_strbuf *ret,
			   struct sfs_error *err);

#endif
