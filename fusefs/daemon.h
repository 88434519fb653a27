/* SPDX-License-Identifier: MIT */
/* daemon - goes to the background, but only when it is known to work.
 *
 * The child does everything that may fail; the parent waits for its result, and prints
 * the error where the user sees it. */
#ifndef SFS_DAEMON_H
#define SFS_DAEMON_H

/* Fork.  Returns in the child, with *ret_fd for the calls below; the parent never
 * returns: it exits with 0 when the child is ready, or prints the child's error
 * and exits with 1.  If the parent is killed before that, the child gets SIGTERM.  No
 * thread may run yet. */
void sfs_daemon_fork(int *ret_fd);

/* Ready: let the parent go, and leave the terminal.  fd < 0: not a daemon; nothing
 * happens. */
void sfs_daemon_ready(int fd);

/* It failed: pass the error to the parent (or print it, if fd < 0). */
void sfs_daemon_failed(int fd, const char *error);

#endif
