/* SPDX-License-Identifier: MIT */
/* index-cache - a folder that keeps indexes from one mount to the next.
 *
 * It is a cache: an index that cannot be written is dropped, a damaged one counts as
 * absent, and users may remove files at any time.  Any number of processes, on any number
 * of machines, may share a folder: files are written under another name and then renamed,
 * so no name ever has half a file.
 *
 * The folder may belong to anybody and contain anything.  Only indexes are replaced, and
 * only our own unfinished files are removed: those of this process, and, in a folder that
 * an index cache created, those of processes that were killed.
 *
 * Saving never waits: one thread, "sfs-store", writes.  Any thread may call.
 */
#ifndef SFS_INDEX_CACHE_H
#define SFS_INDEX_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SFS_INDEX_CACHE_PENDING ((size_t)64 << 20) /* bytes that may be pending */

struct sfs_index_cache;

/* The key of an index. */
struct sfs_index_cache_key {
	const char *url;      /* the shard's, without user and password; borrowed */
	uint64_t shard_bytes; /* as in the index */
	uint64_t version;     /* as in the index; 0: unknown */
};

/* The default folder of a user's indexes, $XDG_CACHE_HOME/shufflefs or
 * $HOME/.cache/shufflefs; NULL: neither is an absolute path.  The caller frees it. */
char *sfs_index_cache_default_folder(void);

/* A cache in `folder`, which is created (mode 0700, with its parents) when something is
 * first saved.  `is_cache`: if it creates the folder, it marks it with a CACHEDIR.TAG.
 * `folder` NULL: it keeps nothing and starts no thread.  Never returns NULL. */
struct sfs_index_cache *sfs_index_cache_new(const char *folder, bool is_cache);

/* Write what is pending, for 2 s at most, and free it.  NULL is fine. */
void sfs_index_cache_free(struct sfs_index_cache *s);

/* The path of the index with this key, whether or not there is one; the caller frees it.
 * NULL: the cache keeps nothing. */
char *sfs_index_cache_path(const struct sfs_index_cache *s,
			   const struct sfs_index_cache_key *key);

/* Make the folder, and a file in it, and remove the file: can indexes be saved?  Waits
 * like sfs_index_cache_flush(); nothing may be saved meanwhile.  -ETIMEDOUT: the disk
 * does not answer.  Others: from the system. */
int sfs_index_cache_try(struct sfs_index_cache *s);

/* Save these n bytes, made by sfs_index_write().  Takes them in any case.  They are
 * dropped if more than SFS_INDEX_CACHE_PENDING would be pending (a single index may have
 * any size), or if writing failed in the last minute. */
void sfs_index_cache_save(struct sfs_index_cache *s,
			  const struct sfs_index_cache_key *key, void *bytes, size_t n);

/* The same, under a name that the caller chooses: a path relative to the folder. */
void sfs_index_cache_save_as(struct sfs_index_cache *s, const char *name, void *bytes,
			     size_t n);

/* Wait until nothing is pending, or the disk has not answered for too long
 * (base/stall.h). Returns how many indexes were lost since the last flush; the log says
 * why, once for each kind of failure. */
uint64_t sfs_index_cache_flush(struct sfs_index_cache *s);

#endif
