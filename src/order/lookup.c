/* SPDX-License-Identifier: MIT */
/* How this works: the numbers are put into buckets of neighbours, so that the entries of
 * a bucket (2 MiB) fit into a cache and are few pages; in a bucket, the entries of a
 * group are fetched together. */
#include "order/lookup.h"

#include "base/alloc.h"

#define BUCKET_SHIFT 17 /* 131,072 samples */
#define N_GROUP	     16

struct place {
	const struct sfs_sample_table *table;
	uint32_t shard, index, i;
};

/* Set order[] to the indices of numbers[], bucket after bucket. */
static void sort(const uint32_t *numbers, size_t n, uint64_t n_all, uint32_t *order)
{
	size_t n_buckets = (n_all >> BUCKET_SHIFT) + 1, b, i;
	sfs_autofree uint32_t *end = sfs_calloc(n_buckets + 1, sizeof *end);

	for (i = 0; i < n; i++)
		end[(numbers[i] >> BUCKET_SHIFT) + 1]++;
	for (b = 0; b < n_buckets; b++)
		end[b + 1] += end[b];
	for (i = 0; i < n; i++)
		order[end[numbers[i] >> BUCKET_SHIFT]++] = (uint32_t)i;
}

static struct sfs_block_sample read_sample(const struct place *p, uint32_t m)
{
	struct sfs_sample_table_sample s = sfs_sample_table_get(p->table, p->index);

	return (struct sfs_block_sample){
		.shard = p->shard,
		.m = m,
		.has_global = s.has_global,
		.is_unverified = s.is_unverified,
		.index = p->index,
		.start = s.start,
		.n_bytes = s.n_bytes,
		.key_hash = s.key_hash,
	};
}

void sfs_lookup(const struct sfs_numbering *numbering,
		const struct sfs_sample_tables *tables, const uint32_t *numbers, size_t n,
		struct sfs_block_sample *ret)
{
	sfs_autofree uint32_t *order = sfs_reallocarray(NULL, n, sizeof *order);
	struct place group[N_GROUP], *p;
	size_t i, k, n_group;

	sort(numbers, n, sfs_numbering_n(numbering), order);
	for (i = 0; i < n; i += n_group) {
		n_group = n - i < N_GROUP ? n - i : N_GROUP;
		for (k = 0; k < n_group; k++) {
			p = &group[k];
			p->i = order[i + k];
			p->shard = sfs_numbering_shard(numbering, numbers[p->i]);
			p->index = (uint32_t)(numbers[p->i] - numbering->first[p->shard]);
			p->table = tables->get(tables->ctx, p->shard);
			sfs_sample_table_prefetch(p->table, p->index,
						  (uint64_t)p->index + 1);
			__builtin_prefetch(&ret[p->i], 1);
		}
		for (k = 0; k < n_group; k++)
			ret[group[k].i] = read_sample(&group[k], ret[group[k].i].m);
	}
}
