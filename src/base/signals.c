/* SPDX-License-Identifier: MIT */
/* How this works: whoever kills a process, by SIGKILL, by a signal whose default action
 * that is, by exit_group() or exec() in another thread, or for want of memory: the kernel
 * gives each thread a pending SIGKILL.  Only a signal that dumps core stays what it is
 * until somebody takes it; and one that a tracer may still take away is not counted. */
#include "base/signals.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BIT(signal) ((uint64_t)1 << ((signal)-1))

/* Signals whose default action does not end a process. */
#define HARMLESS                                                                       \
	(BIT(SIGCHLD) | BIT(SIGCONT) | BIT(SIGURG) | BIT(SIGWINCH) | BIT(SIGSTOP) |    \
	 BIT(SIGTSTP) | BIT(SIGTTIN) | BIT(SIGTTOU))

/* The number after "NAME:", in hexadecimal. */
static bool find(const char *status, const char *name, uint64_t *ret)
{
	const char *p = status;
	size_t n = strlen(name);

	while (p && strncmp(p, name, n) != 0) {
		p = strchr(p, '\n');
		p = p ? p + 1 : NULL;
	}
	if (!p)
		return false;
	*ret = strtoull(p + n, NULL, 16);
	return true;
}

enum sfs_signals sfs_signals_judge(const char *status)
{
	uint64_t own, shared, blocked, ignored, caught, tracer, pending;

	if (!find(status, "SigPnd:", &own) || !find(status, "ShdPnd:", &shared) ||
	    !find(status, "SigBlk:", &blocked) || !find(status, "SigIgn:", &ignored) ||
	    !find(status, "SigCgt:", &caught) || !find(status, "TracerPid:", &tracer))
		return SFS_SIGNALS_UNKNOWN;
	if (own & BIT(SIGKILL))
		return SFS_SIGNALS_KILL;
	pending = (own | shared) & ~(blocked | ignored);
	if (!tracer && (pending & ~caught & ~HARMLESS))
		return SFS_SIGNALS_KILL;
	return pending & caught ? SFS_SIGNALS_CAUGHT : SFS_SIGNALS_NONE;
}

/* ---- /proc ---- */

static bool is_ours; /* /proc has the numbers of our PID namespace */

static void look_whose(void)
{
	char self[32];
	ssize_t n = readlink("/proc/self", self, sizeof self - 1);

	self[n > 0 ? n : 0] = 0;
	is_ours = atoi(self) == getpid();
}

enum sfs_signals sfs_signals_of(pid_t tid)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	char path[64], status[8192];
	ssize_t n;
	int fd;

	pthread_once(&once, look_whose);
	if (tid <= 0 || !is_ours)
		return SFS_SIGNALS_UNKNOWN;
	snprintf(path, sizeof path, "/proc/%d/status", (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return SFS_SIGNALS_UNKNOWN;
	n = read(fd, status, sizeof status - 1);
	close(fd);
	status[n > 0 ? n : 0] = 0;
	return sfs_signals_judge(status);
}
