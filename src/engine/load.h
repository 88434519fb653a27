/* SPDX-License-Identifier: MIT */
/* load - lists the shards that the specs name: on disks, in lists, and in buckets.
 *
 * Waits, but no longer than the limit of base/stall.h.
 */
#ifndef SFS_LOAD_H
#define SFS_LOAD_H

#include "base/error.h"
#include "catalog/dataset.h"
#include "config/options.h"
#include "engine/stores.h"

/* With an error.  The stores, which it has made for buckets, go on to the sources. */
int sfs_load(const struct sfs_options *options, const struct sfs_strings *specs,
	     struct sfs_dataset *ret_dataset, struct sfs_stores *ret_stores,
	     struct sfs_error *err);

#endif
