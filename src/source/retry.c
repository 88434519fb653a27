/* SPDX-License-Identifier: MIT */
#include "source/retry.h"

#define FIRST_DELAY_MS 200
#define MAX_DELAY_MS   10000
#define MAX_AFTER_MS   120000

bool sfs_retry_next(struct sfs_retry *retry, int limit, uint64_t n_bytes,
		    int64_t retry_after_s, uint64_t random, uint64_t *ret_delay_ms)
{
	uint64_t delay;

	if (n_bytes >= SFS_RETRY_PROGRESS)
		retry->n_failed = 0;
	if (retry->n_failed >= limit)
		return false;
	retry->n_failed++;
	delay = FIRST_DELAY_MS;
	if (retry->n_failed > 6)
		delay = MAX_DELAY_MS;
	else
		delay <<= retry->n_failed - 1;
	delay = delay / 2 + random % delay; /* 0.5 to 1.5 times */
	if (retry_after_s >= 0) {
		delay = retry_after_s > MAX_AFTER_MS / 1000
				? MAX_AFTER_MS
				: (uint64_t)retry_after_s * 1000;
		delay += random % 200;
		if (delay > MAX_AFTER_MS)
			delay = MAX_AFTER_MS;
	}
	*ret_delay_ms = delay;
	return true;
}
