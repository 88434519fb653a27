/* SPDX-License-Identifier: MIT */
/* A range of a local file is just its bytes, of the version that was asked for its size;
 * a file that has changed, also while it was read, is gone or is none gives an errno and
 * a reason. */
#include "base/alloc.h"
#include "base/ledger.h"
#include "check.h"
#include "source/source.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define SIZE 300000

static char *folder;
static struct sfs_source *source;
static unsigned char content[SIZE];

/* What happens to the file right before and right after bytes of it are read. */
static void (*before_read)(void), (*after_read)(void);
static int fails_with; /* an errno, of reads; < 0: they find the end */

ssize_t preadv(int fd, const struct iovec *iov, int n, off_t offset);
ssize_t preadv64(int fd, const struct iovec *iov, int n, off_t offset);

static ssize_t watched_preadv(int fd, const struct iovec *iov, int n, off_t offset)
{
	ssize_t ret;

	if (fails_with != 0) {
		errno = fails_with > 0 ? fails_with : 0;
		return fails_with > 0 ? -1 : 0;
	}
	if (before_read)
		before_read();
	ret = syscall(SYS_preadv, fd, iov, (long)n, (long)offset, 0L);
	if (after_read)
		after_read();
	return ret;
}

ssize_t preadv(int fd, const struct iovec *iov, int n, off_t offset)
{
	return watched_preadv(fd, iov, n, offset);
}

ssize_t preadv64(int fd, const struct iovec *iov, int n, off_t offset)
{
	return watched_preadv(fd, iov, n, offset);
}

static char *path_of(const char *name)
{
	return sfs_asprintf("%s/%s", folder, name);
}

static void write_file(const char *name, const void *bytes, size_t n)
{
	sfs_autofree char *path = path_of(name);
	FILE *f = fopen(path, "w");

	CHECK(f != NULL);
	CHECK_EQ(fwrite(bytes, 1, n, f), n);
	CHECK_EQ(fclose(f), 0);
}

static void remove_file(const char *name)
{
	sfs_autofree char *path = path_of(name);

	remove(path);
}

static void init_object(struct sfs_object *o, const char *name)
{
	struct sfs_uri uri = {0};
	sfs_autofree char *path = path_of(name);

	CHECK_EQ(sfs_uri_parse(path, &uri, NULL), 0);
	sfs_object_init(o, &uri, source);
	CHECK(!uri.location); /* taken */
	o->name = "x.tar";
	CHECK(o->size == SFS_SIZE_UNKNOWN);
}

/* ---- requests that are waited for ---- */

struct asked {
	struct sfs_request request;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	int n_done, err;
	struct sfs_error error;
};

static void on_done(struct sfs_request *r, int err)
{
	struct asked *a = sfs_container(r, struct asked, request);

	pthread_mutex_lock(&a->lock);
	a->n_done++;
	a->err = err;
	pthread_cond_signal(&a->wake);
	pthread_mutex_unlock(&a->lock);
}

static void submit(struct asked *a)
{
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->wake, NULL);
	a->request.done = on_done;
	a->request.error = &a->error;
	sfs_request_submit(&a->request);
}

static int wait_for(struct asked *a)
{
	pthread_mutex_lock(&a->lock);
	while (a->n_done == 0)
		pthread_cond_wait(&a->wake, &a->lock);
	pthread_mutex_unlock(&a->lock);
	CHECK_EQ(a->n_done, 1);
	return a->err;
}

static int ask(struct sfs_object *o, struct sfs_error *ret_error)
{
	struct asked a = {.request = {.kind = SFS_REQUEST_ASK, .object = o}};
	int err;

	submit(&a);
	err = wait_for(&a);
	*ret_error = a.error;
	return err;
}

/* Read into n_pieces of memory. */
static int read_range(struct sfs_object *o, uint64_t offset, size_t n, int n_pieces,
		      unsigned char *to)
{
	struct asked a = {.request = {.kind = SFS_REQUEST_READ,
				      .object = o,
				      .offset = offset,
				      .n_bytes = n,
				      .is_urgent = offset % 2}};
	struct iovec iov[300];
	int i;

	for (i = 0; i < n_pieces; i++) {
		iov[i].iov_base = to + n / (size_t)n_pieces * (size_t)i;
		iov[i].iov_len = n / (size_t)n_pieces;
	}
	iov[n_pieces - 1].iov_len = n - n / (size_t)n_pieces * (size_t)(n_pieces - 1);
	a.request.iov = iov;
	a.request.n_iov = n_pieces;
	submit(&a);
	return wait_for(&a);
}

static void good(void)
{
	static const struct {
		uint64_t offset;
		size_t n;
		int n_pieces;
	} ranges[] = {{0, SIZE, 1},	{0, SIZE, 3},	   {1, SIZE - 1, 300},
		      {SIZE - 1, 1, 1}, {1000, 5000, 129}, {131072, 131072, 2},
		      {7, 300, 300}};
	struct sfs_source_counts before = {0}, after = {0};
	static unsigned char got[SIZE + 1];
	struct sfs_object o;
	struct sfs_error err;
	uint64_t n_bytes = 0;
	size_t i;

	write_file("a.tar", content, SIZE);
	init_object(&o, "a.tar");
	CHECK_EQ(ask(&o, &err), 0);
	CHECK_EQ(o.size, SIZE);
	CHECK(o.mtime_s > 1500000000 && o.mtime_s <= (int64_t)time(NULL) + 60);
	sfs_source_count(source, &before);
	for (i = 0; i < SFS_COUNT(ranges); i++) {
		memset(got, 0xee, sizeof got);
		CHECK_EQ(read_range(&o, ranges[i].offset, ranges[i].n, ranges[i].n_pieces,
				    got),
			 0);
		CHECK(memcmp(got, content + ranges[i].offset, ranges[i].n) == 0);
		CHECK_EQ(got[ranges[i].n], 0xee);
		n_bytes += ranges[i].n;
	}
	sfs_source_count(source, &after);
	CHECK_EQ(after.n_bytes - before.n_bytes, n_bytes);
	CHECK_EQ(after.n_requests - before.n_requests, SFS_COUNT(ranges));
	CHECK_EQ(after.n_failed, before.n_failed);
	sfs_object_done(&o);

	write_file("a.tar", "", 0); /* an empty one has a size, too */
	init_object(&o, "a.tar");
	CHECK_EQ(ask(&o, &err), 0);
	CHECK_EQ(o.size, 0);
	sfs_object_done(&o);
	remove_file("a.tar");
}

static void no_file(const char *name, int wanted, const char *words)
{
	struct sfs_object o;
	struct sfs_error err = {0};

	init_object(&o, name);
	CHECK_EQ(ask(&o, &err), wanted);
	CHECK_HAS(err.text, words);
	CHECK_HAS(err.text, name);
	CHECK(o.size == SFS_SIZE_UNKNOWN);
	sfs_object_done(&o);
}

static void no_files(void)
{
	sfs_autofree char *fifo = path_of("fifo"), *sub = path_of("sub"),
			  *loop = path_of("loop");

	CHECK_EQ(mkfifo(fifo, 0600), 0);
	CHECK_EQ(mkdir(sub, 0700), 0);
	CHECK_EQ(symlink("loop", loop), 0);
	no_file("missing", -ENOENT, "No such file");
	no_file("fifo", -EINVAL,
		"not a regular file"); /* and nobody waits for its writer */
	no_file("sub", -EINVAL, "not a regular file");
	no_file("loop", -ELOOP, "symbolic links");
	unlink(fifo);
	rmdir(sub);
	unlink(loop);
}

/* ---- it changes ---- */

static struct sfs_object asked_object(const char *name)
{
	struct sfs_object o;
	struct sfs_error err;

	write_file(name, content, SIZE);
	init_object(&o, name);
	CHECK_EQ(ask(&o, &err), 0);
	return o;
}

static int read_some(struct sfs_object *o)
{
	unsigned char got[600];

	return read_range(o, 512, sizeof got, 2, got);
}

static void set_mtime(const char *name, time_t t)
{
	sfs_autofree char *path = path_of(name);
	struct timespec times[2] = {{.tv_sec = t}, {.tv_sec = t}};

	CHECK_EQ(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void changes(bool by_size_only)
{
	struct sfs_object o = asked_object("c.tar");
	sfs_autofree char *from = path_of("new.tar"), *to = path_of("c.tar");
	int if_alike = by_size_only ? 0 : -ESTALE;
	uint64_t n_changed = sfs_ledger_count(SFS_EVENT_CHANGED);

	CHECK_EQ(read_some(&o), 0);
	set_mtime("c.tar", 1000000000);
	CHECK_EQ(read_some(&o), if_alike);
	CHECK_EQ(sfs_ledger_count(SFS_EVENT_CHANGED) - n_changed, !by_size_only);
	sfs_object_done(&o);

	o = asked_object("c.tar"); /* longer, shorter */
	write_file("c.tar", content, SIZE - 1);
	CHECK_EQ(read_some(&o), -ESTALE);
	write_file("c.tar", content, 100);
	CHECK_EQ(read_some(&o), -ESTALE);
	sfs_object_done(&o);

	o = asked_object("c.tar"); /* another file of the same size and time */
	set_mtime("c.tar", 1000000000);
	sfs_object_done(&o);
	init_object(&o, "c.tar");
	CHECK_EQ(ask(&o, &(struct sfs_error){0}), 0);
	write_file("new.tar", content, SIZE);
	set_mtime("new.tar", 1000000000);
	CHECK_EQ(read_some(&o), 0);
	CHECK_EQ(rename(from, to), 0);
	CHECK_EQ(read_some(&o), if_alike);

	remove_file("c.tar");
	CHECK_EQ(read_some(&o), -ENOENT);
	sfs_object_done(&o);
}

/* ---- it changes while it is read ---- */

/* As `cp` over it and rsync --inplace do. */
static void write_in_place(void)
{
	sfs_autofree char *path = path_of("c.tar");
	int fd = open(path, O_WRONLY);

	CHECK(fd >= 0);
	CHECK_EQ(pwrite(fd, "other", 5, 600), 5);
	CHECK_EQ(close(fd), 0);
}

static void rewrite(void)
{
	write_file("c.tar", content, SIZE);
}

static void grow(void)
{
	sfs_autofree char *path = path_of("c.tar");

	CHECK_EQ(truncate(path, SIZE + 512), 0);
}

static void replace(void)
{
	sfs_autofree char *from = path_of("new.tar"), *to = path_of("c.tar");

	write_file("new.tar", "other", 5);
	CHECK_EQ(rename(from, to), 0);
}

static void changes_meanwhile(bool by_size_only)
{
	static const struct {
		void (*change)(void);
		bool is_replaced, is_longer; /* the old bytes stay what they were */
	} cases[] = {{write_in_place, false, false},
		     {rewrite, false, false},
		     {grow, false, true},
		     {replace, true, false}};
	int wanted, k;
	size_t i;

	for (i = 0; i < SFS_COUNT(cases); i++) {
		for (k = 0; k < 2; k++) {
			struct sfs_object o = asked_object("c.tar");
			uint64_t n_changed = sfs_ledger_count(SFS_EVENT_CHANGED);

			set_mtime("c.tar", 1000000000);
			sfs_object_done(&o);
			init_object(&o, "c.tar");
			CHECK_EQ(ask(&o, &(struct sfs_error){0}), 0);
			*(k ? &after_read : &before_read) = cases[i].change;
			wanted = cases[i].is_replaced ||
						 (by_size_only && !cases[i].is_longer)
					 ? 0
					 : -ESTALE;
			CHECK_EQ(read_some(&o), wanted);
			CHECK_EQ(sfs_ledger_count(SFS_EVENT_CHANGED) - n_changed,
				 wanted < 0);
			before_read = after_read = NULL;
			sfs_object_done(&o);
			remove_file("c.tar");
		}
	}
}

/* ---- what the system says ---- */

static void says(const char *words)
{
	struct sfs_strbuf text = {0};
	const char *last;

	sfs_ledger_print(&text);
	last = text.s ? strrchr(text.s, '{') : NULL;
	CHECK_HAS(last, words);
	sfs_strbuf_done(&text);
}

/* A file on NFS that was replaced or removed at the server has not shrunk. */
static void reading_fails(void)
{
	struct sfs_object o = asked_object("c.tar");

	fails_with = ESTALE;
	CHECK_EQ(read_some(&o), -ESTALE);
	says("removed or replaced");
	fails_with = EIO;
	CHECK_EQ(read_some(&o), -EIO);
	says("Input/output error");
	fails_with = -1; /* its end */
	CHECK_EQ(read_some(&o), -ESTALE);
	says("the file shrank");
	fails_with = 0;
	CHECK_EQ(read_some(&o), 0);
	sfs_object_done(&o);
	remove_file("c.tar");
}

/* ---- many at a time, and the end ---- */

static void many(void)
{
	static struct asked reads[200];
	static unsigned char got[200][100];
	struct sfs_object o = asked_object("m.tar");
	static struct iovec iov[200];
	size_t i;
	int err;

	memset(reads, 0, sizeof reads);
	for (i = 0; i < SFS_COUNT(reads); i++) {
		iov[i] = (struct iovec){got[i], 100};
		reads[i].request = (struct sfs_request){.kind = SFS_REQUEST_READ,
							.object = &o,
							.offset = i * 1000,
							.n_bytes = 100,
							.iov = &iov[i],
							.n_iov = 1,
							.is_urgent = i % 3 == 0};
		submit(&reads[i]);
		if (i % 5 == 0)
			sfs_request_cancel(&reads[i].request);
	}
	for (i = 0; i < SFS_COUNT(reads); i++) {
		err = wait_for(&reads[i]);
		CHECK(err == 0 || (err == -ECANCELED && i % 5 == 0));
		if (err == 0)
			CHECK(memcmp(got[i], content + i * 1000, 100) == 0);
	}

	/* Stopped with requests under way: each ends, once. */
	for (i = 0; i < SFS_COUNT(reads); i++) {
		reads[i].n_done = 0;
		atomic_store(&reads[i].request.is_cancelled, false);
		sfs_request_submit(&reads[i].request);
	}
	sfs_source_stop(source);
	for (i = 0; i < SFS_COUNT(reads); i++) {
		err = wait_for(&reads[i]);
		CHECK(err == 0 || err == -ECANCELED);
	}
	CHECK_EQ(read_some(&o), -ECANCELED);
	sfs_object_done(&o);
	remove_file("m.tar");
}

/* ---- folders ---- */

static void remove_folder(void)
{
	static const char *const names[] = {"a.tar", "c.tar", "m.tar", "new.tar"};
	size_t i;

	for (i = 0; i < SFS_COUNT(names); i++)
		remove_file(names[i]);
	rmdir(folder);
	free(folder);
}

int main(void)
{
	const char *tmp = getenv("TMPDIR");
	size_t i;

	sfs_log_set_level(SFS_LOG_ERROR);
	folder = sfs_asprintf("%s/shufflefs-unit-source.XXXXXX", tmp ? tmp : "/tmp");
	CHECK(mkdtemp(folder) != NULL);
	atexit(remove_folder);
	for (i = 0; i < SIZE; i++)
		content[i] = (unsigned char)(i * 31 + i / 251);

	source = sfs_source_file_start(3, false);
	good();
	no_files();
	changes(false);
	changes_meanwhile(false);
	reading_fails();
	many();
	sfs_source_free(source);
	source = sfs_source_file_start(1, true);
	good();
	changes(true);
	changes_meanwhile(true);
	many();
	sfs_source_free(source);
	sfs_source_stop(NULL);
	sfs_source_free(NULL);
	sfs_ledger_clear();
	return 0;
}
