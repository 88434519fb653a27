/* SPDX-License-Identifier: MIT */
/* locate-single - finds a sample of an epoch of single samples.
 *
 * All but the bytes is known from the start, and those the sums know.  Pure; one thread.
 */
#ifndef SFS_LOCATE_SINGLE_H
#define SFS_LOCATE_SINGLE_H

#include "order/block.h"
#include "order/spot.h"
#include "order/sums.h"

#include <stdint.h>

struct sfs_single_locator {
	const struct sfs_order *order;
	struct sfs_sample_tables tables; /* whole, and stay so */
	struct sfs_sums sums;		 /* made when they are first asked for */
};

void sfs_single_locator_done(struct sfs_single_locator *s);

/* The sample that holds byte `offset`, or sample `number` of the part. */
struct sfs_spot sfs_single_locator_find(struct sfs_single_locator *s, uint64_t offset);
struct sfs_spot sfs_single_locator_nth(struct sfs_single_locator *s, uint64_t number);

/* As sfs_locator_seek(): a single sample is a block. */
int sfs_single_locator_seek(const struct sfs_single_locator *s, uint32_t lane,
			    uint64_t number, struct sfs_lane *ret_lane,
			    struct sfs_block *ret_block, uint32_t *ret_shard);

#endif
