/* SPDX-License-Identifier: MIT */
/* checksum - tells whether stored bytes are those that were written.
 *
 * 64 bits, at about the speed at which memory is read.  It finds accidents: a torn or
 * truncated file, a flipped bit, another file's blocks.  It is no signature: who wants
 * to can write bytes that have any checksum.  It is part of stored files, so it may
 * never change.  Pure.
 */
#ifndef SFS_CHECKSUM_H
#define SFS_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

uint64_t sfs_checksum(const void *bytes, size_t n);

#endif
