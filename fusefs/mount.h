/* SPDX-License-Identifier: MIT */
/* mount - mounts a dataset on a folder, and unmounts it. */
#ifndef SFS_MOUNT_H
#define SFS_MOUNT_H

#include "config/options.h"

/* Mount the dataset on `where`, and serve it until it is unmounted or a signal ends it.
 * Unless options->foreground, a daemon does so in the background, and the process of the
 * caller exits here.  Prints errors; returns an exit status. */
int sfs_mount(struct sfs_options *options, const struct sfs_strings *specs,
	      const char *where);

/* Unmount, and wait some seconds for the daemon to exit.  Prints errors; returns an exit
 * status. */
int sfs_umount(const char *where, bool lazily);

#endif
