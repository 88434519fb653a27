/* SPDX-License-Identifier: MIT */
/* estimate - how much longer a row of shards takes, by what was done of it so far.
 *
 * For work that goes on in several shards at a time: what is done of those that have not
 * ended counts too, so it does not matter how many are in work.  Pure.
 */
#ifndef SFS_ETA_H
#define SFS_ETA_H

#include <stdbool.h>
#include <stdint.h>

struct sfs_eta {
	uint64_t gone_ns;	  /* since the work began */
	uint32_t n, n_ended;	  /* shards */
	uint64_t n_bytes, n_done; /* of all shards; of those that ended, and what the
				   * others have behind them */
};

/* In which sequence to begin with n shards, so that those that end first are like the
 * others: the k-th is this one, k < n.  Neighbours often have something in common, an
 * index for one. */
uint32_t sfs_eta_turn(uint32_t n, uint32_t k);

/* How much longer, if it goes on as it did?  false: too little was done to say. */
bool sfs_eta_left(const struct sfs_eta *e, uint64_t *ret_ns);

/* Is it certain that it takes longer than `wait_ns` from now on?  Not before enough
 * shards have ended to know how long one takes, and only if the rest would have to go
 * many times faster than all before.  So who is answered within that time was never given
 * up, if shards are anything like each other. */
bool sfs_eta_exceeds(const struct sfs_eta *e, uint64_t wait_ns);

#endif
