/* SPDX-License-Identifier: MIT */
/* ring-watch - reports consumers that hold a batch for too long.
 *
 * One thread looks; any may ask.
 */
#ifndef SFS_RING_WATCH_H
#define SFS_RING_WATCH_H

#include "ring/ring-state.h"

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct sfs_ring_watch {
	struct sfs_ring_state *state; /* whose lock guards what follows */
	uint32_t hung_ms;	      /* 0: nothing is too long */

	/* Since when a consumer holds a slot, as far as the looks have seen. */
	struct sfs_ring_watched {
		uint64_t word, since_ns;
		bool is_hung; /* it was reported */
	} slots[SFS_RING_SLOTS_MAX];
};

void sfs_ring_watch_init(struct sfs_ring_watch *w, struct sfs_ring_state *state,
			 uint32_t hung_ms);

/* How often to look, at least; -1: never. */
int sfs_ring_watch_interval_ms(const struct sfs_ring_watch *w);

/* Look at all slots; warn of each that began to be held for too long. */
void sfs_ring_watch_look(struct sfs_ring_watch *w);

/* With the lock: has slot i, whose word is this, been reported? */
bool sfs_ring_watch_is_hung(const struct sfs_ring_watch *w, uint32_t i, uint64_t word);

/* Say in *err who hangs: the first, if one does. */
void sfs_ring_watch_explain(struct sfs_ring_watch *w, struct sfs_error *err);

#endif
