/* SPDX-License-Identifier: MIT */
/* trial - a mount of our own for a while, which leaves nothing behind.
 *
 * A child process of this program mounts in the foreground, on a folder made for that.
 * From start to stop SIGINT, SIGTERM and SIGHUP are held back, and end what waits here;
 * so the mount and its folder go away before the process does.  If this process is
 * killed, the child ends by itself, and only the empty folder stays.  One thread.
 */
#ifndef SFS_TEMP_MOUNT_H
#define SFS_TEMP_MOUNT_H

#include "base/error.h"
#include "config/options.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

struct sfs_temp_mount {
	char *folder;	    /* where it is mounted; absolute; NULL: there is none */
	int interrupted_by; /* the signal; 0: none came */

	pid_t pid;
	int pid_fd, signal_fd, log_fd;
	clockid_t cpu_clock;
	double cpu_s;
	sigset_t old_mask;
};

/* Mount, with `arguments` behind `shufflefs mount -f`, and the folder behind those. Waits
 * until it is mounted.  < 0: with a sentence that says why not; -EINTR: a signal came.
 * sfs_temp_mount_stop() is to be called in any case. */
int sfs_temp_mount_start(struct sfs_temp_mount *t, const struct sfs_strings *arguments,
			 struct sfs_error *err);

/* Wait for bytes in `fd`, but no longer than that.  0, also if there are none.  -EINTR: a
 * signal came.  -ECHILD: the daemon has died. */
int sfs_temp_mount_wait(struct sfs_temp_mount *t, int fd, int timeout_ms);

/* CPU seconds that the daemon has used. */
double sfs_temp_mount_cpu_s(struct sfs_temp_mount *t);

/* The last line that the daemon has logged; "" if none.  The caller frees it. */
char *sfs_temp_mount_last_words(const struct sfs_temp_mount *t);

/* End the daemon: reads of the mount fail from now on.  Waits until it has gone. */
void sfs_temp_mount_end(struct sfs_temp_mount *t);

/* That, and take the mount and the folder away; nobody may have a file open.  Warns if it
 * has to leave something. */
void sfs_temp_mount_stop(struct sfs_temp_mount *t);

#endif
