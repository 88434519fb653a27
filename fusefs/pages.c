/* SPDX-License-Identifier: MIT */
/* How this works: reads put their file into a queue when it may have a step; the thread
 * takes the steps out of its trail, one by one, and has the kernel drop each.
 *
 * That call waits, and cannot be killed, while a page of the step is being read.  A
 * worker of FUSE that waited there would not answer that read.  And if the process were
 * killed meanwhile, the descriptor would stay open and the mount would hang instead of
 * being dead.  So a step should hold no read that we know of: one far behind its reader
 * is a leap, and there are no steps any more.
 *
 * A mapping does not matter: its clean pages go, too, and the next access reads them
 * again. */
#include "pages.h"

#include "base/threadpool.h"

#include <errno.h>

struct sfs_paged_file {
	uint64_t node;
	struct sfs_trail trail;
	struct sfs_link link, queue_link;
};

void sfs_pages_init(struct sfs_pages *pages, uint64_t kept)
{
	*pages = (struct sfs_pages){.kept = kept};
	pthread_mutex_init(&pages->lock, NULL);
	pthread_cond_init(&pages->wake, NULL);
	sfs_list_init(&pages->files);
	sfs_list_init(&pages->queue);
}

void sfs_pages_done(struct sfs_pages *pages)
{
	pthread_cond_destroy(&pages->wake);
	pthread_mutex_destroy(&pages->lock);
}

/* ---- the thread ---- */

/* Wait for the next step.  false: stop. */
static bool next_step(struct sfs_pages *pages, uint64_t *ret_node, uint64_t *ret_offset)
{
	struct sfs_paged_file *file;
	bool is_found = false;

	pthread_mutex_lock(&pages->lock);
	while (!is_found && !pages->is_stopping) {
		struct sfs_link *link = sfs_list_pop(&pages->queue);

		if (!link) {
			pthread_cond_wait(&pages->wake, &pages->lock);
			continue;
		}
		file = sfs_container(link, struct sfs_paged_file, queue_link);
		is_found = sfs_trail_take(&file->trail, ret_offset);
		if (!is_found)
			continue;
		*ret_node = file->node;
		sfs_list_push(&pages->queue, link); /* there may be more */
	}
	pthread_mutex_unlock(&pages->lock);
	return is_found;
}

static void *drop_pages(void *arg)
{
	struct sfs_pages *pages = arg;
	uint64_t node, offset;

	/* The kernel may have forgotten the file: then there are no pages. */
	while (next_step(pages, &node, &offset))
		fuse_lowlevel_notify_inval_inode(pages->session, node, (off_t)offset,
						 (off_t)SFS_TRAIL_STEP);
	return NULL;
}

void sfs_pages_start(struct sfs_pages *pages, struct fuse_session *session)
{
	if (pages->kept == UINT64_MAX)
		return;
	pages->session = session;
	pages->thread = sfs_thread_start("sfs-pages", drop_pages, pages);
	pages->is_running = true;
}

void sfs_pages_stop(struct sfs_pages *pages)
{
	if (!pages->is_running)
		return;
	pthread_mutex_lock(&pages->lock);
	pages->is_stopping = true;
	pthread_cond_signal(&pages->wake);
	pthread_mutex_unlock(&pages->lock);
	pthread_join(pages->thread, NULL);
	pages->is_running = false;
}

/* ---- readers ---- */

static struct sfs_paged_file *find_file(struct sfs_pages *pages, uint64_t node)
{
	SFS_EACH (file, &pages->files, struct sfs_paged_file, link)
		if (file->node == node)
			return file;
	return NULL;
}

void sfs_pages_open(struct sfs_pages *pages, struct sfs_pages_reader *reader,
		    uint64_t node)
{
	struct sfs_paged_file *file;

	if (pages->kept == UINT64_MAX)
		return;
	pthread_mutex_lock(&pages->lock);
	file = find_file(pages, node);
	if (!file) {
		file = sfs_calloc(1, sizeof *file);
		file->node = node;
		sfs_trail_init(&file->trail, pages->kept);
		sfs_list_push(&pages->files, &file->link);
	}
	sfs_trail_join(&file->trail, &reader->walker);
	reader->file = file;
	pthread_mutex_unlock(&pages->lock);
}

/* Have the thread look at the file.  Locked. */
static void queue(struct sfs_pages *pages, struct sfs_paged_file *file)
{
	if (sfs_link_is_in(&file->queue_link))
		return;
	sfs_list_push(&pages->queue, &file->queue_link);
	pthread_cond_signal(&pages->wake);
}

void sfs_pages_read(struct sfs_pages *pages, struct sfs_pages_reader *reader,
		    uint64_t offset, uint64_t n)
{
	struct sfs_paged_file *file = reader->file;

	if (!file)
		return;
	pthread_mutex_lock(&pages->lock);
	if (sfs_trail_read(&file->trail, &reader->walker, offset, n))
		queue(pages, file);
	pthread_mutex_unlock(&pages->lock);
}

void sfs_pages_close(struct sfs_pages *pages, struct sfs_pages_reader *reader)
{
	struct sfs_paged_file *file = reader->file;

	if (!file)
		return;
	pthread_mutex_lock(&pages->lock);
	sfs_trail_leave(&file->trail, &reader->walker);
	if (!sfs_list_is_empty(&file->trail.walkers)) {
		queue(pages, file); /* it may have been the last to hold a step */
	} else {
		sfs_link_remove(&file->queue_link);
		sfs_link_remove(&file->link);
		free(file);
	}
	pthread_mutex_unlock(&pages->lock);
}
