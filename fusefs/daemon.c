/* SPDX-License-Identifier: MIT */
/* How this works: a pipe.  The child writes "\0" when it is ready, or its error.
 * Until it is ready its log goes to the terminal; then it goes to syslog, for the
 * descriptors 0 to 2 become /dev/null.  If the pipe ends without a word, the child
 * has exited.
 *
 * If the parent dies first, the kernel closes its end of the pipe and sends the child
 * SIGTERM (O_ASYNC), which ends it or, once it is mounted, unmounts it.  This holds for
 * every death, kill -9 too.  A parent-death signal would not do: it belongs to the main
 * thread, and the thread that reports success could not take it back.  A signal that the
 * parent can catch it hands on, and waits: when ^C has ended the command, nothing runs.
 * (The terminal signals both, which are one process group until then.)
 */
#include "daemon.h"

#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t child;
static volatile sig_atomic_t ended_by; /* 0: no signal has come */

static void end_child(int sig)
{
	ended_by = sig;
	kill(child, SIGTERM);
}

/* A second ^C ends the wait.  A signal that is ignored (nohup) stays ignored. */
static void hand_signals_on(void)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action = {.sa_handler = end_child,
				   .sa_flags = (int)SA_RESETHAND};
	struct sigaction was;
	size_t i;

	for (i = 0; i < sizeof signals / sizeof signals[0]; i++)
		if (sigaction(signals[i], NULL, &was) == 0 && was.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
}

/* Die of the signal, as if it had not been caught. */
static void die(int sig)
{
	sigset_t set;

	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	raise(sig);
	sigemptyset(&set);
	sigaddset(&set, sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	_exit(1);
}

static void wait_for_child(int fd)
{
	char text[2048];
	sigset_t all;
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
			break;
	}
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL); /* what comes now comes too late */
	if (ended_by)
		die(ended_by);
	if (n > 0 && text[0] == 0)
		_exit(0);
	text[n] = 0;
	if (n > 0) {
		sfs_error("%s", text);
	} else if (waitpid(child, &status, 0) == child && WIFSIGNALED(status)) {
		fprintf(stderr,
			"shufflefs: the daemon was killed by signal %d before it "
			"mounted\n",
			WTERMSIG(status));
	} else {
		fprintf(stderr, "shufflefs: the daemon exited before it mounted\n");
	}
	_exit(1);
}

/* Send us SIGTERM when the pipe has no reader any more. */
static void end_with_reader(int fd)
{
	struct pollfd p = {.fd = fd};
	sigset_t term;

	signal(SIGTERM, SIG_DFL);
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_UNBLOCK, &term, NULL);
	fcntl(fd, F_SETOWN, getpid());
	fcntl(fd, F_SETSIG, SIGTERM);
	fcntl(fd, F_SETFL, O_ASYNC);
	if (poll(&p, 1, 0) > 0 && (p.revents & POLLERR))
		_exit(1); /* it had died before */
}

void sfs_daemon_fork(int *ret_fd)
{
	int fds[2];

	/* 0 to 2 are taken, whoever started us: or a socket would become one of them. */
	do
		fds[0] = open("/dev/null", O_RDWR);
	while (fds[0] >= 0 && fds[0] < 3);
	close(fds[0]);
	if (pipe2(fds, O_CLOEXEC) < 0 || (child = fork()) < 0) {
		fprintf(stderr, "shufflefs: cannot start the daemon: %s\n",
			strerror(errno));
		exit(1);
	}
	if (child > 0) {
		close(fds[1]);
		hand_signals_on();
		wait_for_child(fds[0]);
	}
	close(fds[0]);
	end_with_reader(fds[1]);
	*ret_fd = fds[1];
}

void sfs_daemon_ready(int fd)
{
	int null;

	if (fd < 0)
		return;
	/* Not before the mount is made: who mounts for an automount point may look at it
	 * only in the process group of who asked for it. */
	setsid();
	sfs_log_use_syslog();
	if (chdir("/") < 0)
		sfs_warning("cannot change to the root folder: %s", strerror(errno));
	null = open("/dev/null", O_RDWR);
	dup2(null, 0);
	dup2(null, 1);
	dup2(null, 2);
	if (null > 2)
		close(null);
	fcntl(fd, F_SETFL, 0); /* from here on the parent may end */
	if (write(fd, "", 1) < 0)
		kill(getpid(), SIGTERM); /* it has, and not for this */
	close(fd);
}

void sfs_daemon_failed(int fd, const char *error)
{
	if (fd < 0 || write(fd, error, strlen(error)) < 0)
		sfs_error("%s", error);
}
