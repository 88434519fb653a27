/* SPDX-License-Identifier: MIT */
/* sizes - requests the size of every shard once, in parallel, and remembers it.
 *
 * It starts at mount and runs in the background, so only calls that need a size wait for
 * it; a shard that a caller waits for goes first.  Failures are remembered too, and
 * retried when a caller asks again later.  With on-error=skip, a missing shard counts as
 * empty.
 *
 * Shards are requested in an order that is spread over the dataset, so that those that
 * have answered at any moment are a fair sample of all.  Each failure goes into the
 * ledger; the log gets one line for all of them, when all shards have answered.
 *
 * A shard that begins as another format does (magic.h) is noted, too: of all that servers
 * have, whose response holds the first bytes, and of the first 256 local ones, for which
 * it takes another access to the disk.  Its size is known; its readers get the error.
 *
 * Any thread may call.  Only sfs_sizes_wait() waits.
 */
#ifndef SFS_SIZES_H
#define SFS_SIZES_H

#include "base/error.h"
#include "base/waiter.h"
#include "catalog/shard.h"

struct sfs_sizes;

/* Start, while it is not clear yet whether the dataset can be read at all: until
 * sfs_sizes_settle() failures are held back, and the `n_left_out` shards are not
 * requested.  The shards are borrowed until sfs_sizes_free(). */
struct sfs_sizes *sfs_sizes_start(struct sfs_shards *shards, const uint32_t *left_out,
				  size_t n_left_out);

/* The dataset can be read: report failures from now on, and request the shards that
 * failed, or were left out and have no size yet. */
void sfs_sizes_settle(struct sfs_sizes *sizes);

/* The shard, whose size is known, begins with these n bytes: they were not requested by
 * this module. */
void sfs_sizes_look(struct sfs_sizes *sizes, struct sfs_shard *shard,
		    const unsigned char *head, size_t n);

/* End all waiters with -ECANCELED and submit no more requests.  The caller then
 * stops the sources, which ends those in flight, and calls sfs_sizes_free(); NULL is
 * fine for both. */
void sfs_sizes_stop(struct sfs_sizes *sizes);
void sfs_sizes_free(struct sfs_sizes *sizes);

/* Is the size of the shard known?  0: yes.  -EINPROGRESS: wait.  < 0: the error of its
 * request (-ENOENT, -EACCES, ...); a call after 2 s tries again. */
int sfs_sizes_shard(struct sfs_sizes *sizes, struct sfs_shard *shard,
		    struct sfs_waiter *waiter);

/* Are all sizes known?  As above; the error is that of some shard. */
int sfs_sizes_all(struct sfs_sizes *sizes, struct sfs_waiter *waiter);

/* The results so far. */
struct sfs_sizes_tally {
	uint32_t n_shards, n_asked; /* n_asked: those that have answered */
	uint32_t n_missing;	    /* no such file */
	uint32_t n_refused;	    /* not missing, but a retry is useless */
	uint32_t n_failed;	    /* other failures, which may pass */
	uint32_t n_foreign;	    /* files of another format */
	bool is_skipping;	/* missing shards count as empty, and damage is skipped */
	struct sfs_error first; /* of the first of these four; names the shard */
};

/* Wait until all shards have answered, for at most `timeout_ms`. */
void sfs_sizes_wait(struct sfs_sizes *sizes, unsigned timeout_ms);

/* Of the shards `first` to `end` - 1. */
void sfs_sizes_tally(struct sfs_sizes *sizes, uint32_t first, uint32_t end,
		     struct sfs_sizes_tally *ret_tally);

/* Set *ret to "6 of 26 shards are missing, the first: ..."; unchanged if none is bad. */
void sfs_sizes_describe(const struct sfs_sizes_tally *tally, struct sfs_error *ret);

/* The tally of all shards, which the caller reports to the user.  From then on the log
 * gets a line when all have answered and the number of bad shards has changed. */
void sfs_sizes_report(struct sfs_sizes *sizes, struct sfs_sizes_tally *ret_tally);

/* The mean length of the files that shards begin with, headers and padding included, of
 * the shards that were looked at so far: samples are hardly shorter.  0: unknown. */
uint64_t sfs_sizes_first_files(struct sfs_sizes *sizes);

/* How many sizes are known now. */
uint32_t sfs_sizes_known(struct sfs_sizes *sizes);

#endif
