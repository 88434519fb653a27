/* SPDX-License-Identifier: MIT */
/* ring-past - the files that producers have left which were killed, while consumers live.
 *
 * That of the last one is PATH.state, those of others before it are PATH.state.ID.
 */
#ifndef SFS_RING_PAST_H
#define SFS_RING_PAST_H

#include "shufflefs/ring.h"

#include <stdbool.h>
#include <stdint.h>

struct sfs_ring_memory;

struct sfs_ring_past_file {
	struct sfs_ring_memory *memory; /* without its slots */
	int fd;
	uint64_t id;
};

/* The file of the state of the ring at `path`; the caller frees it. */
char *sfs_ring_state_path(const char *path);

/* The layout of a producer that died, or failed, at `path`, and whose consumers live.
 * false: there is none. */
bool sfs_ring_find_past(const char *path, struct shufflefs_layout *ret_layout);

/* That of the ring with this id; 0: the last one's, if consumers have it open.  false: there
 * is none. */
bool sfs_ring_past_open(const char *path, uint64_t id, struct sfs_ring_past_file *ret);
void sfs_ring_past_close(struct sfs_ring_past_file *file);

/* Does any consumer have it open? */
bool sfs_ring_past_is_open(const struct sfs_ring_past_file *file);

/* How many of its consumers live. */
uint32_t sfs_ring_past_count(const struct sfs_ring_past_file *file);

/* Give the last one's file its other name, too; remove that name. */
bool sfs_ring_past_keep(const char *path, uint64_t id);
void sfs_ring_past_forget(const char *path, uint64_t id);

/* No consumer of the last one lives: remove the files of those before it. */
void sfs_ring_past_clear(const char *path);

#endif
