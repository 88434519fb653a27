/* SPDX-License-Identifier: MIT */
/* How this works: a token bucket whose rate depends on the reserve.  The reserve settles
 * where that is the rate at which bytes arrive. */
#include "stream/cursor/shaper.h"

#include "base/clock.h"

#define LOOK_NS	   (SFS_NS_PER_S / 2) /* how long the rate is measured */
#define N_LOOKS	   6		      /* until then a stream is filling its lanes */
#define RESERVE_NS (2 * SFS_NS_PER_S)
#define LEVEL	   0.7	/* of the reserve: where it settles */
#define SLOWEST	   0.85 /* of the arrival rate: with no reserve */
#define FASTEST	   2.0	/* of the arrival rate: with nearly all of it */
#define BURST_NS    (20 * SFS_NS_PER_MS) /* what was not taken may be taken later */
#define SHORTEST_NS (4 * SFS_NS_PER_MS)	 /* no reader is woken more often */

void sfs_shaper_init(struct sfs_shaper *e, uint64_t now_ns)
{
	*e = (struct sfs_shaper){.looked_ns = now_ns};
}

/* Measure the arrival rate: follow it quickly when it rises, slowly when it falls.  While
 * the network is down, the reserve is there to be read. */
static void look(struct sfs_shaper *e, uint64_t arrived_bytes, uint64_t now_ns)
{
	double seconds = (double)(now_ns - e->looked_ns) / SFS_NS_PER_S, rate;

	if (now_ns - e->looked_ns < LOOK_NS)
		return;
	rate = (double)(arrived_bytes - e->looked_bytes) / seconds;
	e->looked_ns = now_ns;
	e->looked_bytes = arrived_bytes;
	if (++e->n_looks < N_LOOKS)
		return;
	if (e->rate > 0)
		rate = (double)e->rate +
		       (rate - (double)e->rate) / (rate > (double)e->rate ? 4 : 16);
	e->rate = (uint64_t)rate;
}

/* How fast bytes may leave with this part of the reserve, 0 to 1. */
static double allowed(const struct sfs_shaper *e, double part)
{
	double share = part < LEVEL ? SLOWEST + (1 - SLOWEST) * part / LEVEL
				    : 1 + (FASTEST - 1) * (part - LEVEL) / (1 - LEVEL);

	return (double)e->rate * share;
}

uint64_t sfs_shaper_reserve_bytes(const struct sfs_shaper *e)
{
	return e->rate * (RESERVE_NS / SFS_NS_PER_MS) / 1000;
}

uint64_t sfs_shaper_ask(struct sfs_shaper *e, uint64_t n_bytes, uint64_t ready_bytes,
			uint64_t arrived_bytes, uint64_t most_bytes, uint64_t now_ns)
{
	double reserve;

	look(e, arrived_bytes, now_ns);
	reserve = (double)sfs_shaper_reserve_bytes(e);
	if (reserve > (double)most_bytes)
		reserve = (double)most_bytes;
	if ((double)ready_bytes >= reserve)
		return 0;
	if (e->next_ns > now_ns + SHORTEST_NS)
		return e->next_ns;
	if (e->next_ns + BURST_NS < now_ns)
		e->next_ns = now_ns - BURST_NS;
	e->next_ns += (uint64_t)((double)n_bytes * SFS_NS_PER_S /
				 allowed(e, (double)ready_bytes / reserve));
	return 0;
}
