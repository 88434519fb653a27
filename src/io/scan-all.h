/* SPDX-License-Identifier: MIT */
/* scan-all - scans the headers of all shards, for orders that need all samples.
 *
 * Segments smaller than a shard and equal lanes need all samples.  The first call starts
 * a scan of each shard; their tables stay from then on.  A caller that has waited too
 * long, or certainly would, is refused while the scans go on.  Any thread may call;
 * nothing here waits.
 */
#ifndef SFS_SCAN_ALL_H
#define SFS_SCAN_ALL_H

#include "base/waiter.h"
#include "io/header-scan.h"
#include "io/runtime.h"

struct sfs_scan_all;

/* How to scan a shard: sfs_header_scan_table() or sfs_header_scan_members(). */
typedef int sfs_scan_all_scan(struct sfs_header_scanner *scanner, struct sfs_shard *shard,
			      struct sfs_waiter *waiter);

/* A caller waits for at most `wait_ms` after its call, and a tick. */
struct sfs_scan_all *sfs_scan_all_new(struct sfs_runtime *runtime,
				      struct sfs_header_scanner *scanner,
				      sfs_scan_all_scan *scan, uint64_t wait_ms);

/* End all waiters with -ECANCELED. */
void sfs_scan_all_stop(struct sfs_scan_all *all);

/* Free it when no scan runs any more.  NULL is fine. */
void sfs_scan_all_free(struct sfs_scan_all *all);

/* Are all tables in memory?  All sizes must be known.
 * 0: they are, and stay.  -EINPROGRESS: wait.  -ENODATA: that takes too long.  -EIO: a
 * shard is damaged or cannot be read.  -EOVERFLOW, -ENOMEM: too many samples, at all or
 * for the budget.  The ledger has the details. */
int sfs_scan_all_request(struct sfs_scan_all *all, struct sfs_waiter *waiter);

/* The sums over all shards, after sfs_scan_all_request() returned 0. */
void sfs_scan_all_sum(struct sfs_scan_all *all, uint64_t *ret_samples,
		      uint64_t *ret_bytes);

/* Call it every second: it refuses callers that have waited too long. */
void sfs_scan_all_tick(struct sfs_scan_all *all);

#endif
