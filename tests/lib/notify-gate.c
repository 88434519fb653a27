/* SPDX-License-Identifier: MIT */
/* notify-gate - preloaded by a test: before the kernel is asked to drop pages, a file
 * $NOTIFY_GATE.waits appears, and the caller waits until there is a file $NOTIFY_GATE.
 * Before the kernel returns from it, there is $NOTIFY_GATE.in. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

struct fuse_session;
int fuse_lowlevel_notify_inval_inode(struct fuse_session *session, unsigned long node,
				     off_t offset, off_t n);

static void make(const char *gate, const char *suffix)
{
	char path[4096];

	snprintf(path, sizeof path, "%s.%s", gate, suffix);
	close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
}

int fuse_lowlevel_notify_inval_inode(struct fuse_session *session, unsigned long node,
				     off_t offset, off_t n)
{
	int (*real)(struct fuse_session *, unsigned long, off_t, off_t);
	const char *gate = getenv("NOTIFY_GATE");

	*(void **)&real = dlsym(RTLD_NEXT, "fuse_lowlevel_notify_inval_inode");
	if (gate) {
		make(gate, "waits");
		while (access(gate, F_OK) < 0)
			usleep(1000);
		make(gate, "in");
	}
	return real(session, node, offset, n);
}
