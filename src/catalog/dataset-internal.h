/* SPDX-License-Identifier: MIT */
/* dataset-internal - what dataset.c (specs to a list of shards) and dataset-names.c (what
 * they are called) share. */
#ifndef SFS_DATASET_INTERNAL_H
#define SFS_DATASET_INTERNAL_H

#include "catalog/dataset.h"

/* Take each shard once: samples of one that is named twice would come twice. */
void sfs_dataset_drop_repeated(struct sfs_dataset *d);

/* -EINVAL, -EEXIST: with an error. */
int sfs_dataset_make_names(struct sfs_dataset *d, struct sfs_error *err);

#endif
