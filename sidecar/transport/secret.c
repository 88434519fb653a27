/* SPDX-License-Identifier: MIT */
#include "transport/secret.h"

#include "base/crypto.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* Who may read it?  A file of root's may be for a group, as Kubernetes
 * hands out secrets. */
static int check_owner(const struct stat *st, struct sfs_error *err)
{
	mode_t most = st->st_uid == geteuid() ? 0700 : 0740;

	if (!S_ISREG(st->st_mode))
		return sfs_error_set(err, -EINVAL, "it is not a regular file");
	if (st->st_uid != geteuid() && st->st_uid != 0)
		return sfs_error_set(err, -EACCES,
				     "it belongs to user %u, neither to you nor to root",
				     (unsigned)st->st_uid);
	if (st->st_mode & 0777 & ~most)
		return sfs_error_set(err, -EACCES,
				     "its mode is %04o, so other users can read it: "
				     "run chmod 600",
				     (unsigned)(st->st_mode & 07777));
	return 0;
}

/* How many bytes, at most `room`. */
static ssize_t read_all(int fd, char *bytes, size_t room)
{
	size_t at = 0;
	ssize_t n;

	while ((n = read(fd, bytes + at, room - at)) != 0) {
		if (n < 0 && errno != EINTR)
			return -errno;
		at += n > 0 ? (size_t)n : 0;
	}
	return (ssize_t)at;
}

static int read_secret(int fd, struct sfs_secret *ret, struct sfs_error *err)
{
	char bytes[SFS_SECRET_MOST + 1];
	struct stat st;
	ssize_t n;
	int code = fstat(fd, &st) < 0 ? sfs_error_set(err, -errno, "%s", strerror(errno))
				      : check_owner(&st, err);

	if (code < 0)
		return code;
	n = read_all(fd, bytes, sizeof bytes);
	code = n < 0 ? sfs_error_set(err, (int)n, "%s", strerror((int)-n))
		     : sfs_secret_make(bytes, (size_t)n, ret, err);
	explicit_bzero(bytes, sizeof bytes);
	return code;
}

int sfs_secret_read(const char *path, struct sfs_secret *ret, struct sfs_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), code; /* (a FIFO) */

	if (fd < 0)
		return sfs_error_set(err, -errno, "the secret file %s: %s", path,
				     strerror(errno));
	code = read_secret(fd, ret, err);
	close(fd);
	return code < 0 ? sfs_error_wrap(err, code, "the secret file %s", path) : 0;
}

void sfs_secret_nonce(unsigned char ret[SFS_WIRE_NONCE_BYTES])
{
	ssize_t n;

	do
		n = getrandom(ret, SFS_WIRE_NONCE_BYTES, 0);
	while (n < 0 && errno == EINTR);
	if (n != SFS_WIRE_NONCE_BYTES)
		abort(); /* a kernel without it; to repeat a number would be worse */
}
