/* SPDX-License-Identifier: MIT */
/* How this works: two reads are under way at a time, so that one is fetched while
 * the other is written.  A reader of tar stops at the two zero blocks that end the
 * samples; when it closes the pipe then, all is well. */
#include "cat.h"

#include "core.h"
#include "mem.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define READ_BYTES  ((size_t)1 << 20)
#define SMALL_BYTES ((size_t)4 << 10)
#define N_READS	    2

struct turn {
	struct sfs_read read;
	struct cat *cat;
	bool is_done;
	int err;
};

struct cat {
	pthread_mutex_t lock; /* guards is_done and err of the turns */
	pthread_cond_t wake;
	struct turn turns[N_READS];
};

static void on_read(struct sfs_read *read, int err)
{
	struct turn *turn = sfs_container(read, struct turn, read);

	pthread_mutex_lock(&turn->cat->lock);
	turn->err = err;
	turn->is_done = true;
	pthread_cond_signal(&turn->cat->wake);
	pthread_mutex_unlock(&turn->cat->lock);
}

static void begin(struct turn *turn, struct sfs_file *file, uint64_t offset, size_t n)
{
	turn->is_done = false;
	turn->read = (struct sfs_read){.offset = offset, .n_bytes = n, .done = on_read};
	sfs_file_read(file, &turn->read);
}

static int wait_for(struct turn *turn)
{
	pthread_mutex_lock(&turn->cat->lock);
	while (!turn->is_done)
		pthread_cond_wait(&turn->cat->wake, &turn->cat->lock);
	pthread_mutex_unlock(&turn->cat->lock);
	return turn->err;
}

/* Write all pieces; *ret_n is how much was written when that failed. */
static int write_pieces(int fd, const struct sfs_read *read, size_t *ret_n)
{
	int i = 0;
	size_t skip = 0;
	ssize_t n;

	*ret_n = 0;
	while (i < read->n_iov) {
		struct iovec first = read->iov[i];

		if (skip > 0) { /* the rest of a piece that went out in part */
			first.iov_base = (char *)first.iov_base + skip;
			first.iov_len -= skip;
			n = write(fd, first.iov_base, first.iov_len);
		} else {
			n = writev(fd, read->iov + i, read->n_iov - i);
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		*ret_n += (size_t)n;
		for (n += (ssize_t)skip;
		     i < read->n_iov && (size_t)n >= read->iov[i].iov_len; i++)
			n -= (ssize_t)read->iov[i].iov_len;
		skip = (size_t)n;
	}
	return 0;
}

/* Write what the turn has read, and release it.  1: on; 0: that was the end. */
static int write_out(struct turn *turn, int fd, uint64_t *written)
{
	size_t n = turn->read.n_answered, n_written;
	int ret = write_pieces(fd, &turn->read, &n_written);

	sfs_read_release(&turn->read);
	*written += n_written;
	return ret < 0 ? ret : n > 0;
}

/* Large reads, one ahead.  1: a read failed. */
static int copy_fast(struct cat *cat, struct sfs_file *file, int fd, uint64_t *written)
{
	uint64_t asked = 0;
	struct turn *turn;
	int i, ret = 1;

	for (i = 0; i < N_READS; i++, asked += READ_BYTES)
		begin(&cat->turns[i], file, asked, READ_BYTES);
	for (i = 0; ret > 0; i = (i + 1) % N_READS, asked += READ_BYTES) {
		turn = &cat->turns[i];
		if (wait_for(turn) < 0)
			break;
		ret = write_out(turn, fd, written);
		if (ret > 0)
			begin(turn, file, asked, READ_BYTES);
	}
	for (i = 0; i < N_READS; i++) {
		if (&cat->turns[i] != turn && wait_for(&cat->turns[i]) == 0)
			sfs_read_release(&cat->turns[i].read);
	}
	return ret;
}

/* Small reads, as the kernel does after a large one has failed: they get at what comes
 * before the error.  < 0: the error. */
static int copy_slowly(struct cat *cat, struct sfs_file *file, int fd, uint64_t *written,
		       struct sfs_error *err)
{
	struct turn *turn = &cat->turns[0];
	int ret;

	do {
		begin(turn, file, *written, SMALL_BYTES);
		ret = wait_for(turn);
		if (ret < 0)
			return sfs_error_set(err, ret,
					     "cannot read on after byte %llu: %s",
					     (unsigned long long)*written,
					     strerror(-ret));
		ret = write_out(turn, fd, written);
	} while (ret > 0);
	return ret;
}

static int copy(struct cat *cat, struct sfs_file *file, int fd, struct sfs_error *err)
{
	uint64_t written = 0;
	int i, ret;

	for (i = 0; i < N_READS; i++)
		cat->turns[i].cat = cat;
	ret = copy_fast(cat, file, fd, &written);
	if (ret > 0)
		ret = copy_slowly(cat, file, fd, &written, err);
	if (ret == -EPIPE && written >= sfs_file_padding(file))
		return 0;
	if (ret < 0 && ret != -EPIPE && err->text[0] == 0)
		sfs_error_set(err, ret, "cannot write: %s", strerror(-ret));
	return ret;
}

static int open_path(struct sfs_core *core, const char *path, struct sfs_file **ret_file,
		     struct sfs_error *err)
{
	struct sfs_sync sync;
	uint64_t node;
	int ret;

	ret = sfs_tree_walk(core->tree, path, &node);
	if (ret < 0)
		return sfs_error_set(err, ret, "%s: %s", path, strerror(-ret));
	sfs_sync_init(&sync);
	while ((ret = sfs_file_open(core->tree, node, &sync.waiter, ret_file)) ==
		       -EINPROGRESS &&
	       (ret = sfs_sync_wait(&sync)) == 0)
		;
	sfs_sync_done(&sync);
	if (ret < 0)
		sfs_error_set(err, ret, "%s: %s", path, strerror(-ret));
	return ret;
}

int sfs_cat(struct sfs_options *options, const struct sfs_strings *specs,
	    const char *path, int fd, struct sfs_error *err)
{
	struct cat cat = {.lock = PTHREAD_MUTEX_INITIALIZER,
			  .wake = PTHREAD_COND_INITIALIZER};
	struct sfs_core *core;
	struct sfs_file *file;
	int ret;

	ret = sfs_core_start(options, specs, true, &core, err);
	if (ret < 0)
		return ret;
	fcntl(fd, F_SETPIPE_SZ, (int)READ_BYTES); /* if it is a pipe, a large one */
	ret = open_path(core, path, &file, err);
	if (ret == 0) {
		ret = copy(&cat, file, fd, err);
		sfs_file_close(file);
	}
	sfs_core_stop(core);
	return ret;
}
