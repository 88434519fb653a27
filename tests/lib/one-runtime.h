/* SPDX-License-Identifier: MIT */
/* one-runtime - the one scripted runtime (scripted-runtime.h) of a test.  Its pool has
 * one thread, so that the test can wait until all that was posted has been done. */
#ifndef SFS_TESTS_ONE_RUNTIME_H
#define SFS_TESTS_ONE_RUNTIME_H

#include "base/alloc.h"
#include "base/log.h"
#include "check.h"
#include "scripted-runtime.h"

#include <stdio.h>

#define NAME_BYTES 32

static struct sfs_runtime runtime;
static struct scripted_source *source;

/* Shard i is called "train-i.tar", and has the n[i] bytes at bytes[i], which
 * stay the caller's. */
static inline void start_runtime(uint64_t budget_bytes, uint32_t n_shards,
				 const void *const *bytes, const uint64_t *n)
{
	sfs_autofree struct scripted_shard *shards = sfs_calloc(n_shards, sizeof *shards);
	sfs_autofree char *names = sfs_calloc(n_shards, NAME_BYTES);
	char *name = names;
	uint32_t i;

	sfs_log_set_level(SFS_LOG_ERROR);
	for (i = 0; i < n_shards; i++, name += NAME_BYTES) {
		snprintf(name, NAME_BYTES, "train-%u.tar", i);
		shards[i] = (struct scripted_shard){name, bytes[i], n[i]};
	}
	source = scripted_start();
	scripted_runtime_start(&runtime, source,
			       &(struct scripted_runtime_settings){.shards = shards,
								   .n_shards = n_shards,
								   .budget_bytes =
									   budget_bytes});
}

/* All requests end with -ECANCELED. */
static inline void stop_source(void)
{
	sfs_source_stop(&source->base);
}

/* What uses the runtime has gone. */
static inline void stop_runtime(void)
{
	sfs_threadpool_stop(runtime.pool);
	scripted_runtime_free(&runtime, source);
}

static inline bool run_barrier(struct sfs_task *task)
{
	return true;
}

/* Wait until the pool's thread has done what was posted so far. */
static inline void settle(void)
{
	static struct sfs_task barrier = {.run = run_barrier};

	sfs_threadpool_post(runtime.pool, &barrier);
	sfs_threadpool_settle(runtime.pool, &barrier);
}

/* End the oldest pending read of the byte at `offset` of shard i. */
static inline void end_at(uint32_t shard, uint64_t offset, int err)
{
	struct sfs_request *r =
		scripted_find(source, runtime.shards.shards[shard].object, offset);

	CHECK(r != NULL);
	scripted_end(source, r, err);
	settle();
}

#endif
