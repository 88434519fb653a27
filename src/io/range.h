/* SPDX-License-Identifier: MIT */
/* range - fetches one range of one shard into memory of its own.
 *
 * For all reads that no prefetch covers: random reads of streams, of shards/ and
 * samples/, and samples that are too large for their lane to hold.  Just the bytes that
 * were asked for are fetched.  The memory is charged to an account that the caller names,
 * or to the range reader's own, where all wait in one queue.
 *
 * A caller that holds some of the range reader's memory must never wait for more of it:
 * two that did would wait for each other for ever.  So all that one read needs is granted
 * at once, or not yet.
 */
#ifndef SFS_RANGE_H
#define SFS_RANGE_H

#include "base/threadpool.h"
#include "catalog/shard.h"
#include "memory/budget.h"
#include "memory/slab.h"
#include "source/source.h"

#define SFS_RANGE_MAX ((uint64_t)4 << 20) /* bytes of one range */

struct sfs_range_reader {
	struct sfs_slabs *slabs;
	struct sfs_threadpool *pool;
	struct sfs_account account;
	struct sfs_task task;

	pthread_mutex_t lock;	 /* guards waiting */
	struct sfs_link waiting; /* grants */
};

/* Some of the range reader's own memory. */
struct sfs_grant {
	uint64_t n_bytes;
	/* Called once, on any thread, perhaps before sfs_range_reader_request() returns:
	 * n_bytes of g->account are the caller's now. */
	void (*granted)(struct sfs_grant *grant);
	struct sfs_link link;
};

struct sfs_range {
	/* Set by the caller, the rest zero. */
	struct sfs_shard *shard;
	uint64_t offset, n_bytes; /* at most SFS_RANGE_MAX; n_bytes > 0 */
	bool is_urgent;
	/* An index says that a sample begins here: -EBADMSG if there is no header. */
	bool is_unverified;
	_Atomic uint64_t *begun_ns; /* or NULL; as sfs_request.begun_ns */
	/* Called once, on a thread of the source or the pool; err as sfs_request.done.
	 * The memory stays until sfs_range_drop(). */
	void (*done)(struct sfs_range *range, int err);

	/* Private; `iov` may be read after done(0). */
	struct iovec *iov;
	int n_iov;
	struct sfs_request request;
	struct sfs_range_reader *range_reader;
	struct sfs_grant grant;
	struct sfs_account *account; /* that was charged; NULL: no memory yet */
	uint64_t charged_bytes;
	void **slabs; /* one for each iov, or NULL if it has a small buffer */
};

/* `floor_bytes` of the budget are reserved for the range reader; it must be at least the
 * largest grant.  -ENOMEM: the budget has less left. */
int sfs_range_reader_init(struct sfs_range_reader *g, struct sfs_slabs *slabs,
			  struct sfs_threadpool *pool, struct sfs_budget *budget,
			  uint64_t floor_bytes);
void sfs_range_reader_done(struct sfs_range_reader *g); /* all ranges must be dropped */

/* What a range of n bytes costs an account, in bytes. */
uint64_t sfs_range_cost(uint64_t n_bytes);

/* Ask for memory; first come, first served. */
void sfs_range_reader_request(struct sfs_range_reader *g, struct sfs_grant *grant);

/* Cancel a request.  true: granted() will not be called.  false: it was, or is being
 * called. */
bool sfs_range_reader_take_back(struct sfs_range_reader *g, struct sfs_grant *grant);

/* Begin; waits for nothing.  The caller has charged `account` with the cost.  NULL: the
 * range waits in the queue for memory of the range reader's, of which its owner must hold
 * none. */
void sfs_range_start(struct sfs_range_reader *g, struct sfs_range *range,
		     struct sfs_account *account);

/* Free its memory, after done().  Dropping twice is fine. */
void sfs_range_drop(struct sfs_range *range);

/* The bytes at `at` (from the range's start), *ret_n of them in one piece. */
unsigned char *sfs_range_at(const struct sfs_range *range, uint64_t at, size_t *ret_n);

/* Copy n bytes out of it, or into it, at `at`. */
void sfs_range_read(const struct sfs_range *range, uint64_t at, void *to, size_t n);
void sfs_range_write(const struct sfs_range *range, uint64_t at, const void *from,
		     size_t n);

#endif
