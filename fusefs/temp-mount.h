/* SPDX-License-Identifier: MIT */
/* temp-mount - a mount for a while, which leaves nothing behind.
 *
 * A child process of this program mounts in the foreground, on a new folder.  From start
 * to stop SIGINT, SIGTERM and SIGHUP are blocked, and end the waits here, so the mount
 * and its folder are removed before the process ends.  If this process is killed, the
 * child exits, and only the empty folder stays.  One thread.
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

/* Run `shufflefs mount -f` with these arguments and the folder.  Waits until it is
 * mounted. < 0: with an error; -EINTR: a signal arrived.  Call sfs_temp_mount_stop() in
 * any case. */
int sfs_temp_mount_start(struct sfs_temp_mount *t, const struct sfs_strings *arguments,
			 struct sfs_error *err);

/* Wait for bytes in `fd`, for up to `timeout_ms`.  0, also if there are none.  -EINTR: a
 * signal arrived.  -ECHILD: the daemon has exited. */
int sfs_temp_mount_wait(struct sfs_temp_mount *t, int fd, int timeout_ms);

/* CPU seconds that the daemon has used. */
double sfs_temp_mount_cpu_s(struct sfs_temp_mount *t);

/* The last line that the daemon has logged; "" if none.  The caller frees it. */
char *sfs_temp_mount_last_words(const struct sfs_temp_mount *t);

/* End the daemon: from now on, reads of the mount fail.  Waits until it has exited. */
void sfs_temp_mount_end(struct sfs_temp_mount *t);

/* End the daemon and remove the mount and the folder; no file may be open.  Warns if it
 * cannot remove something. */
void sfs_temp_mount_stop(struct sfs_temp_mount *t);

#endif
