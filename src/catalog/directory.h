/* SPDX-License-Identifier: MIT */
/* directory - the members of a shard as folders and files.
 *
 * (Also used for the folders in the names of shards.)
 *
 * Names from tars are data: no "..", no absolute path and no over-long component becomes
 * a path.  As in tar, leading slashes are dropped, and of two members with the same name
 * the later counts.  Only regular files are shown.  Node numbers depend only on the bytes
 * of the shard, so a directory may be dropped and made again while the kernel remembers
 * numbers.  Pure.
 */
#ifndef SFS_DIRECTORY_H
#define SFS_DIRECTORY_H

#include "tar/entry.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SFS_DIRECTORY_ROOT 0

struct sfs_directory_node {
	uint32_t parent;
	uint32_t first_child, last_child, next_sibling; /* 0: none */
	size_t name; /* where it begins in names; NUL-terminated */
	bool is_folder;

	/* Files only. */
	uint64_t data; /* of the stored bytes, in the shard; or the user's own */
	uint64_t size;
	int64_t mtime;
	uint32_t mode;
	struct sfs_sparse_run *runs; /* NULL: not sparse */
	size_t n_runs;
};

struct sfs_directory {
	struct sfs_directory_node *nodes; /* nodes[0] is the shard's folder */
	uint32_t n, capacity;
	char *names;
	size_t n_names, names_capacity;
	uint32_t *table; /* of nodes by (parent, name): open addressing, 0 is free */
	uint32_t table_size;
	uint32_t n_hidden; /* members that have no file here */
};

struct sfs_directory *sfs_directory_new(void);
void sfs_directory_free(struct sfs_directory *dir);

/* The node of a path, made with its folders if needed.  0: hidden, because the path is
 * not safe, or would be both a file and a folder. */
uint32_t sfs_directory_put(struct sfs_directory *dir, const char *path, size_t n);

/* Add a member whose header group is at `start` of the shard.  Members that are not
 * regular files are ignored.  0.  -EINVAL: hidden (and counted), because its name is not
 * a safe path.  -ENOTDIR: hidden, because the name, or a folder in it, is both a file and
 * a folder; what came first counts.  -EEXIST: added, and it hides an earlier one of that
 * name, as it would when a tar is extracted. */
int sfs_directory_add(struct sfs_directory *dir, uint64_t start,
		      const struct sfs_tar_entry *group);

/* The child of a folder by name; 0 if there is none. */
uint32_t sfs_directory_find(const struct sfs_directory *dir, uint32_t parent,
			    const char *name);

static inline const char *sfs_directory_name(const struct sfs_directory *dir,
					     uint32_t node)
{
	return dir->names + dir->nodes[node].name;
}

/* The entry of a folder after the entry `previous`, or the first one (previous: 0); 0 at
 * the end. */
static inline uint32_t sfs_directory_next(const struct sfs_directory *listing,
					  uint32_t folder, uint64_t previous)
{
	if (previous >= listing->n)
		return 0;
	return previous ? listing->nodes[previous].next_sibling
			: listing->nodes[folder].first_child;
}

/* Bytes of memory it takes. */
uint64_t sfs_directory_memory(const struct sfs_directory *dir);

#endif
