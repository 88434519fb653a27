/* SPDX-License-Identifier: MIT */
/* survey - reads a shard for its headers, to know its samples or its members.
 *
 * When somebody wants to know what nobody has streamed by: the sample at a far
 * byte of an epoch, or the folder samples/SHARD.  Data of members are jumped over, where
 * that is quicker than to read on.  A few shards are surveyed at a time, each once for
 * all who wait. Listings are kept until their memory is needed (an eighth of the budget).
 */
#ifndef SFS_HEADER_SCAN_H
#define SFS_HEADER_SCAN_H

#include "base/waiter.h"
#include "catalog/directory.h"
#include "io/runtime.h"

struct sfs_cached_directory {
	struct sfs_directory *listing;
	struct sfs_shard *shard;
	bool is_damaged; /* the shard's rest could not be listed */
	int n_users;
	uint64_t n_bytes;
	struct sfs_link link;
};

struct sfs_header_scanner {
	struct sfs_runtime *runtime;
	struct sfs_account account; /* of the listings */

	pthread_mutex_t lock;  /* guards all below, and what shards keep for us */
	struct sfs_link queue; /* surveys that have not begun */
	int n_running;
	struct sfs_link unused;	     /* listings, the longest unused first */
	uint64_t small_ns, chunk_ns; /* how long reads take, of late; 0: not known */
	bool is_closed;
};

void sfs_header_scanner_init(struct sfs_header_scanner *s, struct sfs_runtime *runtime);

/* No more surveys; those that run end when the sources stop. */
void sfs_header_scanner_stop(struct sfs_header_scanner *s);
void sfs_header_scanner_done(struct sfs_header_scanner *s);

/* Is the table of the shard at hand, to its end or its damage?  0: it was just
 * now (it may be dropped again).  -EINPROGRESS: wait, with a survey under way.
 * The shard's size must be known. */
int sfs_header_scan_table(struct sfs_header_scanner *s, struct sfs_shard *shard,
			  struct sfs_waiter *waiter);

/* Are the members of the shard at hand (sfs_shard_members()), and its table?  As
 * sfs_header_scan_table(). */
int sfs_header_scan_members(struct sfs_header_scanner *s, struct sfs_shard *shard,
			    struct sfs_waiter *waiter);

/* How many bytes of the shard a survey that is under way has behind it; 0 if there is
 * none. */
uint64_t sfs_header_scan_progress(struct sfs_header_scanner *s, struct sfs_shard *shard);

/* The listing of a shard.  0: *ret_listed stays until it is put back.
 * -EINPROGRESS: wait.  < 0: the source's error. */
int sfs_header_scan_listing(struct sfs_header_scanner *s, struct sfs_shard *shard,
			    struct sfs_waiter *waiter,
			    struct sfs_cached_directory **ret_listed);
void sfs_header_scan_put(struct sfs_header_scanner *s,
			 struct sfs_cached_directory *listed);

#endif
