/* SPDX-License-Identifier: MIT */
/* checksum - tells whether stored bytes are those that were written.
 *
 * 64 bits, at about the speed of reading memory.  It detects accidents: a torn or
 * truncated file, a flipped bit, blocks of another file.  It is not a signature: anybody
 * can make bytes with a given checksum.  It is part of stored files, so it must never
 * change.  Pure.
 */
#ifndef SFS_CHECKSUM_H
#define SFS_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

uint64_t sfs_checksum(const void *bytes, size_t n);

#endif
