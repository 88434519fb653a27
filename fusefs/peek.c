/* SPDX-License-Identifier: MIT */
/* How this works: the child reads the file whole, then writes an errno into the pipe, and
 * the bytes after it.  So what comes before the end of the file decides, and nobody waits
 * for the child to die: it may hang in close() as well as in read().  It is killed, and
 * reaped if it has gone by then; else init does it one day. */
#include "peek.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_BYTES ((size_t)64 << 20) /* of a file that a mount has written */

/* ---- the child ---- */

static int read_file(const char *path, struct sfs_strbuf *text)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char buf[65536];
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	while ((n = read(fd, buf, sizeof buf)) != 0) {
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0 && text->n + (size_t)n > MAX_BYTES)
			return -EFBIG;
		if (n > 0)
			sfs_strbuf_add(text, buf, (size_t)n);
	}
	return 0;
}

static void put(int fd, const void *bytes, size_t n)
{
	ssize_t written;

	for (; n > 0; bytes = (const char *)bytes + written, n -= (size_t)written) {
		written = write(fd, bytes, n);
		if (written < 0 && errno != EINTR)
			return;
		if (written < 0)
			written = 0;
	}
}

static void be_child(int fd, const char *path)
{
	struct sfs_strbuf text = {0};
	int err = read_file(path, &text);

	put(fd, &err, sizeof err);
	if (err == 0)
		put(fd, text.s, text.n);
	_exit(0);
}

/* ---- the parent ---- */

int sfs_peek_start(struct sfs_peek *peek, const char *where)
{
	sfs_autofree char *path = sfs_asprintf("%s/" SFS_PEEK_FILE, where);
	int fds[2], err;

	*peek = (struct sfs_peek){.fd = -1, .child = -1};
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	peek->child = fork();
	if (peek->child < 0) {
		err = -errno;
		close(fds[0]);
		close(fds[1]);
		return err;
	}
	if (peek->child == 0)
		be_child(fds[1], path);
	close(fds[1]);
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	peek->fd = fds[0];
	return 0;
}

int sfs_peek_take(struct sfs_peek *peek)
{
	char buf[65536];
	ssize_t n;

	while (peek->n_err < sizeof peek->err) {
		n = read(peek->fd, (char *)&peek->err + peek->n_err,
			 sizeof peek->err - peek->n_err);
		if (n < 0)
			return errno == EINTR ? -EAGAIN : -errno;
		if (n == 0)
			return -EIO; /* the child was killed */
		peek->n_err += (size_t)n;
	}
	if (peek->err < 0)
		return peek->err;
	while ((n = read(peek->fd, buf, sizeof buf)) > 0)
		sfs_strbuf_add(&peek->text, buf, (size_t)n);
	return n == 0 ? 0 : errno == EINTR ? -EAGAIN : -errno;
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

int sfs_peek_wait(struct sfs_peek *peek, int timeout_ms)
{
	struct pollfd p = {.fd = peek->fd, .events = POLLIN};
	uint64_t end = now_ms() + (uint64_t)timeout_ms, at;
	int ret = -EAGAIN;

	while (ret == -EAGAIN) {
		at = now_ms();
		if (at >= end)
			return -ETIMEDOUT;
		if (poll(&p, 1, (int)(end - at)) > 0)
			ret = sfs_peek_take(peek);
	}
	return ret;
}

void sfs_peek_end(struct sfs_peek *peek)
{
	if (peek->fd >= 0)
		close(peek->fd);
	if (peek->child > 0) { /* (-1 would be everybody) */
		kill(peek->child, SIGKILL);
		waitpid(peek->child, NULL, WNOHANG);
	}
	sfs_strbuf_done(&peek->text);
	*peek = (struct sfs_peek){.fd = -1, .child = -1};
}
