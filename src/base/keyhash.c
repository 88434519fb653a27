/* SPDX-License-Identifier: MIT */
#include "base/keyhash.h"

uint64_t sfs_keyhash_prepend(uint64_t hash, const char *s, size_t n)
{
	while (n > 0) {
		hash ^= (unsigned char)s[--n];
		hash *= 0x100000001b3ULL;
	}
	return hash;
}
