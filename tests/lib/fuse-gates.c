/* SPDX-License-Identifier: MIT */
/* fuse-gates - preloaded by a test: places in which a daemon waits for a file.
 *
 * Before the kernel is asked to drop pages, a file $NOTIFY_GATE.waits appears, and the caller
 * waits until there is a file $NOTIFY_GATE.  Before the kernel returns from it, there is
 * $NOTIFY_GATE.in.  After the unmount, the same of $UNMOUNTED_GATE. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

struct fuse_session;
int fuse_lowlevel_notify_inval_inode(struct fuse_session *session, unsigned long node,
				     off_t offset, off_t n);
void fuse_session_destroy(struct fuse_session *session);

static void make(const char *gate, const char *suffix)
{
	char path[4096];

	snprintf(path, sizeof path, "%s.%s", gate, suffix);
	close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
}

static void pass(const char *gate)
{
	if (!gate)
		return;
	make(gate, "waits");
	while (access(gate, F_OK) < 0)
		usleep(1000);
	make(gate, "in");
}

int fuse_lowlevel_notify_inval_inode(struct fuse_session *session, unsigned long node,
				     off_t offset, off_t n)
{
	int (*real)(struct fuse_session *, unsigned long, off_t, off_t);

	*(void **)&real = dlsym(RTLD_NEXT, "fuse_lowlevel_notify_inval_inode");
	pass(getenv("NOTIFY_GATE"));
	return real(session, node, offset, n);
}

void fuse_session_destroy(struct fuse_session *session)
{
	void (*real)(struct fuse_session *);

	*(void **)&real = dlsym(RTLD_NEXT, "fuse_session_destroy");
	pass(getenv("UNMOUNTED_GATE"));
	real(session);
}
