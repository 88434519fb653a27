/* SPDX-License-Identifier: MIT */
/* index-export - writes the index of a shard in the format of DALI's wds2idx, v1.2.
 *
 *	struct sfs_index_export export = {0};
 *
 *	sfs_index_export_add(&export, ...);  for each regular member, in shard order
 *	sfs_index_export_print(&export, &text, &err);
 *	sfs_index_export_done(&export);
 *
 * If all members have a dot and no folder has underscores around its name, the result is
 * byte for byte what wds2idx writes (index-import.h describes the format), with two
 * exceptions: offsets are right for long names and pax extensions too, and names are the
 * shard's bytes, as DALI itself reads them (wds2idx writes them as GNU tar lists them:
 * "\\" for a backslash).  Otherwise samples are ours (tar/key.h).
 *
 * Blanks separate words, so a name with a blank, or a field without a letter, cannot be
 * written: wds2idx writes them, and DALI refuses such an index or misreads it.
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

void sfs_index_export_done(struct sfs_index_export *export);

/* Add a regular member: its name of n bytes, and the offset and size of its data in the
 * shard.  A member that is in no sample is left out.
 *
 * 0.  -EILSEQ: DALI's format cannot represent it; *err says why. */
int sfs_index_export_add(struct sfs_index_export *export, const char *name, size_t n,
			 uint64_t data, uint64_t n_bytes, struct sfs_error *err);

/* Write the index to *ret, which is empty.  It takes the lines, to save a second copy.
 * 0.  -ENODATA: no samples, and a DALI index cannot be empty. */
int sfs_index_export_print(struct sfs_index_export *export, struct sfs_strbuf *ret,
			   struct sfs_error *err);

#endif
