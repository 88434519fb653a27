/* SPDX-License-Identifier: MIT */
/* sparse - the maps of sparse files, in all dialects: old GNU, pax 0.0, 0.1 and 1.0.
 *
 * A map says where in the file the stored data belong; all else in it are zeros.
 * docs/ORDER.md, section 6, "Maps of sparse files", says which maps are right.  Pure.
 */
#ifndef SFS_SPARSE_H
#define SFS_SPARSE_H

#include "tar/pax.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Data of a sparse file: `n_bytes` at `offset` of the file.  The runs are stored one
 * after another; the rest of the file reads as zeros. */
struct sfs_sparse_run {
	uint64_t offset, n_bytes;
};

/* A member that may be sparse, in the memory of its header group. */
struct sfs_sparse_member {
	const unsigned char *group;
	size_t n;			/* bytes in memory, and */
	uint64_t n_max;			/* as many as there may be */
	size_t header;			/* of its own header */
	const char *records, *last;	/* of its pax extension: from, to; or NULL */
	uint64_t data, stored;		/* its data by the headers: where, how long */
};

struct sfs_sparse {
	uint64_t size;	    /* of the file */
	uint64_t map_bytes; /* of the map with which the data begin */
	struct sfs_sparse_run *runs; /* the caller frees them; NULL: it has no holes */
	size_t n_runs;
};

/* Does this record belong to a sparse file? */
bool sfs_sparse_is_record(const struct sfs_pax_record *record);

/* After a header of type 'S', and after each block of its map: does another one follow? */
bool sfs_sparse_goes_on(const unsigned char *block, bool is_header);

/* Read the map, and check it against what is stored.
 *
 * 0: *ret is filled.  -EAGAIN: more of the group must be in memory.  -EBADMSG: the map is
 * wrong. */
int sfs_sparse_read(const struct sfs_sparse_member *member, struct sfs_sparse *ret);

#endif
