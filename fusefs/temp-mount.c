/* SPDX-License-Identifier: MIT */
/* How this works: every wait is one poll() for its own event, for the end of the daemon
 * (a pidfd) and for signals (a signalfd).  The daemon logs into memory, so that its error
 * can be reported as ours. */
#include "temp-mount.h"

#include "mountpoint.h"

#include "base/alloc.h"
#include "base/localfile.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOUNT_SECONDS 120 /* to be mounted; sources are asked first */
#define STOP_SECONDS  12  /* a daemon gives up after 10 */

/* ---- the child ---- */

/* The caller frees the array; its words are borrowed. */
static const char **make_argv(const struct sfs_strings *arguments, const char *folder)
{
	const char **argv = sfs_calloc((size_t)arguments->n + 5, sizeof *argv);
	int n = 0, i;

	argv[n++] = "shufflefs";
	argv[n++] = "mount";
	argv[n++] = "-f";
	for (i = 0; i < arguments->n; i++)
		argv[n++] = arguments->s[i];
	argv[n] = folder;
	return argv;
}

/* In the child.  Between fork and exec, only what signal handlers may do. */
static void become_daemon(const struct sfs_temp_mount *t, const char *program,
			  char **argv, pid_t parent)
{
	int null = open("/dev/null", O_RDONLY);

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(1);
	if (!sfs_localfile_stdin_is_kept()) /* it may hold the list of shards */
		dup2(null, 0);
	dup2(t->log_fd, 1);
	dup2(t->log_fd, 2);
	sigprocmask(SIG_SETMASK, &t->old_mask, NULL);
	execv(program, argv);
	execv("/proc/self/exe", argv);
	_exit(1);
}

/* Our own program, by name: a tool that runs it, such as valgrind, has another
 * /proc/self/exe. */
static char *find_program(void)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);

	if (n < 0)
		return sfs_strdup("/proc/self/exe");
	path[n] = 0;
	return sfs_strdup(path);
}

static int start_child(struct sfs_temp_mount *t, const struct sfs_strings *arguments,
		       struct sfs_error *err)
{
	sfs_autofree const char **argv = make_argv(arguments, t->folder);
	sfs_autofree char *program = find_program();
	pid_t parent = getpid();

	t->pid = fork();
	if (t->pid == 0)
		become_daemon(t, program, (char **)argv, parent);
	if (t->pid < 0)
		return sfs_error_set(err, -errno, "cannot start the daemon: %s",
				     strerror(errno));
	t->pid_fd = (int)syscall(SYS_pidfd_open, t->pid, 0);
	if (t->pid_fd < 0)
		return sfs_error_set(err, -errno, "cannot watch the daemon: %s",
				     strerror(errno));
	if (clock_getcpuclockid(t->pid, &t->cpu_clock) != 0)
		t->cpu_clock = CLOCK_REALTIME;
	return 0;
}

/* ---- waiting ---- */

static bool is_ready(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return fd >= 0 && poll(&p, 1, 0) > 0;
}

/* Wait for `events` of the descriptor. */
static int wait_for(struct sfs_temp_mount *t, int fd, short events, int timeout_ms)
{
	struct signalfd_siginfo signal;
	struct pollfd p[] = {{.fd = fd, .events = events},
			     {.fd = t->signal_fd, .events = POLLIN},
			     {.fd = t->pid_fd, .events = POLLIN}};

	poll(p, SFS_COUNT(p), timeout_ms);
	if (p[1].revents && read(t->signal_fd, &signal, sizeof signal) == sizeof signal)
		t->interrupted_by = (int)signal.ssi_signo;
	if (t->interrupted_by)
		return -EINTR;
	return p[2].revents ? -ECHILD : 0;
}

int sfs_temp_mount_wait(struct sfs_temp_mount *t, int fd, int timeout_ms)
{
	return wait_for(t, fd, POLLIN, timeout_ms);
}

static bool is_mounted(const struct sfs_temp_mount *t)
{
	struct sfs_mounted m;

	sfs_mountpoint_look(t->folder, &m);
	return strcmp(m.type, "fuse.shufflefs") == 0;
}

/* The kernel reports each change of its table of mounts. */
static int wait_until_mounted(struct sfs_temp_mount *t)
{
	int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC), i, ret = 0;

	for (i = 0; i < MOUNT_SECONDS && ret == 0 && !is_mounted(t); i++)
		ret = wait_for(t, fd, POLLPRI, 1000);
	if (fd >= 0)
		close(fd);
	return ret < 0 ? ret : is_mounted(t) ? 0 : -ETIMEDOUT;
}

/* ---- life ---- */

static int make_folder(struct sfs_temp_mount *t, struct sfs_error *err)
{
	const char *tmp = getenv("TMPDIR");
	sfs_autofree char *path =
		sfs_asprintf("%s/shufflefs-bench.XXXXXX", tmp && *tmp ? tmp : "/tmp");
	int ret;

	if (!mkdtemp(path))
		return sfs_error_set(err, -errno, "%s: %s", path, strerror(errno));
	ret = sfs_mountpoint_resolve(path, &t->folder, err);
	if (ret < 0)
		rmdir(path);
	return ret;
}

/* Signals that would end the process; ignored ones (nohup) stay ignored. */
static int hold_signals(struct sfs_temp_mount *t, struct sfs_error *err)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action;
	sigset_t set;
	size_t i;

	sigemptyset(&set);
	for (i = 0; i < SFS_COUNT(signals); i++)
		if (sigaction(signals[i], NULL, &action) == 0 &&
		    action.sa_handler != SIG_IGN)
			sigaddset(&set, signals[i]);
	pthread_sigmask(SIG_BLOCK, &set, &t->old_mask);
	t->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	t->log_fd = memfd_create("shufflefs-bench", MFD_CLOEXEC);
	if (t->signal_fd < 0 || t->log_fd < 0)
		return sfs_error_set(err, -errno, "cannot watch the daemon: %s",
				     strerror(errno));
	return 0;
}

int sfs_temp_mount_start(struct sfs_temp_mount *t, const struct sfs_strings *arguments,
			 struct sfs_error *err)
{
	int ret;

	*t = (struct sfs_temp_mount){.pid_fd = -1, .signal_fd = -1, .log_fd = -1};
	ret = hold_signals(t, err);
	/* Whether it may be opened here is reported by libfuse. */
	if (ret == 0 && access("/dev/fuse", F_OK) < 0)
		ret = sfs_error_set(err, -errno, "/dev/fuse: %s", strerror(errno));
	if (ret == 0)
		ret = make_folder(t, err);
	if (ret == 0)
		ret = start_child(t, arguments, err);
	if (ret < 0)
		return ret;
	ret = wait_until_mounted(t);
	if (ret == -ECHILD) {
		sfs_autofree char *words = sfs_temp_mount_last_words(t);

		sfs_error_set(err, ret, "%s", *words ? words : "the daemon exited");
	} else if (ret < 0) {
		sfs_error_set(err, ret, "the daemon did not mount: %s", strerror(-ret));
	}
	return ret;
}

double sfs_temp_mount_cpu_s(struct sfs_temp_mount *t)
{
	struct timespec used;

	if (t->cpu_clock != CLOCK_REALTIME && clock_gettime(t->cpu_clock, &used) == 0)
		t->cpu_s = (double)used.tv_sec + (double)used.tv_nsec / 1e9;
	return t->cpu_s;
}

char *sfs_temp_mount_last_words(const struct sfs_temp_mount *t)
{
	static const char prefix[] = "shufflefs: ";
	char text[2048], *line;
	struct stat st;
	off_t from;
	ssize_t n;

	if (t->log_fd < 0 || fstat(t->log_fd, &st) < 0)
		return sfs_strdup("");
	from = st.st_size > (off_t)sizeof text - 1 ? st.st_size - (off_t)sizeof text + 1
						   : 0;
	n = pread(t->log_fd, text, sizeof text - 1, from);
	n = n < 0 ? 0 : n;
	while (n > 0 && text[n - 1] == '\n')
		n--;
	text[n] = 0;
	line = strrchr(text, '\n');
	line = line ? line + 1 : text;
	if (strncmp(line, prefix, strlen(prefix)) == 0)
		line += strlen(prefix);
	return sfs_strdup(line);
}

void sfs_temp_mount_end(struct sfs_temp_mount *t)
{
	struct pollfd p = {.fd = t->pid_fd, .events = POLLIN};

	if (t->pid <= 0)
		return;
	sfs_temp_mount_cpu_s(t);
	t->cpu_clock = CLOCK_REALTIME;
	if (!is_ready(t->pid_fd)) {
		kill(t->pid, SIGTERM);
		if (t->pid_fd < 0 || poll(&p, 1, 1000 * STOP_SECONDS) <= 0)
			kill(t->pid, SIGKILL);
	}
	while (waitpid(t->pid, NULL, 0) < 0 && errno == EINTR)
		;
	t->pid = 0;
}

/* Remove what a daemon leaves that had to be killed. */
static void remove_folder(struct sfs_temp_mount *t)
{
	struct sfs_error err = {0};

	if (is_mounted(t) && sfs_mountpoint_unmount(t->folder, true, &err) < 0)
		sfs_warning("%s", err.text);
	if (rmdir(t->folder) < 0)
		sfs_warning("cannot remove %s: %s", t->folder, strerror(errno));
	free(steal(&t->folder));
}

void sfs_temp_mount_stop(struct sfs_temp_mount *t)
{
	sfs_temp_mount_end(t);
	if (t->folder)
		remove_folder(t);
	/* A signal that arrived meanwhile counts, too. */
	wait_for(t, -1, 0, 0);
	if (t->pid_fd >= 0)
		close(t->pid_fd);
	if (t->log_fd >= 0)
		close(t->log_fd);
	if (t->signal_fd >= 0)
		close(t->signal_fd);
	pthread_sigmask(SIG_SETMASK, &t->old_mask, NULL);
}
