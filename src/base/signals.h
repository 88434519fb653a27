/* SPDX-License-Identifier: MIT */
/* signals - what the signals of another thread mean for it, while it waits for us.
 *
 * The kernel says only that a caller got some signal: the same for SIGKILL, for one that
 * has a handler, for ^Z, and for a control group that is frozen.  /proc says which. */
#ifndef SFS_SIGNALS_H
#define SFS_SIGNALS_H

#include <sys/types.h>

enum sfs_signals {
	SFS_SIGNALS_NONE,   /* none that ends it or runs a handler */
	SFS_SIGNALS_CAUGHT, /* one whose handler runs when it does not wait any more */
	SFS_SIGNALS_KILL,   /* it is being killed: it runs no instruction of its own again */
	SFS_SIGNALS_UNKNOWN
};

/* Those of the text of /proc/TID/status. */
enum sfs_signals sfs_signals_judge(const char *status);

/* Those of a thread, by its number in our PID namespace; 0: it is in none that we see.
 * Costs some system calls, and blocks for nobody. */
enum sfs_signals sfs_signals_of(pid_t tid);

#endif
