/* SPDX-License-Identifier: MIT */
/* How this works: open, then read and write in turn, one read ahead.  A write blocks
 * until the other end reads, which is how a slow one slows the stream down; shutdown()
 * ends it.  A wait for the source ends by itself within SLICE_MS of a stop.
 *
 * After an error the socket is cut where it is: a tar without its end, which its reader
 * cannot take for a whole one.
 *
 * Pieces of slabs may be held by the other end, up to a window: so much of the memory
 * that the floors leave that others are not kept waiting.  When the window is full, the
 * feeder waits until some were released, or until the other end waits for bytes: then
 * the next ones go as bytes, for which nothing is held.  So neither end can wait for
 * the other. */
#include "forward/feeder.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/cond.h"
#include "base/ledger.h"
#include "base/threadpool.h"
#include "cli/reader.h"
#include "engine/engine.h"
#include "io/handout.h"
#include "tree/file.h"
#include "tree/tree.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define READ_BYTES ((size_t)1 << 20)
#define SLICE_MS   100
#define BRIEF_MS   10 /* while pieces are held */

#define WINDOW_BYTES (SFS_READER_KEPT_MAX * READ_BYTES)
#define SPARE_PART   8 /* the window is at most 1/SPARE_PART of what floors leave */

struct copy {
	struct sfs_feeder *feeder;
	struct sfs_reader reader;
	struct sfs_handout handout;
	uint64_t n;	 /* bytes written */
	uint64_t n_held; /* until so many are released, reads are kept */
};

static bool is_stopped(struct sfs_feeder *f)
{
	bool ret;

	pthread_mutex_lock(&f->lock);
	ret = f->is_stopped;
	pthread_mutex_unlock(&f->lock);
	return ret;
}

/* ---- opening ---- */

static void on_waiter(struct sfs_waiter *waiter, int err)
{
	struct sfs_feeder *f = sfs_container(waiter, struct sfs_feeder, waiter);

	pthread_mutex_lock(&f->lock);
	f->has_answer = true;
	f->answer = err;
	pthread_cond_signal(&f->wake);
	pthread_mutex_unlock(&f->lock);
}

/* true: there is an answer.  false: the time is up, or the feeder was stopped. */
static bool wait_for_answer(struct sfs_feeder *f, uint64_t until_ns)
{
	bool ret;

	pthread_mutex_lock(&f->lock);
	while (!f->has_answer && !(f->is_stopped && until_ns < UINT64_MAX) &&
	       sfs_cond_wait_until(&f->wake, &f->lock, until_ns))
		;
	ret = f->has_answer;
	pthread_mutex_unlock(&f->lock);
	return ret;
}

/* Wait until the call can be made again. */
static int wait_for_waiter(struct sfs_feeder *f)
{
	struct sfs_cause cause = {.offset = SFS_NO_OFFSET};
	int ret;

	if (!wait_for_answer(f, sfs_clock_ns() + f->timeout_ms * SFS_NS_PER_MS)) {
		sfs_waiter_explain(&f->waiter, &cause);
		if (sfs_waiter_cancel(&f->waiter)) {
			if (is_stopped(f))
				return -ECANCELED;
			sfs_cause_note(&cause, f->timeout_ms * SFS_NS_PER_MS, "");
			return -ETIMEDOUT;
		}
		wait_for_answer(f, UINT64_MAX); /* which is about to come */
	}
	pthread_mutex_lock(&f->lock);
	f->has_answer = false;
	ret = f->answer;
	pthread_mutex_unlock(&f->lock);
	return ret;
}

static int open_file(struct sfs_feeder *f, struct sfs_file **ret_file)
{
	int ret;

	f->waiter.done = on_waiter;
	while ((ret = sfs_file_open(f->tree, f->node, &f->waiter, ret_file)) ==
		       -EINPROGRESS &&
	       (ret = wait_for_waiter(f)) == 0)
		;
	return ret;
}

/* ---- copying ---- */

/* -EPIPE: the other end is closed, or the feeder was stopped. */
static int write_some(int fd, struct iovec *iov, int n_iov)
{
	struct msghdr message = {.msg_iov = iov, .msg_iovlen = (size_t)n_iov};
	ssize_t n;

	do
		n = sendmsg(fd, &message, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : (int)n;
}

static int write_read(int fd, const struct sfs_read *read)
{
	size_t skip = 0; /* what was written of the piece */
	struct iovec rest;
	int i = 0, n;

	while (i < read->n_iov) {
		rest = (struct iovec){(char *)read->iov[i].iov_base + skip,
				      read->iov[i].iov_len - skip};
		if (skip > 0)
			n = write_some(fd, &rest, 1);
		else
			n = write_some(fd, read->iov + i,
				       read->n_iov - i < IOV_MAX ? read->n_iov - i
								 : IOV_MAX);
		if (n < 0)
			return n;
		skip += (size_t)n;
		for (; i < read->n_iov && skip >= read->iov[i].iov_len; i++)
			skip -= read->iov[i].iov_len;
	}
	return 0;
}

static struct sfs_runtime *runtime_of(const struct sfs_feeder *f)
{
	return &sfs_tree_engine(f->tree)->runtime;
}

static bool has_held(const struct copy *c)
{
	return c->handout.n_released < c->n_held;
}

/* Hear what the other end has released. */
static int listen_to(struct copy *c, int timeout_ms)
{
	int ret = 0;

	if (c->feeder->with_pieces)
		ret = sfs_handout_listen(&c->handout, timeout_ms);
	if (ret == 0)
		sfs_reader_drop(&c->reader, c->handout.n_released);
	return ret;
}

/* The next bytes.  -ETIMEDOUT: they have not come in time; -ECANCELED: stopped. */
static int next_read(struct copy *c, const struct sfs_read **ret_read)
{
	struct sfs_feeder *f = c->feeder;
	struct sfs_cause cause = {.offset = SFS_NO_OFFSET};
	uint64_t until_ns = sfs_clock_ns() + f->timeout_ms * SFS_NS_PER_MS;
	int ret;

	while ((ret = sfs_reader_next(&c->reader, has_held(c) ? BRIEF_MS : SLICE_MS,
				      ret_read)) == -EAGAIN) {
		if (is_stopped(f) || listen_to(c, 0) < 0)
			return -ECANCELED;
		if (sfs_clock_ns() < until_ns)
			continue;
		sfs_reader_explain(&c->reader, &cause);
		sfs_cause_note(&cause, f->timeout_ms * SFS_NS_PER_MS, "");
		return -ETIMEDOUT;
	}
	return ret;
}

/* Is there room in the window for an answer of n bytes?  (Many short ones fill it sooner.) */
static bool has_room(const struct copy *c, size_t n)
{
	uint64_t window = sfs_budget_spare(&runtime_of(c->feeder)->budget) / SPARE_PART;
	uint64_t n_held = c->handout.n_sent - c->handout.n_released;

	return sfs_reader_may_keep(&c->reader) &&
	       n_held + n <= (window < WINDOW_BYTES ? window : WINDOW_BYTES);
}

/* 1: it may go as pieces; 0: as bytes. */
static int wait_for_room(struct copy *c, const struct sfs_read *read)
{
	int ret = listen_to(c, 0);

	while (ret == 0 && !read->is_scarce && has_held(c) && !c->handout.is_waiting &&
	       !has_room(c, read->n_answered))
		ret = listen_to(c, SLICE_MS);
	if (ret < 0)
		return ret;
	return !read->is_scarce && has_room(c, read->n_answered);
}

static int hand_out(struct copy *c, const struct sfs_read *read)
{
	int ret = wait_for_room(c, read);

	if (ret >= 0)
		ret = sfs_handout_send(&c->handout, read, ret > 0);
	if (ret > 0) {
		sfs_reader_keep(&c->reader);
		c->n_held = c->handout.n_sent;
	}
	return ret;
}

static int copy_all(struct copy *c)
{
	const struct sfs_read *read;
	int ret;

	while ((ret = next_read(c, &read)) == 0 && read->n_answered > 0) {
		ret = c->feeder->with_pieces ? hand_out(c, read)
					     : write_read(c->feeder->fd, read);
		if (ret < 0)
			return -ECANCELED; /* its other end says why */
		c->n += read->n_answered;
	}
	return ret;
}

static int copy(struct copy *c, struct sfs_file *file)
{
	struct sfs_feeder *f = c->feeder;
	int ret = 0;

	if (f->with_pieces)
		ret = sfs_handout_begin(&c->handout, f->fd, runtime_of(f)->slabs);
	if (ret < 0)
		return ret == -EPIPE ? -ECANCELED : ret;
	sfs_reader_begin(&c->reader, file, 0, READ_BYTES, 2);
	return copy_all(c);
}

/* All was sent, or all that there will be.  The other end may still use it. */
static void wait_for_releases(struct copy *c)
{
	shutdown(c->feeder->fd, SHUT_WR);
	while (has_held(c) && listen_to(c, SLICE_MS) == 0)
		;
}

/* The cause is in the ledger, among those of others. */
static void feeder_explain(struct sfs_feeder *f, int err, uint64_t n)
{
	sfs_error_set(&f->error, err,
		      "%s: read error at byte %llu: %s; .shufflefs/errors of the mount "
		      "says why",
		      f->path, (unsigned long long)n, strerror(-err));
}

static void *feeder_run(void *arg)
{
	struct sfs_feeder *f = arg;
	struct copy c = {.feeder = f};
	struct sfs_file *file = NULL;
	int ret;

	ret = open_file(f, &file);
	if (ret == 0)
		ret = copy(&c, file);
	if (ret < 0 && ret != -ECANCELED)
		feeder_explain(f, ret, c.n);
	wait_for_releases(&c);
	shutdown(f->fd, SHUT_RDWR);
	if (c.reader.file)
		sfs_reader_done(&c.reader);
	sfs_file_close(file);
	atomic_store(&f->has_ended, true);
	eventfd_write(f->wake_fd, 1);
	return NULL;
}

void sfs_feeder_start(struct sfs_feeder *f)
{
	f->error.text[0] = 0;
	f->is_stopped = f->has_answer = false;
	atomic_store(&f->has_ended, false);
	f->waiter = (struct sfs_waiter){0};
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->wake, NULL);
	f->thread = sfs_thread_start("sfs-feeder", feeder_run, f);
}

void sfs_feeder_stop(struct sfs_feeder *f)
{
	pthread_mutex_lock(&f->lock);
	f->is_stopped = true;
	pthread_cond_signal(&f->wake);
	pthread_mutex_unlock(&f->lock);
	shutdown(f->fd, SHUT_RDWR);
}

void sfs_feeder_join(struct sfs_feeder *f)
{
	pthread_join(f->thread, NULL);
	pthread_cond_destroy(&f->wake);
	pthread_mutex_destroy(&f->lock);
}
