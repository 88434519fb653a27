/* SPDX-License-Identifier: MIT */
#include "identity.h"

#include "hash.h"
#include "mem.h"
#include "rng.h"

#include <string.h>

enum { VERSION_OF_THE_ORDER = 1 };

uint64_t sfs_identity(const struct sfs_env *env)
{
	const struct sfs_order_settings *o = &env->order;
	const uint64_t settings[] = {VERSION_OF_THE_ORDER, o->seed,	   o->lanes,
				     o->buffer_bytes,	   env->keys_asis, env->shards.n};
	size_t n = SFS_COUNT(settings), n_words = n + 2 * (size_t)env->shards.n;
	sfs_autofree uint64_t *words = sfs_reallocarray(NULL, n_words, sizeof *words);
	struct sfs_rng named;
	uint32_t i;

	memcpy(words, settings, sizeof settings);
	for (i = 0; i < env->shards.n; i++) {
		const struct sfs_shard *shard = &env->shards.shards[i];

		words[n++] = sfs_hash(shard->name, strlen(shard->name));
		words[n++] = shard->object.size;
	}
	sfs_rng_init(&named, words, n_words);
	return named.state;
}
