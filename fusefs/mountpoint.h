/* SPDX-License-Identifier: MIT */
/* mountpoint - what is mounted on a folder, and how to unmount it. */
#ifndef SFS_MOUNTPOINT_H
#define SFS_MOUNTPOINT_H

#include "base/error.h"

#include <stdbool.h>

struct sfs_mounted {
	char type[64];	 /* "fuse.shufflefs"; "" if nothing is mounted there */
	char device[32]; /* "0:45": the name under /sys/class/bdi */
	long user;	 /* who mounted it; -1: not known */
};

/* What is mounted on the path, which is absolute and without symbolic links?  Reads
 * /proc/self/mountinfo only: it works on dead and on hung mounts. */
void sfs_mountpoint_look(const char *path, struct sfs_mounted *ret_mounted);

/* Is a mount of this device somewhere, in our mount namespace?  true: also if that cannot
 * be told. */
bool sfs_mountpoint_is_there(const char *device);

/* The path made absolute, whatever is mounted on it (also a dead mount).
 * < 0: with an error.  The caller frees it. */
int sfs_mountpoint_resolve(const char *path, char **ret_path, struct sfs_error *err);

/* Check that a dataset can be mounted here; removes a dead shufflefs mount first.  < 0:
 * with an error. */
int sfs_mountpoint_prepare(const char *path, struct sfs_error *err);

/* Abort the connection of a FUSE mount that was found on the path, by fusectl or as root
 * by force: its requests fail, and it is dead.  By force it may be unmounted, too.
 * < 0: this user cannot. */
int sfs_mountpoint_abort(const char *path, const struct sfs_mounted *mounted);

/* A mount hides what is in its folder: check that nothing is.  -ENOTEMPTY: with an
 * error. */
int sfs_mountpoint_check_empty(const char *path, struct sfs_error *err);

/* Unmount a shufflefs mount, as root or with fusermount3.  `lazily`: detach it now, even
 * if it is in use.  < 0: with an error; -EBUSY: it is in use. */
int sfs_mountpoint_unmount(const char *path, bool lazily, struct sfs_error *err);

#endif
