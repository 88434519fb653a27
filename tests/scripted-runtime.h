/* SPDX-License-Identifier: MIT */
/* scripted-runtime - a runtime over shards in memory, whose source does what the test says
 * (scripted-source.h).  Its pool has one thread, so that the test can wait until all that
 * was posted has been done. */
#ifndef SFS_TESTS_SCRIPTED_RUNTIME_H
#define SFS_TESTS_SCRIPTED_RUNTIME_H

#include "base/alloc.h"
#include "base/ledger.h"
#include "check.h"
#include "io/runtime.h"
#include "scripted-source.h"

static struct sfs_runtime runtime;
static struct scripted_source *source;

/* Shard i is called "i.tar", and has the n[i] bytes at bytes[i], which stay the caller's. */
static inline void start_runtime(uint64_t budget_bytes, uint32_t n_shards,
				 const void *const *bytes, const uint64_t *n)
{
	sfs_autofree struct sfs_object *objects = sfs_calloc(n_shards, sizeof *objects);
	sfs_autofree char **names = sfs_calloc(n_shards, sizeof *names);
	uint32_t i;

	for (i = 0; i < n_shards; i++)
		names[i] = sfs_asprintf("%u.tar", i);
	sfs_log_set_level(SFS_LOG_ERROR);
	sfs_budget_init(&runtime.budget, budget_bytes);
	runtime.slabs = sfs_slabs_new(budget_bytes);
	runtime.pool = sfs_threadpool_start("test", 1);
	CHECK_EQ(sfs_range_reader_init(&runtime.range_reader, runtime.slabs, runtime.pool,
				       &runtime.budget, 8 << 20),
		 0);
	sfs_shards_init(&runtime.shards, n_shards, names, objects, false,
			&runtime.budget);
	source = scripted_start();
	for (i = 0; i < n_shards; i++)
		scripted_have(source, &runtime.shards.shards[i].object,
			      runtime.shards.shards[i].name, bytes[i], n[i]);
}

/* All requests end with -ECANCELED. */
static inline void stop_source(void)
{
	sfs_source_stop(&source->base);
}

/* What uses the runtime has gone. */
static inline void stop_runtime(void)
{
	CHECK_EQ(sfs_account_used(&runtime.range_reader.account), 0);
	CHECK_EQ(sfs_slabs_used(runtime.slabs), 0);
	sfs_threadpool_stop(runtime.pool);
	scripted_free(source);
	sfs_shards_done(&runtime.shards);
	sfs_range_reader_done(&runtime.range_reader);
	sfs_threadpool_free(runtime.pool);
	sfs_slabs_free(runtime.slabs);
	sfs_budget_done(&runtime.budget);
	sfs_ledger_clear();
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
		scripted_find(source, &runtime.shards.shards[shard].object, offset);

	CHECK(r != NULL);
	scripted_end(source, r, err);
	settle();
}

#endif
