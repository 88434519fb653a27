/* SPDX-License-Identifier: MIT */
/* naive-epoch - an epoch as docs/ORDER.md defines it, computed the slow and obvious way:
 * what tests compare a stream with.
 *
 * It shares the random numbers with the code under test (these have published vectors),
 * and nothing else.  Its shards are made here, of the kinds of entries that change how a
 * stream is made; for whatever else a tar may hold, there are scripts/order.py and its
 * tests.
 */
#ifndef SFS_TESTS_NAIVE_EPOCH_H
#define SFS_TESTS_NAIVE_EPOCH_H

#include "base/rng.h"
#include "config/options.h"
#include "order/order.h"
#include "tars.h"

struct naive_sample {
	uint32_t shard;
	uint64_t begin, end; /* bytes of the shard */
	char key[32];
};

struct naive_shard {
	char name[24]; /* with ".tar" */
	struct tar tar;
	struct naive_sample *samples;
	size_t n;
};

/* A shard of n samples; one in `large_of` samples is `large_bytes` or less, the others
 * are small.  Few different keys, so that neighbours in a stream often have the same. */
void naive_shard_make(struct naive_shard *shard, uint32_t number, struct sfs_rng *rng,
		      size_t n, unsigned large_of, size_t large_bytes);
void naive_shard_done(struct naive_shard *shard);

/* A sample in its place in the stream. */
struct naive_place {
	const struct naive_sample *sample;
	uint64_t offset;
	uint32_t lane;
	uint64_t block; /* samples of a lane with the same number are shuffled together */
	uint64_t time, number; /* of its leaving; in its lane */
	bool is_renamed;
};

struct naive_epoch {
	struct naive_place *places;
	size_t n;
	unsigned char *bytes;  /* of the whole file, zeros at its end included */
	uint64_t n_bytes, end; /* the zeros begin at `end` */

	/* Whole shards only: who reads up to the time dues[s][i] must know whether shard
	 * s has a sample i, the first after its last one included.  NULL: not in the
	 * share. */
	uint64_t **dues;
	uint32_t n_shards;
};

struct naive_settings {
	struct sfs_order_settings order;
	enum sfs_choice_keys keys;
	const struct naive_shard *shards;
	uint32_t n_shards;
};

void naive_epoch_make(struct naive_epoch *e, const struct naive_settings *settings,
		      uint64_t epoch, struct sfs_share share);
void naive_epoch_done(struct naive_epoch *e);

#endif
