/* SPDX-License-Identifier: MIT */
/* header-scan - scans the headers of a shard, to know its samples or its members.
 *
 * For what no stream has read yet: the sample at a random byte of an epoch, or the folder
 * samples/SHARD.  The data of members are jumped over where that is quicker than to read
 * on.  A few shards are scanned at a time, each once for all callers.  Listings are kept
 * until their memory is needed (an eighth of the budget).
 *
 * Any thread may call.  Nothing here waits; callers get -EINPROGRESS and a waiter is
 * called.
 */
#ifndef SFS_HEADER_SCAN_H
#define SFS_HEADER_SCAN_H

#include "base/waiter.h"
#include "catalog/directory.h"
#include "io/header-fetch.h"
#include "io/runtime.h"

struct sfs_cached_directory {
	struct sfs_directory *listing;
	struct sfs_shard *shard;
	bool is_damaged; /* the shard could be listed only up to its damage */
	int n_users;
	uint64_t n_bytes;
	struct sfs_link link;
};

struct sfs_header_scanner {
	struct sfs_runtime *runtime;
	struct sfs_account account; /* of the listings */
	bool has_second_reader;	    /* libarchive reads what is odd among members, too */

	pthread_mutex_t lock;  /* guards all below, and what shards keep for us */
	struct sfs_link queue; /* scans that have not begun */
	struct sfs_link small; /* those that need no table, but FIRST or INDEX */
	struct sfs_link proofs; /* see sfs_header_scan_proof() */
	int n_running, n_proofs;
	struct sfs_link unused; /* listings, the longest unused first */
	struct sfs_header_fetch_times times;
	bool is_closed;
};

void sfs_header_scanner_init(struct sfs_header_scanner *s, struct sfs_runtime *runtime);

/* Cancel queued scans and start no more; those that run end when the sources stop.  Free
 * the scanner after that. */
void sfs_header_scanner_stop(struct sfs_header_scanner *s);
void sfs_header_scanner_done(struct sfs_header_scanner *s);

/* Is the table of the shard in memory, to its end or its damage?  0: it was just now (it
 * may be dropped again).  -EINPROGRESS: a scan is queued or running; the waiter gets 0 or
 * the source's error.  -ECANCELED: the scanner has stopped.  The size of the shard must
 * be known. */
int sfs_header_scan_table(struct sfs_header_scanner *s, struct sfs_shard *shard,
			  struct sfs_waiter *waiter);

/* The same of a shard whose stretches were guessed.  While it `is_quiet`, a scan is not
 * urgent, and rather takes long than many bytes. */
int sfs_header_scan_proof(struct sfs_header_scanner *s, struct sfs_shard *shard,
			  bool is_quiet, struct sfs_waiter *waiter);

/* Of a stretch: is its first sample known (sfs_shard_part.first)?  Else as above; and
 * -EIO: damage comes before it. */
int sfs_header_scan_first(struct sfs_header_scanner *s, struct sfs_shard *stretch,
			  struct sfs_waiter *waiter);

/* The same of a stretch (catalog/stretches.h), by a scan of its whole shard, which uses
 * an index, guesses nothing, and tells of all other stretches, too.  Where that shard is
 * damaged, of the stretch alone. */
int sfs_header_scan_whole(struct sfs_header_scanner *s, struct sfs_shard *shard,
			  struct sfs_waiter *waiter);

/* Was an index of the shard looked for?  Then its table is known if there is one (and may
 * be dropped again).  Else as above. */
int sfs_header_scan_index(struct sfs_header_scanner *s, struct sfs_shard *shard,
			  struct sfs_waiter *waiter);

/* The same for the members of the shard (sfs_shard_members()) and its table. */
int sfs_header_scan_members(struct sfs_header_scanner *s, struct sfs_shard *shard,
			    struct sfs_waiter *waiter);

/* How many bytes of the shard the running scan has scanned or jumped
 * over; 0: none runs. */
uint64_t sfs_header_scan_progress(struct sfs_header_scanner *s, struct sfs_shard *shard);

/* The listing of a shard.  0: *ret_listed stays until sfs_header_scan_put().  Else as
 * sfs_header_scan_table(). */
int sfs_header_scan_listing(struct sfs_header_scanner *s, struct sfs_shard *shard,
			    struct sfs_waiter *waiter,
			    struct sfs_cached_directory **ret_listed);
void sfs_header_scan_put(struct sfs_header_scanner *s,
			 struct sfs_cached_directory *listed);

#endif
