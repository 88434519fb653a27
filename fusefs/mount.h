/* SPDX-License-Identifier: MIT */
/* mount - a dataset on a folder, until it is unmounted or told to end. */
#ifndef SFS_MOUNT_H
#define SFS_MOUNT_H

#include "config/options.h"

/* Mount the dataset on `where`.  Goes to the background unless options->foreground;
 * then the caller's process exits here.  Returns an exit status, after the mount has
 * ended; errors have been printed. */
int sfs_mount(struct sfs_options *options, const struct sfs_strings *specs,
	      const char *where);

/* Unmount; waits, but not for ever, until the daemon has gone.  An exit status. */
int sfs_umount(const char *where, bool lazily);

#endif
