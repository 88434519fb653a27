/* SPDX-License-Identifier: MIT */
/* How this works: all threads block the three signals, so they stay with the process
 * until the one thread takes them. */
#include "daemon-signals.h"

#include "base/alloc.h"
#include "base/threadpool.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

static const int ignored[] = {SIGPIPE, SIGUSR1, SIGUSR2, SIGQUIT,   SIGALRM, SIGVTALRM,
			      SIGPROF, SIGPOLL, SIGPWR,	 SIGSTKFLT, SIGXFSZ};
static const int kept[] = {SIGTERM, SIGINT, SIGHUP};

static struct {
	struct sfs_daemon_signals calls;
	sigset_t set;
	pthread_t thread;
	atomic_bool is_ending;
} own;

void sfs_daemon_signals_ignore(void)
{
	size_t i;
	int n;

	for (i = 0; i < SFS_COUNT(ignored); i++)
		signal(ignored[i], SIG_IGN);
	for (n = SIGRTMIN; n <= SIGRTMAX; n++)
		signal(n, SIG_IGN);
}

/* A signal that is blocked is kept even if it is ignored. */
static bool is_ignored(int number)
{
	struct sigaction now;

	return number != SIGHUP && sigaction(number, NULL, &now) == 0 &&
	       now.sa_handler == SIG_IGN;
}

void sfs_daemon_signals_block(void)
{
	size_t i;

	sigemptyset(&own.set);
	for (i = 0; i < SFS_COUNT(kept); i++)
		if (!is_ignored(kept[i]))
			sigaddset(&own.set, kept[i]);
	pthread_sigmask(SIG_BLOCK, &own.set, NULL);
}

static void *signals_run(void *arg)
{
	bool has_stopped = false;
	int number;

	for (;;) {
		if (sigwait(&own.set, &number) != 0)
			continue;
		if (atomic_load(&own.is_ending))
			return NULL;
		if (number == SIGHUP) {
			own.calls.reload(own.calls.ctx);
		} else if (!has_stopped) {
			has_stopped = true;
			own.calls.stop(own.calls.ctx);
		}
	}
}

void sfs_daemon_signals_start(const struct sfs_daemon_signals *signals)
{
	own.calls = *signals;
	own.thread = sfs_thread_start("sfs-signals", signals_run, NULL);
}

void sfs_daemon_signals_stop(void)
{
	atomic_store(&own.is_ending, true);
	pthread_kill(own.thread, SIGHUP);
	pthread_join(own.thread, NULL);
}

void sfs_daemon_signals_unblock(void)
{
	size_t i;

	for (i = 0; i < SFS_COUNT(kept); i++)
		if (!is_ignored(kept[i]))
			signal(kept[i], SIG_DFL);
	pthread_sigmask(SIG_UNBLOCK, &own.set, NULL);
}
