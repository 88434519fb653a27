/* SPDX-License-Identifier: MIT */
/* How this works: a few threads take requests from two queues, urgent ones
 * first, and each does open, fstat, preadv, fstat, close.  Opening anew for each part
 * costs some microseconds and buys that ten thousand shards need no ten thousand
 * descriptors, and that a file which was replaced or changed is noticed at every
 * part: its (mtime, inode, size) is compared with what the ask saw.  Once more after the
 * bytes were read, since a disk may take long, and a file may be written in place
 * meanwhile: the kernel sets the time before it changes a byte.
 *
 * Reading into slabs beat mapping the files: a page fault would wait for the
 * disk in a thread that must not, and a file that shrinks would be a SIGBUS.
 *
 * A wake-up costs as much as a small read, so no more threads are woken than requests are
 * queued: see call_one().  And a thread that has finished a request runs what that posted
 * (the stream's task) itself, instead of waking one of the pool. */
#include "source/source.h"

#include "base/alloc.h"
#include "base/ledger.h"
#include "base/lock.h"
#include "base/threadpool.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define GAP_READ  ((uint64_t)32 << 10) /* of a disk: a larger gap is not worth its bytes */
#define ASK_TRIES 3 /* while somebody writes the file */
#define STOP_NS	  (3 * SFS_NS_PER_S) /* for a disk to finish what it is doing */

struct file_source {
	struct sfs_source base;
	bool verify_size_only;
	int n_threads;
	pthread_t *threads;
	sem_t wake; /* posted once for each thread that is called */

	pthread_mutex_t lock; /* guards all below */
	struct sfs_link urgent, others;
	int n_queued;	       /* in both */
	int n_asleep;	       /* threads that sleep and were not called */
	int n_coming;	       /* called, and have not had the lock since */
	atomic_bool is_closed; /* written with the lock held */
};

/* The version of a file; the caller frees it. */
static char *version_of(const struct stat *st)
{
	return sfs_asprintf("%lld.%09ld-%llu", (long long)st->st_mtim.tv_sec,
			    st->st_mtim.tv_nsec, (unsigned long long)st->st_ino);
}

static bool is_alike(const struct stat *a, const struct stat *b)
{
	return a->st_size == b->st_size && a->st_ino == b->st_ino &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static int open_file(struct sfs_request *r, struct stat *ret_st)
{
	const char *path = r->object->uri.location;
	int fd, err;

	/* Non-blocking: a FIFO among the shards must not stop a thread for ever. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		err = errno;
		return sfs_error_set(r->error, -err, "%s: %s", path, strerror(err));
	}
	if (fstat(fd, ret_st) < 0) {
		err = errno;
		close(fd);
		return sfs_error_set(r->error, -err, "%s: %s", path, strerror(err));
	}
	if (!S_ISREG(ret_st->st_mode)) {
		close(fd);
		return sfs_error_set(r->error, -EINVAL, "%s: not a regular file", path);
	}
	return fd;
}

static int ask(struct sfs_request *r)
{
	struct stat st, before;
	int fd = open_file(r, &st), n_tries = 0;
	bool is_known;
	ssize_t n = 0;

	if (fd < 0)
		return fd;
	do { /* the head of that version */
		before = st;
		if (r->head)
			n = pread(fd, r->head, SFS_HEAD_BYTES, 0);
		is_known = fstat(fd, &st) == 0 && is_alike(&st, &before);
	} while (r->head && !is_known && ++n_tries < ASK_TRIES);
	r->n_got = n > 0 ? (uint64_t)n : 0;
	close(fd);
	free(r->object->tag);
	r->object->tag = version_of(&st);
	r->object->has_strong_tag = true;
	r->object->mtime_s = st.st_mtime;
	r->object->size = (uint64_t)st.st_size;
	return 0;
}

/* Is this still the file that was asked for its size? */
static int check_version(struct file_source *s, struct sfs_request *r,
			 const struct stat *st)
{
	sfs_autofree char *version = version_of(st);

	if ((uint64_t)st->st_size == r->object->size &&
	    (s->verify_size_only || strcmp(version, r->object->tag) == 0))
		return 0;
	sfs_ledger_add(
		SFS_EVENT_CHANGED, r->object->name, r->offset, "readers get ESTALE",
		"the file changed since the mount began: its size, time or inode differs "
		"(it has %llu bytes, it had %llu)",
		(unsigned long long)st->st_size, (unsigned long long)r->object->size);
	return -ESTALE;
}

/* A part of a request: its pieces from number `i` on, which are the bytes from `at` on. */
struct stretch {
	int i, n;
	uint64_t at, n_bytes;
};

/* How many pieces the gap has that begins with number i, and how many bytes. */
static int gap_at(const struct sfs_request *r, int i, uint64_t *ret_bytes)
{
	int n = 0;

	*ret_bytes = 0;
	for (; r->gap && i < r->n_iov && r->iov[i].iov_base == r->gap; i++, n++)
		*ret_bytes += r->iov[i].iov_len;
	return n;
}

/* Go on to the next stretch: all before the next gap of more than `most` bytes, or that
 * gap.  false: it is the gap. */
static bool next_stretch(const struct sfs_request *r, struct stretch *s, uint64_t most)
{
	uint64_t n_bytes = 0;
	int i, n = 0;

	*s = (struct stretch){.i = s->i + s->n, .at = s->at + s->n_bytes};
	for (i = s->i; i < r->n_iov; i += n) {
		n = gap_at(r, i, &n_bytes);
		if (n_bytes > most)
			break;
		if (n == 0) {
			n = 1;
			n_bytes = r->iov[i].iov_len;
		}
		s->n += n;
		s->n_bytes += n_bytes;
	}
	if (s->n > 0)
		return true;
	s->n = n;
	s->n_bytes = n_bytes;
	return false;
}

/* Its memory from its byte `done` on, in at most n pieces. */
static int pieces_from(const struct sfs_request *r, const struct stretch *s,
		       uint64_t done, struct iovec *ret, int n)
{
	int i, n_pieces = 0;

	for (i = s->i; i < s->i + s->n && n_pieces < n; i++) {
		if (done >= r->iov[i].iov_len) {
			done -= r->iov[i].iov_len;
			continue;
		}
		ret[n_pieces].iov_base = (char *)r->iov[i].iov_base + done;
		ret[n_pieces++].iov_len = r->iov[i].iov_len - done;
		done = 0;
	}
	return n_pieces;
}

/* It is not the file that was mounted any more. */
static int note_stale(const struct sfs_request *r, const char *cause)
{
	sfs_ledger_add(SFS_EVENT_CHANGED, r->object->name, r->offset,
		       "readers get ESTALE", "%s", cause);
	return -ESTALE;
}

/* The system's error; NFS has one that says what happened to the file. */
static int note_error(const struct sfs_request *r, int err)
{
	if (err == ESTALE)
		return note_stale(r, "the file server has removed or replaced the file "
				     "(stale file handle)");
	sfs_ledger_add(SFS_EVENT_LOST, r->object->name, r->offset, "", "%s",
		       strerror(err));
	return -err;
}

/* Read it if all of it is in the page cache. */
static bool read_cached(int fd, const struct sfs_request *r, const struct stretch *s)
{
	return preadv2(fd, r->iov + s->i, s->n, (off_t)(r->offset + s->at),
		       RWF_NOWAIT) == (ssize_t)s->n_bytes;
}

static int read_stretch(int fd, const struct sfs_request *r, const struct stretch *s)
{
	struct iovec pieces[128];
	uint64_t done = 0;
	ssize_t n;

	while (done < s->n_bytes) {
		n = preadv(fd, pieces,
			   pieces_from(r, s, done, pieces, SFS_COUNT(pieces)),
			   (off_t)(r->offset + s->at + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return note_error(r, errno);
		if (n == 0)
			return note_stale(r, "the file shrank");
		done += (uint64_t)n;
	}
	return 0;
}

/* What the page cache has is read without the gaps.  From the first byte that a disk must
 * bring, small gaps are read, too: one read is cheaper for it than several. */
static int read_all(int fd, struct sfs_request *r)
{
	struct stretch s = {0};
	bool is_cached = r->gap != NULL;
	int ret = 0;

	r->n_skipped = 0;
	while (ret == 0 && s.at + s.n_bytes < r->n_bytes) {
		if (!next_stretch(r, &s, is_cached ? 0 : GAP_READ)) {
			r->n_skipped += s.n_bytes;
			continue;
		}
		is_cached = is_cached && read_cached(fd, r, &s);
		if (!is_cached)
			ret = read_stretch(fd, r, &s);
	}
	return ret;
}

/* The bytes were read.  Are they all of the version that was found before? */
static int check_again(struct file_source *s, struct sfs_request *r, int fd,
		       const struct stat *before)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return note_error(r, errno);
	return is_alike(&st, before) ? 0 : check_version(s, r, &st);
}

static int read_range(struct file_source *s, struct sfs_request *r)
{
	struct stat st;
	int fd, ret;

	fd = open_file(r, &st);
	if (fd < 0)
		return note_error(r, -fd);
	ret = check_version(s, r, &st);
	if (ret == 0)
		ret = read_all(fd, r);
	if (ret == 0)
		ret = check_again(s, r, fd, &st);
	close(fd);
	return ret;
}

/* With the lock held, after a request was queued: must a thread be woken?  Then post
 * `wake` as soon as the lock is free: sooner, the thread would wait for the lock.
 *
 * Whenever the lock is free, nobody sleeps or as many are coming as are queued.  A
 * request that is queued calls one if that is not so; a request that is taken, and a
 * thread that comes and takes one, leave it so; and a thread falls asleep only if nothing
 * is queued.  So no request lies while a thread sleeps.  Nor is a wake-up lost: a thread
 * counts as asleep before it waits, and there is one post for each that was called; it
 * does not matter which of the wait and the post comes first. */
static bool call_one(struct file_source *s)
{
	if (s->n_asleep == 0 || s->n_coming >= s->n_queued)
		return false;
	s->n_asleep--;
	s->n_coming++;
	return true;
}

/* With the lock held before and after: wait until this thread is called.  A semaphore,
 * since pthread_cond_wait() takes the lock again as one that others wait for, and giving
 * that up is a system call. */
static void sleep_until_called(struct file_source *s)
{
	s->n_asleep++;
	pthread_mutex_unlock(&s->lock);
	sfs_lock_check_none("a file thread sleeps");
	while (sem_wait(&s->wake) < 0 && errno == EINTR)
		;
	pthread_mutex_lock(&s->lock);
	s->n_coming--;
}

static struct sfs_request *file_source_take(struct file_source *s)
{
	struct sfs_link *link = NULL;

	pthread_mutex_lock(&s->lock);
	for (;;) {
		link = sfs_list_pop(&s->urgent);
		if (!link)
			link = sfs_list_pop(&s->others);
		if (link || s->is_closed)
			break;
		sleep_until_called(s);
	}
	s->n_queued -= link != NULL;
	pthread_mutex_unlock(&s->lock);
	return link ? sfs_container(link, struct sfs_request, link) : NULL;
}

static void *work(void *arg)
{
	struct file_source *s = arg;
	struct sfs_request *r;
	int ret;

	while ((r = file_source_take(s)) != NULL) {
		if (atomic_load(&r->is_cancelled) || s->is_closed)
			ret = -ECANCELED;
		else if (r->kind == SFS_REQUEST_ASK)
			ret = ask(r);
		else
			ret = read_range(s, r);
		sfs_tasks_keep();
		sfs_request_end(r, ret);
		sfs_tasks_run_kept();
	}
	return NULL;
}

static void submit(struct sfs_source *source, struct sfs_request *r)
{
	struct file_source *s = sfs_container(source, struct file_source, base);
	bool is_closed, must_wake = false;

	pthread_mutex_lock(&s->lock);
	is_closed = s->is_closed;
	if (!is_closed) {
		sfs_list_push(r->is_urgent ? &s->urgent : &s->others, &r->link);
		s->n_queued++;
		must_wake = call_one(s);
	}
	pthread_mutex_unlock(&s->lock);
	if (must_wake)
		sem_post(&s->wake);
	if (is_closed)
		sfs_request_end(r, -ECANCELED);
}

static void wake(struct sfs_source *source)
{
	/* Cancelled requests are found when their turn comes, which is soon: reads
	 * of local files end by themselves. */
}

static void stop(struct sfs_source *source)
{
	struct file_source *s = sfs_container(source, struct file_source, base);
	uint64_t until_ns = sfs_clock_ns() + STOP_NS;
	int i;

	pthread_mutex_lock(&s->lock);
	s->is_closed = true;
	for (; s->n_asleep > 0; s->n_asleep--, s->n_coming++)
		sem_post(&s->wake);
	pthread_mutex_unlock(&s->lock);
	for (i = 0; i < s->n_threads; i++)
		sfs_thread_join_until(s->threads[i], until_ns);
}

static void free_source(struct sfs_source *source)
{
	struct file_source *s = sfs_container(source, struct file_source, base);

	sem_destroy(&s->wake);
	pthread_mutex_destroy(&s->lock);
	free(s->threads);
	free(s);
}

struct sfs_source *sfs_source_file_start(int n_threads, bool verify_size_only)
{
	static const struct sfs_source_ops ops = {.name = "file",
						  .skips_gaps = true,
						  .submit = submit,
						  .wake = wake,
						  .stop = stop,
						  .free = free_source};
	struct file_source *s = sfs_calloc(1, sizeof *s);
	int i;

	s->base.ops = &ops;
	s->verify_size_only = verify_size_only;
	s->n_threads = n_threads;
	s->base.path.n_parallel = n_threads;
	s->threads = sfs_calloc((size_t)n_threads, sizeof *s->threads);
	pthread_mutex_init(&s->lock, NULL);
	sem_init(&s->wake, 0, 0);
	sfs_list_init(&s->urgent);
	sfs_list_init(&s->others);
	for (i = 0; i < n_threads; i++)
		s->threads[i] = sfs_thread_start("sfs-file", work, s);
	return &s->base;
}
