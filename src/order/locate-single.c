/* SPDX-License-Identifier: MIT */
/* How this works: the lanes take turns, so sample k of the part is in
 * round k / n_lanes. */
#include "order/locate-single.h"

void sfs_single_locator_done(struct sfs_single_locator *s)
{
	sfs_sums_done(&s->sums);
}

static void have_sums(struct sfs_single_locator *s)
{
	if (!s->sums.before)
		sfs_sums_init(&s->sums, s->order, &s->tables);
}

/* Where sample k of the part is, which begins at `offset`. */
static struct sfs_spot spot_of(const struct sfs_order *order, uint64_t k, uint64_t offset)
{
	uint64_t round = k / order->n_lanes;

	if (k == order->n_samples)
		return (struct sfs_spot){.time = SFS_NEVER,
					 .offset = offset,
					 .is_end = true};
	return (struct sfs_spot){.time = round,
				 .lane = (uint32_t)(k % order->n_lanes),
				 .number = round,
				 .offset = offset};
}

struct sfs_spot sfs_single_locator_find(struct sfs_single_locator *s, uint64_t offset)
{
	uint64_t start, k;

	have_sums(s);
	k = sfs_sums_find(&s->sums, offset, &start);
	return spot_of(s->order, k, start);
}

struct sfs_spot sfs_single_locator_nth(struct sfs_single_locator *s, uint64_t number)
{
	const struct sfs_order *order = s->order;
	uint64_t k = number < order->n_samples ? number : order->n_samples;

	if (k == 0)
		return spot_of(order, 0, 0);
	if (k == order->n_samples && order->n_bytes > 0)
		return spot_of(order, k, order->n_bytes);
	have_sums(s);
	return spot_of(order, k, sfs_sums_before(&s->sums, k));
}

int sfs_single_locator_seek(const struct sfs_single_locator *s, uint32_t lane,
			    uint64_t number, struct sfs_lane *ret_lane,
			    struct sfs_block *ret_block, uint32_t *ret_shard)
{
	struct sfs_lane at = {.order = s->order,
			      .lane = lane,
			      .m = (uint32_t)number,
			      .number = number};
	int ret;

	at.index = sfs_order_slice(s->order, lane, at.m).first;
	sfs_block_clear(ret_block);
	ret = sfs_lane_form(&at, &s->tables, ret_block, ret_shard);
	if (ret == 0)
		*ret_lane = at;
	return ret;
}
