/* SPDX-License-Identifier: MIT */
/* reload - the user wants files that are in use read again, even if they look the same.
 *
 * Who keeps what a file held remembers the number, and reads when it is another one.  Any
 * thread may call; the request also from a signal's. */
#ifndef SFS_RELOAD_H
#define SFS_RELOAD_H

void sfs_reload_request(void);

/* How often that was requested. */
unsigned sfs_reload_edition(void);

#endif
