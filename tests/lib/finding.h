/* SPDX-License-Identifier: MIT */
/* finding - indexes of one made-up shard, and a source of URLs that the test answers. */
#ifndef SFS_TESTS_FINDING_H
#define SFS_TESTS_FINDING_H

#include "base/alloc.h"
#include "base/keyhash.h"
#include "catalog/index-find.h"
#include "check.h"

#include <errno.h>
#include <ftw.h>
#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHARD_BYTES (100000ULL * 512)

static char *top; /* the test's folder */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static inline void remove_top(void)
{
	nftw(top, remove_one, 10, FTW_DEPTH | FTW_PHYS);
	free(top);
}

static inline void make_top(void)
{
	const char *tmp = getenv("TMPDIR");

	top = sfs_asprintf("%s/shufflefs-indexes.XXXXXX", tmp ? tmp : "/tmp");
	CHECK(mkdtemp(top) != NULL);
	atexit(remove_top);
}

static inline void make_table(struct sfs_sample_table *t, uint64_t n)
{
	uint64_t i;

	*t = (struct sfs_sample_table){0};
	for (i = 0; i < n; i++)
		sfs_sample_table_add(t, &(struct sfs_extent){.start = i * 512,
							     .n_bytes = 512});
	sfs_sample_table_end(t, SFS_SAMPLE_TABLE_WHOLE);
}

/* An index that says: n samples; by that it is known again. */
static inline void *make_index(uint64_t n, uint64_t version, size_t *ret_n)
{
	struct sfs_sample_table t;
	void *bytes;

	make_table(&t, n);
	bytes = sfs_index_write(&t, SHARD_BYTES, version, NULL, ret_n);
	sfs_sample_table_done(&t);
	return bytes;
}

static inline uint64_t version_of(const char *tag)
{
	return sfs_keyhash(tag, strlen(tag));
}

/* ---- searches that are waited for ---- */

static pthread_mutex_t search_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t search_ended = PTHREAD_COND_INITIALIZER;
static int n_ends, found_err;

static inline void on_search_end(struct sfs_index_search *f, int err)
{
	pthread_mutex_lock(&search_lock);
	n_ends++;
	found_err = err;
	pthread_cond_signal(&search_ended);
	pthread_mutex_unlock(&search_lock);
}

/* Find the index of f->object, and wait for it.  0, or the search's error. */
static inline int find_index(struct sfs_index_finder *finder, struct sfs_index_search *f)
{
	int ret;

	f->done = on_search_end;
	pthread_mutex_lock(&search_lock);
	n_ends = 0;
	pthread_mutex_unlock(&search_lock);
	sfs_index_finder_find(finder, f);
	pthread_mutex_lock(&search_lock);
	while (n_ends == 0)
		pthread_cond_wait(&search_ended, &search_lock);
	CHECK_EQ(n_ends, 1);
	ret = found_err;
	pthread_mutex_unlock(&search_lock);
	return ret;
}

/* The shard as its source knows it. */
static inline struct sfs_object object_of(const char *url, const char *tag)
{
	struct sfs_object o = {0};
	struct sfs_uri uri;

	CHECK_EQ(sfs_uri_parse(url, &uri, NULL), 0);
	sfs_object_init(&o, &uri, NULL);
	o.name = "train-0.tar";
	o.size = SHARD_BYTES;
	o.tag = tag ? sfs_strdup(tag) : NULL;
	o.has_strong_tag = tag && (tag[0] == '"' || o.uri.scheme == SFS_SCHEME_FILE);
	return o;
}

#endif
