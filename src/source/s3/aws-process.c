/* SPDX-License-Identifier: MIT */
/* How this works: the program is in a process group of its own, so whatever it starts
 * ends with it if it takes too long. */
#include "source/s3/aws-process.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROCESS_S  60
#define MOST_BYTES (64 << 10) /* of its output */

extern char **environ;

/* Start it, in a group of its own; its output goes to *ret_fd. */
static int spawn(const char *command, pid_t *ret_pid, int *ret_fd)
{
	char *const argv[] = {(char *)"sh", (char *)"-c", (char *)command, NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	int fds[2], ret;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	sigemptyset(&none);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fds[1], 1);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setpgroup(&attributes, 0);
	posix_spawnattr_setflags(&attributes,
				 POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
	ret = -posix_spawn(ret_pid, "/bin/sh", &actions, &attributes, argv, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	close(fds[1]);
	if (ret < 0)
		close(fds[0]);
	else
		*ret_fd = fds[0];
	return ret;
}

/* Read its output to the end.  false: it took too long, said too much, or nobody waits
 * any more. */
static bool read_output(int fd, const atomic_bool *is_stopped, struct sfs_strbuf *text)
{
	uint64_t until_ns = sfs_clock_ns() + PROCESS_S * SFS_NS_PER_S;
	struct pollfd polled = {.fd = fd, .events = POLLIN};
	char bytes[4096];
	ssize_t n;

	while (sfs_clock_ns() < until_ns && !atomic_load(is_stopped)) {
		if (poll(&polled, 1, 100) <= 0)
			continue;
		n = read(fd, bytes, sizeof bytes);
		if (n <= 0)
			return n == 0;
		sfs_strbuf_add(text, bytes, (size_t)n);
		if (text->n > MOST_BYTES)
			return false;
	}
	return false;
}

int sfs_aws_process_run(const char *command, const char *profile,
			const atomic_bool *is_stopped, struct sfs_strbuf *text,
			struct sfs_error *err)
{
	int status = 0, fd, ret;
	bool is_whole;
	pid_t pid;

	ret = spawn(command, &pid, &fd);
	if (ret < 0)
		return sfs_error_set(err, ret, "credential_process: %s", strerror(-ret));
	is_whole = read_output(fd, is_stopped, text);
	close(fd);
	if (!is_whole)
		kill(-pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!is_whole)
		return sfs_error_set(err, -ETIMEDOUT,
				     "credential_process of profile '%s': it did not end "
				     "within %d s, or wrote more than 64 KiB",
				     profile, PROCESS_S);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return sfs_error_set(
			err, -EIO, "credential_process of profile '%s': %s %d", profile,
			WIFEXITED(status) ? "exit status" : "killed by signal",
			WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
	return 0;
}
