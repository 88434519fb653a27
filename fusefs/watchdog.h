/* SPDX-License-Identifier: MIT */
/* watchdog - ends the process if stopping takes too long.
 *
 * 10 s after it was woken the process exits and its mount is removed, even if a thread
 * hangs or loops, in the kernel too.  One per process.
 */
#ifndef SFS_WATCHDOG_H
#define SFS_WATCHDOG_H

/* (A sanitizer looks for leaks when a process ends, which takes long on a busy machine.) */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SFS_STOP_SECONDS 60
#else
#define SFS_STOP_SECONDS 10
#endif

/* Start it after mounting on `where`, which stays borrowed; `fd` is the session's. */
void sfs_watchdog_start(const char *where, int fd);

/* Start the countdown; again is fine. */
void sfs_watchdog_wake(void);

/* Cut the connection with the kernel, if it is there still: all requests fail, and no
 * call of the kernel waits for one any more. */
void sfs_watchdog_abort(void);

/* The session is about to be unmounted, and its descriptor closed; and it has been. */
void sfs_watchdog_unmounting(void);
void sfs_watchdog_unmounted(void);

#endif
