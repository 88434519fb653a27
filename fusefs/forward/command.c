/* SPDX-License-Identifier: MIT */
/* How this works: the ioctls of shufflefs/ioctl.h, as any program may use them.  A signal
 * ends a WAIT; one that comes just before it is seen after the next. */
#include "forward/command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LOOK_MS 500

static volatile sig_atomic_t is_interrupted;

static void on_signal(int number)
{
	is_interrupted = 1;
}

static void catch_signals(void)
{
	const struct sigaction ours = {.sa_handler = on_signal};

	sigaction(SIGHUP, &ours, NULL);
	sigaction(SIGINT, &ours, NULL);
	sigaction(SIGTERM, &ours, NULL);
}

static void show(const struct shufflefs_status *st)
{
	if (!isatty(STDERR_FILENO))
		return;
	fprintf(stderr, "\r%llu batches, %llu samples, %.1f MB, %.1f MB/s\033[K%s",
		(unsigned long long)st->ret_batches, (unsigned long long)st->ret_samples,
		(double)st->ret_bytes / 1e6, (double)st->ret_rate / 1e6,
		st->ret_state >= SHUFFLEFS_DONE ? "\n" : "");
}

static int start(int fd, const char *path, struct shufflefs_forward *wanted,
		 struct sfs_error *err)
{
	int ret;

	if (ioctl(fd, SHUFFLEFS_FORWARD, wanted) >= 0)
		return 0;
	ret = -errno;
	if (ret == -ENOTTY)
		return sfs_error_set(err, ret, "%s is not a stream of a shufflefs mount",
				     path);
	return sfs_error_set(err, ret, "cannot forward %s: %s", path,
			     wanted->ret_error[0] ? wanted->ret_error : strerror(-ret));
}

/* Wait until the session has ended. */
static int wait_for_end(int fd, struct shufflefs_status *st)
{
	struct shufflefs_stop stop = {.size = sizeof stop};
	struct shufflefs_wait w = {.size = sizeof w, .timeout_ms = LOOK_MS};

	do {
		if (is_interrupted)
			ioctl(fd, SHUFFLEFS_STOP, &stop);
		if (ioctl(fd, SHUFFLEFS_WAIT, &w) < 0 && errno != EINTR)
			return -errno;
		if (ioctl(fd, SHUFFLEFS_STATUS, st) < 0)
			return -errno;
		show(st);
	} while (st->ret_state < SHUFFLEFS_DONE);
	return 0;
}

/* A receiver, and a trainer of local:, knows a stream by its command, and waits for it:
 * one with another --first would be a second stream. */
static int command_advise(const char *target, uint64_t next, struct sfs_error *err)
{
	if (strncmp(target, "local:", 6) == 0 || strncmp(target, "tcp:", 4) == 0 ||
	    strncmp(target, "rdma:", 5) == 0)
		return sfs_error_set(err, -EINTR,
				     "stopped; to resume with the same receiver and "
				     "trainers, run the same command again; with "
				     "others, add --first=%llu",
				     (unsigned long long)next);
	return sfs_error_set(err, -EINTR, "stopped; to resume, add --first=%llu",
			     (unsigned long long)next);
}

static int command_run(int fd, const char *path, struct shufflefs_forward *wanted,
		       struct sfs_error *err)
{
	struct shufflefs_status st = {.size = sizeof st};
	int ret = start(fd, path, wanted, err);

	if (ret < 0)
		return ret;
	ret = wait_for_end(fd, &st);
	if (ret < 0)
		return sfs_error_set(err, ret, "%s: %s", path,
				     ret == -ECONNABORTED || ret == -ENOTCONN
					     ? "the mount is gone"
					     : strerror(-ret));
	if (st.ret_state == SHUFFLEFS_DONE)
		return 0;
	if (st.ret_state == SHUFFLEFS_STOPPED)
		return command_advise(wanted->target, st.ret_next, err);
	return sfs_error_set(err, -EIO, "%s", st.ret_error);
}

int sfs_forward_command(const char *path, struct shufflefs_forward *wanted,
			struct sfs_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return sfs_error_set(err, -errno, "%s: %s", path, strerror(errno));
	catch_signals();
	ret = command_run(fd, path, wanted, err);
	close(fd);
	return ret;
}
