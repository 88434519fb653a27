/* SPDX-License-Identifier: MIT */
/* name - what a path under epochs/ names: which epoch, whose part of it, from where.
 *
 *     E.tar                              an epoch
 *     E/rank-R-of-W.tar                  a rank's part of it
 *     E/rank-R-of-W/worker-I-of-N.tar    a loader worker's part of that
 *
 * and with @K before the ".tar", the same from its sample number K on.  Numbers are
 * canonical decimals: each stream has one name.  Pure.
 */
#ifndef SFS_NAME_H
#define SFS_NAME_H

#include "base/error.h"
#include "base/strbuf.h"
#include "order/order.h"

#include <stdbool.h>
#include <stdint.h>

#define SFS_EPOCH_MAX ((1ULL << 56) - 1)

struct sfs_name {
	bool is_folder;		    /* "E", or "E/rank-R-of-W" */
	uint64_t epoch;		    /* at most SFS_EPOCH_MAX */
	uint32_t rank, n_ranks;	    /* n_ranks is 0: of all */
	uint32_t worker, n_workers; /* likewise: of the whole rank */
	bool has_first;
	uint64_t first; /* K */
	bool is_order;	/* ".order": the text that says what is in the ".tar" */
};

/* One component of a path: of `folder`, or of epochs/ itself if that is NULL.
 * -ENOENT: it names nothing. */
int sfs_name_parse(const struct sfs_name *folder, const char *component,
		   struct sfs_name *ret_name);

/* The last component, or the whole path below epochs/. */
void sfs_name_print(const struct sfs_name *name, struct sfs_strbuf *text);
void sfs_name_print_path(const struct sfs_name *name, struct sfs_strbuf *text);

/* The folder that it is in.  false: that is epochs/ itself. */
bool sfs_name_parent(const struct sfs_name *name, struct sfs_name *ret_folder);

bool sfs_name_equal(const struct sfs_name *a, const struct sfs_name *b);

/* Is there such a part of an epoch of `n_shards`, dealt to at most `lanes` lanes?
 * (UINT32_MAX shards: more than lanes are certain, or that is seen later.)
 * -EINVAL and a sentence that says which would be: rank 3 of 2; ranks that do not
 * divide the lanes; a rank that would have no shard. */
int sfs_name_check(const struct sfs_name *name, uint32_t lanes, uint32_t n_shards,
		   struct sfs_error *err);

/* The lanes of the part. */
struct sfs_share sfs_name_share(const struct sfs_name *name);

#endif
