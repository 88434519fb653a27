/* SPDX-License-Identifier: MIT */
/* mount-helper - the program as mount(8) calls it, for `mount -t fuse.shufflefs`, fstab
 * and systemd's .mount units:
 *
 *	shufflefs SOURCE DIR [-o LIST]		by mount.fuse3, of libfuse
 *	mount.shufflefs SOURCE DIR [-sfnv] [-o LIST] [-t TYPE]
 */
#ifndef SFS_MOUNT_HELPER_H
#define SFS_MOUNT_HELPER_H

#include <stdbool.h>

/* Are these words such a call?  (The first one is no command.) */
bool sfs_mount_helper_is(int argc, char **argv);

/* Remove what mount(8) says to helpers alone; the rest are the words of `mount`.  Sets
 * *ret_argc; *ret_is_fake: nothing shall be mounted (-f). */
void sfs_mount_helper_strip(int argc, char **argv, int *ret_argc, bool *ret_is_fake);

#endif
