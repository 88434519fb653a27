/* SPDX-License-Identifier: MIT */
/* index-find - finds the index of a shard, and saves new ones.
 *
 * It looks next to the shard (its URL and ".index"), then where the user says (a folder
 * or URL, the shard's name and ".index"), then in the cache folder.  An index is used
 * only if it matches the size and version of the shard: one that is damaged, stale, for
 * another shard or too large for the budget is skipped, with a line in the ledger unless
 * it was in the cache.
 *
 * If there is none, it looks in the same places for indexes of other tools: SHARD.tar.idx
 * (Energon) and SHARD.idx (DALI).  These are claims where headers may be.
 *
 * Any thread may call; only try, flush, stop and free wait.
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
	const char *to;	   /* a folder: save indexes there by name, not in the cache */
	bool verify_size_only;	     /* shards of the same size are the same version */
	struct sfs_source *http;     /* NULL: no search at URLs */
	struct sfs_account *account; /* for the memory of what is found; NULL: none */
};

/* Start the thread.  -EINVAL: `place` is not a valid URL; *err says why. */
int sfs_index_finder_new(const struct sfs_index_finder_options *options,
			 struct sfs_index_finder **ret_indexes, struct sfs_error *err);

/* End all searches with -ECANCELED; the sources are stopped.  Waits, but not for a disk
 * that does not answer: see sfs_threads_are_left(). */
void sfs_index_finder_stop(struct sfs_index_finder *ix);
void sfs_index_finder_free(struct sfs_index_finder *ix); /* a stopped one; NULL is fine */

/* One search. */
struct sfs_index_search {
	/* Set by the caller, the rest zero.  Borrowed; its size is known. */
	const struct sfs_object *object;
	bool wants_members; /* or the samples alone */
	/* Called once, on any thread.  0: `bytes` and `index` are the caller's (index
	 * points into bytes).  -ENOENT: there is none, but perhaps `claims`, the caller's
	 * too.  -ECANCELED: the finder has stopped. */
	void (*done)(struct sfs_index_search *search, int err);

	struct sfs_charge bytes;
	struct sfs_index index;
	char *claimed_by; /* the index of another tool; NULL: no claims */
	struct sfs_index_import claims;
	struct sfs_charge claims_held; /* counts their memory */

	/* Private. */
	struct sfs_index_finder *indexes;
	struct sfs_link link;
	int place;
	int fetch_err;
	struct sfs_object remote; /* an index at a URL */
	struct sfs_request request;
	struct iovec iov;
	struct sfs_error error;
};

/* Start a search. */
void sfs_index_finder_find(struct sfs_index_finder *ix, struct sfs_index_search *search);

/* Free what was found and not taken. */
void sfs_index_search_done(struct sfs_index_search *search);

/* Can indexes be saved in the folder `to`?  Waits for the disk.  < 0: no; *err names it.
 * A cache folder is not tried: it is made when there is something to save. */
int sfs_index_finder_try(struct sfs_index_finder *ix, struct sfs_error *err);

/* Save the index of a shard that was read to its end without damage.  `members` may be
 * NULL. */
void sfs_index_finder_keep(struct sfs_index_finder *ix, const struct sfs_object *object,
			   const struct sfs_sample_table *table,
			   const struct sfs_members *members);

/* Wait until all saved indexes are written.  Returns how many were lost since the last
 * call. */
uint64_t sfs_index_finder_flush(struct sfs_index_finder *ix);

#endif
