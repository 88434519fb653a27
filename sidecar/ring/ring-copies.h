/* SPDX-License-Identifier: MIT */
/* ring-copies - the batches of a ring that are on their way into a GPU's memory.
 *
 * add() begins a copy and does not wait for it.  A thread of its own waits, and hands the
 * batches over in the order in which they were added, each when its bytes are there.  A
 * batch that a network card has written there needs no copy: the thread only makes sure
 * that it is seen.
 */
#ifndef SFS_RING_COPIES_H
#define SFS_RING_COPIES_H

#include "ring/device.h"

#include <stdbool.h>
#include <stdint.h>

struct sfs_ring_copies;

struct sfs_ring_copies_settings {
	const struct sfs_device_ops *ops;
	struct sfs_device *device;
	uint64_t n_bytes; /* of each copy */

	/* Of the thread, or, if a copy cannot even begin, of add(). */
	void (*arrived)(void *arg, uint32_t slot, const struct shufflefs_batch *batch);
	void (*failed)(void *arg, const char *why); /* once; nothing arrives after it */
	void *arg;
};

struct sfs_ring_copies *sfs_ring_copies_new(
	const struct sfs_ring_copies_settings *settings);

/* Each slot is added once until it has arrived.  is_direct: a card has written it. */
void sfs_ring_copies_add(struct sfs_ring_copies *c, uint32_t slot,
			 const struct shufflefs_batch *batch, bool is_direct);

/* Wait until all that was added has arrived, or failed.  Not for `arrived` and `failed`.
 * NULL is fine. */
void sfs_ring_copies_drain(struct sfs_ring_copies *c);

void sfs_ring_copies_free(struct sfs_ring_copies *c); /* drains; NULL is fine */

#endif
