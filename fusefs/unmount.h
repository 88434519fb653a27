/* SPDX-License-Identifier: MIT */
/* unmount - takes a mount away, and waits until its daemon has exited. */
#ifndef SFS_UNMOUNT_H
#define SFS_UNMOUNT_H

enum sfs_umount_how {
	SFS_UMOUNT_WAIT,  /* for the daemon */
	SFS_UMOUNT_LAZY,  /* detach it, even if it is in use */
	SFS_UMOUNT_FORCE, /* and fail all requests, whatever hangs */
};

/* Unmount.  If the daemon that is waited for goes on, because it was mounted
 * elsewhere, too, or hangs, that is an error that says so.  Prints errors; returns
 * an exit status. */
int sfs_umount(const char *where, enum sfs_umount_how how);

#endif
