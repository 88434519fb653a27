/* SPDX-License-Identifier: MIT */
/* shaper - a far stream's bytes leave as evenly as its network brings them.
 *
 * The slowest of many parts holds up all lanes.  A reader who takes whatever is here
 * would get nothing for a second, then all that has come meanwhile at once, and come to
 * the next slow part with nothing in hand.  So the bytes that are ready are a reserve:
 * they leave at the rate at which bytes come when there is 1.4 s of it, a little more
 * slowly with less, faster with more, and with 2 s at once. The reader gets as much in
 * the end, and waits for no slow part.
 *
 * Only for a stream whose network is what it waits for: the caller knows.
 *
 * Pure: time is an argument.  Not thread-safe.
 */
#ifndef SFS_SHAPER_H
#define SFS_SHAPER_H

#include <stdint.h>

struct sfs_shaper {
	uint64_t rate; /* bytes a second that come; 0: not known yet */
	uint64_t looked_ns, looked_bytes;
	int n_looks;
	uint64_t next_ns; /* when the next byte may leave */
};

/* A stream of which nothing has come yet. */
void sfs_shaper_init(struct sfs_shaper *shaper, uint64_t now_ns);

/* With so many ready bytes, readers may have what they want; 0: not known yet. */
uint64_t sfs_shaper_reserve_bytes(const struct sfs_shaper *shaper);

/* A reader wants n_bytes; `ready_bytes` are there for it (with those), and
 * `arrived_bytes` have come in all; there is memory for a reserve of `most_bytes`.  0: it
 * may have them, and will take them.  Else when to ask again. */
uint64_t sfs_shaper_ask(struct sfs_shaper *shaper, uint64_t n_bytes, uint64_t ready_bytes,
			uint64_t arrived_bytes, uint64_t most_bytes, uint64_t now_ns);

#endif
