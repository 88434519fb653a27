/* SPDX-License-Identifier: MIT */
/* mountpoint - what is mounted on a folder, and how to get rid of it. */
#ifndef SFS_MOUNTPOINT_H
#define SFS_MOUNTPOINT_H

#include "base/error.h"

#include <stdbool.h>

struct sfs_mounted {
	char type[64];	 /* "fuse.shufflefs"; "" if nothing is mounted there */
	char device[32]; /* "0:45": the name under /sys/class/bdi */
	long user;	 /* who mounted it; -1: not said */
};

/* What is mounted on the path, which is absolute and without symbolic links?  Reads
 * /proc/self/mountinfo only: it works on dead and on hung mounts. */
void sfs_mountpoint_look(const char *path, struct sfs_mounted *ret_mounted);

/* The path made absolute, whatever is mounted on it (also a dead mount).
 * < 0: with a sentence. The caller frees it. */
int sfs_mountpoint_resolve(const char *path, char **ret_path, struct sfs_error *err);

/* May a dataset be mounted here?  Takes a dead shufflefs mount away first.
 * < 0: with a sentence. */
int sfs_mountpoint_prepare(const char *path, struct sfs_error *err);

/* Unmount a shufflefs mount, as root or by fusermount3.  `lazily`: take it out of the
 * tree now, whoever uses it.  < 0: with a sentence; -EBUSY: it is in use. */
int sfs_mountpoint_unmount(const char *path, bool lazily, struct sfs_error *err);

#endif
