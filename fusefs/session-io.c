/* SPDX-License-Identifier: MIT */
/* How this works: the first reply of a session is that to INIT.  Its flags follow
 * three numbers of its body (struct fuse_init_out); kernels have known the flag
 * since 4.7, and ignore those they do not know. */
#include "session-io.h"

#include <errno.h>
#include <linux/fuse.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static ssize_t channel_read(int fd, void *buf, size_t n, void *userdata)
{
	return read(fd, buf, n);
}

/* The reply to INIT, with our flag.  -1: it is another reply. */
static ssize_t write_init(int fd, const struct iovec *iov, int count)
{
	struct fuse_out_header header;
	struct fuse_init_out init;
	struct iovec ours[2] = {iov[0], {.iov_base = &init, .iov_len = sizeof init}};

	if (count != 2 || iov[0].iov_len != sizeof header ||
	    iov[1].iov_len > sizeof init ||
	    iov[1].iov_len < offsetof(struct fuse_init_out, flags) + sizeof init.flags)
		return -1;
	memcpy(&header, iov[0].iov_base, sizeof header);
	if (header.error != 0)
		return -1;
	memcpy(&init, iov[1].iov_base, iov[1].iov_len);
	init.flags |= FUSE_PARALLEL_DIROPS;
	ours[1].iov_len = iov[1].iov_len;
	return writev(fd, ours, 2);
}

static ssize_t channel_write(int fd, struct iovec *iov, int count, void *userdata)
{
	static atomic_flag has_greeted = ATOMIC_FLAG_INIT; /* a process has one session */
	ssize_t n = -1;

	if (!atomic_flag_test_and_set(&has_greeted))
		n = write_init(fd, iov, count);
	return n >= 0 ? n : writev(fd, iov, count);
}

int sfs_session_io_use(struct fuse_session *session)
{
	static const struct fuse_custom_io io = {.read = channel_read,
						 .writev = channel_write};

	return fuse_session_custom_io(session, &io, fuse_session_fd(session));
}
