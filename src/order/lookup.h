/* SPDX-License-Identifier: MIT */
/* lookup - reads what the tables have of many samples that are anywhere in the dataset.
 *
 * They are read in the order in which they lie in memory, roughly, and many at a time: by
 * themselves, they would be a cache miss after the other.  Pure.
 */
#ifndef SFS_LOOKUP_H
#define SFS_LOOKUP_H

#include "order/block.h"
#include "order/numbering.h"

#include <stddef.h>

/* Set ret[i] to the sample with number numbers[i], for the n of them; ret[i].m stays
 * as it is.  The tables are whole. */
void sfs_lookup(const struct sfs_numbering *numbering,
		const struct sfs_sample_tables *tables, const uint32_t *numbers, size_t n,
		struct sfs_block_sample *ret);

#endif
