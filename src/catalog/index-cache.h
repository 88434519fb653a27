/* SPDX-License-Identifier: MIT */
/* store - a folder that keeps indexes from one mount to the next.
 *
 * It is a cache: what cannot be kept is dropped, what is damaged counts as absent, and
 * whoever wants room may remove any of it at any time.  Any number of processes, on any
 * number of machines, may use one folder: files are written under another name and then
 * renamed, so a name never has half a file.
 *
 * The folder may be anybody's, and hold anything.  No file is replaced that is not an
 * index, and nothing is removed but what we began ourselves: in this process, or in one
 * that was killed, if the folder is one that a store made for itself.
 *
 * Saving never waits: one thread, "sfs-store", writes.  Any thread may call.
 */
#ifndef SFS_INDEX_CACHE_H
#define SFS_INDEX_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SFS_INDEX_CACHE_PENDING                                 \
	((size_t)64 << 20) /* bytes that may wait to be written \
			    */

struct sfs_index_cache;

/* What an index is found by. */
struct sfs_index_cache_key {
	const char *url;      /* the shard's, without user and password; borrowed */
	uint64_t shard_bytes; /* as in the index */
	uint64_t version;     /* as in the index; 0: unknown */
};

/* The folder where a user's indexes are by default, $XDG_CACHE_HOME/shufflefs or
 * $HOME/.cache/shufflefs; NULL: neither is an absolute path.  The caller frees it. */
char *sfs_index_cache_default_folder(void);

/* A store in `folder`, which is made (mode 0700, and its parents) when something is
 * first saved.  `is_cache`: a folder that is made is marked as a cache of ours, by a
 * CACHEDIR.TAG.  NULL: it keeps nothing, and starts no thread.  Never NULL. */
struct sfs_index_cache *sfs_index_cache_new(const char *folder, bool is_cache);

/* Write what is pending, for 2 s at most, and end.  NULL is fine.  What was loaded
 * stays. */
void sfs_index_cache_free(struct sfs_index_cache *s);

/* The file that has the index of this shard in this version, if there is one; the caller
 * frees it.  NULL: nothing is kept. */
char *sfs_index_cache_path(const struct sfs_index_cache *s,
			   const struct sfs_index_cache_key *key);

/* Keep these n bytes, made by sfs_index_write().  Takes them over, whatever becomes of
 * them.  They are dropped if more than SFS_INDEX_CACHE_PENDING would be pending (but one
 * alone may have any size), or if writing failed in the last minute. */
void sfs_index_cache_save(struct sfs_index_cache *s,
			  const struct sfs_index_cache_key *key, void *bytes, size_t n);

/* The same, under a name of the caller's choice: a path below the folder. */
void sfs_index_cache_save_as(struct sfs_index_cache *s, const char *name, void *bytes,
			     size_t n);

/* Wait until nothing is pending, or the disk has not answered for too long (stall.h). How
 * many of those saved since the last flush were not kept; why, the log says, once for
 * each kind of failure. */
uint64_t sfs_index_cache_flush(struct sfs_index_cache *s);

#endif
