/* SPDX-License-Identifier: MIT */
/* How this works: the least that stays is the floors, the tables in use, and the blocks
 * that the lanes of open streams shuffle, plus half of that for the next blocks.  With
 * less, samples would be fetched one by one instead of being held, which costs the
 * network much and saves little (decision 13).  What exceeds this is prefetch, and
 * pressure reduces it.
 *
 * Unused slabs go back to the system at once only while the limit is low, because a slab
 * that is used for the first time is slower; else when they were not needed for a while
 * (sfs_slabs_settle()). */
#include "engine/reclaim.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "memory/limit.h"
#include "memory/psi.h"

#define MEMORY_TICKS 10 /* between two looks at the limit of the group */
#define SAY_NS	     (600 * SFS_NS_PER_S)

void sfs_reclaim_init(struct sfs_reclaim *t, struct sfs_runtime *runtime, bool is_auto)
{
	*t = (struct sfs_reclaim){
		.runtime = runtime,
		.pressure_file = sfs_psi_file("/proc"),
		.pressure = SFS_PSI_UNKNOWN,
		.memory_bytes = is_auto ? sfs_memory_limit() : 0,
		.most_bytes = runtime->budget.total_bytes,
		.allowed = SFS_PSI_ALL,
	};
}

void sfs_reclaim_done(struct sfs_reclaim *t)
{
	free(t->pressure_file);
}

/* The same share of the memory as at the start. */
static uint64_t most_now(const struct sfs_reclaim *t)
{
	uint64_t total = t->runtime->budget.total_bytes, now = sfs_memory_limit();

	if (now >= t->memory_bytes)
		return total;
	return (uint64_t)((double)total / (double)t->memory_bytes * (double)now);
}

static uint64_t least(struct sfs_runtime *runtime)
{
	uint64_t lanes = sfs_order_most_lanes(&runtime->order, runtime->shards.n);

	return sfs_budget_floors(&runtime->budget) +
	       sfs_account_used(&runtime->shards.account) +
	       runtime->n_open_lanes * (runtime->order.buffer_bytes / lanes) * 3 / 2;
}

static uint64_t limit_of(struct sfs_reclaim *t)
{
	uint64_t low = least(t->runtime), most = t->most_bytes;

	if (t->allowed == SFS_PSI_ALL || low >= most)
		return most;
	return low + (most - low) / SFS_PSI_ALL * t->allowed;
}

/* Pressure while there is as much clean cache as we may ever have: whoever streams files
 * fills the cache, and waits a little for each page that the kernel takes back.  It takes
 * those first, so our memory would help nobody. */
static uint32_t shortage(const struct sfs_reclaim *t)
{
	uint32_t pressure = t->pressure;

	if (pressure == 0 || pressure == SFS_PSI_UNKNOWN)
		return pressure;
	return sfs_memory_clean() >= t->runtime->budget.total_bytes ? 0 : pressure;
}

static void say_lowered(struct sfs_reclaim *t, uint64_t limit)
{
	char to[32], from[32], clean[32];

	sfs_format_size(t->runtime->budget.total_bytes, from);
	sfs_format_size(limit, to);
	if (t->allowed == SFS_PSI_ALL)
		sfs_warning("the control group's memory limit was lowered: prefetching "
			    "within %s instead of %s",
			    to, from);
	else
		sfs_warning("memory is short (processes waited for it %llu %% of the "
			    "last 10 s, and the clean cache is only %s): prefetching "
			    "within %s instead of %s, and less while it lasts",
			    (unsigned long long)sfs_reclaim_pressure_percent(t),
			    sfs_format_size(sfs_memory_clean(), clean), to, from);
}

static void say_raised(const struct sfs_reclaim *t)
{
	char to[32], least[32];

	sfs_warning("memory is no longer short: prefetching within %s again, after %llu "
		    "s with as little as %s",
		    sfs_format_size(t->runtime->budget.total_bytes, to),
		    (unsigned long long)((sfs_clock_ns() - t->said_ns) / SFS_NS_PER_S),
		    sfs_format_size(t->least_bytes, least));
}

/* A pair of lines at a time, and not too often: pressure may come and go every few
 * seconds. */
static void say(struct sfs_reclaim *t, uint64_t limit)
{
	bool is_low = limit < t->runtime->budget.total_bytes;
	uint64_t now = sfs_clock_ns();

	if (is_low && !t->is_low && (!t->said_ns || now - t->said_ns >= SAY_NS)) {
		t->said_ns = now;
		t->is_said = true;
		t->least_bytes = limit;
		say_lowered(t, limit);
	} else if (!is_low && t->is_said) {
		t->is_said = false;
		say_raised(t);
	}
	t->is_low = is_low;
	t->least_bytes = limit < t->least_bytes ? limit : t->least_bytes;
}

/* Free what is unused; `limit` is less than the budget. */
static void make_room(struct sfs_runtime *runtime, uint64_t limit)
{
	uint64_t used = sfs_budget_used(&runtime->budget);

	if (used > limit)
		sfs_shards_drop_unused(&runtime->shards);
	sfs_slabs_trim(runtime->slabs, used < limit ? limit - used : 0);
}

void sfs_reclaim_tick(struct sfs_reclaim *t)
{
	struct sfs_runtime *runtime = t->runtime;
	uint64_t limit;

	t->pressure = sfs_psi_read(t->pressure_file);
	t->allowed = sfs_psi_allow(t->allowed, shortage(t));
	if (t->memory_bytes && t->n_ticks++ % MEMORY_TICKS == 0)
		t->most_bytes = most_now(t);
	limit = limit_of(t);
	say(t, limit);
	sfs_budget_limit(&runtime->budget, limit);
	if (t->is_low)
		make_room(runtime, limit);
}

uint64_t sfs_reclaim_pressure_percent(struct sfs_reclaim *t)
{
	uint32_t pressure = t->pressure;

	return pressure == SFS_PSI_UNKNOWN ? 0 : (pressure + 99) / 100;
}
