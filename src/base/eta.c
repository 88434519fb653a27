/* SPDX-License-Identifier: MIT */
#include "base/eta.h"

#define ENOUGH_ENDED 16 /* shards; two for each that is scanned at a time */
#define FASTER	     8	/* times: where the first ones have no index and others do */
#define SHARD_BYTES  ((uint64_t)64 << 10) /* what a shard costs beside its bytes */

static uint32_t common_divisor(uint32_t a, uint32_t b)
{
	return b == 0 ? a : common_divisor(b, a % b);
}

/* Steps of the golden section land far from where others were. */
uint32_t sfs_eta_turn(uint32_t n, uint32_t k)
{
	uint32_t step = (uint32_t)((double)n * 0.6180339887) + 1;

	while (common_divisor(n, step) > 1)
		step++;
	return (uint32_t)((uint64_t)k * step % n);
}

/* How much of the work is done, of 1. */
static double done_part(const struct sfs_eta *e)
{
	double all = (double)e->n_bytes + (double)e->n * SHARD_BYTES;
	double done = (double)e->n_done + (double)e->n_ended * SHARD_BYTES;

	return all > 0 ? done / all : 1;
}

bool sfs_eta_left(const struct sfs_eta *e, uint64_t *ret_ns)
{
	double part = done_part(e), left_ns;

	if (part <= 0)
		return false;
	left_ns = part < 1 ? (double)e->gone_ns * (1 - part) / part : 0;
	*ret_ns = left_ns < (double)INT64_MAX ? (uint64_t)left_ns : INT64_MAX;
	return true;
}

bool sfs_eta_exceeds(const struct sfs_eta *e, uint64_t wait_ns)
{
	uint64_t left_ns;

	return e->n_ended >= ENOUGH_ENDED && sfs_eta_left(e, &left_ns) &&
	       left_ns / FASTER > wait_ns;
}
