/* SPDX-License-Identifier: MIT */
/* dataset - turns the specs that the user wrote into a list of shards with names.
 *
 * A spec is a path or URL with braces (braces.h), or a folder, which stands for its *.tar
 * in name order.  The name of a shard is its path without the folders that all shards
 * have in common; names are unique.  Pure: the caller lists folders.
 */
#ifndef SFS_DATASET_H
#define SFS_DATASET_H

#include "base/error.h"
#include "source/uri.h"

#include <stdint.h>

struct sfs_dataset {
	uint32_t n;
	struct sfs_uri *uris; /* n of them; the caller may take them */
	char **names;	      /* likewise */
	uint32_t *spec_of;    /* the number of the spec that each comes from */
};

struct sfs_dataset_disk {
	const char *cwd; /* the folder of relative paths */
	/* The *.tar of a folder, as file names in name order; the caller frees each
	 * and the array.  -ENOTDIR: the path is not a folder.  Other errors: *err says
	 * why. */
	int (*list)(const char *folder, char ***ret_names, size_t *ret_n,
		    struct sfs_error *err);
};

/* Expand the specs.  < 0: *err says why, and *ret_dataset is unchanged. */
int sfs_dataset_load(char *const *specs, int n_specs, const struct sfs_dataset_disk *disk,
		     struct sfs_dataset *ret_dataset, struct sfs_error *err);
void sfs_dataset_done(struct sfs_dataset *dataset);

#endif
