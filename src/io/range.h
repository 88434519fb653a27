/* SPDX-License-Identifier: MIT */
/* grab - fetches one range of one shard into memory of its own.
 *
 * For all reads that no prefetch has foreseen: far from every reader's position,
 * at random in shards/ and samples/, or a sample too large for its lane to hold.
 * Just the bytes that were asked for are fetched.  The memory is counted: in an
 * account that the caller names, or in the grabber's own, where all wait in one row
 * for their turn.
 *
 * Who holds some of the grabber's own memory must never wait for more of it: if two
 * did, neither would ever go on.  So what one reader needs is granted at once, or
 * not yet.
 */
#ifndef SFS_RANGE_H
#define SFS_RANGE_H

#include "base/threadpool.h"
#include "catalog/shard.h"
#include "memory/budget.h"
#include "memory/slab.h"
#include "source/source.h"

#define SFS_RANGE_MAX ((uint64_t)4 << 20) /* bytes of one grab */

struct sfs_range_reader {
	struct sfs_slabs *slabs;
	struct sfs_threadpool *pool;
	struct sfs_account account;
	struct sfs_task task;

	pthread_mutex_t lock;	 /* guards waiting */
	struct sfs_link waiting; /* grants */
};

/* A turn at the grabber's own memory. */
struct sfs_grant {
	uint64_t n_bytes;
	/* Once, on any thread, perhaps before sfs_range_reader_request() returns: so many
	 * bytes of g->account are the caller's now. */
	void (*granted)(struct sfs_grant *grant);
	struct sfs_link link;
};

struct sfs_range {
	/* Set by the caller, the rest zero. */
	struct sfs_shard *shard;
	uint64_t offset, n_bytes; /* at most SFS_RANGE_MAX; n_bytes > 0 */
	bool is_urgent;
	bool is_told; /* that a sample begins here: -EBADMSG if no header does */
	_Atomic uint64_t *begun_ns; /* or NULL; as sfs_request.begun_ns */
	/* Once, on a thread of the source or the pool; err as sfs_request.done.
	 * After it, the memory stays until sfs_range_drop(). */
	void (*done)(struct sfs_range *grab, int err);

	/* The grab's own; `iov` may be read after done(0). */
	struct iovec *iov;
	int n_iov;
	struct sfs_request request;
	struct sfs_range_reader *range_reader;
	struct sfs_grant grant;
	struct sfs_account *account; /* that was charged; NULL: no memory yet */
	uint64_t charged_bytes;
	void **slabs; /* one for each iov, or NULL if it has a small buffer */
};

/* `floor_bytes` of the budget are the grabber's own; at least what the largest grant
 * asks for.
 * -ENOMEM: the budget has not that much left. */
int sfs_range_reader_init(struct sfs_range_reader *g, struct sfs_slabs *slabs,
			  struct sfs_threadpool *pool, struct sfs_budget *budget,
			  uint64_t floor_bytes);
void sfs_range_reader_done(struct sfs_range_reader *g); /* all grabs must be dropped */

/* What a grab of n bytes costs an account. */
uint64_t sfs_range_cost(uint64_t n_bytes);

void sfs_range_reader_request(struct sfs_range_reader *g, struct sfs_grant *grant);

/* true: it will not be granted.  false: it was, or is being granted. */
bool sfs_range_reader_take_back(struct sfs_range_reader *g, struct sfs_grant *grant);

/* Begin.  `account` has been charged with the cost; with NULL, the grab has a turn of
 * its own at the grabber's memory, and its owner holds none of it meanwhile. */
void sfs_range_start(struct sfs_range_reader *g, struct sfs_range *grab,
		     struct sfs_account *account);

/* Give its memory back.  It must be done; dropping twice is fine. */
void sfs_range_drop(struct sfs_range *grab);

/* The bytes at `at` (from the grab's start), *ret_n of them in one piece. */
unsigned char *sfs_range_at(const struct sfs_range *grab, uint64_t at, size_t *ret_n);

/* Copy n bytes out of it (or, reversed, into it) at `at`. */
void sfs_range_read(const struct sfs_range *grab, uint64_t at, void *to, size_t n);
void sfs_range_write(const struct sfs_range *grab, uint64_t at, const void *from,
		     size_t n);

#endif
