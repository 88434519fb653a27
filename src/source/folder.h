/* SPDX-License-Identifier: MIT */
/* folder - what local folders hold: the shards in one, and the paths that a pattern
 * matches.
 *
 * Any thread may call.  All functions wait for the disk.
 */
#ifndef SFS_FOLDER_H
#define SFS_FOLDER_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

#define SFS_FOLDER_PATHS_MAX 10000000 /* that a pattern may match */

/* Is there anything of that name?  A link counts, wherever it leads. */
bool sfs_folder_has(const char *path);

/* The entries of a folder that are not hidden, in the order of their bytes. */
struct sfs_folder {
	char **shards; /* *.tar, but folders */
	size_t n_shards;
	char **others; /* all else; the name of a folder ends in a slash */
	size_t n_others;
};

/* 0: sfs_folder_done() frees *ret.  -ENOTDIR: the path is not a folder.  Others: *err
 * says why. */
int sfs_folder_list(const char *path, struct sfs_folder *ret, struct sfs_error *err);
void sfs_folder_done(struct sfs_folder *folder);

/* The paths that match an absolute pattern, in the order of their bytes; the caller frees
 * each and the array.
 *
 * '*', '?' and '[...]' stand for characters of a name, as in a shell; "**", as a whole
 * component, for any number of folders, none too; at the end, for all *.tar in and below
 * a folder.  Hidden names match only a component that begins with a dot; "**" does not
 * go through links.
 *
 * -ENOENT: nothing matches.  -EACCES and others: a folder cannot be read, so that the
 * answer would not be whole.  *err says which. */
int sfs_folder_match(const char *pattern, char ***ret_paths, size_t *ret_n,
		     struct sfs_error *err);

#endif
