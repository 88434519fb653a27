/* SPDX-License-Identifier: MIT */
/* crash-report - tell run-test of a program of this build that dies by its own fault.
 *
 * run-test preloads it: a daemon that crashes in the background would otherwise show
 * only in what a test misses afterwards, if at all.  Signals that somebody sends are
 * not reported, and what another program dies of is not looked at. */
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[4096];

static void report(int number, siginfo_t *info, void *context)
{
	int sent_by_others = info->si_code == SI_USER && info->si_pid != getpid();
	char path[sizeof folder + 32];
	void *frames[64];
	int fd;

	(void)context;
	snprintf(path, sizeof path, "%s/crash.%d", folder, (int)getpid());
	fd = sent_by_others ? -1 : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (fd >= 0) {
		dprintf(fd, "%s[%d] died by signal %d (%s)\n", program_invocation_short_name,
			(int)getpid(), number, strsignal(number));
		backtrace_symbols_fd(frames, backtrace(frames, 64), fd);
		close(fd);
	}
	raise(number); /* now its default action: it dies as it would have */
}

static int is_of_this_build(void)
{
	const char *build = getenv("abs_top_builddir");
	char exe[4096];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);

	return build && n > 0 && strncmp(exe, build, strlen(build)) == 0;
}

__attribute__((constructor)) static void watch(void)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
	struct sigaction action = {.sa_sigaction = report, .sa_flags = SA_SIGINFO | SA_RESETHAND};
	const char *where = getenv("CRASH_REPORTS");
	size_t i;

	if (!where || strlen(where) >= sizeof folder || !is_of_this_build())
		return;
	strcpy(folder, where);
	for (i = 0; i < sizeof faults / sizeof faults[0]; i++)
		sigaction(faults[i], &action, NULL);
}
