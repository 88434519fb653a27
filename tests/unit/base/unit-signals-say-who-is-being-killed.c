/* SPDX-License-Identifier: MIT */
/* A thread is being killed if SIGKILL is pending for it, or a signal whose default
 * action ends it; not by one that it blocks, ignores or handles, nor by one that
 * only stops it. */
#include "base/signals.h"
#include "check.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define BIT(signal) (1ULL << ((signal)-1))

struct set {
	unsigned long long own, shared, blocked, ignored, caught;
	int tracer;
};

static enum sfs_signals judge(struct set s)
{
	char text[1024];

	snprintf(text, sizeof text,
		 "Name:\tSigPnd:\nState:\tD (disk sleep)\nTgid:\t7\nPid:\t8\n"
		 "TracerPid:\t%d\nThreads:\t2\nSigQ:\t0/1\nSigPnd:\t%016llx\n"
		 "ShdPnd:\t%016llx\nSigBlk:\t%016llx\nSigIgn:\t%016llx\n"
		 "SigCgt:\t%016llx\nCapInh:\t0\n",
		 s.tracer, s.own, s.shared, s.blocked, s.ignored, s.caught);
	return sfs_signals_judge(text);
}

static void by_the_text(void)
{
	static const int stops[] = {SIGSTOP, SIGTSTP, SIGTTIN,	SIGTTOU,
				    SIGCONT, SIGCHLD, SIGWINCH, SIGURG};
	static const int ends[] = {SIGTERM, SIGINT,  SIGHUP,  SIGQUIT, SIGABRT,
				   SIGALRM, SIGPIPE, SIGUSR1, SIGXCPU, 64};
	unsigned long long bit;
	size_t i;

	CHECK_EQ(judge((struct set){0}), SFS_SIGNALS_NONE);
	CHECK_EQ(judge((struct set){.own = BIT(SIGKILL)}), SFS_SIGNALS_KILL);
	CHECK_EQ(judge((struct set){.own = BIT(SIGKILL), .tracer = 3}), SFS_SIGNALS_KILL);
	for (i = 0; i < sizeof stops / sizeof stops[0]; i++) {
		bit = BIT(stops[i]);
		CHECK_EQ(judge((struct set){.own = bit}), SFS_SIGNALS_NONE);
		CHECK_EQ(judge((struct set){.shared = bit}), SFS_SIGNALS_NONE);
	}
	for (i = 0; i < sizeof ends / sizeof ends[0]; i++) {
		bit = BIT(ends[i]);
		CHECK_EQ(judge((struct set){.own = bit}), SFS_SIGNALS_KILL);
		CHECK_EQ(judge((struct set){.shared = bit}), SFS_SIGNALS_KILL);
		CHECK_EQ(judge((struct set){.shared = bit, .caught = bit}),
			 SFS_SIGNALS_CAUGHT);
		CHECK_EQ(judge((struct set){.own = bit, .blocked = bit}),
			 SFS_SIGNALS_NONE);
		CHECK_EQ(judge((struct set){.shared = bit, .ignored = bit}),
			 SFS_SIGNALS_NONE);
		CHECK_EQ(judge((struct set){.shared = bit, .caught = bit, .blocked = bit}),
			 SFS_SIGNALS_NONE);
		/* Its tracer may take the signal away. */
		CHECK_EQ(judge((struct set){.shared = bit, .tracer = 3}),
			 SFS_SIGNALS_NONE);
		CHECK_EQ(judge((struct set){.shared = bit | BIT(SIGUSR2),
					    .caught = BIT(SIGUSR2)}),
			 SFS_SIGNALS_KILL);
	}
	CHECK_EQ(sfs_signals_judge(""), SFS_SIGNALS_UNKNOWN);
	CHECK_EQ(sfs_signals_judge("SigPnd:\t0\nShdPnd:\t0\n"), SFS_SIGNALS_UNKNOWN);
}

static sem_t started;
static pid_t tid;

static void *sleep_on(void *arg)
{
	tid = (pid_t)syscall(SYS_gettid);
	sem_post(&started);
	pause();
	return NULL;
}

/* A child that is stopped cannot take what is pending for it. */
static void of_a_process(void)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		pause();
		_exit(0);
	}
	CHECK_EQ(kill(child, SIGSTOP), 0);
	CHECK_EQ(waitpid(child, &status, WUNTRACED), child);
	CHECK_EQ(sfs_signals_of(child), SFS_SIGNALS_NONE);
	/* (Sanitizers catch SIGABRT, and valgrind any that kills.) */
	CHECK_EQ(kill(child, SIGXCPU), 0);
	if (!getenv("UNDER_VALGRIND"))
		CHECK_EQ(sfs_signals_of(child), SFS_SIGNALS_KILL);
	CHECK_EQ(kill(child, SIGKILL), 0);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	CHECK_EQ(sfs_signals_of(child), SFS_SIGNALS_UNKNOWN);
	CHECK_EQ(sfs_signals_of(0), SFS_SIGNALS_UNKNOWN);
}

int main(void)
{
	pthread_t thread;

	by_the_text();
	of_a_process();
	/* Threads that do not lead their process, too. */
	sem_init(&started, 0, 0);
	CHECK_EQ(pthread_create(&thread, NULL, sleep_on, NULL), 0);
	sem_wait(&started);
	CHECK(tid != getpid());
	CHECK_EQ(sfs_signals_of(tid), SFS_SIGNALS_NONE);
	return 0;
}
