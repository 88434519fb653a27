/* SPDX-License-Identifier: MIT */
/* An epoch is likely to be followed by the next if the one before was read out, too, by
 * the same share; yes and no need no evidence.  The oldest evidence is forgotten. */
#include "check.h"
#include "stream/next-epoch.h"

static struct sfs_streams streams; /* has none */
static const struct sfs_share all = {0, 1, 1}, rank_0 = {0, 2, 2}, rank_1 = {1, 2, 2};

static void chooses(struct sfs_threadpool *pool)
{
	static struct sfs_next_epoch yes, no;

	sfs_next_epoch_init(&yes, &streams, pool, SFS_NEXT_YES);
	sfs_next_epoch_init(&no, &streams, pool, SFS_NEXT_NO);
	CHECK(sfs_next_epoch_is_likely(&yes, 0, all));
	sfs_next_epoch_note(&no, 3, all);
	CHECK(!sfs_next_epoch_is_likely(&no, 4, all));
	sfs_next_epoch_done(&yes);
	sfs_next_epoch_done(&no);
}

static void follows(struct sfs_threadpool *pool)
{
	static struct sfs_next_epoch next;
	uint64_t e;

	sfs_next_epoch_init(&next, &streams, pool, SFS_NEXT_AUTO);
	CHECK(!sfs_next_epoch_is_likely(&next, 0, all));
	CHECK(!sfs_next_epoch_is_likely(&next, 1, all));
	sfs_next_epoch_note(&next, 0, all);
	sfs_next_epoch_note(&next, 0, all);
	CHECK(!sfs_next_epoch_is_likely(&next, 0,
					all)); /* nothing comes before epoch 0 */
	CHECK(sfs_next_epoch_is_likely(&next, 1, all));
	CHECK(!sfs_next_epoch_is_likely(&next, 2, all));
	CHECK(!sfs_next_epoch_is_likely(&next, 1, rank_0)); /* of another share */

	/* Each goes on by itself. */
	sfs_next_epoch_note(&next, 1, all);
	sfs_next_epoch_note(&next, 7, rank_1);
	CHECK(sfs_next_epoch_is_likely(&next, 2, all));
	CHECK(!sfs_next_epoch_is_likely(&next, 1, all)); /* 1 has taken the place of 0 */
	CHECK(sfs_next_epoch_is_likely(&next, 8, rank_1));
	CHECK(!sfs_next_epoch_is_likely(&next, 8, rank_0));

	/* Two jobs, in different epochs, do not disturb each other. */
	sfs_next_epoch_note(&next, 40, all);
	CHECK(sfs_next_epoch_is_likely(&next, 2, all));
	CHECK(sfs_next_epoch_is_likely(&next, 41, all));

	/* Epochs in turn need one place. */
	for (e = 2; e < 39; e++)
		sfs_next_epoch_note(&next, e, all);
	CHECK(sfs_next_epoch_is_likely(&next, 8, rank_1));
	CHECK(sfs_next_epoch_is_likely(&next, 39, all));
	for (e = 0; e < SFS_N_READ_OUT; e++)
		sfs_next_epoch_note(&next, 1000 + 2 * e, rank_0);
	CHECK(!sfs_next_epoch_is_likely(&next, 8, rank_1));
	CHECK(sfs_next_epoch_is_likely(&next, 1001, rank_0));
	sfs_next_epoch_stop(&next);
	sfs_next_epoch_done(&next);
}

int main(void)
{
	struct sfs_threadpool *pool = sfs_threadpool_start("test", 1);

	chooses(pool);
	follows(pool);
	sfs_threadpool_stop(pool);
	sfs_threadpool_free(pool);
	return 0;
}
