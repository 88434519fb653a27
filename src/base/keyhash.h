/* SPDX-License-Identifier: MIT */
/* hash - the 64-bit hash by which neighbouring keys are compared.
 *
 * FNV-1a (Fowler, Noll, Vo), taken from the last byte to the first.  Backwards,
 * because a stream may put a folder before a key: the hash of "folder/key"
 * goes on from the hash of "key", so a table that keeps only hashes can tell
 * what the longer name would be.  Equal keys have equal hashes; two different
 * keys that collide get a folder that they did not need, and nothing is lost.
 */
#ifndef SFS_KEYHASH_H
#define SFS_KEYHASH_H

#include <stddef.h>
#include <stdint.h>

#define SFS_KEYHASH_EMPTY 0xcbf29ce484222325ULL

/* The hash of (the n bytes of s) followed by what `hash` stands for. */
uint64_t sfs_keyhash_prepend(uint64_t hash, const char *s, size_t n);

static inline uint64_t sfs_keyhash(const char *s, size_t n)
{
	return sfs_keyhash_prepend(SFS_KEYHASH_EMPTY, s, n);
}

#endif
