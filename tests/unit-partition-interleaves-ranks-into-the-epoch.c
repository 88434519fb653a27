/* SPDX-License-Identifier: MIT */
/* Whatever is permuted: an epoch has each sample once; taking one of each rank in turn is
 * the epoch, cut or extended by `equal`, for every number of ranks that divides the
 * lanes; a rank's workers in turn are the rank. */
#include "epochs.h"
#include "order/iterate.h"

#define MAX_ALL (MAX_SHARDS * MAX_SAMPLES)

struct played {
	struct sfs_block_sample samples[MAX_ALL];
	size_t n;
};

static struct made_settings now;

static bool is_same(const struct sfs_block_sample *a, const struct sfs_block_sample *b)
{
	return a->shard == b->shard && a->index == b->index && a->start == b->start &&
	       a->n_bytes == b->n_bytes;
}

/* Deal a part and play it through: as many samples and bytes as it tells. */
static void play_part(struct sfs_share share, struct played *p)
{
	const struct sfs_block_sample *s;
	struct sfs_order o;
	struct sfs_iterator play;
	uint64_t n_bytes = 0;

	sfs_partition(&o, &now.order, 3, now.n_shards, &tables, share);
	sfs_iterator_init(&play, &o, &tables);
	for (p->n = 0; (s = sfs_iterator_next(&play)) != NULL; n_bytes += s->n_bytes) {
		CHECK(p->n < MAX_ALL);
		p->samples[p->n++] = *s;
	}
	CHECK_EQ(o.n_samples, p->n);
	CHECK_EQ(o.n_bytes, n_bytes);
	sfs_iterator_done(&play);
	sfs_order_done(&o);
}

static void each_once(const struct played *epoch)
{
	static bool is_seen[MAX_SHARDS][MAX_SAMPLES];
	uint64_t n_bytes = 0;
	uint32_t k;
	size_t i;

	memset(is_seen, 0, sizeof is_seen);
	for (i = 0; i < epoch->n; i++) {
		const struct sfs_block_sample *s = &epoch->samples[i];

		CHECK(s->index < made.shards[s->shard].n);
		CHECK(!is_seen[s->shard][s->index]);
		is_seen[s->shard][s->index] = true;
		n_bytes += s->n_bytes;
	}
	for (k = 0; k < made.n_shards; k++) {
		n_bytes -= made.shards[k].n_bytes;
		i -= made.shards[k].n;
	}
	CHECK_EQ(i, 0);
	CHECK_EQ(n_bytes, 0);
}

/* As ORDER.md says it. */
static size_t count_positions(size_t n, size_t n_ranks)
{
	switch (now.order.equal) {
	case SFS_EQUAL_DROP: return n / n_ranks * n_ranks;
	case SFS_EQUAL_PAD: return (n + n_ranks - 1) / n_ranks * n_ranks;
	case SFS_EQUAL_NONE: break;
	}
	return n;
}

static void workers_in_turn(struct sfs_share rank, const struct played *whole)
{
	static struct played part;
	uint32_t n_workers, n_lanes = now.order.lanes / rank.n_ranks;
	size_t k, n_all;
	uint64_t i;

	for (n_workers = 2; n_workers <= 6; n_workers++) {
		for (i = 0, n_all = 0; i < n_workers; i++) {
			play_part((struct sfs_share){.first = rank.first +
							      rank.n_ranks * i,
						     .step = rank.step * n_workers,
						     .n_ranks = rank.n_ranks},
				  &part);
			n_all += part.n;
			/* In turn only if they have as many lanes each. */
			for (k = 0; n_lanes % n_workers == 0 && k < part.n; k++)
				CHECK(is_same(&part.samples[k],
					      &whole->samples[k * n_workers + i]));
		}
		CHECK_EQ(n_all, whole->n);
	}
}

static void ranks_in_turn(const struct played *epoch)
{
	static struct played part;
	size_t n, k, n_all;
	uint32_t r, w;

	for (w = 1; w <= now.order.lanes; w++) {
		if (now.order.lanes % w != 0)
			continue;
		n = count_positions(epoch->n, w);
		CHECK_EQ(sfs_order_positions(&now.order, epoch->n, w), n);
		for (r = 0, n_all = 0; r < w; r++) {
			const struct sfs_share share = {r, w, w};

			play_part(share, &part);
			n_all += part.n;
			for (k = 0; k < part.n; k++)
				CHECK(is_same(&part.samples[k],
					      &epoch->samples[(k * w + r) % epoch->n]));
			if (now.order.equal != SFS_EQUAL_NONE)
				CHECK_EQ(part.n, n / w);
			if (r == w / 2)
				workers_in_turn(share, &part);
		}
		CHECK_EQ(n_all, n);
	}
}

int main(void)
{
	static const struct sfs_share all = {.step = 1, .n_ranks = 1};
	static struct played epoch;
	uint64_t seed;

	for (seed = 3000; seed < 3150; seed++) {
		now = random_settings(seed);
		make_equal_epoch(&now.order, all, now.n_shards, now.most_samples);
		play_part(all, &epoch);
		each_once(&epoch);
		ranks_in_turn(&epoch);
		unmake_epoch();
	}
	return 0;
}
