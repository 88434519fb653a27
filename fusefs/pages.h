/* SPDX-License-Identifier: MIT */
/* pages - drops the pages of streams that all readers have left behind (tree/trail.h).
 *
 * The kernel is asked by a thread of its own, which may wait: for a page that is being
 * read, until the read is answered.  Any thread may call, but sfs_pages_start() and
 * sfs_pages_stop() only the one that runs the session.
 */
#ifndef SFS_PAGES_H
#define SFS_PAGES_H

#define FUSE_USE_VERSION FUSE_MAKE_VERSION(3, 12)
#include <fuse_lowlevel.h>

#include "tree/trail.h"

#include <pthread.h>

struct sfs_paged_file;

/* One open file; zero: its pages are not dropped. */
struct sfs_pages_reader {
	struct sfs_paged_file *file;
	struct sfs_walker walker;
};

struct sfs_pages {
	uint64_t kept; /* behind each reader; UINT64_MAX: all */
	struct fuse_session *session;
	pthread_t thread;
	bool is_running;

	pthread_mutex_t lock;  /* guards all below, and the trails */
	pthread_cond_t wake;   /* of the thread */
	struct sfs_link files; /* open ones */
	struct sfs_link queue; /* files that may have a step */
	bool is_stopping;
};

void sfs_pages_init(struct sfs_pages *pages, uint64_t kept);
void sfs_pages_done(struct sfs_pages *pages);

/* Until sfs_pages_start() nothing is dropped. */
void sfs_pages_start(struct sfs_pages *pages, struct fuse_session *session);
void sfs_pages_stop(struct sfs_pages *pages);

/* A stream was opened for reads through the page cache, reads, and is closed.  All but
 * the first do nothing if the reader is zero. */
void sfs_pages_open(struct sfs_pages *pages, struct sfs_pages_reader *reader,
		    uint64_t node);
void sfs_pages_read(struct sfs_pages *pages, struct sfs_pages_reader *reader,
		    uint64_t offset, uint64_t n);
void sfs_pages_close(struct sfs_pages *pages, struct sfs_pages_reader *reader);

#endif
