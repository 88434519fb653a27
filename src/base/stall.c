/* SPDX-License-Identifier: MIT */
#include "base/stall.h"

#include "base/clock.h"

#include <stdatomic.h>

static _Atomic uint64_t limit_ns, answered_ns;

void sfs_stall_set_limit(uint64_t limit_ms)
{
	atomic_store(&limit_ns, limit_ms * SFS_NS_PER_MS);
}

uint64_t sfs_stall_limit_ns(void)
{
	return atomic_load(&limit_ns);
}

void sfs_stall_note_answer(void)
{
	atomic_store_explicit(&answered_ns, sfs_clock_ns(), memory_order_relaxed);
}

uint64_t sfs_stall_deadline(uint64_t begun_ns)
{
	uint64_t limit = atomic_load(&limit_ns);

	return limit ? begun_ns + limit : UINT64_MAX;
}

uint64_t sfs_stall_until(uint64_t begun_ns)
{
	uint64_t last = atomic_load(&answered_ns);

	return sfs_stall_deadline(last > begun_ns ? last : begun_ns);
}
