/* SPDX-License-Identifier: MIT */
#include "source/http/hedge.h"

#include "base/clock.h"

#define COST_PART    20		 /* at most one byte in this many, */
#define COST_FREE    (512 << 10) /* or this many bytes */
#define MAX_HEDGES   3		 /* of a job */
#define URGENT_LEG   (128 << 10) /* if a reader waits, a hedge has legs of this, */
#define URGENT_LEGS  8		 /* at most this many */
#define UNKNOWN_NS   SFS_NS_PER_S
#define LATE_MEDIANS 4

static struct sfs_latency *latency_of(const struct sfs_leg *leg)
{
	struct sfs_http_source *s = leg->job->source;

	return sfs_job_is_ask(leg->job) ? &s->ask_latency : &s->read_latency;
}

static bool may_ask_again(const struct sfs_http_source *s, uint64_t n_bytes)
{
	uint64_t most = s->got_bytes / COST_PART;

	return s->hedged_bytes + n_bytes <= (most > COST_FREE ? most : COST_FREE);
}

/* How many bytes of the leg are missing?  Those from *ret_first on. */
static uint64_t n_missing(const struct sfs_leg *leg, uint64_t *ret_first)
{
	if (sfs_job_is_ask(leg->job)) {
		*ret_first = 0;
		return SFS_ASK_BYTES;
	}
	*ret_first = sfs_job_in_place(leg->job, leg->at);
	return *ret_first < leg->end ? leg->end - *ret_first : 0;
}

/* Has the leg's GET brought next to nothing? */
static bool is_dripping(const struct sfs_leg *leg, uint64_t now_ns)
{
	uint64_t n_got = leg->at - leg->begun_at, ns = now_ns - leg->get.sent_ns;
	uint64_t low = leg->job->source->options.low_speed_limit;

	return n_got == 0 || n_got < low * (ns / SFS_NS_PER_MS) / 1000;
}

/* Four medians at least: where all take nearly as long as each other, none is late for
 * being the last; and one on a new connection, which begins slowly, would only be put on
 * another new one. */
void sfs_hedge_set_deadline(struct sfs_leg *leg)
{
	const struct sfs_latency *latency = latency_of(leg);
	uint64_t first, n = n_missing(leg, &first), now = sfs_clock_ns();
	uint64_t late_ns = sfs_latency_late_ns(latency, n), median_ns = UNKNOWN_NS;

	if (late_ns > 0)
		median_ns = sfs_latency_median_ns(latency, n);
	if (late_ns < LATE_MEDIANS * median_ns)
		late_ns = LATE_MEDIANS * median_ns;
	leg->get.late_ns = now + late_ns;
	leg->get.needed_late_ns = now + median_ns + median_ns / 2;
}

static int n_legs_for(const struct sfs_leg *leg, uint64_t n_bytes)
{
	uint64_t n = n_bytes / URGENT_LEG;

	if (n < 1 || !atomic_load(&leg->job->request->is_needed))
		return 1;
	return n < URGENT_LEGS ? (int)n : URGENT_LEGS;
}

int sfs_hedge_plan(struct sfs_leg *leg, uint64_t *ret_first, uint64_t *ret_n_bytes)
{
	struct sfs_job *job = leg->job;
	uint64_t first, n = n_missing(leg, &first);
	bool is_late = sfs_latency_late_ns(latency_of(leg), n) > 0 ||
		       is_dripping(leg, sfs_clock_ns());

	if (!is_late || n == 0 || job->n_hedges == MAX_HEDGES ||
	    !may_ask_again(job->source, n))
		return 0;
	job->n_hedges++;
	job->hedge_cost += n;
	job->source->hedged_bytes += n;
	atomic_fetch_add(&job->source->base.n_hedges, 1);
	*ret_first = first;
	*ret_n_bytes = n;
	return n_legs_for(leg, n);
}

void sfs_hedge_note_time(struct sfs_leg *leg)
{
	bool is_ask = sfs_job_is_ask(leg->job);

	sfs_latency_add(latency_of(leg),
			is_ask ? SFS_ASK_BYTES : leg->end - leg->begun_at,
			sfs_clock_ns() - leg->get.sent_ns);
}
