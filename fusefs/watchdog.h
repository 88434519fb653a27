/* SPDX-License-Identifier: MIT */
/* watchdog - ends the process if stopping takes too long.
 *
 * From the signal on that stops it, or from the end of the mount: whatever hangs or turns
 * for ever by then, a thread of FUSE too, 10 s later the process is gone, and its mount
 * with it.  One a process.
 */
#ifndef SFS_WATCHDOG_H
#define SFS_WATCHDOG_H

#define SFS_STOP_SECONDS 10

/* Start it, of what was just mounted on `where`, which stays.  From now on SIGTERM,
 * SIGINT and SIGHUP wake it, and then do what they did before; those that are ignored, or
 * end the process anyway, are left alone. */
void sfs_watchdog_start(const char *where);

/* The stop has begun.  Again is fine. */
void sfs_watchdog_wake(void);

/* From now on those signals end the process. */
void sfs_watchdog_release_signals(void);

#endif
