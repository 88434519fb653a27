/* SPDX-License-Identifier: MIT */
/* scripted-runtime - a runtime over shards in memory, whose source does what the test
 * says (scripted-source.h). */
#ifndef SFS_TESTS_SCRIPTED_RUNTIME_H
#define SFS_TESTS_SCRIPTED_RUNTIME_H

#include "io/runtime.h"
#include "scripted-source.h"

/* The bytes stay the caller's. */
struct scripted_shard {
	const char *name;
	const void *bytes;
	uint64_t n_bytes;
};

struct scripted_runtime_settings {
	const struct scripted_shard *shards;
	uint32_t n_shards;
	uint64_t budget_bytes;
	uint64_t slab_bytes; /* 0: as many as the budget has */
	int n_threads;	     /* of the pool; 0: one */
};

/* Sets up *runtime, which is all zeros but for what the caller has set
 * of its settings. */
void scripted_runtime_start(struct sfs_runtime *runtime, struct scripted_source *source,
			    const struct scripted_runtime_settings *settings);

/* The pool has stopped, and what uses the runtime has gone: checks that all memory was
 * given back, and frees everything, the source too. */
void scripted_runtime_free(struct sfs_runtime *runtime, struct scripted_source *source);

#endif
