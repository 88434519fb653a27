/* SPDX-License-Identifier: MIT */
/* keyhash - the 64-bit hash that compares neighbouring keys.
 *
 * FNV-1a (Fowler, Noll, Vo), from the last byte to the first.  Backwards, because a
 * stream may put a folder before a key: the hash of "folder/key" continues that of "key",
 * so a table that keeps only hashes can compute the hash of the longer name.  Equal keys
 * have equal hashes; different keys that collide get a folder that they do not need.
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
