/* SPDX-License-Identifier: MIT */
#include "scripted-runtime.h"

#include "base/alloc.h"
#include "catalog/stretches.h"
#include "base/ledger.h"
#include "check.h"

#define RANGE_FLOOR ((uint64_t)8 << 20)

static void init_shards(struct sfs_runtime *runtime, struct scripted_source *source,
			const struct scripted_shard *shards, uint32_t n)
{
	sfs_autofree struct sfs_object *objects = sfs_calloc(n, sizeof *objects);
	sfs_autofree char **names = sfs_calloc(n, sizeof *names);
	uint32_t i;

	for (i = 0; i < n; i++)
		names[i] = sfs_strdup(shards[i].name);
	sfs_shards_init(&runtime->shards, n, names, objects, false, SFS_STRETCH_SETS,
			&runtime->budget);
	for (i = 0; i < n; i++)
		scripted_have(source, runtime->shards.shards[i].object,
			      runtime->shards.shards[i].name, shards[i].bytes,
			      shards[i].n_bytes);
}

void scripted_runtime_start(struct sfs_runtime *runtime, struct scripted_source *source,
			    const struct scripted_runtime_settings *s)
{
	sfs_budget_init(&runtime->budget, s->budget_bytes);
	runtime->slabs = sfs_slabs_new(s->slab_bytes ? s->slab_bytes : s->budget_bytes);
	runtime->pool = sfs_threadpool_start("test", s->n_threads ? s->n_threads : 1);
	CHECK_EQ(sfs_range_reader_init(&runtime->range_reader, runtime->slabs,
				       runtime->pool, &runtime->budget, RANGE_FLOOR),
		 0);
	init_shards(runtime, source, s->shards, s->n_shards);
}

void scripted_runtime_free(struct sfs_runtime *runtime, struct scripted_source *source)
{
	CHECK_EQ(sfs_account_used(&runtime->range_reader.account), 0);
	CHECK_EQ(sfs_slabs_used(runtime->slabs), 0);
	CHECK_EQ(runtime->n_open_lanes, 0);
	scripted_free(source);
	sfs_stretches_done(&runtime->shards);
	sfs_shards_done(&runtime->shards);
	CHECK_EQ(sfs_budget_used(&runtime->budget), 0);
	sfs_range_reader_done(&runtime->range_reader);
	CHECK_EQ(sfs_budget_floors(&runtime->budget), 0);
	sfs_slabs_free(runtime->slabs);
	sfs_budget_done(&runtime->budget);
	sfs_threadpool_free(runtime->pool);
	sfs_ledger_clear();
}
