/* SPDX-License-Identifier: MIT */
/* pressure - how hard memory is to get, and how much of ours to do without for that.
 *
 * The kernel's measure (PSI): the share of the last ten seconds in which some process
 * waited for memory.  Of this process's control group, or else of the machine.
 */
#ifndef SFS_PSI_H
#define SFS_PSI_H

#include <stdint.h>

#define SFS_PSI_UNKNOWN UINT32_MAX
#define SFS_PSI_ALL	1000 /* all is allowed */

/* The file to read: that of the group (v2) if it can be read, else the machine's, which
 * may not be there either.  The caller frees it.  `proc` is "/proc", but in tests. */
char *sfs_psi_file(const char *proc);

/* What such a file says now, "some avg10", in hundredths of a per cent: 0 to 10000.
 * SFS_PSI_UNKNOWN: there is no such file, or it says something else. */
uint32_t sfs_psi_read(const char *path);

/* The same of its text. */
uint32_t sfs_psi_parse(const char *text);

/* Every second: with so much allowed until now, in thousandths, how much is from now on?
 * Above 10 % half of it; below 1 %, or when nothing is known, a tenth of all more; what
 * lies between changes nothing. */
uint32_t sfs_psi_allow(uint32_t allowed, uint32_t pressure);

#endif
