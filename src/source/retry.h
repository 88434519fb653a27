/* SPDX-License-Identifier: MIT */
/* retry - when to ask again, and after how long.
 *
 * A count of failures without progress; doubling delays with jitter, so that a
 * thousand clients of a server that comes back do not all come at once; what the
 * server says with Retry-After counts more.  Pure: the random number is an argument.
 */
#ifndef SFS_RETRY_H
#define SFS_RETRY_H

#include <stdbool.h>
#include <stdint.h>

#define SFS_RETRY_PROGRESS (64 << 10) /* bytes that start the count anew */

struct sfs_retry {
	int n_failed; /* since there was progress */
};

/* A try failed after `n_bytes` of new data.  May there be another, of at most
 * `limit` retries in a row?  Then *ret_delay_ms says after how long.
 * `retry_after_s` < 0: the server said nothing.  `random` is any number. */
bool sfs_retry_next(struct sfs_retry *retry, int limit, uint64_t n_bytes,
		    int64_t retry_after_s, uint64_t random, uint64_t *ret_delay_ms);

/* How long to wait if the server says this (0 or more): no less, up to five minutes. */
uint64_t sfs_retry_after_ms(int64_t retry_after_s, uint64_t random);

#endif
