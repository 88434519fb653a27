/* SPDX-License-Identifier: MIT */
/* indexes - finds the index of a shard, wherever one may be, and keeps new ones.
 *
 * It is looked for beside the shard (its URL and ".index"), then where the user says
 * (a folder or a URL, and the shard's name and ".index"), then in the cache folder.  An
 * index counts only if it is of the same size and version as the shard: one that is
 * damaged, stale, of somebody else's shard or too large for the budget is passed over,
 * and the ledger says so if it was not in the cache.
 *
 * Where there is none, the indexes of other tools are looked for in the same places:
 * SHARD.tar.idx (Energon) and SHARD.idx (DALI).  They are claims: where headers may be.
 *
 * Any thread may call; nothing here waits, but for flush, stop and free.
 */
#ifndef SFS_INDEX_FIND_H
#define SFS_INDEX_FIND_H

#include "base/list.h"
#include "catalog/index-format.h"
#include "catalog/index-import.h"
#include "catalog/members.h"
#include "memory/charge.h"
#include "order/samples.h"
#include "source/source.h"

#include <stdbool.h>

struct sfs_index_finder;

struct sfs_index_finder_options {
	const char *cache; /* a folder; NULL: none */
	const char *place; /* index=: a folder or a URL; NULL: none */
	const char *to;	   /* a folder: keep indexes there by name, not in the cache */
	bool verify_size_only;	     /* a shard of the same size is the same version */
	struct sfs_source *http;     /* NULL: no index is looked for at URLs */
	struct sfs_account *account; /* what is found is held there; NULL: nowhere */
};

/* -EINVAL and a sentence: `place` is no URL that can be understood. */
int sfs_index_finder_new(const struct sfs_index_finder_options *options,
			 struct sfs_index_finder **ret_indexes, struct sfs_error *err);

/* End what is being looked for with -ECANCELED; the sources are stopped.  Waits, but not
 * for a disk that does not answer: see sfs_threads_are_left(). */
void sfs_index_finder_stop(struct sfs_index_finder *ix);
void sfs_index_finder_free(struct sfs_index_finder *ix); /* a stopped one; NULL is fine */

/* One search. */
struct sfs_index_search {
	/* Set by the caller, the rest zero.  Borrowed; its size is known. */
	const struct sfs_object *object;
	bool wants_members; /* or the samples alone */
	/* Once, on any thread: 0, and `bytes` and `index` are the caller's (index points
	 * into bytes); -ENOENT: there is none, but perhaps `claims`, the caller's too;
	 * -ECANCELED. */
	void (*done)(struct sfs_index_search *finding, int err);

	struct sfs_charge bytes;
	struct sfs_index index;
	char *claimed_by; /* the index of another tool; NULL: no claims */
	struct sfs_index_import claims;
	struct sfs_charge claims_held; /* counts their memory */

	/* The module's own. */
	struct sfs_index_finder *indexes;
	struct sfs_link link;
	int place;
	int fetch_err;
	struct sfs_object remote; /* an index at a URL */
	struct sfs_request request;
	struct iovec iov;
	struct sfs_error error;
};

void sfs_index_finder_find(struct sfs_index_finder *ix, struct sfs_index_search *finding);

/* Free what was found and not taken. */
void sfs_index_search_done(struct sfs_index_search *finding);

/* Keep the index of a shard that was read to its sound end.  `members` may be NULL. */
void sfs_index_finder_keep(struct sfs_index_finder *ix, const struct sfs_object *object,
			   const struct sfs_sample_table *table,
			   const struct sfs_members *members);

/* Wait until what is kept is written.  How many could not be kept, since the last time.
 */
uint64_t sfs_index_finder_flush(struct sfs_index_finder *ix);

#endif
