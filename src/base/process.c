/* SPDX-License-Identifier: MIT */
/* How this works: both outputs are pipes, read until they end.  The program may close
 * them and run on, or end and leave them to another of its group, so there is one time
 * limit for all of it; then the group is killed.  The last part of the standard error is
 * kept, because that is where programs say what went wrong. */
#include "base/process.h"

#include "base/clock.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOK_MS	   100 /* at *is_stopped */
#define WAIT_MS	   10  /* for one that has closed its outputs */
#define SAID_BYTES 512 /* of its standard error are kept */

extern char **environ;

struct process {
	pid_t pid;
	int fds[2]; /* its standard output and error; -1: ended */
	char said[SAID_BYTES + 1];
	size_t n_said;
	uint64_t until_ns;
	const atomic_bool *is_stopped;
};

static int spawn(const char *command, const char *folder, const int *to, pid_t *ret_pid)
{
	char *const argv[] = {(char *)"sh", (char *)"-c", (char *)command, NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	int ret;

	sigemptyset(&none);
	sigfillset(&all); /* what we ignore it is not to ignore */
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, to[0], 1);
	posix_spawn_file_actions_adddup2(&actions, to[1], 2);
	if (folder)
		posix_spawn_file_actions_addchdir_np(&actions, folder);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawnattr_setpgroup(&attributes, 0);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK |
						      POSIX_SPAWN_SETSIGDEF |
						      POSIX_SPAWN_SETPGROUP);
	ret = -posix_spawn(ret_pid, "/bin/sh", &actions, &attributes, argv, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return ret;
}

static void close_both(int *fds)
{
	int i;

	for (i = 0; i < 2; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = -1;
	}
}

/* A pipe that stands on none of the descriptors 0 to 2, which are the program's own:
 * those of a daemon's parent may have been closed. */
static int make_pipe(int *ret_read, int *ret_write)
{
	int fds[2], above[2], i, ret = 0;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	for (i = 0; i < 2; i++) {
		above[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 3);
		ret = above[i] < 0 ? -errno : ret;
		close(fds[i]);
	}
	if (ret < 0)
		close_both(above);
	if (ret < 0)
		return ret;
	*ret_read = above[0];
	*ret_write = above[1];
	return 0;
}

static int start(struct process *p, const char *command, const char *folder)
{
	int to[2] = {-1, -1}, ret;

	ret = make_pipe(&p->fds[0], &to[0]);
	if (ret == 0)
		ret = make_pipe(&p->fds[1], &to[1]);
	if (ret == 0)
		ret = spawn(command, folder, to, &p->pid);
	close_both(to);
	if (ret < 0)
		close_both(p->fds);
	return ret;
}

static bool is_over(const struct process *p)
{
	return sfs_clock_ns() >= p->until_ns ||
	       (p->is_stopped && atomic_load(p->is_stopped));
}

/* Keep the end of what it says. */
static void hear(struct process *p, const char *bytes, size_t n)
{
	size_t room;

	if (n > SAID_BYTES) {
		bytes += n - SAID_BYTES;
		n = SAID_BYTES;
	}
	room = SAID_BYTES - p->n_said;
	if (n > room) {
		memmove(p->said, p->said + (n - room), p->n_said - (n - room));
		p->n_said -= n - room;
	}
	memcpy(p->said + p->n_said, bytes, n);
	p->n_said += n;
}

/* Take what has come; -EMSGSIZE: too much. */
static int take(struct process *p, int which, struct sfs_strbuf *text, size_t most)
{
	char bytes[4096];
	ssize_t n = read(p->fds[which], bytes, sizeof bytes);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	if (n <= 0) {
		close(p->fds[which]);
		p->fds[which] = -1;
		return 0;
	}
	if (which == 0)
		sfs_strbuf_add(text, bytes, (size_t)n);
	else
		hear(p, bytes, (size_t)n);
	explicit_bzero(bytes, (size_t)n);
	return text->n > most ? -EMSGSIZE : 0;
}

static int read_outputs(struct process *p, struct sfs_strbuf *text)
{
	const size_t most = text->n + SFS_PROCESS_MOST_BYTES;
	struct pollfd polled[2];
	int i, ret = 0;

	while (ret == 0 && (p->fds[0] >= 0 || p->fds[1] >= 0)) {
		if (is_over(p))
			return -ETIMEDOUT;
		for (i = 0; i < 2; i++)
			polled[i] = (struct pollfd){.fd = p->fds[i], .events = POLLIN};
		if (poll(polled, 2, LOOK_MS) <= 0)
			continue;
		for (i = 0; i < 2 && ret == 0; i++)
			if (p->fds[i] >= 0 && polled[i].revents)
				ret = take(p, i, text, most);
	}
	return ret;
}

/* Wait for its end; -ETIMEDOUT: it has none. */
static int wait_for_end(struct process *p, int *ret_status)
{
	pid_t got;

	while ((got = waitpid(p->pid, ret_status, WNOHANG)) != p->pid) {
		if (got < 0 && errno != EINTR)
			return -errno;
		if (is_over(p))
			return -ETIMEDOUT;
		poll(NULL, 0, WAIT_MS);
	}
	p->pid = 0;
	return 0;
}

static void kill_all(struct process *p)
{
	if (p->pid == 0)
		return;
	kill(-p->pid, SIGKILL);
	while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* The last line of its standard error that is not blank, with ": " before it. */
static const char *last_words(struct process *p)
{
	char *line;
	size_t n = p->n_said, i;

	while (n > 0 && isspace((unsigned char)p->said[n - 1]))
		n--;
	for (i = n; i > 0 && p->said[i - 1] != '\n';)
		i--;
	if (i == n)
		return "";
	line = p->said + i;
	line[n - i] = 0;
	for (i = 0; line[i]; i++)
		if (iscntrl((unsigned char)line[i]))
			line[i] = ' ';
	return line;
}

static int judge(struct process *p, int status, struct sfs_error *err)
{
	const char *said = last_words(p), *colon = *said ? ": " : "";

	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	return sfs_error_set(err, -EIO, "%s %d%s%s",
			     WIFEXITED(status) ? "exit status" : "killed by signal",
			     WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status),
			     colon, said);
}

int sfs_process_run(const char *command, const char *folder, uint64_t limit_ms,
		    const atomic_bool *is_stopped, struct sfs_strbuf *text,
		    struct sfs_error *err)
{
	struct process p = {.fds = {-1, -1},
			    .until_ns = sfs_clock_ns() + limit_ms * SFS_NS_PER_MS,
			    .is_stopped = is_stopped};
	int status = 0, ret;

	ret = start(&p, command, folder);
	if (ret < 0)
		return sfs_error_set(err, ret, "%s", strerror(-ret));
	ret = read_outputs(&p, text);
	if (ret == 0)
		ret = wait_for_end(&p, &status);
	close_both(p.fds);
	kill_all(&p);
	if (ret == -EMSGSIZE)
		return sfs_error_set(err, ret, "it wrote more than %d KiB",
				     SFS_PROCESS_MOST_BYTES >> 10);
	if (ret == -ETIMEDOUT)
		return sfs_error_set(err, ret, "it did not end within %llu s",
				     (unsigned long long)((limit_ms + 999) / 1000));
	if (ret < 0)
		return sfs_error_set(err, ret, "%s", strerror(-ret));
	return judge(&p, status, err);
}
