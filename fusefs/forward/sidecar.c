/* SPDX-License-Identifier: MIT */
/* How this works: posix_spawn(), because a fork of a process with much memory is slow.
 * The child has standard input and output at /dev/null, standard error at 2, the stream
 * at 3, its reports at 4, no other descriptor, no blocked signal, and a process group of
 * its own: a Ctrl-C for the mount is not for it, and whatever it starts ends with it. */
#include "forward/sidecar.h"

#include "base/alloc.h"
#include "options/options.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_ARGS (SFS_SIDECAR_OPTIONS + 7)

extern char **environ;

enum { CHILD_STREAM = 3, CHILD_REPORT, CHILD_END }; /* descriptors */

/* $SHUFFLEFS_SIDECAR; or beside our own program; or where it is installed. */
static char *find_program(void)
{
	const char *path = getenv("SHUFFLEFS_SIDECAR");
	char own[PATH_MAX], *slash;
	ssize_t n;

	if (path && *path)
		return sfs_strdup(path);
	n = readlink("/proc/self/exe", own, sizeof own - 1);
	if (n > 0) {
		own[n] = 0;
		slash = strrchr(own, '/');
		sfs_autofree char *beside =
			sfs_asprintf("%.*s/shufflefs-sidecar", (int)(slash - own), own);

		if (access(beside, X_OK) == 0)
			return steal(&beside);
	}
	return sfs_strdup(BINDIR "/shufflefs-sidecar");
}

/* ---- its arguments ---- */

struct args {
	char *s[MAX_ARGS + 1];
	int n;
};

static void add(struct args *args, char *s)
{
	assert(args->n < MAX_ARGS);
	args->s[args->n++] = s;
}

bool sfs_sidecar_gives_samples(const char *target)
{
	return strncmp(target, "samples:", strlen("samples:")) == 0;
}

static void make_args(const struct shufflefs_forward *f, const char *name,
		      bool with_pieces, struct args *args)
{
	char *option;
	int i;

	add(args, sfs_strdup("shufflefs-sidecar"));
	add(args, sfs_strdup("send"));
	for (i = 0; i < SFS_SIDECAR_OPTIONS; i++) {
		option = sfs_sidecar_option_of_forward((enum sfs_sidecar_option_id)i, f);
		if (option)
			add(args, option);
	}
	add(args,
	    sfs_asprintf("--%s-fd=%d", with_pieces ? "pieces" : "stream", CHILD_STREAM));
	add(args, sfs_asprintf("--report-fd=%d", CHILD_REPORT));
	add(args, sfs_strdup("--"));
	add(args, sfs_strdup(name));
	add(args, sfs_strdup(f->target));
}

static void free_args(struct args *args)
{
	while (args->n > 0)
		free(args->s[--args->n]);
}

/* ---- its descriptors ---- */

struct ends {
	int stream, report, log; /* the child's */
};

/* A number that none of the child's has.  Takes `fd`. */
static int move_up(int fd)
{
	int up = fcntl(fd, F_DUPFD_CLOEXEC, CHILD_END);

	close(fd);
	return up;
}

/* A pipe; the end that we read does not block. */
static int open_pipe(int *ret_ours, int *ret_childs)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	*ret_ours = fds[0];
	*ret_childs = move_up(fds[1]);
	return 0;
}

static int open_ends(struct sfs_sidecar *s, struct ends *childs)
{
	int fds[2], ret;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return -errno;
	s->stream_fd = fds[0];
	childs->stream = move_up(fds[1]);
	ret = open_pipe(&s->report_fd, &childs->report);
	if (ret == 0)
		ret = open_pipe(&s->log_fd, &childs->log);
	return ret;
}

static void close_end(int fd)
{
	if (fd >= 0)
		close(fd);
}

/* ---- start ---- */

/* Returns a positive errno, as posix_spawn() does. */
static int spawn(const char *program, char **argv, const struct ends *ends,
		 pid_t *ret_pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none, all;
	int ret;

	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &all);
	posix_spawnattr_setpgroup(&attr, 0);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
						POSIX_SPAWN_SETPGROUP);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, ends->log, 2);
	posix_spawn_file_actions_adddup2(&actions, ends->stream, CHILD_STREAM);
	posix_spawn_file_actions_adddup2(&actions, ends->report, CHILD_REPORT);
	posix_spawn_file_actions_addclosefrom_np(&actions, CHILD_END);
	ret = posix_spawn(ret_pid, program, &actions, &attr, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	return ret;
}

static int start(struct sfs_sidecar *s, const struct ends *ends, struct args *args,
		 struct sfs_error *err)
{
	sfs_autofree char *program = find_program();
	int ret = spawn(program, args->s, ends, &s->pid);

	if (ret != 0)
		return sfs_error_set(err, -ret, "cannot start %s: %s", program,
				     strerror(ret));
	s->pid_fd = (int)syscall(SYS_pidfd_open, s->pid, 0);
	if (s->pid_fd >= 0)
		return 0;
	ret = -errno;
	kill(s->pid, SIGKILL);
	waitpid(s->pid, NULL, 0);
	return sfs_error_set(err, ret, "cannot watch the sidecar: %s", strerror(-ret));
}

int sfs_sidecar_start(const struct shufflefs_forward *wanted, const char *name,
		      bool with_pieces, struct sfs_sidecar *ret_sidecar,
		      struct sfs_error *err)
{
	struct sfs_sidecar s = {0, -1, -1, -1, -1};
	struct ends ends = {-1, -1, -1};
	struct args args = {.n = 0};
	int ret;

	ret = open_ends(&s, &ends);
	if (ret < 0)
		sfs_error_set(err, ret, "cannot start the sidecar: %s", strerror(-ret));
	make_args(wanted, name, with_pieces, &args);
	if (ret == 0)
		ret = start(&s, &ends, &args, err);
	free_args(&args);
	close_end(ends.stream);
	close_end(ends.report);
	close_end(ends.log);
	if (ret < 0)
		sfs_sidecar_close(&s);
	else
		*ret_sidecar = s;
	return ret;
}

void sfs_sidecar_close(struct sfs_sidecar *s)
{
	close_end(s->pid_fd);
	close_end(s->stream_fd);
	close_end(s->report_fd);
	close_end(s->log_fd);
}
