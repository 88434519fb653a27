/* SPDX-License-Identifier: MIT */
#include "engine/fingerprint.h"

#include "base/alloc.h"
#include "base/keyhash.h"
#include "base/rng.h"

#include <string.h>

/* The words before the shards'; how many. */
static size_t put_settings(const struct sfs_runtime *runtime, uint64_t *words)
{
	const struct sfs_order_settings *o = &runtime->order;
	bool is_longer = sfs_order_wants_equal_lanes(o);
	size_t n = 0;

	/* Which words follow. */
	words[n++] = is_longer ? 4 : sfs_order_deals_shards(o) ? 3 : 5;
	words[n++] = o->seed;
	words[n++] = o->lanes;
	words[n++] = o->buffer_bytes;
	words[n++] = runtime->keys;
	if (is_longer) {
		words[n++] = o->segment;
		words[n++] = o->equal;
	}
	words[n++] = runtime->shards.n;
	return n;
}

static uint64_t fingerprint(const struct sfs_runtime *runtime, bool is_first_edition)
{
	enum { MAX_SETTINGS = 8 };
	sfs_autofree uint64_t *words =
		sfs_reallocarray(NULL, MAX_SETTINGS + 2 * (size_t)runtime->shards.n,
				 sizeof *words);
	size_t n = put_settings(runtime, words);
	struct sfs_rng named;
	uint32_t i;

	if (is_first_edition) /* (which knew no random segments) */
		words[0] = sfs_order_wants_equal_lanes(&runtime->order) ? 2 : 1;
	for (i = 0; i < runtime->shards.n; i++) {
		const struct sfs_shard *shard = &runtime->shards.shards[i];

		words[n++] = sfs_keyhash(shard->name, strlen(shard->name));
		words[n++] = shard->object->size;
	}
	sfs_rng_init(&named, words, n);
	return named.state;
}

uint64_t sfs_fingerprint(const struct sfs_runtime *runtime)
{
	return fingerprint(runtime, false);
}

uint64_t sfs_fingerprint_of_first_edition(const struct sfs_runtime *runtime)
{
	return fingerprint(runtime, true);
}
