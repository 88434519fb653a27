/* SPDX-License-Identifier: MIT */
#include "ring/ring-dead.h"

#include "base/alloc.h"
#include "base/signals.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PF_EXITING 4 /* of the kernel, in /proc/PID/stat: proc(5) */

/* Is this thread in its last system call? */
static bool is_exiting(const char *pid, const char *tid)
{
	sfs_autofree char *path = sfs_asprintf("/proc/%s/task/%s/stat", pid, tid);
	char text[512], *at;
	unsigned flags = 0;
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return true;
	n = read(fd, text, sizeof text - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	at = strrchr(text, ')'); /* (a name may have some) */
	if (!at || sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %u", &flags) != 1)
		return false;
	return flags & PF_EXITING;
}

/* It was killed, and runs nothing of its own again, but the kernel has not ended it yet,
 * which takes its time on a busy machine. */
static bool is_dying(uint32_t pid)
{
	sfs_autofree char *name = sfs_asprintf("%u", pid);
	sfs_autofree char *path = sfs_asprintf("/proc/%u/task", pid);
	struct dirent *entry;
	bool is = true;
	DIR *d;

	if (sfs_signals_of((pid_t)pid) == SFS_SIGNALS_KILL)
		return true;
	d = opendir(path);
	if (!d)
		return false;
	while (is && (entry = readdir(d)) != NULL)
		is = entry->d_name[0] == '.' || is_exiting(name, entry->d_name);
	closedir(d);
	return is;
}

bool sfs_ring_is_dead(uint32_t pid)
{
	struct pollfd p = {.events = POLLIN};
	bool is;

	if (pid == 0)
		return false;
	p.fd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
	if (p.fd < 0 && errno == ENOSYS) /* before Linux 5.3, and under valgrind */
		return (kill((pid_t)pid, 0) < 0 && errno == ESRCH) || is_dying(pid);
	if (p.fd < 0)
		return errno == ESRCH;
	is = poll(&p, 1, 0) > 0;
	close(p.fd);
	return is || is_dying(pid);
}
