/* SPDX-License-Identifier: MIT */
/* mount - mounts a dataset on a folder. */
#ifndef SFS_MOUNT_H
#define SFS_MOUNT_H

#include "config/options.h"

#include "base/log.h"

/* What SIGHUP reads again: the log level that the command line and the ini files give now.
 * < 0: with an error. */
struct sfs_mount_reload {
	int (*level)(void *ctx, enum sfs_log_level *ret, struct sfs_error *err);
	void *ctx;
};

/* Mount the dataset on `where`, and serve it until it is unmounted or a signal ends it.
 * Unless options->foreground, a daemon does so in the background, and the process of the
 * caller exits here.  Prints errors; returns an exit status. */
int sfs_mount(struct sfs_options *options, const struct sfs_strings *specs,
	      const char *where, const struct sfs_mount_reload *reload);

#endif
