/* SPDX-License-Identifier: MIT */
#include "base/cond.h"

#include "base/clock.h"

#include <errno.h>
#include <time.h>

bool sfs_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t until_ns)
{
	const struct timespec until = {.tv_sec = (time_t)(until_ns / SFS_NS_PER_S),
				       .tv_nsec = (long)(until_ns % SFS_NS_PER_S)};

	if (until_ns == UINT64_MAX)
		return pthread_cond_wait(cond, lock) == 0;
	return pthread_cond_clockwait(cond, lock, CLOCK_MONOTONIC, &until) != ETIMEDOUT;
}
