/* SPDX-License-Identifier: MIT */
#include "base/ratemeter.h"

#define NS_PER_S   1e9
#define GIB	   ((double)(1 << 30))
#define RECENT_NS  3000000000ULL
#define MARK_NS	   200000000ULL /* marks closer than that replace each other */
#define MIN_GRAINS 2
#define MAX_TIMES  4

static const struct sfs_mark *last_mark(const struct sfs_ratemeter *m)
{
	return m->n_marks ? &m->latest[(m->n_marks - 1) % SFS_RATEMETER_MARKS]
			  : &m->begun;
}

void sfs_ratemeter_begin(struct sfs_ratemeter *m, uint64_t wanted_ns, uint64_t now_ns,
			 struct sfs_cpu cpu)
{
	*m = (struct sfs_ratemeter){.wanted_ns = wanted_ns,
				    .begun = {.ns = now_ns, .cpu = cpu}};
}

/* Where the next mark goes: over the last one, if that is close to the one before. */
static struct sfs_mark *place_for(struct sfs_ratemeter *m)
{
	uint32_t n = m->n_marks;

	if (n < 2 || m->latest[(n - 1) % SFS_RATEMETER_MARKS].ns -
				     m->latest[(n - 2) % SFS_RATEMETER_MARKS].ns >=
			     MARK_NS)
		m->n_marks++;
	return &m->latest[(m->n_marks - 1) % SFS_RATEMETER_MARKS];
}

void sfs_ratemeter_mark(struct sfs_ratemeter *m, uint64_t now_ns, uint64_t n_bytes,
			struct sfs_cpu cpu)
{
	struct sfs_mark mark = {.ns = now_ns, .n_bytes = n_bytes, .cpu = cpu};

	*place_for(m) = mark;
	if (n_bytes > 0 && m->first_ns == 0)
		m->first_ns = now_ns;
	if (m->first_ns && !m->warm.ns && !m->is_filling &&
	    now_ns >= m->first_ns + m->wanted_ns / 5)
		m->warm = mark;
}

/* When the time will be up, as far as can be said. */
static uint64_t end_ns(const struct sfs_ratemeter *m)
{
	if (m->warm.ns)
		return m->warm.ns + m->wanted_ns - m->wanted_ns / 5;
	return m->first_ns + (m->is_filling ? MAX_TIMES : 1) * m->wanted_ns;
}

bool sfs_ratemeter_is_over(const struct sfs_ratemeter *m, uint64_t now_ns)
{
	return m->first_ns && now_ns >= end_ns(m);
}

double sfs_ratemeter_done(const struct sfs_ratemeter *m, uint64_t now_ns)
{
	return m->first_ns ? (double)(now_ns - m->first_ns) /
				     (double)(end_ns(m) - m->first_ns)
			   : 0;
}

static double rate_between(const struct sfs_mark *a, const struct sfs_mark *b)
{
	return b->ns > a->ns ? (double)(b->n_bytes - a->n_bytes) /
				       (double)(b->ns - a->ns) * NS_PER_S
			     : 0;
}

double sfs_ratemeter_recent(const struct sfs_ratemeter *m)
{
	const struct sfs_mark *last = last_mark(m), *from = &m->begun;
	uint32_t i,
		n = m->n_marks < SFS_RATEMETER_MARKS ? m->n_marks : SFS_RATEMETER_MARKS;

	for (i = 1; i <= n; i++) {
		from = &m->latest[(m->n_marks - i) % SFS_RATEMETER_MARKS];
		if (last->ns - from->ns >= RECENT_NS)
			break;
	}
	return rate_between(from, last);
}

struct sfs_rate sfs_ratemeter_end(const struct sfs_ratemeter *m, bool has_ended,
				  uint64_t grain)
{
	const struct sfs_mark *last = last_mark(m), *from = &m->begun;
	struct sfs_rate rate = {.is_there = true, .has_ended = has_ended};
	uint64_t n_bytes;

	if (!has_ended && m->warm.ns && last->ns > m->warm.ns &&
	    last->n_bytes - m->warm.n_bytes > MIN_GRAINS * grain)
		from = &m->warm;
	n_bytes = last->n_bytes - from->n_bytes;
	rate.bytes_per_s = rate_between(from, last);
	rate.cpu_s_per_gib =
		n_bytes ? (last->cpu.own_s - from->cpu.own_s) / ((double)n_bytes / GIB)
			: 0;
	rate.n_busy = last->ns > from->ns
			      ? (last->cpu.all_s - from->cpu.all_s) /
					(double)(last->ns - from->ns) * NS_PER_S
			      : 0;
	rate.is_early = !has_ended && m->is_filling;
	rate.first_s = m->first_ns ? (double)(m->first_ns - m->begun.ns) / NS_PER_S : 0;
	rate.seconds = (double)(last->ns - m->begun.ns) / NS_PER_S;
	rate.n_bytes = last->n_bytes;
	return rate;
}
