/* SPDX-License-Identifier: MIT */
/* pool - memory that other processes may map for reading: a memfd of a fixed size.
 *
 * Its size is an address range much larger than what is meant to be used: memory is taken
 * as pages are written to.  Up to `limit` bytes, pages that were put back stay, to be
 * used again; others go back to the system.  The pool refuses nobody beyond its limit:
 * who uses it looks at sfs_pool_used(), and waits.  Any thread may call.
 */
#ifndef SFS_POOL_H
#define SFS_POOL_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SFS_POOL_LARGEST ((uint64_t)4 << 30) /* there is room for that at the limit */

struct sfs_pool;

int sfs_pool_new(uint64_t limit, struct sfs_pool **ret_pool, struct sfs_error *err);
void sfs_pool_free(struct sfs_pool *pool); /* when all is put back; NULL is fine */

/* n bytes at a multiple of 4096, with whatever lies there; NULL: there is no room. */
void *sfs_pool_get(struct sfs_pool *pool, uint64_t n);
void sfs_pool_put(struct sfs_pool *pool, void *bytes);

uint64_t sfs_pool_used(struct sfs_pool *pool); /* takes no lock */

struct sfs_pool_memory {
	int fd; /* borrowed; opened for reading */
	const unsigned char *bytes;
	uint64_t n_bytes;
};
void sfs_pool_look(const struct sfs_pool *pool, struct sfs_pool_memory *ret);

#endif
