/* SPDX-License-Identifier: MIT */
/* How this works: the socket is bound and listened on under another name and then
 * renamed, so that whoever finds a socket at `path` which refuses a connection has found
 * a dead one.  From the look to the rename a file, PATH.lock, is locked: of several that
 * begin at a time, one gets the path.  The file is removed with its lock held, so who has
 * locked it then looks whether it is still the one at its path. */
#include "ring/local-socket.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define LOCK_MS 5000
#define LOOK_MS 5

/* The file at `path`, locked; -EAGAIN: another has it. */
static int try_lock(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600), ret = 0;
	struct stat ours, now;

	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		ret = errno == EWOULDBLOCK ? -EAGAIN : -errno;
	else if (fstat(fd, &ours) < 0 || lstat(path, &now) < 0 ||
		 ours.st_ino != now.st_ino || ours.st_dev != now.st_dev)
		ret = -EAGAIN; /* it was removed, by who had the lock */
	if (ret == 0)
		return fd;
	close(fd);
	return ret;
}

static int lock(const char *path, struct sfs_error *err)
{
	uint64_t until_ns = sfs_clock_deadline(LOCK_MS);
	int ret;

	while ((ret = try_lock(path)) == -EAGAIN && sfs_clock_ns() < until_ns)
		poll(NULL, 0, LOOK_MS);
	if (ret == -EAGAIN)
		return sfs_error_set(err, -EADDRINUSE,
				     "%s: another process is just starting there",
				     path);
	return ret < 0 ? sfs_error_set(err, ret, "%s: %s", path, strerror(-ret)) : ret;
}

static void unlock(int fd, const char *path)
{
	unlink(path);
	close(fd);
}

/* What a connection to `path` says: 0: somebody listens. */
static int probe(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int ret = 0;

	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)address, sizeof *address) < 0 &&
	    errno != EAGAIN) /* (EAGAIN: its queue is full) */
		ret = -errno;
	close(fd);
	return ret;
}

/* May the socket at `path` be replaced? */
static int check_path(const struct sockaddr_un *address, struct sfs_error *err)
{
	const char *path = address->sun_path;
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0
				       : sfs_error_set(err, -errno, "%s: %s", path,
						       strerror(errno));
	if (!S_ISSOCK(st.st_mode))
		return sfs_error_set(err, -EEXIST,
				     "%s exists and is not a socket; choose another path",
				     path);
	if (probe(address) != -ECONNREFUSED)
		return sfs_error_set(err, -EADDRINUSE,
				     "%s: another process listens there; stop it, or "
				     "choose another path",
				     path);
	return 0;
}

static int bind_at(struct sfs_local_socket *s, const char *path, int backlog,
		   struct sfs_error *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct stat st;

	memcpy(address.sun_path, path, strlen(path));
	unlink(path); /* of a process that died with our pid */
	if (bind(s->fd, (struct sockaddr *)&address, sizeof address) < 0 ||
	    chmod(path, 0600) < 0 || listen(s->fd, backlog) < 0 || stat(path, &st) < 0)
		return sfs_error_set(err, -errno, "%s: %s", path, strerror(errno));
	s->device = st.st_dev;
	s->inode = st.st_ino;
	return 0;
}

/* Under another name first. */
static int listen_at(struct sfs_local_socket *s, const char *other, int backlog,
		     struct sfs_error *err)
{
	int code;

	s->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->fd < 0)
		return sfs_error_set(err, -errno, "socket: %s", strerror(errno));
	code = bind_at(s, other, backlog, err);
	if (code == 0 && rename(other, s->path) < 0)
		code = sfs_error_set(err, -errno, "%s: %s", s->path, strerror(errno));
	if (code < 0)
		unlink(other);
	return code;
}

int sfs_local_socket_open(const char *path, int backlog, struct sfs_local_socket *ret,
			  struct sfs_error *err)
{
	sfs_autofree char *other = sfs_asprintf("%s.%d", path, (int)getpid());
	sfs_autofree char *lock_path = sfs_asprintf("%s.lock", path);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int code, lock_fd;

	*ret = (struct sfs_local_socket){.fd = -1, .path = sfs_strdup(path)};
	if (!path[0] || strlen(other) >= sizeof address.sun_path)
		return sfs_error_set(err, -EINVAL,
				     "'%s': the path of a socket has 1 to 96 bytes",
				     path);
	memcpy(address.sun_path, path, strlen(path));
	lock_fd = lock(lock_path, err);
	if (lock_fd < 0)
		return lock_fd;
	code = check_path(&address, err);
	if (code == 0)
		code = listen_at(ret, other, backlog, err);
	unlock(lock_fd, lock_path);
	return code;
}

pid_t sfs_local_socket_peer(int fd, int *ret_pidfd)
{
	struct ucred peer = {.pid = 0};
	socklen_t n = sizeof peer;

	getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n);
	*ret_pidfd = peer.pid > 0 ? (int)syscall(SYS_pidfd_open, peer.pid, 0) : -1;
	return peer.pid;
}

void sfs_local_socket_close(struct sfs_local_socket *s)
{
	struct stat st;

	if (s->inode != 0 && lstat(s->path, &st) == 0 && st.st_dev == s->device &&
	    st.st_ino == s->inode)
		unlink(s->path);
	if (s->fd >= 0)
		close(s->fd);
	free(s->path);
	*s = (struct sfs_local_socket){.fd = -1};
}
