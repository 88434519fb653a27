/* SPDX-License-Identifier: MIT */
#include "base/localfile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int check(int fd, struct sfs_localfile *ret)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	*ret = (struct sfs_localfile){.fd = fd, .n = (uint64_t)st.st_size};
	return 0;
}

int sfs_localfile_open(const char *path, struct sfs_localfile *ret, struct sfs_error *err)
{
	int fd, code;

	/* Non-blocking: a FIFO in its place must not stop us. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	code = fd < 0 ? -errno : check(fd, ret);
	if (code < 0 && fd >= 0)
		close(fd);
	if (code == -EINVAL)
		return sfs_error_set(err, code, "%s: not a regular file", path);
	return code < 0 ? sfs_error_set(err, code, "%s: %s", path, strerror(-code)) : 0;
}

void sfs_localfile_close(struct sfs_localfile *file)
{
	close(file->fd);
}

int sfs_localfile_read(const struct sfs_localfile *file, uint64_t from, void *ret_bytes,
		       size_t n)
{
	char *bytes = ret_bytes;
	size_t at = 0;
	ssize_t got;

	while (at < n) {
		got = pread(file->fd, bytes + at, n - at, (off_t)(from + at));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return -ESTALE;
		at += (size_t)got;
	}
	return 0;
}
