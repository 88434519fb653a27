/* SPDX-License-Identifier: MIT */
/* feeder - writes a file of the tree into a socket, in a thread of its own.
 *
 * What the other end reads is the whole file, or a part of it without its end.  It reads
 * bytes or, with `with_pieces`, records of base/pieces.h: then the file's bytes stay in
 * the slabs until they are released, some megabytes at a time. */
#ifndef SFS_FEEDER_H
#define SFS_FEEDER_H

#include "base/error.h"
#include "base/waiter.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct sfs_tree;

struct sfs_feeder {
	/* Set by the user before start. */
	struct sfs_tree *tree;
	uint64_t node;
	const char *path;    /* borrowed; for messages */
	int fd;		     /* of a stream socket; borrowed until join */
	bool with_pieces;    /* the slabs can be shared */
	int wake_fd;	     /* an eventfd that is written when it has ended */
	uint64_t timeout_ms; /* an answer of the source may take so long */

	/* The result, once has_ended is true. */
	atomic_bool has_ended;
	struct sfs_error error; /* "": none.  It is there before the socket is cut. */

	/* Private. */
	pthread_t thread;
	struct sfs_waiter waiter;
	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t wake;
	bool is_stopped, has_answer;
	int answer;
};

void sfs_feeder_start(struct sfs_feeder *feeder);

/* Cut the socket, and end soon.  Does not wait; may be called again. */
void sfs_feeder_stop(struct sfs_feeder *feeder);

/* Wait until it has ended. */
void sfs_feeder_join(struct sfs_feeder *feeder);

#endif
