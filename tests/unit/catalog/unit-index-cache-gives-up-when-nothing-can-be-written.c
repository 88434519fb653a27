/* SPDX-License-Identifier: MIT */
/* A folder that takes no files costs one line in the log and not a file of rubbish; what
 * is saved is dropped, and nobody waits. */
#include "stores.h"

#include "base/log.h"

#include <fcntl.h>
#include <sys/mount.h>

/* What the log says while `run` runs; the caller frees it. */
static char *log_of(void (*run)(void))
{
	sfs_autofree char *path = sfs_asprintf("%s/log", top);
	char *text = sfs_calloc(1, 10000);
	int saved = dup(2), fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	CHECK(fd >= 0);
	dup2(fd, 2);
	run();
	dup2(saved, 2);
	CHECK(pread(fd, text, 9999, 0) >= 0);
	close(fd);
	close(saved);
	return text;
}

static int count_lines(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

static void save_three(void)
{
	struct sfs_index_cache *s = sfs_index_cache_new(folder, true);

	save(s, 10);
	CHECK_EQ(sfs_index_cache_flush(s), 1);
	save(s, 10); /* dropped at once: it has just failed */
	save(s, 11);
	CHECK_EQ(sfs_index_cache_flush(s), 2);
	CHECK_EQ(load(s, 10, NULL) < 0, 1);
	sfs_index_cache_free(s);
}

static void one_line(const char *why)
{
	sfs_autofree char *text = log_of(save_three);

	CHECK_EQ(count_lines(text), 1);
	CHECK_HAS(text, folder);
	CHECK_HAS(text, why);
	CHECK_HAS(text, "index-cache=");
}

/* Root may write wherever there is a folder. */
static void below_a_file(void)
{
	sfs_autofree char *file = sfs_asprintf("%s/cache", top);

	close(open(file, O_CREAT | O_WRONLY, 0600));
	one_line("Not a directory");
	unlink(file);
}

/* ---- no room ---- */

static void save_too_much(void)
{
	struct sfs_index_cache *s = sfs_index_cache_new(folder, true);

	save(s, 100);
	CHECK_EQ(sfs_index_cache_flush(s), 0);
	save(s, 20000); /* 320,000 bytes */
	save(s, 20001);
	CHECK_EQ(sfs_index_cache_flush(s), 2);
	CHECK_EQ(load(s, 20000, NULL), -ENOENT);
	CHECK_EQ(load(s, 100, NULL), 0);
	CHECK_EQ(count_files(""), 1); /* what was begun is gone */
	sfs_index_cache_free(s);
}

static bool no_room(void)
{
	sfs_autofree char *text = NULL;

	mkdir(folder, 0700);
	if (mount("none", folder, "tmpfs", 0, "size=64k") < 0)
		return false;
	text = log_of(save_too_much);
	CHECK_EQ(count_lines(text), 1);
	CHECK_HAS(text, "No space left on device");
	CHECK_EQ(mount("none", folder, "tmpfs", MS_REMOUNT | MS_RDONLY, NULL), 0);
	one_line("Read-only file system");
	umount(folder);
	return true;
}

/* ---- too much at once ---- */

/* One may be larger than all that may be pending; with others it may not. */
static void more_than_may_be_pending(void)
{
	struct sfs_index_cache *s = sfs_index_cache_new(folder, true);
	struct sfs_index_cache_key key = key_of(1);
	int i;

	for (i = 0; i < 5; i++) {
		key.version = (uint64_t)i;
		sfs_index_cache_save(s, &key, sfs_calloc(1, SFS_INDEX_CACHE_PENDING + 1),
				     SFS_INDEX_CACHE_PENDING + 1);
	}
	i = (int)sfs_index_cache_flush(s);
	CHECK(i > 0 && i < 5);
	CHECK_EQ(count_files(".index"), 5 - i);
	sfs_index_cache_free(s);
	remove_all(folder);
}

int main(void)
{
	sfs_autofree char *cache = NULL;

	make_top();
	below_a_file();
	cache = sfs_asprintf("%s/cache", top);
	mkdir(cache, 0700);
	more_than_may_be_pending();
	if (!no_room()) {
		printf("a tmpfs cannot be mounted here: %s\n", strerror(errno));
		return 77;
	}
	return 0;
}
