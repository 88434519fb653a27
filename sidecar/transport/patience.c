/* SPDX-License-Identifier: MIT */
#include "transport/patience.h"

#include "base/clock.h"
#include "base/rng.h"

#define PAUSE_MIN_MS 100
#define PAUSE_MAX_MS 5000
#define OF_USE_NS    SFS_NS_PER_S

void sfs_patience_begin(struct sfs_patience *p, uint32_t give_up_ms, uint64_t now_ns)
{
	*p = (struct sfs_patience){give_up_ms, now_ns, PAUSE_MIN_MS, false};
}

bool sfs_patience_lose(struct sfs_patience *p, uint64_t begun_ns, uint64_t heard_ns,
		       uint64_t n_credited, uint64_t now_ns)
{
	bool has_told = p->has_told;

	if (n_credited == 0 && sfs_clock_between(begun_ns, heard_ns) < OF_USE_NS) {
		p->has_told = true;
		return !has_told;
	}
	sfs_patience_begin(p, p->give_up_ms, now_ns);
	return true;
}

bool sfs_patience_is_over(const struct sfs_patience *p, uint64_t now_ns)
{
	return sfs_clock_is_over(p->since_ns, p->give_up_ms, now_ns);
}

uint64_t sfs_patience_next(struct sfs_patience *p, struct sfs_rng *rng, uint64_t now_ns)
{
	uint64_t ms = p->pause_ms / 2 + sfs_rng_below(rng, p->pause_ms);

	p->pause_ms = p->pause_ms * 2 < PAUSE_MAX_MS ? p->pause_ms * 2 : PAUSE_MAX_MS;
	return now_ns + ms * SFS_NS_PER_MS;
}
