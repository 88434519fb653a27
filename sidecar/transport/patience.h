/* SPDX-License-Identifier: MIT */
/* patience - for how long a sender goes on without a receiver, and when it tries again.
 *
 * Only a connection that was of use ends the wait: one over which batches were credited,
 * or whose receiver was heard a second after it began.  A peer that accepts connections
 * and hangs up, or is mute, is no receiver.  The time is an argument.
 */
#ifndef SFS_PATIENCE_H
#define SFS_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

struct sfs_rng;

struct sfs_patience {
	uint32_t give_up_ms; /* 0: never */
	uint64_t since_ns;   /* without a receiver */
	uint64_t pause_ms;   /* before the next attempt, or so */
	bool has_told;	     /* of one that was of no use, since the last that was */
};

void sfs_patience_begin(struct sfs_patience *p, uint32_t give_up_ms, uint64_t now_ns);

/* A connection that began at `begun_ns`, and whose peer was heard last at `heard_ns`, is
 * lost; `n_credited` batches were credited over it.  Returns whether to tell of it: of each
 * that was of use, and of the first in a row that were not. */
bool sfs_patience_lose(struct sfs_patience *p, uint64_t begun_ns, uint64_t heard_ns,
		       uint64_t n_credited, uint64_t now_ns);

bool sfs_patience_is_over(const struct sfs_patience *p, uint64_t now_ns);

/* When to try again. */
uint64_t sfs_patience_next(struct sfs_patience *p, struct sfs_rng *rng, uint64_t now_ns);

#endif
