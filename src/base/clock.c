/* SPDX-License-Identifier: MIT */
#include "base/clock.h"

#include <stdio.h>
#include <time.h>

static uint64_t read_clock(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * SFS_NS_PER_S + (uint64_t)t.tv_nsec;
}

uint64_t sfs_clock_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

uint64_t sfs_clock_wall_ms(void)
{
	return read_clock(CLOCK_REALTIME) / SFS_NS_PER_MS;
}

const char *sfs_clock_format(uint64_t wall_ms, char buf[32])
{
	time_t s = (time_t)(wall_ms / 1000);
	struct tm tm;
	char day[24];

	gmtime_r(&s, &tm);
	strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(buf, 32, "%s.%03uZ", day, (unsigned)(wall_ms % 1000));
	return buf;
}
