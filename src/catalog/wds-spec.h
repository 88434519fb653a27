/* SPDX-License-Identifier: MIT */
/* wds-spec - reads the shards of several datasets from a spec of WebDataset (a YAML file
 * for its MultiShardSample), here as JSON.
 *
 *	{"prefix": "https://host/", "buckets": "folder",
 *	 "datasets": [{"name": "a", "shards": "a-{000..009}.tar"},
 *		      {"name": "b", "buckets": "other", "shards": ["b.tar"], ...}]}
 *
 * A shard is the prefix, the bucket, a slash and a name; braces are expanded.  What
 * WebDataset draws by chance in each epoch (choose, resample) is refused, and so is what
 * it takes from the environment.  Pure.
 */
#ifndef SFS_WDS_SPEC_H
#define SFS_WDS_SPEC_H

#include "base/error.h"

#include <stddef.h>

/* The paths and URLs of all shards, in their order; the caller frees each and the array.
 * -EBADMSG: it is no such spec; -EOPNOTSUPP: what is refused; *err says why. */
int sfs_wds_spec_read(const char *json, size_t n, char ***ret_shards, size_t *ret_n,
		      struct sfs_error *err);

#endif
