/* SPDX-License-Identifier: MIT */
/* layout - where the tensors of a batch lie in a slot.
 *
 * The structs are those that trainers see (shufflefs/ring.h), and go over the wire as
 * they are.  Pure.
 */
#ifndef SFS_LAYOUT_H
#define SFS_LAYOUT_H

#include "shufflefs/ring.h"

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SFS_LAYOUT_ALIGN     256
#define SFS_LAYOUT_SLOT_MAX  (1ULL << 32) /* bytes */
#define SFS_LAYOUT_BATCH_MAX (1U << 20)	  /* samples */

/* Bytes of one item; 0: there is no such dtype. */
uint32_t sfs_dtype_bytes(const char *dtype);

/* Append a tensor of `rank` dims per sample (0: a number) to a layout that was zeroed and
 * has its n_samples.  -EINVAL: a bad dtype, name or dim; -E2BIG: too many tensors or too
 * many bytes; with an error. */
struct sfs_row { /* what one sample has of a tensor */
	const char *name, *dtype;
	uint32_t rank;
	uint64_t dims[SHUFFLEFS_DIMS_MAX - 1];
};
int sfs_layout_add(struct shufflefs_layout *layout, const struct sfs_row *row,
		   struct sfs_error *err);

/* Is it one that sfs_layout_add() makes?  For layouts that came from elsewhere.
 * -EPROTO, with an error. */
int sfs_layout_check(const struct shufflefs_layout *layout, struct sfs_error *err);

bool sfs_layout_equal(const struct shufflefs_layout *a, const struct shufflefs_layout *b);

/* A 64-bit hash of everything in it: two peers with the same one agree. */
uint64_t sfs_layout_hash(const struct shufflefs_layout *layout);

/* The row of sample i of tensor t in a slot. */
static inline unsigned char *sfs_layout_row(const struct shufflefs_layout *layout,
					    uint32_t t, uint32_t i, void *slot)
{
	return (unsigned char *)slot + layout->tensors[t].offset +
	       i * layout->tensors[t].row_bytes;
}

/* Bytes of tensor t that n samples fill. */
static inline uint64_t sfs_layout_bytes(const struct shufflefs_layout *layout, uint32_t t,
					uint32_t n)
{
	return layout->tensors[t].row_bytes * n;
}

#endif
