/* SPDX-License-Identifier: MIT */
/* A stream that comes in bursts leaves evenly, and no slower; who begins, who reads
 * slowly and who has a full reserve never waits; and a reserve is there to be read when
 * nothing comes. */
#include "base/clock.h"
#include "check.h"
#include "stream/cursor/shaper.h"

#include <stdbool.h>

#define MIB	 ((uint64_t)1 << 20)
#define STEP_NS	 SFS_NS_PER_MS
#define RATE	 (200 * MIB)
#define BATCH	 (28 * MIB)
#define SECOND	 (SFS_NS_PER_S / STEP_NS)
#define N_STEPS	 (120 * SECOND)
#define MAX_LAPS 4000

struct world {
	struct sfs_shaper even;
	uint64_t now_ns, came, usable, taken, memory;
	uint64_t next_ns; /* the read that waits asks again */
	uint64_t laps[MAX_LAPS], n_laps, last_ns;
};

static void begin(struct world *w)
{
	*w = (struct world){.now_ns = 7 * SFS_NS_PER_S, .memory = UINT64_MAX};
	sfs_shaper_init(&w->even, w->now_ns);
	w->last_ns = w->now_ns;
}

/* A reader that takes all it may, 1 MiB at a time. */
static void take(struct world *w, uint64_t up_to)
{
	while (w->taken + MIB <= w->usable && w->taken + MIB <= up_to &&
	       w->next_ns <= w->now_ns) {
		w->next_ns = sfs_shaper_ask(&w->even, MIB, w->usable - w->taken, w->came,
					    w->memory, w->now_ns);
		if (w->next_ns > 0) {
			CHECK(w->next_ns > w->now_ns);
			return;
		}
		w->taken += MIB;
		if (w->taken % BATCH != 0 || w->n_laps == MAX_LAPS)
			continue;
		w->laps[w->n_laps++] = w->now_ns - w->last_ns;
		w->last_ns = w->now_ns;
	}
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The network brings 200 MiB/s, but what comes is of use only now and then, when a slow
 * part is here: for up to 0.9 s nothing, then all of it. */
static void bursts_leave_evenly(void)
{
	struct world w;
	uint64_t step, burst = 0, half = 0, n;

	begin(&w);
	for (step = 0; step < N_STEPS; step++) {
		w.now_ns += STEP_NS;
		w.came += RATE / SECOND;
		if (step >= burst) {
			w.usable = w.came;
			burst = step + 100 + step * 7919 % 800;
		}
		take(&w, UINT64_MAX);
		if (step == N_STEPS / 2) {
			half = w.taken;
			w.n_laps = 0;
		}
	}
	CHECK(w.taken - half > RATE / MIB * MIB * (N_STEPS / 2 / SECOND) * 98 / 100);
	n = w.n_laps;
	CHECK(n > 100);
	qsort(w.laps, n, sizeof w.laps[0], compare);
	CHECK(w.laps[n - 1 - n / 100] < 2 * w.laps[n / 2]);
}

/* One step, in which what comes at that rate is of use at once. */
static void flow(struct world *w, uint64_t rate, uint64_t up_to)
{
	w->now_ns += STEP_NS;
	w->came += rate / SECOND;
	w->usable = w->came;
	take(w, up_to);
}

/* Nothing is known of the rate yet. */
static void the_first_bytes_leave_at_once(void)
{
	struct world w;
	uint64_t step;

	begin(&w);
	for (step = 0; step < 2 * SECOND; step++) {
		flow(&w, RATE, UINT64_MAX);
		CHECK(w.usable - w.taken < MIB);
	}
}

/* Of a network of 200 MiB/s a reader takes 150, then as much as it can. */
static void who_reads_slowly_never_waits(void)
{
	struct world w;
	uint64_t step, wanted = 0;

	begin(&w);
	for (step = 0; step < N_STEPS; step++) {
		wanted += RATE * 3 / 4 / SECOND;
		/* As much as there is room for. */
		flow(&w, w.came < w.taken + 1000 * MIB ? RATE : 0, wanted);
		if (step > 30 * SECOND)
			CHECK(w.taken + 2 * MIB > wanted);
	}
	/* A full reserve may be had at once. */
	CHECK(w.usable - w.taken > 900 * MIB);
	take(&w, w.taken + 400 * MIB);
	CHECK(w.usable - w.taken < 610 * MIB);
}

static void the_reserve_outlasts_an_outage(void)
{
	struct world w;
	uint64_t step, reserve, end;

	begin(&w);
	for (step = 0; step < N_STEPS; step++)
		flow(&w, RATE, UINT64_MAX);
	reserve = w.usable - w.taken;
	CHECK(reserve > RATE); /* more than a second's */
	end = w.now_ns + 3 * SFS_NS_PER_S;
	while (w.now_ns < end)
		flow(&w, 0, UINT64_MAX);
	CHECK(w.usable - w.taken < MIB);
}

/* Where there is memory for less than a second, that is all the reserve there can be: it
 * is no reason to read more slowly for ever. */
static void a_small_memory_is_enough(void)
{
	struct world w;
	uint64_t step, half = 0;

	begin(&w);
	w.memory = RATE / 4;
	for (step = 0; step < N_STEPS; step++) {
		flow(&w, w.came < w.taken + w.memory ? RATE : 0, UINT64_MAX);
		if (step == N_STEPS / 2)
			half = w.taken;
	}
	CHECK(w.taken - half > RATE / MIB * MIB * (N_STEPS / 2 / SECOND) * 97 / 100);
}

/* A path that becomes slower for good is followed, and so is one that becomes faster. */
static void a_rate_that_changes_is_followed(void)
{
	static const uint64_t rates[] = {RATE, RATE / 4, RATE * 2};
	struct world w;
	uint64_t step, at;
	size_t i;

	begin(&w);
	for (i = 0; i < sizeof rates / sizeof rates[0]; i++) {
		at = w.taken;
		for (step = 0; step < N_STEPS; step++)
			flow(&w, rates[i], UINT64_MAX);
		CHECK(w.taken - at > rates[i] * (N_STEPS / SECOND) * 97 / 100);
	}
}

int main(void)
{
	bursts_leave_evenly();
	the_first_bytes_leave_at_once();
	who_reads_slowly_never_waits();
	the_reserve_outlasts_an_outage();
	a_small_memory_is_enough();
	a_rate_that_changes_is_followed();
	return 0;
}
