/* SPDX-License-Identifier: MIT */
/* plan-dataset - the samples of a dataset for `shufflefs plan`, without reading all of
 * it.
 *
 * Each shard has a table.  Three shards (or all) are scanned; of the others only the
 * sizes are requested, and their samples are assumed to have the mean size of those
 * three; or of all, where an index of the dataset says how many samples each has.
 */
#ifndef SFS_PLAN_DATASET_H
#define SFS_PLAN_DATASET_H

#include "base/error.h"
#include "order/samples.h"

#include <stdbool.h>
#include <stdint.h>

struct sfs_engine;

struct sfs_plan_dataset {
	/* Set before loading. */
	uint32_t batch;	  /* samples in a batch */
	uint32_t n_ranks; /* 0: do not look at ranks */
	bool is_exact;	  /* scan all shards, and play whole epochs */

	struct sfs_engine *engine;
	uint32_t n_shards;
	struct sfs_sample_table *tables; /* one per shard, whole */
	bool *is_pinned;		 /* of each shard: its table borrows the index */
	struct sfs_sample_table guess;	 /* of samples of the mean size */
	void *guessed;			 /* its entries, which other tables borrow */
	uint64_t *n_samples;		 /* of each shard */
	uint64_t *base;		 /* of each shard: samples of the shards before it */
	uint64_t n_all, n_bytes; /* samples; bytes of shards */
	uint32_t n_counted;	 /* shards that were scanned */
	bool is_said;		 /* the mean size of the others is by an index's counts */
};

/* Wait for the sizes, scan, and fill *dataset.  The engine stays borrowed.  < 0: with an
 * error.  To be followed by done() in any case. */
int sfs_plan_dataset_load(struct sfs_plan_dataset *dataset, struct sfs_engine *engine,
			  struct sfs_error *err);
void sfs_plan_dataset_done(struct sfs_plan_dataset *dataset);

/* The tables, for order/. */
struct sfs_sample_tables sfs_plan_tables(struct sfs_plan_dataset *dataset);

#endif
