/* SPDX-License-Identifier: MIT */
#include "source/http/latency.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

#define ENOUGH	    64
#define FEW	    8
#define EVERY	    8
#define FIRST_SHIFT 13 /* up to 16 KiB is one size */

static unsigned size_of(uint64_t n_bytes)
{
	unsigned i = 0;

	while (i + 1 < SFS_LATENCY_SIZES && n_bytes >> (FIRST_SHIFT + 1 + i) > 0)
		i++;
	return i;
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

void sfs_latency_add(struct sfs_latency *t, uint64_t n_bytes, uint64_t ns)
{
	uint32_t sorted[SFS_LATENCY_TIMES], n, i = size_of(n_bytes);
	uint64_t ms = ns / SFS_NS_PER_MS + 1;

	t->sizes[i].ms[t->sizes[i].n++ % SFS_LATENCY_TIMES] =
		ms < UINT32_MAX ? (uint32_t)ms : UINT32_MAX;
	n = t->sizes[i].n < SFS_LATENCY_TIMES ? t->sizes[i].n : SFS_LATENCY_TIMES;
	if (n < FEW || t->sizes[i].n % EVERY != 0)
		return;
	memcpy(sorted, t->sizes[i].ms, n * sizeof sorted[0]);
	qsort(sorted, n, sizeof sorted[0], compare);
	t->sizes[i].late_ms = sorted[n - 1 - n / 100];
	t->sizes[i].median_ms = sorted[n < ENOUGH ? n - 1 : n / 2];
}

/* The size to go by: its own, or the next larger of which enough were seen. */
static unsigned known_size(const struct sfs_latency *t, uint64_t n_bytes)
{
	unsigned i = size_of(n_bytes);

	while (i + 1 < SFS_LATENCY_SIZES && t->sizes[i].late_ms == 0)
		i++;
	return i;
}

uint64_t sfs_latency_late_ns(const struct sfs_latency *t, uint64_t n_bytes)
{
	return t->sizes[known_size(t, n_bytes)].late_ms * SFS_NS_PER_MS;
}

uint64_t sfs_latency_median_ns(const struct sfs_latency *t, uint64_t n_bytes)
{
	return t->sizes[known_size(t, n_bytes)].median_ms * SFS_NS_PER_MS;
}
