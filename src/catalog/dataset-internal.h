/* SPDX-License-Identifier: MIT */
/* dataset-internal - what dataset.c (specs to a list of shards), dataset-index.c (files
 * that say which shards), dataset-read.c (where those are read from) and dataset-names.c
 * (what shards are called) share. */
#ifndef SFS_DATASET_INTERNAL_H
#define SFS_DATASET_INTERNAL_H

#include "catalog/dataset.h"

struct sfs_loader {
	struct sfs_dataset d;
	const struct sfs_dataset_disk *disk;
	uint32_t source; /* the number of the one that is being added */
	bool is_part;	 /* it is a part of a folder */
	/* The origin of the URL of the list or index that names shards now: the one that
	 * the user named, if that names another.  NULL: it is local. */
	char *by_origin;
	char *parted; /* the first folder that has parts, and was taken whole; or NULL */

	/* Entries of folders that were not taken. */
	struct sfs_strbuf others;   /* about the first folder that has some */
	size_t n_others_elsewhere;  /* entries of later folders */
	size_t n_folders_elsewhere; /* how many of those have some */
};

/* Add a shard, whatever its name looks like: a URL, or a path as seen from `folder`,
 * which is one or the other.
 * `said` is borrowed; NULL: nothing was said of it. */
int sfs_loader_add(struct sfs_loader *l, const char *folder, const char *name,
		   const struct sfs_said *said, struct sfs_error *err);

/* Append the text of a file, whose name is an absolute path, "-" or a URL.  *ret_is_pipe:
 * it is in no folder.  < 0: *err says why, with the name. */
int sfs_loader_read(const struct sfs_loader *l, const char *name, struct sfs_strbuf *text,
		    bool *ret_is_pipe, struct sfs_error *err);

/* From now on that file names shards and files: credentials of options go to no other
 * server than its own, unless another file has named it.  true: to be left. */
bool sfs_loader_enter(struct sfs_loader *l, const char *name);
void sfs_loader_leave(struct sfs_loader *l);

/* Set uri->is_foreign: is it at a server that only the present file names?  -EACCES: at an
 * address that no such file may name (source/target.h). */
int sfs_loader_check(const struct sfs_loader *l, struct sfs_uri *uri,
		     struct sfs_error *err);

/* The folder of such a file, without a '/' at its end, nor a query.  The caller frees
 * it. */
char *sfs_loader_folder_of(const char *name);

/* Does the name end as that of a file that says which shards there are? */
bool sfs_loader_is_index(const char *name);

/* Add what such a file says. */
int sfs_loader_add_index(struct sfs_loader *l, const char *path, struct sfs_error *err);

/* Has energon prepared the folder?  Then its parts can be had. */
bool sfs_loader_has_parts(const struct sfs_loader *l, const char *folder);

/* A part is wanted of `what`, which has none: taken as it is, it would be another dataset
 * than the user means.  Sets *err. */
int sfs_loader_refuse_split(const struct sfs_loader *l, const char *what,
			    struct sfs_error *err);

/* Add the part that is wanted of such a folder: a path, or a URL. */
int sfs_loader_add_part(struct sfs_loader *l, const char *folder, struct sfs_error *err);

/* Take each shard once: samples of one that is named twice would come twice. */
void sfs_dataset_drop_repeated(struct sfs_dataset *d);

/* -EINVAL, -EEXIST: with an error. */
int sfs_dataset_make_names(struct sfs_dataset *d, struct sfs_error *err);

#endif
