/* SPDX-License-Identifier: MIT */
/* ls - prints which shards a dataset has, and their sizes. */
#ifndef SFS_LS_H
#define SFS_LS_H

#include "base/error.h"
#include "config/options.h"

/* Append to *text a line for each shard, in the dataset's order, or JSON.  < 0: *err says
 * why; if only some shards cannot be read, *text has all of them. */
int sfs_ls(struct sfs_options *options, const struct sfs_strings *specs, bool as_json,
	   struct sfs_strbuf *text, struct sfs_error *err);

#endif
