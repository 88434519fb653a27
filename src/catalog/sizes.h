/* SPDX-License-Identifier: MIT */
/* census - asks every shard's size once, in parallel, and remembers.
 *
 * It starts at mount and runs in the background, so that nothing but a question
 * for a size waits for it; a shard that somebody waits for goes first.  Failures
 * are remembered too, and tried anew when somebody asks again.  With on-error=
 * skip, a shard that is missing is an empty one.
 *
 * Shards are asked in an order that is spread over the dataset, so that those that have
 * answered at any moment are a fair sample of all.  Each failure goes into the ledger;
 * the log gets one line for all of them, when all shards have been asked.
 */
#ifndef SFS_SIZES_H
#define SFS_SIZES_H

#include "base/error.h"
#include "base/waiter.h"
#include "catalog/shard.h"

struct sfs_sizes;

/* Begin, before it is clear that the dataset can be had at all: failures are not told,
 * and the `n_left_out` shards are not asked, until sfs_sizes_settle().  The shards stay
 * borrowed until sfs_sizes_stop(). */
struct sfs_sizes *sfs_sizes_start(struct sfs_shards *shards, const uint32_t *left_out,
				  size_t n_left_out);

/* It can be had: tell from now on, and ask anew what failed, or was left out and has no
 * size yet. */
void sfs_sizes_settle(struct sfs_sizes *sizes);

/* No more questions; the caller stops the sources next, which ends those that
 * run, and then calls sfs_sizes_free(). */
void sfs_sizes_stop(struct sfs_sizes *sizes);
void sfs_sizes_free(struct sfs_sizes *sizes);

/* Is the size of the shard known?  0: yes.  -EINPROGRESS: wait.  < 0: why not
 * (-ENOENT, -EACCES, ...); ask again later. */
int sfs_sizes_shard(struct sfs_sizes *sizes, struct sfs_shard *shard,
		    struct sfs_waiter *waiter);

/* Are all sizes known?  As above; the error is that of some shard. */
int sfs_sizes_all(struct sfs_sizes *sizes, struct sfs_waiter *waiter);

/* What has come of it so far. */
struct sfs_sizes_tally {
	uint32_t n_shards, n_asked; /* n_asked: those that have their answer */
	uint32_t n_missing;	    /* there is no such file */
	uint32_t n_refused;	    /* not missing, but asking again will not help */
	uint32_t n_failed;	    /* others that failed: they may be well later */
	bool is_skipping;	    /* what is missing counts as empty */
	struct sfs_error first;	    /* why the first of these three failed; names it */
};

/* Wait until all shards have been asked, for `timeout_ms` at most. */
void sfs_sizes_wait(struct sfs_sizes *sizes, unsigned timeout_ms);

/* Of the shards `first` to `end` - 1. */
void sfs_sizes_tally(struct sfs_sizes *sizes, uint32_t first, uint32_t end,
		     struct sfs_sizes_tally *ret_tally);

/* "6 of 26 shards are missing, the first: ...": a sentence, if any failed. */
void sfs_sizes_describe(const struct sfs_sizes_tally *tally, struct sfs_error *ret);

/* The same of all shards; the caller tells the user.  From then on the log is told when
 * all have been asked and more have failed than these. */
void sfs_sizes_report(struct sfs_sizes *sizes, struct sfs_sizes_tally *ret_tally);

/* How many sizes are known by now. */
uint32_t sfs_sizes_known(struct sfs_sizes *sizes);

#endif
