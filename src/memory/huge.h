/* SPDX-License-Identifier: MIT */
/* huge - which large pages the kernel gives to memory that asks for them.
 *
 * Reads files of /sys and asks for the process's own setting. */
#ifndef SFS_HUGE_H
#define SFS_HUGE_H

#include <stdbool.h>
#include <stdint.h>

#define SFS_HUGE_FOLDER "/sys/kernel/mm/transparent_hugepage"

/* Are there huge pages of 2 MiB, for memory of the process or (is_shared) of a file in
 * memory?  NULL: there are.  Else why not, in words that fit behind "huge pages are off: ".
 * `folder` is SFS_HUGE_FOLDER, except in tests. */
const char *sfs_huge_refusal(const char *folder, bool is_shared);

/* Bytes of this process that lie in huge pages now; 0 if the kernel does not say.
 * Takes some 15 ms for each GiB of the process that lies in small pages. */
uint64_t sfs_huge_bytes(void);

#endif
