/* SPDX-License-Identifier: MIT */
/* notify - tells a service manager how we are, as sd_notify(3) does: systemd's
 * Type=notify. */
#ifndef SFS_NOTIFY_H
#define SFS_NOTIFY_H

/* Take $NOTIFY_SOCKET out of the environment: our children have nothing to tell.  Call it
 * before there are threads.  Without one the others do nothing. */
void sfs_notify_begin(void);

/* The mount works; `what` and `where` are for people. */
void sfs_notify_ready(const char *what, const char *where);

void sfs_notify_stopping(void);

#endif
