/* SPDX-License-Identifier: MIT */
/* indexer - has the samples of every shard known, for orders that need them all.
 *
 * Segments smaller than a shard and equal lanes are a matter of all samples.  The first
 * who asks has all shards surveyed; their tables stay from then on.  Who has waited for
 * too long, or certainly would have to, is told so, while the surveys go on.  Any thread
 * may call.
 */
#ifndef SFS_SCAN_ALL_H
#define SFS_SCAN_ALL_H

#include "base/waiter.h"
#include "io/header-scan.h"
#include "io/runtime.h"

struct sfs_scan_all;

/* What it takes to know a shard: sfs_header_scan_table(), or sfs_header_scan_members().
 */
typedef int sfs_scan_all_survey(struct sfs_header_scanner *scanner,
				struct sfs_shard *shard, struct sfs_waiter *waiter);

/* Nobody waits for longer than `wait_ms` from when they asked, and a tick. */
struct sfs_scan_all *sfs_scan_all_new(struct sfs_runtime *runtime,
				      struct sfs_header_scanner *scanner,
				      sfs_scan_all_survey *survey, uint64_t wait_ms);

/* End all waiters with -ECANCELED. */
void sfs_scan_all_stop(struct sfs_scan_all *scan_all);

/* No survey may be under way.  NULL is fine. */
void sfs_scan_all_free(struct sfs_scan_all *scan_all);

/* Are all tables there?  All sizes must be known.
 * 0: for good.  -EINPROGRESS: wait.  -ENODATA: that takes too long; the ledger says how
 * long.  -EIO: a shard is damaged or cannot be read; -EOVERFLOW, -ENOMEM: there are
 * too many samples, at all or for the budget.  The ledger says which. */
int sfs_scan_all_request(struct sfs_scan_all *scan_all, struct sfs_waiter *waiter);

/* What all shards hold together, after sfs_scan_all_request() returned 0. */
void sfs_scan_all_sum(struct sfs_scan_all *scan_all, uint64_t *ret_samples,
		      uint64_t *ret_bytes);

/* Every second. */
void sfs_scan_all_tick(struct sfs_scan_all *scan_all);

#endif
