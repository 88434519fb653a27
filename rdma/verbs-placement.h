/* SPDX-License-Identifier: MIT */
/* verbs-placement - registers the slots of a ring with a network card, for batches that
 * senders write there.
 *
 * A ring in a GPU's memory is registered there, if the card and the GPU can do that: as a
 * dma-buf, else by nvidia-peermem.  Else its staging on the host is, and batches are
 * copied.  One thread.
 */
#ifndef SFS_VERBS_PLACEMENT_H
#define SFS_VERBS_PLACEMENT_H

#include "ring/ring.h"
#include "verbs-link.h"

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct sfs_verbs_placement {
	struct sfs_verbs_range range; /* .mr NULL: none; .is_relaxed is the caller's */
	uint64_t address; /* of slot 0, for senders, and for sfs_ring_publish() */
	uint64_t stride;
};

/* Tells the ring, too.  The log says why a card does not write into the GPU's memory, if
 * that is not wanted.  -EOPNOTSUPP: DIRECT was asked for, and cannot be; -ENOMEM: nor can
 * it be staged; others; with an error. */
int sfs_verbs_place(struct ibv_pd *pd, struct sfs_ring *ring,
		    const struct sfs_ring_settings *settings,
		    struct sfs_verbs_placement *ret, struct sfs_error *err);

void sfs_verbs_unplace(struct sfs_verbs_placement *p); /* of a zeroed one is fine */

#endif
