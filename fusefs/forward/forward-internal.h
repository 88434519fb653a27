/* SPDX-License-Identifier: MIT */
/* forward-internal - what forward.c (the calls) and forward-watch.c (the thread that
 * looks after all sessions) share. */
#ifndef SFS_FORWARD_INTERNAL_H
#define SFS_FORWARD_INTERNAL_H

#include "forward/feeder.h"
#include "forward/forward.h"
#include "forward/report.h"
#include "forward/sidecar.h"

#include "base/list.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>

/* Bytes that a child has written, up to the end of a line. */
struct sfs_forward_lines {
	char bytes[16384];
	size_t n;
};

struct sfs_forward {
	struct sfs_forwards *all;
	uint64_t node;

	/* The watching thread's, from start to the end of the session. */
	struct sfs_link link; /* in `running`; guarded by all->lock */
	struct sfs_sidecar sidecar;
	struct sfs_feeder feeder;
	char *path;
	struct sfs_forward_lines report_lines, log_lines;
	struct sfs_reports reports;
	struct sfs_error last_said; /* on standard error */
	bool is_reaped, was_asked;
	int exit;	  /* as in struct shufflefs_status */
	uint64_t kill_ns; /* when it is killed; 0: never */
	uint32_t said_state;

	/* Guarded by all->lock. */
	struct shufflefs_status status;
	struct sfs_link waiters;
	uint64_t first;	   /* of the next session */
	char target[1024]; /* of the last */
	bool must_end, must_end_at_once, is_free;
};

struct sfs_forwards {
	struct sfs_tree *tree;
	bool (*is_mounted)(void *arg);
	void *arg;
	int wake_fd;
	int mounts_fd; /* the table of mounts; -1: it cannot tell whether ours is there */
	pthread_t thread;

	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t is_empty;
	struct sfs_link running;
	uint32_t n_started;
	bool has_thread, is_stopped;
};

/* The watching thread; it ends when all is stopped and nothing runs any more. */
void *sfs_forward_watch(void *all);

/* With the lock.  None can be started from here on, and all are to end. */
static inline void sfs_forward_end_all(struct sfs_forwards *all)
{
	all->is_stopped = true;
	SFS_EACH (f, &all->running, struct sfs_forward, link)
		f->must_end = true;
}

/* Have it look again. */
static inline void sfs_forward_wake(struct sfs_forwards *all)
{
	eventfd_write(all->wake_fd, 1);
}

#endif
