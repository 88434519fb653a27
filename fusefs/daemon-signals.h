/* SPDX-License-Identifier: MIT */
/* daemon-signals - what signals mean to a mount.
 *
 * SIGTERM and SIGINT stop it, SIGHUP has files read again, and all others whose default
 * action would end the process, and so leave a dead mount, are ignored; but not SIGKILL,
 * nor those that say that the program is broken.  One per process.
 */
#ifndef SFS_DAEMON_SIGNALS_H
#define SFS_DAEMON_SIGNALS_H

/* On a thread of its own, which may wait. */
struct sfs_daemon_signals {
	void (*stop)(void *ctx); /* at the first of them; later ones do nothing */
	void (*reload)(void *ctx);
	void *ctx;
};

/* From now on the others are ignored. */
void sfs_daemon_signals_ignore(void);

/* Keep SIGTERM, SIGINT and SIGHUP for start(): main calls it before it mounts.  SIGTERM
 * and SIGINT that are ignored (nohup, a shell's background) stay so. */
void sfs_daemon_signals_block(void);
void sfs_daemon_signals_start(const struct sfs_daemon_signals *signals);

/* After start(): wait for a call that runs, and end the thread.  From then on the three do
 * nothing: whoever sends SIGTERM twice must not end the process before it has unmounted. */
void sfs_daemon_signals_stop(void);

/* After block(), if there is no mount: the three end the process again. */
void sfs_daemon_signals_unblock(void);

#endif
