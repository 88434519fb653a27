/* SPDX-License-Identifier: MIT */
#include "source/http/outage.h"

#include "base/clock.h"

#define OUT_NS	       (2 * SFS_NS_PER_S) /* of nothing but failures */
#define FIRST_DELAY_NS (SFS_NS_PER_S / 2)
#define MOST_DELAY_NS  (4 * SFS_NS_PER_S)

enum sfs_outage_news sfs_outage_failed(struct sfs_outage *o, bool is_unreachable,
				       uint64_t now_ns)
{
	bool is_first = o->since_ns == 0;

	if (o->is_out)
		return SFS_OUTAGE_NO_NEWS;
	if (is_first)
		o->since_ns = now_ns;
	o->is_out =
		now_ns - o->since_ns >= OUT_NS ||
		(is_unreachable && (o->good_ns == 0 || now_ns - o->good_ns >= OUT_NS));
	if (o->is_out) {
		o->retry_ns = 0;
		o->delay_ns = FIRST_DELAY_NS;
		return SFS_OUTAGE_BEGUN;
	}
	return is_first ? SFS_OUTAGE_SINGLE : SFS_OUTAGE_NO_NEWS;
}

bool sfs_outage_succeeded(struct sfs_outage *o, uint64_t now_ns, uint64_t *ret_ns)
{
	bool was_out = o->is_out;

	if (was_out)
		*ret_ns = now_ns - o->since_ns;
	o->since_ns = 0;
	o->is_out = false;
	o->good_ns = now_ns;
	return was_out;
}

uint64_t sfs_outage_next_retry(struct sfs_outage *o, uint64_t now_ns, uint64_t random)
{
	uint64_t from_ns = o->retry_ns > now_ns ? o->retry_ns : now_ns;

	/* 0.75 to 1.25 times */
	o->retry_ns = from_ns + 3 * o->delay_ns / 4 + random % (o->delay_ns / 2);
	if (o->delay_ns < MOST_DELAY_NS)
		o->delay_ns *= 2;
	return o->retry_ns;
}
