/* SPDX-License-Identifier: MIT */
/* dataset-internal - what dataset.c (specs to a list of shards), dataset-index.c (files
 * that say which shards) and dataset-names.c (what they are called) share. */
#ifndef SFS_DATASET_INTERNAL_H
#define SFS_DATASET_INTERNAL_H

#include "catalog/dataset.h"

struct sfs_loader {
	struct sfs_dataset d;
	const struct sfs_dataset_disk *disk;
	uint32_t source; /* the number of the one that is being added */
	bool is_part;	 /* it is a part of a folder */
	char *parted; /* the first folder that has parts, and was taken whole; or NULL */

	/* Entries of folders that were not taken. */
	struct sfs_strbuf others;   /* about the first folder that has some */
	size_t n_others_elsewhere;  /* entries of later folders */
	size_t n_folders_elsewhere; /* how many of those have some */
};

/* Add a shard, whatever its name looks like: a URL, or a path as seen from `folder`.
 * `said` is borrowed; NULL: nothing was said of it. */
int sfs_loader_add(struct sfs_loader *l, const char *folder, const char *name,
		   const struct sfs_said *said, struct sfs_error *err);

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

/* Add the part that is wanted of such a folder. */
int sfs_loader_add_part(struct sfs_loader *l, const char *folder, struct sfs_error *err);

/* Take each shard once: samples of one that is named twice would come twice. */
void sfs_dataset_drop_repeated(struct sfs_dataset *d);

/* -EINVAL, -EEXIST: with an error. */
int sfs_dataset_make_names(struct sfs_dataset *d, struct sfs_error *err);

#endif
