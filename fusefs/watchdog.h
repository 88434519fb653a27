/* SPDX-License-Identifier: MIT */
/* watchdog - ends the process if stopping takes too long.
 *
 * 10 s after the signal that stops it, or after the end of the mount, the process exits
 * and its mount is removed, even if a thread hangs or loops.  One per process.
 */
#ifndef SFS_WATCHDOG_H
#define SFS_WATCHDOG_H

#define SFS_STOP_SECONDS 10

/* Start it after mounting on `where`, which stays borrowed.  SIGTERM, SIGINT and SIGHUP
 * then start the countdown, and do what they did before; signals that are ignored or that
 * end the process anyway are not changed. */
void sfs_watchdog_start(const char *where);

/* Start the countdown; again is fine. */
void sfs_watchdog_wake(void);

/* From now on those signals end the process. */
void sfs_watchdog_release_signals(void);

#endif
