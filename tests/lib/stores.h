/* SPDX-License-Identifier: MIT */
/* stores - a folder of its own for a store, and what is found in it. */
#ifndef SFS_TESTS_STORES_H
#define SFS_TESTS_STORES_H

#include "base/alloc.h"
#include "catalog/index-cache.h"
#include "made-indexes.h"
#include "whole-file.h"

#include <errno.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

static char *top;    /* the test's */
static char *folder; /* the store's, below it */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static inline void remove_all(const char *path)
{
	nftw(path, remove_one, 10, FTW_DEPTH | FTW_PHYS);
}

static inline void remove_top(void)
{
	remove_all(top);
	free(folder);
	free(top);
}

static inline void make_top(void)
{
	const char *tmp = getenv("TMPDIR");

	top = sfs_asprintf("%s/shufflefs-store.XXXXXX", tmp ? tmp : "/tmp");
	CHECK(mkdtemp(top) != NULL);
	folder = sfs_asprintf("%s/cache/shufflefs", top);
	atexit(remove_top);
}

static struct {
	const char *end;
	int n;
	char path[4096]; /* of the last one */
} found;

static int find_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	size_t n = strlen(path), n_end = strlen(found.end);

	if (type != FTW_F || n < n_end || strcmp(path + n - n_end, found.end) != 0 ||
	    strcmp(path + ftw->base, "CACHEDIR.TAG") == 0)
		return 0;
	found.n++;
	snprintf(found.path, sizeof found.path, "%s", path);
	return 0;
}

/* How many files whose names end so are in the folder, but for the mark of a cache? */
static inline int count_files(const char *end)
{
	found.end = end;
	found.n = 0;
	nftw(folder, find_one, 10, FTW_PHYS);
	return found.n;
}

/* The key of made-up shard i, whose index make_index(i) is. */
static inline struct sfs_index_cache_key key_of(uint64_t i)
{
	struct sfs_index_cache_key key = {.url = "https://host/shard.tar", .version = 77};
	struct sfs_sample_table t;

	key.shard_bytes = make_table(&t, i);
	sfs_sample_table_done(&t);
	return key;
}

static inline void save(struct sfs_index_cache *s, uint64_t i)
{
	struct sfs_index_cache_key key = key_of(i);
	size_t n;
	void *bytes = make_index(i, i % 2, &n);

	sfs_index_cache_save(s, &key, bytes, n);
}

/* Read what the store has by this key. */
static inline int open_of(struct sfs_index_cache *s,
			  const struct sfs_index_cache_key *key, void **ret_bytes,
			  struct sfs_index *ret_index, struct sfs_error *err)
{
	sfs_autofree char *path = sfs_index_cache_path(s, key);
	size_t n = 0;
	int ret;

	if (!path)
		return -ENOENT;
	ret = read_whole_file(path, 1 << 30, ret_bytes, &n, err);
	return ret < 0 ? ret : sfs_index_open(*ret_bytes, n, n, ret_index, err);
}

/* Load it, and see that it is this one. */
static inline int load(struct sfs_index_cache *s, uint64_t i, struct sfs_error *err)
{
	struct sfs_index_cache_key key = key_of(i);
	struct sfs_sample_table t, stored = {0};
	sfs_autofree void *bytes = NULL;
	struct sfs_index index;
	int ret = open_of(s, &key, &bytes, &index, err);

	if (ret < 0)
		return ret;
	CHECK_EQ(index.n_samples, i);
	CHECK_EQ(index.has_members, i % 2);
	make_table(&t, i);
	sfs_sample_table_borrow(&stored, index.entries, index.n_samples);
	CHECK_EQ(sfs_sample_table_place(&stored, i), sfs_sample_table_place(&t, i));
	CHECK(i == 0 || sfs_sample_table_get(&stored, i - 1).key_hash ==
				sfs_sample_table_get(&t, i - 1).key_hash);
	sfs_sample_table_done(&stored);
	sfs_sample_table_done(&t);
	return 0;
}

#endif
