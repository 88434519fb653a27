/* SPDX-License-Identifier: MIT */
/* indexer - has the samples of every shard known, for orders that need them all.
 *
 * Segments smaller than a shard and equal lanes are a matter of all samples.  The first
 * who asks has all shards surveyed; their tables stay from then on.  Who has waited for
 * too long, or certainly would have to, is told so, while the surveys go on.  Any thread
 * may call.
 */
#ifndef SFS_INDEXER_H
#define SFS_INDEXER_H

#include "env.h"
#include "survey.h"
#include "waiter.h"

struct sfs_indexer;

/* What it takes to know a shard: sfs_survey_table(), or sfs_survey_members(). */
typedef int sfs_indexer_survey(struct sfs_surveyor *surveyor, struct sfs_shard *shard,
			       struct sfs_waiter *waiter);

/* Nobody waits for longer than `wait_ms` from when they asked, and a tick. */
struct sfs_indexer *sfs_indexer_new(struct sfs_env *env, struct sfs_surveyor *surveyor,
				    sfs_indexer_survey *survey, uint64_t wait_ms);

/* End all waiters with -ECANCELED. */
void sfs_indexer_stop(struct sfs_indexer *indexer);

/* No survey may be under way.  NULL is fine. */
void sfs_indexer_free(struct sfs_indexer *indexer);

/* Are all tables there?  All sizes must be known.
 * 0: for good.  -EINPROGRESS: wait.  -ENODATA: that takes too long; the ledger says how
 * long.  -EIO: a shard is damaged or cannot be read; -EOVERFLOW, -ENOMEM: there are
 * too many samples, at all or for the budget.  The ledger says which. */
int sfs_indexer_all(struct sfs_indexer *indexer, struct sfs_waiter *waiter);

/* What all shards hold together, after sfs_indexer_all() returned 0. */
void sfs_indexer_sum(struct sfs_indexer *indexer, uint64_t *ret_samples,
		     uint64_t *ret_bytes);

/* Every second. */
void sfs_indexer_tick(struct sfs_indexer *indexer);

#endif
