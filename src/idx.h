/* SPDX-License-Identifier: MIT */
/* idx - the files shards/NAME.idx: a shard's index in DALI's format (dali.h), made of its
 * headers.
 *
 * Making one takes a survey, and time for a shard of many members: it is made on the
 * pool, once for all who have it open, and kept a moment for the next one.  Its memory is
 * held in the account of texts.  Any thread may call; nothing waits.
 */
#ifndef SFS_IDX_H
#define SFS_IDX_H

#include "census.h"
#include "env.h"
#include "survey.h"
#include "text.h"
#include "waiter.h"

struct sfs_idx;
struct sfs_idxs;

/* All are borrowed until sfs_idxs_free(). */
struct sfs_idxs *sfs_idxs_new(struct sfs_env *env, struct sfs_census *census,
			      struct sfs_surveyor *surveyor);

/* All must be closed, and the pool stopped.  NULL is fine. */
void sfs_idxs_free(struct sfs_idxs *idxs);

/* 0: close it.  -EINPROGRESS: wait.  -ENOMEM: the budget has no room for it; -EILSEQ,
 * -ENODATA: DALI's format cannot hold it; -EIO: the shard is damaged; others are the
 * source's. */
int sfs_idx_open(struct sfs_idxs *idxs, struct sfs_shard *shard,
		 struct sfs_waiter *waiter, struct sfs_idx **ret_idx);
void sfs_idx_close(struct sfs_idx *idx);

const struct sfs_text *sfs_idx_text(const struct sfs_idx *idx);

/* Every second: what nobody has opened again is dropped. */
void sfs_idxs_tick(struct sfs_idxs *idxs);

#endif
