/* SPDX-License-Identifier: MIT */
/* Whatever is permuted: an epoch has each sample once; taking one of each rank in turn is
 * the epoch, cut or extended by `equal`, for every number of ranks that divides the
 * lanes; a rank's workers in turn are the rank.  Dealt lanes go at paces of their own,
 * and a rank is what it has of the epoch, in its sequence. */
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
	sfs_partition_sum(&o, &tables);
	sfs_iterator_init(&play, &o, &tables);
	for (p->n = 0; (s = sfs_iterator_next(&play)) != NULL; n_bytes += s->n_bytes) {
		CHECK(p->n < MAX_ALL);
		p->samples[p->n++] = *s;
	}
	if (o.has_equal_lanes) {
		CHECK_EQ(o.n_samples, p->n);
		CHECK_EQ(o.n_bytes, n_bytes);
	}
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

/* Dealt lanes: the parts of any number of ranks and workers have the epoch's samples,
 * each once, in the epoch's sequence; and a rank has those of its lanes. */
static void dealt_ranks(const struct played *epoch, uint32_t n_lanes)
{
	static struct played part;
	uint32_t w = 1 + now.order.seed % 7, n_workers = 1 + now.order.seed % 3, r, i;
	static bool is_seen[MAX_ALL];
	size_t k, at, n_all = 0;

	memset(is_seen, 0, sizeof is_seen);
	for (r = 0; r < w; r++) {
		for (i = 0; i < n_workers; i++) {
			play_part((struct sfs_share){.first = r + (uint64_t)w * i,
						     .step = (uint64_t)w * n_workers,
						     .n_ranks = w},
				  &part);
			n_all += part.n;
			for (k = at = 0; k < part.n; k++, at++) {
				while (at < epoch->n &&
				       !is_same(&part.samples[k], &epoch->samples[at]))
					at++;
				CHECK(at < epoch->n && !is_seen[at]);
				CHECK_EQ(made.lane_of[at] % w, r);
				CHECK_EQ(made.lane_of[at] / w % n_workers, i);
				is_seen[at] = true;
			}
			CHECK(part.n == 0 || r + w * i < n_lanes);
		}
	}
	CHECK_EQ(n_all, epoch->n);
}

static void dealt_lanes(void)
{
	static struct played epoch;
	uint64_t seed;

	for (seed = 3500; seed < 3650; seed++) {
		now = random_settings(seed);
		now.order.segment = SFS_SEGMENT_SHARD;
		now.order.equal = SFS_EQUAL_NONE;
		make_epoch(seed, now.n_shards, now.order.lanes, now.most_samples,
			   now.order.buffer_bytes);
		grow_all();
		play_part((struct sfs_share){.step = 1, .n_ranks = 1}, &epoch);
		CHECK_EQ(epoch.n, made.n);
		each_once(&epoch);
		dealt_ranks(&epoch, made.order.n_lanes);
		unmake_epoch();
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
	dealt_lanes();
	return 0;
}
