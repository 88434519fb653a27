/* SPDX-License-Identifier: MIT */
/* How this works: a thread sleeps on a semaphore, which a signal handler may post.
 * libfuse ends its loop with a handler that sets a flag; then it joins its threads, and
 * if one of them hangs, main hangs too.  So our handler runs first, and calls that of
 * libfuse.
 *
 * If the process exits by force, its mount would stay, dead.  So it is unmounted, if it
 * is still the topmost mount there. */
#include "watchdog.h"

#include "mountpoint.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/threadpool.h"

#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define LAST_SECONDS 3

static const int signals[] = {SIGHUP, SIGINT, SIGTERM};

static struct {
	const char *where;
	struct sfs_mounted mounted;
	sem_t stopping;
	struct sigaction before[SFS_COUNT(signals)];
} watchdog;

static void remove_mount(void)
{
	struct sfs_mounted now;
	struct sfs_error err;

	sfs_mountpoint_look(watchdog.where, &now);
	if (strcmp(now.device, watchdog.mounted.device) == 0)
		sfs_mountpoint_unmount(watchdog.where, true, &err);
}

static void *watch(void *arg)
{
	while (sem_wait(&watchdog.stopping) < 0 && errno == EINTR)
		;
	sleep(SFS_STOP_SECONDS);
	alarm(LAST_SECONDS); /* what hangs may hold locks that are needed below */
	sfs_error("still running %d s after the signal to stop; exiting by force",
		  SFS_STOP_SECONDS);
	remove_mount();
	_exit(1);
	return NULL;
}

static void on_signal(int number)
{
	int saved = errno;
	size_t i;

	sem_post(&watchdog.stopping);
	for (i = 0; i < SFS_COUNT(signals); i++)
		if (signals[i] == number)
			watchdog.before[i].sa_handler(number);
	errno = saved;
}

void sfs_watchdog_start(const char *where)
{
	const struct sigaction ours = {.sa_handler = on_signal};
	struct sigaction *before;
	size_t i;

	watchdog.where = where;
	sfs_mountpoint_look(where, &watchdog.mounted);
	sem_init(&watchdog.stopping, 0, 0);
	pthread_detach(sfs_thread_start("sfs-watch", watch, NULL));
	for (i = 0; i < SFS_COUNT(signals); i++) {
		before = &watchdog.before[i];
		if (sigaction(signals[i], NULL, before) == 0 &&
		    before->sa_handler != SIG_IGN && before->sa_handler != SIG_DFL)
			sigaction(signals[i], &ours, NULL);
	}
}

void sfs_watchdog_wake(void)
{
	sem_post(&watchdog.stopping);
}

void sfs_watchdog_release_signals(void)
{
	const struct sigaction none = {.sa_handler = SIG_DFL};
	struct sigaction now;
	size_t i;

	for (i = 0; i < SFS_COUNT(signals); i++)
		if (sigaction(signals[i], NULL, &now) == 0 && now.sa_handler == on_signal)
			sigaction(signals[i], &none, NULL);
}
