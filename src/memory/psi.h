/* SPDX-License-Identifier: MIT */
/* psi - memory pressure, and how much memory to do without because of it.
 *
 * The kernel measures it (PSI): the share of the last ten seconds in which some process
 * waited for memory, in the control group of this process, or else in the machine.
 */
#ifndef SFS_PSI_H
#define SFS_PSI_H

#include <stdint.h>

#define SFS_PSI_UNKNOWN UINT32_MAX
#define SFS_PSI_ALL	1000 /* all is allowed */

/* The path of the file to read: that of the group (v2) if it can be read, else that of
 * the machine, which may not exist.  The caller frees it.  `proc` is "/proc", except in
 * tests. */
char *sfs_psi_file(const char *proc);

/* Read "some avg10" from such a file, in hundredths of a percent: 0 to 10000.
 * SFS_PSI_UNKNOWN: there is no such file, or it has no such value. */
uint32_t sfs_psi_read(const char *path);

/* The same from its text. */
uint32_t sfs_psi_parse(const char *text);

/* Called every second: how much is allowed from now on, if `allowed` (in thousandths) was
 * until now?  Above 10 % pressure half of it; below 1 %, or if it is unknown, a tenth of
 * all more; in between, the same. */
uint32_t sfs_psi_allow(uint32_t allowed, uint32_t pressure);

#endif
