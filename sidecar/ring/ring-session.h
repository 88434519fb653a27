/* SPDX-License-Identifier: MIT */
/* ring-session - which batches of a stream need not come to a ring any more.
 *
 * Those below `n`, and some of the 64 from the first one on that has to.  Who is killed
 * between any two instructions leaves what held before, or after.  One thread changes a
 * session; its successors read it.
 */
#ifndef SFS_RING_SESSION_H
#define SFS_RING_SESSION_H

#include "ring/ring-memory.h"

#include <stdbool.h>
#include <stdint.h>

/* Bit i: batch `from` + i need not come, as far as `had` says. */
uint64_t sfs_ring_session_bits(const struct sfs_ring_session *s, uint64_t from);

bool sfs_ring_session_has(const struct sfs_ring_session *s, uint64_t number);

/* Batch `number` comes again, and the session goes on there, if it was further. */
void sfs_ring_session_miss(struct sfs_ring_session *s, uint64_t number);

/* Nobody looks at `to` yet. */
void sfs_ring_session_copy(struct sfs_ring_session *to,
			   const struct sfs_ring_session *from);

#endif
