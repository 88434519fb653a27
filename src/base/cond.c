/* SPDX-License-Identifier: MIT */
#include "base/cond.h"

#include "base/clock.h"

#include <errno.h>
#include <time.h>

bool sfs_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t until_ns)
{
	struct timespec until;
	uint64_t ns;

	if (until_ns == UINT64_MAX)
		return pthread_cond_wait(cond, lock) == 0;
	do {
		ns = sfs_clock_system_ns(until_ns);
		until = (struct timespec){.tv_sec = (time_t)(ns / SFS_NS_PER_S),
					  .tv_nsec = (long)(ns % SFS_NS_PER_S)};
		if (pthread_cond_clockwait(cond, lock, CLOCK_MONOTONIC, &until) !=
		    ETIMEDOUT)
			return true;
	} while (sfs_clock_ns() < until_ns); /* there was a pause */
	return false;
}
