/* SPDX-License-Identifier: MIT */
/* census - asks every shard's size once, in parallel, and remembers.
 *
 * It starts at mount and runs in the background, so that nothing but a question
 * for a size waits for it; a shard that somebody waits for goes first.  Failures
 * are remembered too, and tried anew when somebody asks again.  With on-error=
 * skip, a shard that is missing is an empty one.
 */
#ifndef SFS_CENSUS_H
#define SFS_CENSUS_H

#include "shard.h"
#include "waiter.h"

struct sfs_census;

/* Begin, before it is clear that the dataset can be had at all: failures are not told,
 * and the `n_left_out` shards are not asked, until sfs_census_settle().  The shards stay
 * borrowed until sfs_census_stop(). */
struct sfs_census *sfs_census_start(struct sfs_shards *shards, const uint32_t *left_out,
				    size_t n_left_out);

/* It can be had: tell from now on, and ask anew what failed, or was left out and has no
 * size yet. */
void sfs_census_settle(struct sfs_census *census);

/* No more questions; the caller stops the sources next, which ends those that
 * run, and then calls sfs_census_free(). */
void sfs_census_stop(struct sfs_census *census);
void sfs_census_free(struct sfs_census *census);

/* Is the size of the shard known?  0: yes.  -EINPROGRESS: wait.  < 0: why not
 * (-ENOENT, -EACCES, ...); ask again later. */
int sfs_census_shard(struct sfs_census *census, struct sfs_shard *shard,
		     struct sfs_waiter *waiter);

/* Are all sizes known?  As above; the error is that of some shard. */
int sfs_census_all(struct sfs_census *census, struct sfs_waiter *waiter);

/* How many sizes are known by now. */
uint32_t sfs_census_known(struct sfs_census *census);

#endif
