/* SPDX-License-Identifier: MIT */
/* energon - reads which shards belong to a part of a dataset that NVIDIA's energon has
 * prepared: .nv-meta/split.yaml and .nv-meta/.info.json, here as JSON.
 *
 *	{"split_parts": {"train": ["parts/data-{0..7}.tar"], "val": [...]},
 *	 "exclude": ["parts/data-3.tar", "parts/data-4.tar/key"]}
 *	{"shard_counts": {"parts/data-0.tar": 1000, ...}}
 *
 * Pure.
 */
#ifndef SFS_ENERGON_H
#define SFS_ENERGON_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct sfs_energon_part {
	char **names; /* of shards, in their order, from the dataset's folder on */
	size_t n;
};

/* The shards of the part, without those that are excluded.  -EBADMSG: it is no such text.
 * -EINVAL: no such part, or one without shards.  -EOPNOTSUPP: single samples of its
 * shards are excluded.  *err says why. */
int sfs_energon_read_split(const char *json, size_t n, const char *part,
			   struct sfs_energon_part *ret, struct sfs_error *err);
void sfs_energon_part_done(struct sfs_energon_part *part);

/* Set counts[i] to the number of samples of names[i], if it is said.  -EBADMSG. */
int sfs_energon_read_info(const char *json, size_t n, const struct sfs_energon_part *part,
			  uint64_t *counts, struct sfs_error *err);

#endif
