/* SPDX-License-Identifier: MIT */
/* ring-past - what the producer of a ring has left that was killed, while consumers live.
 *
 * One thread, of the producer that comes next at the same path.
 */
#ifndef SFS_RING_PAST_H
#define SFS_RING_PAST_H

#include "shufflefs/ring.h"

#include <stdbool.h>
#include <stdint.h>

struct sfs_ring_memory;

/* What to do with a batch that a consumer had taken, and not released, when it died. */
enum sfs_ring_policy {
	SFS_RING_FAIL,	    /* all consumers get an error that names it */
	SFS_RING_REDELIVER, /* the next consumer gets it: it may be seen twice */
	SFS_RING_DROP	    /* nobody gets it again; it is counted */
};

/* The file of the state of the ring at `path`; the caller frees it. */
char *sfs_ring_state_path(const char *path);

/* The layout of a producer that died, or failed, at `path`, and whose consumers live.
 * false: there is none. */
bool sfs_ring_find_past(const char *path, struct shufflefs_layout *ret_layout);

/* The state of a producer that is gone, and whose consumers live; NULL: there is none. */
struct sfs_ring_memory *sfs_ring_past_map(const char *path);
void sfs_ring_past_unmap(struct sfs_ring_memory *past);

/* How many of its consumers live. */
uint32_t sfs_ring_past_count(const struct sfs_ring_memory *past);

/* Is this process of a consumer dead, or being killed?  (One of a namespace that we do
 * not see is not.) */
bool sfs_ring_is_dead(uint32_t pid);

/* Go on with its sessions in `memory`, each at the first batch that was not taken,
 * and with what was taken behind that.  From then on nobody can take one of the
 * past.  Where a consumer died with a batch, the policy holds: with SFS_RING_FAIL,
 * `memory` fails. */
void sfs_ring_past_take_over(struct sfs_ring_memory *past, struct sfs_ring_memory *memory,
			     enum sfs_ring_policy policy);

#endif
