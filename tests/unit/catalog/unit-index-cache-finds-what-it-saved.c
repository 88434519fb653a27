/* SPDX-License-Identifier: MIT */
/* What was saved is found again, by the same key only, in this process or the next; what
 * is damaged, torn or of another version counts as absent and is replaced; what is no
 * index is left alone. */
#include "stores.h"

#include <fcntl.h>
#include <time.h>

static int mode_of(const char *path)
{
	struct stat st;

	CHECK_EQ(stat(path, &st), 0);
	return st.st_mode & 07777;
}

static void found_again(void)
{
	static const uint64_t sizes[] = {0, 1, 2, 500, 20000};
	sfs_autofree char *parent = sfs_asprintf("%s/cache", top);
	struct sfs_index_cache *s = sfs_index_cache_new(folder, true);
	struct sfs_error err = {0};
	size_t i;

	CHECK_EQ(load(s, 1, &err), -ENOENT);
	CHECK_HAS(err.text, folder);
	CHECK_EQ(access(folder, F_OK), -1); /* nothing is made for nothing */
	for (i = 0; i < SFS_COUNT(sizes); i++)
		save(s, sizes[i]);
	CHECK_EQ(sfs_index_cache_flush(s), 0);
	CHECK_EQ(sfs_index_cache_flush(s), 0);
	for (i = 0; i < SFS_COUNT(sizes); i++)
		CHECK_EQ(load(s, sizes[i], NULL), 0);
	CHECK_EQ(load(s, 3, NULL), -ENOENT);
	CHECK_EQ(mode_of(parent), 0700);
	CHECK_EQ(mode_of(folder), 0700);
	CHECK_EQ(count_files(""), SFS_COUNT(sizes)); /* and nothing else */
	CHECK_EQ(count_files(".index"), SFS_COUNT(sizes));
	CHECK_EQ(strlen(found.path), strlen(folder) + strlen("/ab/") + 32 + 6);
	CHECK(strncmp(found.path + strlen(folder) + 1, found.path + strlen(folder) + 4,
		      2) == 0);
	sfs_index_cache_free(s);

	s = sfs_index_cache_new(folder, true); /* the next mount */
	for (i = 0; i < SFS_COUNT(sizes); i++)
		CHECK_EQ(load(s, sizes[i], NULL), 0);
	save(s, 600);
	sfs_index_cache_free(s); /* writes what is pending */
	s = sfs_index_cache_new(folder, true);
	CHECK_EQ(load(s, 600, NULL), 0);
	sfs_index_cache_free(s);
	sfs_index_cache_free(NULL);
}

static bool is_path_of(struct sfs_index_cache *s, const struct sfs_index_cache_key *key,
		       bool is_there)
{
	sfs_autofree char *path = sfs_index_cache_path(s, key);

	return (access(path, F_OK) == 0) == is_there;
}

static void by_the_key_alone(void)
{
	struct sfs_index_cache *s = sfs_index_cache_new(folder, true);
	struct sfs_index_cache_key key = key_of(500), other = key;

	CHECK(is_path_of(s, &key, true));
	other.url = "https://host/Shard.tar";
	CHECK(is_path_of(s, &other, false));
	other.url = "";
	CHECK(is_path_of(s, &other, false));
	other = key;
	other.version = 78;
	CHECK(is_path_of(s, &other, false));
	other = key;
	other.shard_bytes += 512;
	CHECK(is_path_of(s, &other, false));
	sfs_index_cache_free(s);
}

/* ---- damage ---- */

static void write_at(off_t at, const void *bytes, size_t n)
{
	int fd = open(found.path, O_WRONLY);

	CHECK(fd >= 0);
	CHECK_EQ(pwrite(fd, bytes, n, at), n);
	close(fd);
}

static void absent_and_replaced(struct sfs_index_cache *s, uint64_t i, int wanted)
{
	struct sfs_error err = {0};

	CHECK_EQ(load(s, i, &err), wanted);
	save(s, i);
	CHECK_EQ(sfs_index_cache_flush(s), 0);
	CHECK_EQ(load(s, i, NULL), 0);
	CHECK_EQ(count_files(""), 1);
}

static void absent_and_left(struct sfs_index_cache *s, uint64_t i, int wanted)
{
	struct stat before, after;

	CHECK_EQ(load(s, i, NULL), wanted);
	CHECK_EQ(lstat(found.path, &before), 0);
	save(s, i);
	CHECK_EQ(sfs_index_cache_flush(s), 1);
	CHECK_EQ(lstat(found.path, &after), 0);
	CHECK_EQ(after.st_ino, before.st_ino);
	CHECK_EQ(load(s, i, NULL), wanted);
}

static void damage(uint64_t i)
{
	struct sfs_index_cache *s = sfs_index_cache_new(folder, true);

	remove_all(folder);
	save(s, i);
	sfs_index_cache_flush(s);
	CHECK_EQ(count_files(".index"), 1);
	write_at(HEADER_BYTES + 20, "x", 1);
	absent_and_replaced(s, i, -EBADMSG);
	write_at(AT_FORMAT, "\1", 1);
	absent_and_replaced(s, i, -EPROTONOSUPPORT);
	CHECK_EQ(truncate(found.path, HEADER_BYTES + 16), 0);
	absent_and_replaced(s, i, -EBADMSG);
	CHECK_EQ(truncate(found.path, 0), 0);
	absent_and_replaced(s, i, -EBADMSG);

	/* Not so what is no index, and not even torn: somebody has put it there. */
	write_at(0, "notes", 5);
	absent_and_left(s, i, -EBADMSG);
	CHECK_EQ(unlink(found.path), 0);
	CHECK_EQ(symlink("/etc/passwd", found.path), 0);
	absent_and_left(s, i, -ELOOP);
	CHECK_EQ(unlink(found.path), 0);
	CHECK_EQ(mkfifo(found.path, 0600), 0);
	absent_and_left(s, i, -EINVAL);
	save(s, i + 1); /* that was no reason to pause */
	CHECK_EQ(sfs_index_cache_flush(s), 0);
	sfs_index_cache_free(s);
}

/* ---- files that were begun and left ---- */

static char *begin(int i, const char *bytes, size_t n, bool is_old)
{
	char *path = sfs_asprintf("%s/.begun-0000000a-00000000000000f%d", folder, i);
	struct timespec then[2] = {{.tv_sec = time(NULL) - 4000},
				   {.tv_sec = time(NULL) - 4000}};
	int fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);

	CHECK(fd >= 0);
	CHECK_EQ(write(fd, bytes, n), n);
	close(fd);
	if (is_old)
		CHECK_EQ(utimensat(AT_FDCWD, path, then, 0), 0);
	return path;
}

/* Beginnings of an index that are old go, if the folder is one that we made. */
static void begun_files(bool is_ours)
{
	static const struct {
		const char *bytes;
		size_t n;
		bool is_old, goes;
	} files[] = {
		{"", 0, true, true},	       {"SFSIN", 5, true, true},
		{"SFSINDEX", 8, true, true},   {"SFSINDEX\xfftail", 13, true, true},
		{"SFSINDEX", 8, false, false}, {"SFSINDEY", 8, true, false},
		{"S\0", 2, true, false},       {"train.tar", 9, true, false},
	};
	char *paths[SFS_COUNT(files)];
	struct sfs_index_cache *s;
	size_t i;

	remove_all(folder);
	if (!is_ours)
		CHECK_EQ(mkdir(folder, 0700), 0);
	s = sfs_index_cache_new(folder, true);
	save(s, 1); /* makes it */
	sfs_index_cache_free(s);
	for (i = 0; i < SFS_COUNT(files); i++)
		paths[i] = begin((int)i, files[i].bytes, files[i].n, files[i].is_old);
	s = sfs_index_cache_new(folder, true);
	save(s, 1); /* the thread tidies up before it writes */
	CHECK_EQ(sfs_index_cache_flush(s), 0);
	for (i = 0; i < SFS_COUNT(files); i++) {
		CHECK_EQ(access(paths[i], F_OK), is_ours && files[i].goes ? -1 : 0);
		free(paths[i]);
	}
	sfs_index_cache_free(s);
}

/* ---- where, if nobody says where ---- */

static void default_is(const char *cache, const char *home, const char *wanted)
{
	sfs_autofree char *got = NULL;

	unsetenv("XDG_CACHE_HOME");
	unsetenv("HOME");
	if (cache)
		setenv("XDG_CACHE_HOME", cache, 1);
	if (home)
		setenv("HOME", home, 1);
	got = sfs_index_cache_default_folder();
	CHECK((got == NULL) == (wanted == NULL));
	if (wanted)
		CHECK_STR(got, wanted);
}

static void default_folder(void)
{
	default_is("/var/c", "/home/u", "/var/c/shufflefs");
	default_is("c", "/home/u", "/home/u/.cache/shufflefs");
	default_is("", "/home/u", "/home/u/.cache/shufflefs");
	default_is(NULL, "/home/u", "/home/u/.cache/shufflefs");
	default_is(NULL, "home", NULL);
	default_is(NULL, "", NULL);
	default_is("./c", NULL, NULL);
	default_is(NULL, NULL, NULL);
}

static void nowhere(void)
{
	struct sfs_index_cache *s = sfs_index_cache_new(NULL, true);

	CHECK_EQ(load(s, 1, NULL), -ENOENT);
	save(s, 1);
	CHECK_EQ(sfs_index_cache_flush(s), 1);
	CHECK_EQ(sfs_index_cache_flush(s), 0);
	CHECK_EQ(load(s, 1, NULL), -ENOENT);
	sfs_index_cache_free(s);
}

int main(void)
{
	make_top();
	found_again();
	by_the_key_alone();
	damage(100);
	damage(20000);
	begun_files(true);
	begun_files(false);
	default_folder();
	nowhere();
	return 0;
}
