/* SPDX-License-Identifier: MIT */
/* shaper - delivers the bytes of a far stream as evenly as its network brings them.
 *
 * The slowest of many parts holds up all lanes.  A reader who takes whatever is here gets
 * nothing for a second, then at once all that has come meanwhile, and has nothing left
 * when the next part is slow.  So the bytes that are ready are a reserve.  With 1.4 s of
 * it they leave at the rate at which bytes arrive; with less a little slower, with more
 * faster, and with 2 s at once.  The reader gets as many bytes in the end, and waits for
 * no slow part.
 *
 * Only for a stream that waits for its network: the caller knows.
 *
 * Pure: time is an argument.  Not thread-safe.
 */
#ifndef SFS_SHAPER_H
#define SFS_SHAPER_H

#include <stdint.h>

struct sfs_shaper {
	uint64_t rate; /* bytes a second that arrive; 0: not known yet */
	uint64_t looked_ns, looked_bytes;
	int n_looks;
	uint64_t next_ns; /* when the next byte may leave */
};

/* A stream of which nothing has arrived yet. */
void sfs_shaper_init(struct sfs_shaper *shaper, uint64_t now_ns);

/* With this many bytes ready, readers get them at once; 0: not known yet. */
uint64_t sfs_shaper_reserve_bytes(const struct sfs_shaper *shaper);

/* A reader wants n_bytes, and there is memory for a reserve of `most_bytes`.
 * `ready_bytes` are ready, the reader's included; `arrived_bytes` have arrived since the
 * start.  0: deliver them.  Else the time at which to ask again. */
uint64_t sfs_shaper_ask(struct sfs_shaper *shaper, uint64_t n_bytes, uint64_t ready_bytes,
			uint64_t arrived_bytes, uint64_t most_bytes, uint64_t now_ns);

#endif
