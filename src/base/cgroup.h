/* SPDX-License-Identifier: MIT */
/* cgroup - the folder in which the kernel shows the control group of this process.
 *
 * For version 2, or a controller of version 1, wherever it is mounted, also in a
 * container.  Reads files of /proc; any thread may call.
 */
#ifndef SFS_CGROUP_H
#define SFS_CGROUP_H

#include <stddef.h>

/* The group's folder, e.g. "/sys/fs/cgroup/memory/user/1": the caller frees it.  Its
 * first *ret_n_root characters are the mount point; the folders between are the groups
 * around it.  (In a container the innermost may not be there: go up.)  `controller` is
 * one of version 1; NULL: version 2.  `proc_self` is "/proc/self", except in tests.
 * Returns NULL if there is none. */
char *sfs_cgroup_folder(const char *proc_self, const char *controller,
			size_t *ret_n_root);

#endif
