/* SPDX-License-Identifier: MIT */
/* eta - estimates how much longer work on a list of shards takes, from what is done.
 *
 * For work on several shards in parallel: the finished parts of unfinished shards count,
 * too, so their number does not matter.  Pure.
 */
#ifndef SFS_ETA_H
#define SFS_ETA_H

#include <stdbool.h>
#include <stdint.h>

struct sfs_eta {
	uint64_t gone_ns;    /* since the work began */
	uint32_t n, n_ended; /* shards */
	uint64_t n_bytes;    /* of all shards */
	uint64_t n_done;     /* of finished and unfinished ones */
};

/* The shard to start as the k-th of n, k < n, so that the first to finish are
 * representative: neighbours often have something in common, such as an index. */
uint32_t sfs_eta_turn(uint32_t n, uint32_t k);

/* How much longer at the same rate?  false: too little is done to say. */
bool sfs_eta_left(const struct sfs_eta *e, uint64_t *ret_ns);

/* Is it certain to take longer than `wait_ns` from now?  Only after enough shards have
 * finished to know how long one takes, and if the rest would have to be many times
 * faster.  So a wait that would end within that time is never given up, unless the shards
 * differ very much. */
bool sfs_eta_exceeds(const struct sfs_eta *e, uint64_t wait_ns);

#endif
