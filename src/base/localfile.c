/* SPDX-License-Identifier: MIT */
#include "base/localfile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
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

static int append(int fd, size_t n_most, struct sfs_strbuf *text)
{
	size_t n_before = text->n;
	char bytes[65536];
	ssize_t got;

	for (;;) {
		got = read(fd, bytes, sizeof bytes);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : 0;
		if ((size_t)got > n_most - (text->n - n_before))
			return -EFBIG;
		sfs_strbuf_add(text, bytes, (size_t)got);
	}
}

bool sfs_localfile_stdin_is_kept(void)
{
	int seals = fcntl(STDIN_FILENO, F_GET_SEALS);

	return seals >= 0 && (seals & F_SEAL_WRITE);
}

/* Replace standard input by a file in memory with the n bytes. */
static int keep_stdin(const char *bytes, size_t n)
{
	int fd = memfd_create("stdin", MFD_CLOEXEC | MFD_ALLOW_SEALING), ret = 0;
	ssize_t wrote;

	if (fd < 0)
		return -errno;
	while (n > 0 && ret == 0) {
		wrote = write(fd, bytes, n);
		if (wrote < 0) {
			ret = errno == EINTR ? 0 : -errno;
			continue;
		}
		bytes += wrote;
		n -= (size_t)wrote;
	}
	if (ret == 0 && (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK) < 0 ||
			 dup2(fd, STDIN_FILENO) < 0))
		ret = -errno;
	close(fd);
	return ret;
}

static int append_stdin(size_t n_most, struct sfs_strbuf *text)
{
	bool is_kept = sfs_localfile_stdin_is_kept();
	size_t from = text->n;
	int ret;

	if (is_kept)
		lseek(STDIN_FILENO, 0, SEEK_SET);
	ret = append(STDIN_FILENO, n_most, text);
	return ret < 0 || is_kept ? ret : keep_stdin(text->s + from, text->n - from);
}

static int append_file(const char *path, size_t n_most, struct sfs_strbuf *text,
		       bool *ret_is_pipe)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), ret;
	struct stat st;

	if (fd < 0)
		return -errno;
	ret = fstat(fd, &st) < 0 ? -errno : append(fd, n_most, text);
	if (ret == 0)
		*ret_is_pipe = !S_ISREG(st.st_mode);
	close(fd);
	return ret;
}

int sfs_localfile_append(const char *path, size_t n_most, struct sfs_strbuf *text,
			 bool *ret_is_pipe, struct sfs_error *err)
{
	bool is_stdin = strcmp(path, "-") == 0;
	const char *shown = is_stdin ? "standard input" : path;
	int ret;

	if (is_stdin) {
		ret = append_stdin(n_most, text);
		*ret_is_pipe = true;
	} else {
		ret = append_file(path, n_most, text, ret_is_pipe);
	}
	if (ret == -EFBIG)
		return sfs_error_set(err, ret, "%s: larger than %zu MiB", shown,
				     n_most >> 20);
	return ret < 0 ? sfs_error_set(err, ret, "%s: %s", shown, strerror(-ret)) : 0;
}
