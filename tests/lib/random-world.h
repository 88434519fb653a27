/* SPDX-License-Identifier: MIT */
/* random-world - a stream-world with reads at random places of an epoch, and
 * no stream: for unit tests of stream/random.h. */
#ifndef SFS_TESTS_RANDOM_WORLD_H
#define SFS_TESTS_RANDOM_WORLD_H

#include "stream-world.h"

#include "order/partition.h"
#include "stream/random.h"

#include <pthread.h>

struct random_world {
	struct world w;
	struct naive_epoch epoch;
	struct sfs_order order;
	struct sfs_random_reads reads;
	pthread_mutex_t lock;
	int err, n_done; /* of the reads that random_world_begin() began */
};

/* Epoch 0 of these settings, whose shards are made.  No cursor takes a read over. */
void random_world_start(struct random_world *r, const struct world_settings *settings);

/* Reads must have ended. */
void random_world_stop(struct random_world *r);

/* Begin a read, and settle.  n_done is 0 before. */
void random_world_begin(struct random_world *r, struct sfs_read *read, uint64_t offset,
			size_t n_bytes);

#endif
