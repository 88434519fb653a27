/* SPDX-License-Identifier: MIT */
#include "source/retry.h"

#define FIRST_DELAY_MS	200
#define MAX_DELAY_MS	10000
#define MAX_AFTER_S	300
#define LEAST_JITTER_MS 200
#define MOST_JITTER_MS	10000

/* A quarter more, as far as that is within bounds: so a thousand clients that were told
 * the same do not come back at the same time. */
uint64_t sfs_retry_after_ms(int64_t retry_after_s, uint64_t random)
{
	uint64_t ms = 1000, jitter;

	ms *= retry_after_s < MAX_AFTER_S ? (uint64_t)retry_after_s : MAX_AFTER_S;
	jitter = ms / 4;
	if (jitter < LEAST_JITTER_MS)
		jitter = LEAST_JITTER_MS;
	if (jitter > MOST_JITTER_MS)
		jitter = MOST_JITTER_MS;
	return ms + random % jitter;
}

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
	*ret_delay_ms =
		retry_after_s < 0 ? delay : sfs_retry_after_ms(retry_after_s, random);
	return true;
}
