/* SPDX-License-Identifier: MIT */
/* unmount - takes a mount away, and waits until its daemon has exited. */
#ifndef SFS_UNMOUNT_H
#define SFS_UNMOUNT_H

#include <stdbool.h>

/* Unmount; unless `lazily`, wait for the daemon.  If that goes on, because it was mounted
 * elsewhere, too, or hangs, that is an error that says so.  Prints errors; returns an
 * exit status. */
int sfs_umount(const char *where, bool lazily);

#endif
