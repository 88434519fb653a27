/* SPDX-License-Identifier: MIT */
/* How this works: the file of an index is FOLDER/ab/ab....index, named by 128 bits of a
 * hash of the key, so that no URL must become a file name.  A file is written as
 * FOLDER/.begun-PID-RANDOM and renamed when it is whole.  Nothing is synced to the disk:
 * a file torn by a crash has a wrong checksum, and is written again after its shard was
 * read again.
 *
 * Which files are ours?  A cache folder that we create gets a CACHEDIR.TAG with a line of
 * ours.  Only in a folder with that mark are unfinished files of earlier processes
 * removed: those with exactly such a name that begin like an index and are an hour old.
 * A folder that existed before may be the user's, with the shards in it: it never gets
 * the mark, because backups skip marked folders.  And rename() is not allowed to replace
 * a file until we have checked what it would replace.
 *
 * After a write has failed, nothing is tried for a minute: a full disk is no better for
 * the next shard, and a mount may read thousands of them. */
#include "catalog/index-cache.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/cond.h"
#include "base/keyhash.h"
#include "base/list.h"
#include "base/log.h"
#include "base/rng.h"
#include "base/stall.h"
#include "base/threadpool.h"
#include "catalog/index-format.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAUSE_NS      (60 * SFS_NS_PER_S)
#define LAST_NS	      (2 * SFS_NS_PER_S)     /* to write what is pending at the end */
#define OLD_MS	      (3600 * 1000ULL)	     /* of files that were begun and left */
#define WRITE_BYTES   ((size_t)1 << 20)	     /* at a time */
#define BEGUN	      ".begun-%08lx-%016llx" /* the process, and a random number */
#define BEGUN_LENGTH  32
#define TAG_NAME      "CACHEDIR.TAG"
#define N_LOGGED_ERRS 8

/* https://bford.info/cachedir/ */
static const char tag[] =
	"Signature: 8a477f597d28d172789f06886806bc55\n"
	"# This file is a cache directory tag created by shufflefs: indexes of tar "
	"shards.\n"
	"# All of it may be removed at any time.  See https://bford.info/cachedir/\n";

struct item {
	struct sfs_link link;
	char *name; /* below the folder; NULL: only try the folder */
	char *bytes;
	size_t n;
};

struct sfs_index_cache {
	char *folder; /* NULL: nothing is kept */
	bool is_cache;
	pthread_t thread;

	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t wake, idle;
	struct sfs_link queue;
	size_t pending_bytes; /* of the queue and of what is being written */
	bool is_writing, is_closed;
	uint64_t n_lost; /* since the last flush */
	int try_err;	 /* of the last sfs_index_cache_try() */
	uint64_t paused_until_ns, give_up_ns;

	/* The thread's. */
	int logged_errs[N_LOGGED_ERRS];
};

/* ---- names ---- */

char *sfs_index_cache_default_folder(void)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

	/* "If an implementation encounters a relative path in any of these variables it
	 * should consider the path invalid and ignore it."
	 * https://specifications.freedesktop.org/basedir-spec/latest/ */
	if (cache && cache[0] == '/')
		return sfs_asprintf("%s/shufflefs", cache);
	if (home && home[0] == '/')
		return sfs_asprintf("%s/.cache/shufflefs", home);
	return NULL;
}

static uint64_t hash_of(const struct sfs_index_cache_key *key, uint64_t seed)
{
	uint64_t words[] = {seed, 0, key->shard_bytes, key->version};
	struct sfs_rng rng;

	sfs_rng_init(&rng, words, 1);
	words[1] = sfs_keyhash_prepend(sfs_rng_next(&rng), key->url, strlen(key->url));
	sfs_rng_init(&rng, words, SFS_COUNT(words));
	return sfs_rng_next(&rng);
}

static void name_of(const struct sfs_index_cache_key *key, char ret[64])
{
	unsigned long long a = hash_of(key, 1), b = hash_of(key, 2);

	snprintf(ret, 64, "%02llx/%016llx%016llx.index", a >> 56, a, b);
}

char *sfs_index_cache_path(const struct sfs_index_cache *s,
			   const struct sfs_index_cache_key *key)
{
	char name[64];

	if (!s->folder)
		return NULL;
	name_of(key, name);
	return sfs_asprintf("%s/%s", s->folder, name);
}

/* ---- writing: the thread ---- */

/* Is the cache being freed, and is its time over? */
static bool is_late(struct sfs_index_cache *s)
{
	bool late;

	pthread_mutex_lock(&s->lock);
	late = s->is_closed && sfs_clock_ns() >= s->give_up_ns;
	pthread_mutex_unlock(&s->lock);
	return late;
}

/* Make a folder and its parents; fine if it is there.  1: we made it. */
static int make_folder(const char *path, mode_t mode)
{
	sfs_autofree char *p = sfs_strdup(path);
	char *slash;

	for (slash = p + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
		*slash = 0;
		if (mkdir(p, mode) < 0 && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	if (mkdir(p, mode) == 0)
		return 1;
	return errno != EEXIST ? -errno : 0;
}

/* ---- the mark of our folders ---- */

/* Mark the folder, which we have just created, as ours.  If that fails, it is never
 * tidied. */
static void mark_folder(const struct sfs_index_cache *s)
{
	sfs_autofree char *path = sfs_asprintf("%s/" TAG_NAME, s->folder);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);

	if (fd < 0)
		return;
	if (write(fd, tag, sizeof tag - 1) < 0)
		sfs_debug("index: %s: %s", path, strerror(errno));
	close(fd);
}

/* The first n bytes of a regular file, or fewer if it has no more; or -errno. */
static ssize_t read_beginning(int folder, const char *name, void *ret, size_t n)
{
	struct stat st;
	ssize_t got;
	int fd;

	/* Non-blocking: it may be a FIFO. */
	fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	got = fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ? -1 : read(fd, ret, n);
	close(fd);
	return got < 0 ? -EINVAL : got;
}

static bool is_marked(int folder)
{
	char found[sizeof tag];
	ssize_t n = read_beginning(folder, TAG_NAME, found, sizeof found);

	return n == sizeof tag - 1 && memcmp(found, tag, sizeof tag - 1) == 0;
}

/* Is the file an index, or the beginning of one? */
static bool is_index(int folder, const char *name)
{
	char found[16];
	ssize_t n = read_beginning(folder, name, found, sizeof found);

	return n >= 0 && sfs_index_begins_so(found, (size_t)n);
}

/* Is this exactly a name that begin_file() makes? */
static bool is_begun_name(const char *name)
{
	unsigned long long random;
	unsigned long pid;
	char made[64];

	if (strlen(name) != BEGUN_LENGTH || sscanf(name, BEGUN, &pid, &random) != 2)
		return false;
	snprintf(made, sizeof made, BEGUN, pid, random);
	return strcmp(name, made) == 0;
}

/* ---- one file ---- */

/* Create a file with a name that is unique among all machines.  Its mode is the user's
 * umask: the folder protects it, unless the user made the folder for others too. */
static int begin_file(struct sfs_index_cache *s, char **ret_path)
{
	sfs_autofree char *path = NULL;
	uint64_t random = 0;
	int fd;

	if (getrandom(&random, sizeof random, GRND_NONBLOCK) < 0)
		random = sfs_clock_ns();
	path = sfs_asprintf("%s/" BEGUN, s->folder, (unsigned long)getpid(),
			    (unsigned long long)random);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
	if (fd < 0)
		return -errno;
	*ret_path = steal(&path);
	return fd;
}

static int write_all(struct sfs_index_cache *s, int fd, const char *bytes, size_t n)
{
	ssize_t done;

	while (n > 0) {
		if (is_late(s))
			return -ECANCELED;
		done = write(fd, bytes, n < WRITE_BYTES ? n : WRITE_BYTES);
		if (done < 0 && errno != EINTR)
			return -errno;
		bytes += done > 0 ? done : 0;
		n -= done > 0 ? (size_t)done : 0;
	}
	return 0;
}

/* rename(), but only an index is replaced.  -EEXIST: something else is there. */
static int rename_over(const char *from, const char *to)
{
	struct stat st;

	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno == EEXIST && !is_index(AT_FDCWD, to))
		return -EEXIST;
	/* Some file systems can only replace (NFS). */
	if (errno == EINVAL && lstat(to, &st) == 0 && !is_index(AT_FDCWD, to))
		return -EEXIST;
	if (errno != EEXIST && errno != EINVAL)
		return -errno;
	return rename(from, to) < 0 ? -errno : 0;
}

/* Give the whole file its name, and create the folders above it if needed: the cache
 * folder itself keeps other users out, if its mode says so. */
static int name_file(struct sfs_index_cache *s, const char *begun, const char *name)
{
	sfs_autofree char *path = sfs_asprintf("%s/%s", s->folder, name);
	sfs_autofree char *folder = sfs_strdup(path);
	int ret;

	ret = rename_over(begun, path);
	if (ret != -ENOENT)
		return ret;
	*strrchr(folder, '/') = 0;
	ret = make_folder(folder, 0777);
	return ret < 0 ? ret : rename_over(begun, path);
}

/* The same; makes the folder if needed. */
static int begin_file_in_folder(struct sfs_index_cache *s, char **ret_path)
{
	int ret = begin_file(s, ret_path);

	if (ret != -ENOENT)
		return ret;
	ret = make_folder(s->folder, 0700);
	if (ret > 0 && s->is_cache)
		mark_folder(s);
	return ret < 0 ? ret : begin_file(s, ret_path);
}

static int try_folder(struct sfs_index_cache *s)
{
	sfs_autofree char *begun = NULL;
	int fd = begin_file_in_folder(s, &begun);

	if (fd < 0)
		return fd;
	close(fd);
	return unlink(begun) < 0 ? -errno : 0;
}

static int write_file(struct sfs_index_cache *s, const struct item *item)
{
	sfs_autofree char *begun = NULL;
	int fd, ret;

	fd = begin_file_in_folder(s, &begun);
	if (fd < 0)
		return fd;
	ret = write_all(s, fd, item->bytes, item->n);
	if (close(fd) < 0 && ret == 0)
		ret = -errno; /* NFS reports here that the disk is full */
	if (ret == 0)
		ret = name_file(s, begun, item->name);
	if (ret < 0)
		unlink(begun);
	return ret;
}

static void log_once(struct sfs_index_cache *s, const char *name, int err)
{
	int i;

	for (i = 0; i < N_LOGGED_ERRS && s->logged_errs[i] != 0; i++)
		if (s->logged_errs[i] == err)
			return;
	if (i == N_LOGGED_ERRS)
		return;
	s->logged_errs[i] = err;
	if (err == -EEXIST)
		sfs_warning("index: %s/%s: not replaced, as it is not an index made by "
			    "shufflefs; move it away or use another folder",
			    s->folder, name);
	else
		sfs_warning("index: %s: %s: indexes are not kept there for now, so later "
			    "mounts "
			    "read headers again; index-cache= names another folder",
			    s->folder, strerror(-err));
}

static bool is_old(int folder, const char *name)
{
	struct stat st;

	return fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       (uint64_t)st.st_mtime * 1000 + OLD_MS < sfs_clock_wall_ms();
}

/* Remove unfinished files of other processes of ours. */
static void tidy(struct sfs_index_cache *s)
{
	DIR *dir = opendir(s->folder);
	struct dirent *entry;
	int fd;

	if (!dir)
		return;
	fd = dirfd(dir);
	entry = is_marked(fd) ? readdir(dir) : NULL;
	for (; entry; entry = readdir(dir))
		if (is_begun_name(entry->d_name) && is_old(fd, entry->d_name) &&
		    is_index(fd, entry->d_name))
			unlinkat(fd, entry->d_name, 0);
	closedir(dir);
}

static void free_item(struct item *item)
{
	free(item->bytes);
	free(item->name);
	free(item);
}

/* Drop the queue.  Locked. */
static void drop_queue(struct sfs_index_cache *s)
{
	struct sfs_link *link;
	struct item *item;

	while ((link = sfs_list_pop(&s->queue)) != NULL) {
		item = sfs_container(link, struct item, link);
		s->pending_bytes -= item->n;
		s->n_lost++;
		free_item(item);
	}
}

/* Write an item that was taken from the queue.  Locked; unlocks meanwhile. */
static void write_next(struct sfs_index_cache *s, struct item *item)
{
	int err;

	s->is_writing = true;
	pthread_mutex_unlock(&s->lock);
	err = item->name ? write_file(s, item) : try_folder(s);
	if (err < 0 && err != -ECANCELED && item->name)
		log_once(s, item->name, err);
	pthread_mutex_lock(&s->lock);
	s->is_writing = false;
	s->pending_bytes -= item->n;
	s->n_lost += err < 0;
	if (!item->name)
		s->try_err = err;
	if (err < 0 && err != -EEXIST) {
		s->paused_until_ns = sfs_clock_ns() + PAUSE_NS;
		drop_queue(s);
	}
	free_item(item);
}

static void *work(void *arg)
{
	struct sfs_index_cache *s = arg;
	struct sfs_link *link;

	tidy(s);
	pthread_mutex_lock(&s->lock);
	for (;;) {
		link = sfs_list_pop(&s->queue);
		if (link) {
			write_next(s, sfs_container(link, struct item, link));
			continue;
		}
		pthread_cond_broadcast(&s->idle);
		if (s->is_closed)
			break;
		pthread_cond_wait(&s->wake, &s->lock);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* ---- for callers ---- */

struct sfs_index_cache *sfs_index_cache_new(const char *folder, bool is_cache)
{
	struct sfs_index_cache *s = sfs_calloc(1, sizeof *s);

	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->wake, NULL);
	pthread_cond_init(&s->idle, NULL);
	sfs_list_init(&s->queue);
	if (folder) {
		s->folder = sfs_strdup(folder);
		s->is_cache = is_cache;
		s->thread = sfs_thread_start("sfs-store", work, s);
	}
	return s;
}

void sfs_index_cache_free(struct sfs_index_cache *s)
{
	if (!s)
		return;
	if (s->folder) {
		pthread_mutex_lock(&s->lock);
		s->is_closed = true;
		s->give_up_ns = sfs_clock_ns() + LAST_NS;
		pthread_cond_signal(&s->wake);
		pthread_mutex_unlock(&s->lock);
		if (!sfs_thread_join_until(s->thread, s->give_up_ns + SFS_NS_PER_S))
			return; /* the disk is silent, and the thread uses all this */
	}
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->wake);
	pthread_cond_destroy(&s->idle);
	free(s->folder);
	free(s);
}

/* May n more bytes be pending?  Locked. */
static bool has_room(struct sfs_index_cache *s, size_t n)
{
	if (!s->folder || sfs_clock_ns() < s->paused_until_ns)
		return false;
	return s->pending_bytes == 0 || (n <= SFS_INDEX_CACHE_PENDING &&
					 s->pending_bytes <= SFS_INDEX_CACHE_PENDING - n);
}

void sfs_index_cache_save(struct sfs_index_cache *s,
			  const struct sfs_index_cache_key *key, void *bytes, size_t n)
{
	char name[64];

	name_of(key, name);
	sfs_index_cache_save_as(s, name, bytes, n);
}

void sfs_index_cache_save_as(struct sfs_index_cache *s, const char *name, void *bytes,
			     size_t n)
{
	struct item *item = sfs_calloc(1, sizeof *item);

	item->bytes = bytes;
	item->n = n;
	item->name = name ? sfs_strdup(name) : NULL;
	pthread_mutex_lock(&s->lock);
	if (has_room(s, n)) {
		s->pending_bytes += n;
		sfs_list_push(&s->queue, &steal(&item)->link);
		pthread_cond_signal(&s->wake);
	} else {
		s->n_lost++;
	}
	pthread_mutex_unlock(&s->lock);
	if (item)
		free_item(item);
}

/* Locked. */
static uint64_t count_pending(const struct sfs_index_cache *s)
{
	uint64_t n = s->is_writing;

	SFS_EACH (item, &s->queue, struct item, link)
		n++;
	return n;
}

uint64_t sfs_index_cache_flush(struct sfs_index_cache *s)
{
	uint64_t until_ns = sfs_stall_deadline(sfs_clock_ns()), n_lost;

	pthread_mutex_lock(&s->lock);
	while (count_pending(s) > 0 && s->paused_until_ns != UINT64_MAX &&
	       sfs_cond_wait_until(&s->idle, &s->lock, until_ns))
		;
	n_lost = count_pending(s);
	if (n_lost > 0 && s->paused_until_ns != UINT64_MAX) {
		s->paused_until_ns = UINT64_MAX;
		sfs_error("%s does not answer within %.4g s (read-timeout): no index is "
			  "kept there any more",
			  s->folder, (double)sfs_stall_limit_ns() / SFS_NS_PER_S);
	}
	n_lost += s->n_lost;
	s->n_lost = 0;
	pthread_mutex_unlock(&s->lock);
	return n_lost;
}

int sfs_index_cache_try(struct sfs_index_cache *s)
{
	if (!s->folder)
		return 0;
	s->try_err = -ETIMEDOUT;
	sfs_index_cache_save_as(s, NULL, NULL, 0);
	return sfs_index_cache_flush(s) > 0 ? s->try_err : 0;
}
