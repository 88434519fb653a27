/* SPDX-License-Identifier: MIT */
/* How this works: calls start a session, or leave a wish under the lock and wake the
 * thread that watches all sessions (forward-watch.c), which is started with the first. */
#include "forward/forward-internal.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/threadpool.h"
#include "engine/engine.h"
#include "memory/slab.h"
#include "tree/epochs.h"
#include "tree/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_running(const struct sfs_forward *f)
{
	return sfs_link_is_in(&f->link);
}

/* ---- all sessions ---- */

struct sfs_forwards *sfs_forwards_new(struct sfs_tree *tree,
				      bool (*is_mounted)(void *arg), void *arg)
{
	struct sfs_forwards *all = sfs_calloc(1, sizeof *all);

	all->tree = tree;
	all->is_mounted = is_mounted;
	all->arg = arg;
	all->mounts_fd = -1;
	all->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&all->lock, NULL);
	pthread_cond_init(&all->is_empty, NULL);
	sfs_list_init(&all->running);
	return all;
}

void sfs_forwards_stop(struct sfs_forwards *all)
{
	pthread_mutex_lock(&all->lock);
	sfs_forward_end_all(all);
	sfs_forward_wake(all);
	while (!sfs_list_is_empty(&all->running))
		pthread_cond_wait(&all->is_empty, &all->lock);
	pthread_mutex_unlock(&all->lock);
	sfs_forward_wake(all);
	if (all->has_thread)
		pthread_join(all->thread, NULL);
	all->has_thread = false;
}

void sfs_forwards_free(struct sfs_forwards *all)
{
	close(all->wake_fd);
	if (all->mounts_fd >= 0)
		close(all->mounts_fd);
	pthread_cond_destroy(&all->is_empty);
	pthread_mutex_destroy(&all->lock);
	free(all);
}

/* ---- one ---- */

struct sfs_forward *sfs_forward_new(struct sfs_forwards *all, uint64_t node)
{
	struct sfs_forward *f = sfs_calloc(1, sizeof *f);

	f->all = all;
	f->node = node;
	sfs_list_init(&f->waiters);
	return f;
}

void sfs_forward_free(struct sfs_forward *f)
{
	bool is_now;

	if (!f)
		return;
	pthread_mutex_lock(&f->all->lock);
	is_now = !is_running(f);
	f->is_free = f->must_end = true;
	if (!is_now)
		sfs_forward_wake(f->all);
	pthread_mutex_unlock(&f->all->lock);
	if (is_now)
		free(f);
}

/* Before a session: as if there had been none. */
static void forget_last(struct sfs_forward *f)
{
	f->report_lines.n = f->log_lines.n = 0;
	f->reports = (struct sfs_reports){0};
	f->last_said.text[0] = 0;
	f->is_reaped = f->was_asked = f->must_end = f->must_end_at_once = false;
	f->exit = 0;
	f->kill_ns = 0;
	f->said_state = SHUFFLEFS_NONE;
	f->status = (struct shufflefs_status){.ret_state = SHUFFLEFS_NONE};
}

/* From the first session on, slabs are shared, if the system lets us. */
static bool can_share(const struct sfs_forwards *all)
{
	uint64_t n_bytes;
	int fd, ret;

	ret = sfs_slabs_share(sfs_tree_engine(all->tree)->runtime.slabs, &fd, &n_bytes);
	if (ret == 0)
		close(fd);
	return ret == 0;
}

static void start_feeder(struct sfs_forward *f, uint64_t node, bool with_pieces)
{
	struct sfs_tree *tree = f->all->tree;

	f->feeder.tree = tree;
	f->feeder.node = node;
	f->feeder.path = f->path;
	f->feeder.fd = f->sidecar.stream_fd;
	f->feeder.wake_fd = f->all->wake_fd;
	f->feeder.with_pieces = with_pieces;
	f->feeder.timeout_ms = sfs_tree_engine(tree)->options->read_timeout_ms;
	sfs_feeder_start(&f->feeder);
}

/* Start child, feeder and, with the first, the thread; the lock is held.
 * *path is taken. */
static int start_session(struct sfs_forward *f, const struct shufflefs_forward *wanted,
			 uint64_t node, char **path, bool with_pieces,
			 struct sfs_error *err)
{
	struct sfs_forwards *all = f->all;
	int ret;

	if (all->is_stopped)
		return sfs_error_set(err, -ESHUTDOWN, "the mount is being unmounted");
	if (is_running(f))
		return sfs_error_set(err, -EBUSY,
				     "this file is being forwarded already: stop that "
				     "first, or open the file again");
	ret = sfs_sidecar_start(wanted, *path, with_pieces, &f->sidecar, err);
	if (ret < 0)
		return ret;
	forget_last(f);
	f->path = steal(path);
	snprintf(f->target, sizeof f->target, "%s", wanted->target);
	f->status.ret_session = ++all->n_started;
	f->status.ret_state = SHUFFLEFS_CONNECTING;
	f->status.ret_pid = f->sidecar.pid;
	f->status.ret_next = wanted->first;
	start_feeder(f, node, with_pieces);
	sfs_list_push(&all->running, &f->link);
	if (!all->has_thread && all->is_mounted(all->arg))
		all->mounts_fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	if (!all->has_thread)
		all->thread = sfs_thread_start("sfs-forward", sfs_forward_watch, all);
	all->has_thread = true;
	sfs_forward_wake(all);
	return 0;
}

int sfs_forward_start(struct sfs_forward *f, struct shufflefs_forward *wanted,
		      struct sfs_error *err)
{
	struct sfs_forwards *all = f->all;
	struct sfs_epochs *epochs = sfs_tree_epochs(all->tree);
	struct sfs_strbuf path = {0};
	bool with_pieces = can_share(all);
	uint64_t node;
	int ret;

	pthread_mutex_lock(&all->lock);
	if (wanted->first == 0)
		wanted->first = f->first;
	pthread_mutex_unlock(&all->lock);
	ret = sfs_epochs_from(epochs, sfs_node_rest(f->node), wanted->first, &node);
	if (ret < 0)
		return sfs_error_set(err, ret,
				     "too many names were looked up in epochs/: unmount "
				     "and mount again");
	sfs_epochs_print_path(epochs, node, &path);
	pthread_mutex_lock(&all->lock);
	ret = start_session(f, wanted, sfs_node_make(SFS_NODE_UNDER_EPOCHS, node),
			    &path.s, with_pieces, err);
	wanted->ret_session = ret == 0 ? f->status.ret_session : 0;
	pthread_mutex_unlock(&all->lock);
	free(path.s);
	return ret;
}

void sfs_forward_status(struct sfs_forward *f, struct shufflefs_status *ret)
{
	pthread_mutex_lock(&f->all->lock);
	*ret = f->status;
	pthread_mutex_unlock(&f->all->lock);
}

int sfs_forward_wait(struct sfs_forward *f, struct sfs_waiter *waiter,
		     uint32_t *ret_state)
{
	int ret = 0;

	pthread_mutex_lock(&f->all->lock);
	if (is_running(f)) {
		waiter->lock = &f->all->lock;
		sfs_list_push(&f->waiters, &waiter->link);
		ret = -EINPROGRESS;
	} else if (f->status.ret_state == SHUFFLEFS_NONE) {
		ret = -ENODATA;
	} else {
		*ret_state = f->status.ret_state;
	}
	pthread_mutex_unlock(&f->all->lock);
	return ret;
}

int sfs_forward_seek(struct sfs_forward *f, uint64_t first)
{
	int ret = -EBUSY;

	pthread_mutex_lock(&f->all->lock);
	if (!is_running(f)) {
		f->first = first;
		ret = 0;
	}
	pthread_mutex_unlock(&f->all->lock);
	return ret;
}

void sfs_forward_end(struct sfs_forward *f, bool at_once)
{
	pthread_mutex_lock(&f->all->lock);
	if (is_running(f)) {
		f->must_end = true;
		f->must_end_at_once |= at_once;
		sfs_forward_wake(f->all);
	}
	pthread_mutex_unlock(&f->all->lock);
}

int sfs_forward_ring(struct sfs_forward *f, char *ret, size_t room)
{
	int err = -ENODATA;
	size_t n, skip;

	pthread_mutex_lock(&f->all->lock);
	n = strcspn(f->target, "?"); /* (?memory= may follow the path) */
	skip = strcspn(f->target, ":") + 1;
	if ((strncmp(f->target, "local:", skip) == 0 ||
	     sfs_sidecar_gives_samples(f->target)) &&
	    n >= skip && n - skip < room) {
		snprintf(ret, room, "%.*s", (int)(n - skip), f->target + skip);
		err = 0;
	}
	pthread_mutex_unlock(&f->all->lock);
	return err;
}
