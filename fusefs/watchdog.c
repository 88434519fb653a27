/* SPDX-License-Identifier: MIT */
/* How this works: a thread sleeps on a semaphore, then for ten seconds.
 *
 * If the process exits by force, its mount would stay, dead.  So it is unmounted, if it
 * is still the topmost mount there.  (Once it is unmounted, a new mount there may have its
 * device number.)  Before that its connection is aborted: a thread of
 * ours may wait in the kernel for a page that a request of another reader has locked
 * (pages.h).  Nobody answers that any more, and neither SIGKILL nor _exit() nor a lazy
 * unmount ends such a wait: the thread keeps the process, and that the connection, and
 * all of them and the reader would stay for ever. */
#include "watchdog.h"

#include "mountpoint.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/threadpool.h"

#include <errno.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define LAST_SECONDS 3

static struct {
	const char *where;
	int fd;
	atomic_bool is_unmounting, is_unmounted;
	struct sfs_mounted mounted;
	sem_t stopping;
} watchdog;

static void remove_mount(void)
{
	struct sfs_mounted now;
	struct sfs_error err;

	if (atomic_load(&watchdog.is_unmounted))
		return;
	sfs_mountpoint_look(watchdog.where, &now);
	if (strcmp(now.device, watchdog.mounted.device) == 0)
		sfs_mountpoint_unmount(watchdog.where, true, &err);
}

/* When a connection has ended, another mount may get its number. */
void sfs_watchdog_abort(void)
{
	struct pollfd p = {.fd = watchdog.fd, .events = POLLIN};

	if (atomic_load(&watchdog.is_unmounting) || poll(&p, 1, 0) < 0 ||
	    (p.revents & (POLLERR | POLLNVAL)))
		return;
	sfs_mountpoint_abort(watchdog.where, &watchdog.mounted);
}

static void *watch(void *arg)
{
	sigset_t set;

	while (sem_wait(&watchdog.stopping) < 0 && errno == EINTR)
		;
	sleep(SFS_STOP_SECONDS);
	/* What hangs may hold locks that are needed below. */
	signal(SIGALRM, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	alarm(LAST_SECONDS);
	sfs_watchdog_abort();
	sfs_error("still running %d s after the signal to stop; exiting by force",
		  SFS_STOP_SECONDS);
	remove_mount();
	_exit(1);
	return NULL;
}

void sfs_watchdog_start(const char *where, int fd)
{
	watchdog.where = where;
	watchdog.fd = fd;
	sfs_mountpoint_look(where, &watchdog.mounted);
	sem_init(&watchdog.stopping, 0, 0);
	pthread_detach(sfs_thread_start("sfs-watch", watch, NULL));
}

void sfs_watchdog_wake(void)
{
	sem_post(&watchdog.stopping);
}

void sfs_watchdog_unmounting(void)
{
	atomic_store(&watchdog.is_unmounting, true);
}

void sfs_watchdog_unmounted(void)
{
	atomic_store(&watchdog.is_unmounted, true);
}
