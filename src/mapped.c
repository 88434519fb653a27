/* SPDX-License-Identifier: MIT */
#include "mapped.h"

#include "mem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Not in linux/magic.h of all systems. */
#define BCACHEFS_MAGIC 0xca451a4e
#define ZFS_MAGIC      0x2fc12fc1

/* Does a file of this system stay readable while it is open? */
static bool is_local(int fd)
{
	struct statfs st;

	if (fstatfs(fd, &st) < 0)
		return false;
	switch ((unsigned long)st.f_type) {
	case BCACHEFS_MAGIC:
	case BTRFS_SUPER_MAGIC:
	case EXT4_SUPER_MAGIC: /* and ext2, ext3 */
	case F2FS_SUPER_MAGIC:
	case OVERLAYFS_SUPER_MAGIC:
	case TMPFS_MAGIC:
	case XFS_SUPER_MAGIC:
	case ZFS_MAGIC: return true;
	default: return false;
	}
}

static bool map(int fd, size_t n, struct sfs_mapped *ret)
{
	void *bytes;

	if (n < SFS_MAPPED_MIN || !is_local(fd))
		return false;
	bytes = mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return false;
	*ret = (struct sfs_mapped){.bytes = bytes, .n = n, .is_mapped = true};
	return true;
}

static int read_all(int fd, char *bytes, size_t n)
{
	size_t at = 0;
	ssize_t got;

	while (at < n) {
		got = pread(fd, bytes + at, n - at, (off_t)at);
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

static int copy(int fd, size_t n, struct sfs_mapped *ret)
{
	sfs_autofree char *bytes = NULL;
	int err;

	if (n > SFS_MAPPED_COPY)
		return -EFBIG;
	bytes = malloc(n); /* not small: may fail */
	if (!bytes && n > 0)
		return -ENOMEM;
	err = read_all(fd, bytes, n);
	if (err < 0)
		return err;
	*ret = (struct sfs_mapped){.bytes = n > 0 ? steal(&bytes) : NULL, .n = n};
	return 0;
}

static int open_fd(int fd, struct sfs_mapped *ret)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if ((uint64_t)st.st_size >= SFS_MAPPED_MAX)
		return -EFBIG;
	return map(fd, (size_t)st.st_size, ret) ? 0 : copy(fd, (size_t)st.st_size, ret);
}

int sfs_mapped_open(const char *path, struct sfs_mapped *ret_mapped,
		    struct sfs_error *err)
{
	int fd, ret;

	/* Non-blocking: a FIFO in its place must stop nobody. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	ret = fd < 0 ? -errno : open_fd(fd, ret_mapped);
	if (fd >= 0)
		close(fd);
	if (ret == -EINVAL)
		return sfs_error_set(err, ret, "%s: not a regular file", path);
	return ret < 0 ? sfs_error_set(err, ret, "%s: %s", path, strerror(-ret)) : 0;
}

void sfs_mapped_done(struct sfs_mapped *mapped)
{
	if (mapped->is_mapped)
		munmap(mapped->bytes, mapped->n);
	else
		free(mapped->bytes);
	*mapped = (struct sfs_mapped){0};
}
