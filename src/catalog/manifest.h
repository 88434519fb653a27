/* SPDX-License-Identifier: MIT */
/* counts - how many samples each shard has, by what a dataset's description claims.
 *
 * Two descriptions, both in JSON, told apart by their names:
 *
 * Energon's .nv-meta/.info.json (Megatron-Energon 7.4, flavors/webdataset/structs.py):
 * {"energon_version": "7.4.0", "shard_counts": {"shards/000.tar": 1223, ...}}.
 *
 * wids (webdataset before 2025-02, wids/wids_specs.py and wids_index.py):
 * {"wids_version": 1, "shardlist": [{"url": "...", "nsamples": 1223, ...}, ...]};
 * "datasets", a list of such objects, is read as well, but for those that lie elsewhere
 * ("source_url").
 *
 * A description names a shard by some path or URL, we by another: so the one is meant
 * that ends in the same path components, and in most of them.  URLs are taken as they
 * are, less "?" and "#" and what follows; nothing is percent-decoded.
 *
 * Pure; any number of threads may find.
 */
#ifndef SFS_MANIFEST_H
#define SFS_MANIFEST_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct sfs_manifest_count {
	char *name;	  /* as it is described, less query and fragment */
	const char *last; /* its last component */
	uint64_t n_samples;
};

struct sfs_manifest {
	struct sfs_manifest_count *counts; /* sorted by `last` */
	size_t n;
};

/* Read a description of n bytes.
 *
 * 0: *ret is filled; free it with sfs_manifest_done().
 * -EBADMSG: no JSON, or neither description, or an entry that is not as it should be;
 * *err says in which line. */
int sfs_manifest_parse(const void *json, size_t n, struct sfs_manifest *ret,
		       struct sfs_error *err);

void sfs_manifest_done(struct sfs_manifest *counts); /* zeros are fine */

/* How many samples are claimed for this shard?
 *
 * 0: *ret_n_samples of them.  -ENOENT: no entry has its last component.  -ENOTUNIQ: two
 * fit equally well, and claim different numbers. */
int sfs_manifest_find(const struct sfs_manifest *counts, const char *shard_name,
		      uint64_t *ret_n_samples, struct sfs_error *err);

#endif
