/* SPDX-License-Identifier: MIT */
#include "base/stall.h"

#include "base/clock.h"
#include "base/log.h"

#include <stdatomic.h>

#define SAY_NS (2500 * SFS_NS_PER_MS)

static _Atomic uint64_t limit_ns, answered_ns, say_ns = UINT64_MAX;

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

void sfs_stall_begin_saying(void)
{
	atomic_store(&say_ns, sfs_clock_ns() + SAY_NS);
}

void sfs_stall_end_saying(void)
{
	atomic_store(&say_ns, UINT64_MAX);
}

uint64_t sfs_stall_say_at(void)
{
	return atomic_load(&say_ns);
}

void sfs_stall_say(const struct sfs_cause *cause, uint64_t until_ns, const char *then)
{
	uint64_t now_ns = sfs_clock_ns();

	if (atomic_exchange(&say_ns, UINT64_MAX) == UINT64_MAX)
		return;
	if (until_ns <= now_ns)
		until_ns = now_ns + 1;
	if (until_ns == UINT64_MAX)
		sfs_warning("%s%swaiting for %s", cause->shard ? cause->shard : "",
			    cause->shard ? ": " : "", cause->text);
	else
		sfs_warning("%s%swaiting for %s; it %s after %llu s more at the latest",
			    cause->shard ? cause->shard : "", cause->shard ? ": " : "",
			    cause->text, then,
			    (unsigned long long)((until_ns - now_ns - 1) / SFS_NS_PER_S +
						 1));
}
