/* SPDX-License-Identifier: MIT */
/* How this works: a pipe.  The child writes "\0" when it is ready, or its sentence.
 * Until it is ready its log goes to the terminal; then it goes to syslog, for the
 * descriptors 0 to 2 become /dev/null.  If the pipe ends without a word, the child
 * has died. */
#include "daemon.h"

#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void wait_for_child(pid_t pid, int fd)
{
	char text[2048];
	size_t n = 0;
	ssize_t got;
	int status;

	while (n < sizeof text - 1) {
		got = read(fd, text + n, sizeof text - 1 - n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		n += (size_t)got;
		if (text[0] == 0)
			_exit(0);
	}
	text[n] = 0;
	if (n > 0) {
		fprintf(stderr, "shufflefs: %s\n", text);
	} else if (waitpid(pid, &status, 0) == pid && WIFSIGNALED(status)) {
		fprintf(stderr,
			"shufflefs: the daemon died by signal %d before the mount "
			"was there\n",
			WTERMSIG(status));
	} else {
		fprintf(stderr,
			"shufflefs: the daemon ended before the mount was there\n");
	}
	_exit(1);
}

void sfs_daemon_fork(int *ret_fd)
{
	int fds[2];
	pid_t pid;

	/* 0 to 2 are taken, whoever started us: or a socket would become one of them. */
	do
		fds[0] = open("/dev/null", O_RDWR);
	while (fds[0] >= 0 && fds[0] < 3);
	close(fds[0]);
	if (pipe2(fds, O_CLOEXEC) < 0 || (pid = fork()) < 0) {
		fprintf(stderr, "shufflefs: cannot start the daemon: %s\n",
			strerror(errno));
		exit(1);
	}
	if (pid > 0) {
		close(fds[1]);
		wait_for_child(pid, fds[0]);
	}
	close(fds[0]);
	setsid();
	*ret_fd = fds[1];
}

void sfs_daemon_ready(int fd)
{
	int null;

	if (fd < 0)
		return;
	sfs_log_use_syslog();
	if (chdir("/") < 0)
		sfs_warning("cannot leave the folder it was started in");
	null = open("/dev/null", O_RDWR);
	dup2(null, 0);
	dup2(null, 1);
	dup2(null, 2);
	if (null > 2)
		close(null);
	if (write(fd, "", 1) < 0)
		sfs_warning("who started the mount has not waited for it");
	close(fd);
}

void sfs_daemon_failed(int fd, const char *sentence)
{
	if (fd < 0)
		fprintf(stderr, "shufflefs: %s\n", sentence);
	else if (write(fd, sentence, strlen(sentence)) < 0)
		sfs_error("%s", sentence);
}
