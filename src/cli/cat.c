/* SPDX-License-Identifier: MIT */
/* How this works: large reads, one ahead.  When one fails, small ones follow, first of
 * pages, then of blocks: they deliver the bytes before the error.  A reader of tar stops
 * at the two zero blocks after the samples; it is no error if it closes the pipe then. */
#include "cli/cat.h"

#include "base/clock.h"
#include "base/ledger.h"
#include "cli/reader.h"
#include "engine/engine.h"
#include "tree/file.h"
#include "tree/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define READ_BYTES  ((size_t)1 << 20)
#define PAGE_BYTES  ((size_t)4 << 10)
#define BLOCK_BYTES ((size_t)512)
#define README_MS   2000
#define LAST_MS	    100	 /* for each small read, after a large one has timed out */
#define BLOCK_MS    5000 /* for each block, after a page has failed */

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

struct copy {
	struct sfs_file *file;
	int fd;
	uint64_t n_written, end;
	int read_err;	 /* 0: none */
	bool is_probing; /* the error is known; only what comes before it is wanted */
};

/* Wait for the next bytes.  -ETIMEDOUT: they have not arrived in time. */
static int next(const struct copy *c, struct sfs_reader *reader, uint64_t timeout_ms,
		const struct sfs_read **ret_read)
{
	struct sfs_cause cause = {.offset = SFS_NO_OFFSET};
	int ret = sfs_reader_next(reader, timeout_ms, ret_read);

	if (ret != -EAGAIN)
		return ret;
	sfs_reader_explain(reader, &cause);
	if (!c->is_probing)
		sfs_cause_note(&cause, timeout_ms * SFS_NS_PER_MS, "");
	return -ETIMEDOUT;
}

/* Go on from n_written to `end` or the end of the file, with n_reads of n_bytes at a
 * time.  < 0: an error of writing. */
static int copy_rest(struct copy *c, size_t n_bytes, int n_reads, uint64_t timeout_ms)
{
	const struct sfs_read *read;
	struct sfs_reader reader;
	size_t n_written;
	int ret = 0;

	sfs_reader_begin(&reader, c->file, c->n_written, n_bytes, n_reads);
	while (ret == 0 && c->n_written < c->end &&
	       (c->read_err = next(c, &reader, timeout_ms, &read)) == 0 &&
	       read->n_answered > 0) {
		ret = write_pieces(c->fd, read, &n_written);
		c->n_written += n_written;
	}
	sfs_reader_done(&reader);
	return ret;
}

/* A large read has failed: go on in pages. */
static int copy_pages(struct copy *c, uint64_t timeout_ms)
{
	c->is_probing = c->read_err == -ETIMEDOUT;
	return copy_rest(c, PAGE_BYTES, 1, c->is_probing ? LAST_MS : timeout_ms);
}

/* A page could not be read: write the blocks of it before the error.  They come at once
 * or not at all, so the error is not waited for a third time.  If all of them come it is
 * an error all the same: a server that answers only small requests would be asked for
 * the rest of the file in blocks. */
static int copy_blocks(struct copy *c, uint64_t timeout_ms)
{
	uint64_t most_ms = c->read_err == -ETIMEDOUT ? LAST_MS : BLOCK_MS;
	int page_err = c->read_err, ret;

	c->is_probing = true;
	c->end = c->n_written + PAGE_BYTES;
	ret = copy_rest(c, BLOCK_BYTES, 1,
			timeout_ms && timeout_ms < most_ms ? timeout_ms : most_ms);
	if (ret == 0 && (c->read_err < 0 || c->n_written == c->end))
		c->read_err = page_err;
	return ret;
}

static int copy(struct sfs_file *file, const char *path, uint64_t timeout_ms, int fd,
		struct sfs_error *err)
{
	struct copy c = {.file = file, .fd = fd, .end = UINT64_MAX};
	int ret;

	ret = copy_rest(&c, READ_BYTES, 2, timeout_ms);
	if (c.read_err < 0)
		ret = copy_pages(&c, timeout_ms);
	if (c.read_err < 0)
		ret = copy_blocks(&c, timeout_ms);
	if (c.read_err < 0) {
		sfs_ledger_why(path, c.read_err, err);
		return sfs_error_wrap(err, c.read_err, "%s: read error at byte %llu",
				      path, (unsigned long long)c.n_written);
	}
	if (ret == -EPIPE && c.n_written >= sfs_file_padding(file))
		return 0;
	if (ret < 0 && ret != -EPIPE)
		sfs_error_set(err, ret, "cannot write: %s", strerror(-ret));
	return ret;
}

static const char *without_slashes(const char *path)
{
	return path + strspn(path, "/");
}

static bool is_stream(const char *path)
{
	return strncmp(without_slashes(path), "epochs/", 7) == 0;
}

/* A stream needs all shards: report which are missing. */
static int wait_for_sizes(struct sfs_engine *engine, const char *path,
			  struct sfs_error *err)
{
	int ret;

	/* (A mount's README says what follows from them.) */
	if (strcmp(without_slashes(path), "README") == 0)
		sfs_sizes_wait(engine->sizes, README_MS);
	if (!is_stream(path))
		return 0;
	ret = sfs_engine_wait_for_sizes(engine, NULL, NULL, err);
	if (ret == 0)
		sfs_weak_order_tell(&engine->weak_order);
	return ret;
}

int sfs_cat(struct sfs_options *options, const struct sfs_strings *specs,
	    const char *path, int fd, struct sfs_error *err)
{
	struct sfs_tree *tree;
	struct sfs_engine *engine;
	struct sfs_file *file;
	int ret;

	sfs_ledger_keep_errors();
	options->expects_streams = is_stream(path);
	ret = sfs_engine_start(options, specs, true, &engine, err);
	if (ret < 0)
		return ret;
	fcntl(fd, F_SETPIPE_SZ, (int)READ_BYTES); /* if it is a pipe, a large one */
	tree = sfs_tree_new(engine);
	ret = wait_for_sizes(engine, path, err);
	if (ret == 0)
		ret = sfs_file_open_path(tree, path, &file, err);
	if (ret == 0) {
		ret = copy(file, path, options->read_timeout_ms, fd, err);
		sfs_file_close(file);
	}
	sfs_engine_stop(engine);
	sfs_tree_free(tree);
	sfs_engine_free(engine);
	return ret;
}
