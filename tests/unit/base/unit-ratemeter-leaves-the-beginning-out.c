/* SPDX-License-Identifier: MIT */
/* A rate is that of the steady part: neither the wait for the first byte, nor its first
 * fifth, nor a buffer being filled counts; unless the bytes end early, or are few. */
#include "base/ratemeter.h"
#include "check.h"

#include <math.h>

#define MS  1000000ULL
#define S   (1000 * MS)
#define GIB (1024.0 * 1024 * 1024)

static bool is_near(double got, double wanted)
{
	return fabs(got - wanted) <= 1e-6 * fabs(wanted);
}

/* Marks every 100 ms from 1 s on, when the first bytes came: 100 bytes a ms,
 * until 2 s after that 1000 a ms.  The measured uses half a processor, the
 * machine one and a half. */
static uint64_t run(struct sfs_ratemeter *m, uint64_t wanted_ns, uint64_t filling_ns,
		    uint64_t until_ms)
{
	struct sfs_cpu cpu = {0};
	uint64_t n_bytes = 0, ms;

	sfs_ratemeter_begin(m, wanted_ns, 5 * S, cpu);
	for (ms = 1000; ms <= until_ms; ms += 100) {
		n_bytes += ms < 3000 ? 1000 * 100 : 100 * 100;
		cpu = (struct sfs_cpu){.own_s = (double)ms / 2000,
				       .all_s = (double)ms * 1.5 / 1000};
		m->is_filling = ms * MS < filling_ns;
		sfs_ratemeter_mark(m, 5 * S + ms * MS, n_bytes, cpu);
		if (sfs_ratemeter_is_over(m, 5 * S + ms * MS))
			break;
	}
	return ms;
}

static void steady(void)
{
	struct sfs_ratemeter m;
	struct sfs_rate rate;

	/* The 10 s begin at 1 s; their first fifth is over at 3 s. */
	CHECK_EQ(run(&m, 10 * S, 0, 99999), 11000);
	rate = sfs_ratemeter_end(&m, false, 0);
	CHECK(rate.is_there && !rate.has_ended && !rate.is_early);
	CHECK(is_near(rate.bytes_per_s, 100e3));
	CHECK(is_near(rate.first_s, 1));
	CHECK(is_near(rate.seconds, 11));
	CHECK(is_near(rate.cpu_s_per_gib, 0.5 / (100e3 / GIB)));
	CHECK(is_near(rate.n_busy, 1.5));
	CHECK_EQ(rate.n_bytes, 20 * 100000 + 81 * 10000);
	CHECK(is_near(sfs_ratemeter_recent(&m), 100e3));
	CHECK(is_near(sfs_ratemeter_done(&m, 5 * S + 3000 * MS), 0.2));
	CHECK(is_near(sfs_ratemeter_done(&m, 5 * S + 11000 * MS), 1));

	/* So few that most of them are in flight at a time. */
	rate = sfs_ratemeter_end(&m, false, 500000);
	CHECK(is_near(rate.bytes_per_s, 2810000 / 11.0));
}

static void filling(void)
{
	struct sfs_ratemeter m;
	struct sfs_rate rate;

	/* Two seconds are wanted, and three go by before it counts. */
	CHECK_EQ(run(&m, 2 * S, 4 * S, 99999), 5600);
	rate = sfs_ratemeter_end(&m, false, 0);
	CHECK(!rate.is_early);
	CHECK(is_near(rate.bytes_per_s, 100e3));

	/* It is never full: four times as long, and no more. */
	CHECK_EQ(run(&m, 2 * S, 99 * S, 99999), 9000);
	rate = sfs_ratemeter_end(&m, false, 0);
	CHECK(rate.is_early);
	CHECK(is_near(rate.bytes_per_s, (20 * 100000 + 61 * 10000) / 9.0));
	CHECK(!sfs_ratemeter_end(&m, true, 0).is_early);
}

static void ended(void)
{
	struct sfs_ratemeter m;
	struct sfs_rate rate;

	run(&m, 10 * S, 0, 6000);
	CHECK(!sfs_ratemeter_is_over(&m, 11 * S));
	rate = sfs_ratemeter_end(&m, true, 0);
	CHECK(rate.has_ended);
	CHECK(is_near(rate.bytes_per_s, (20 * 100000 + 31 * 10000) / 6.0));

	/* Nothing came at all. */
	sfs_ratemeter_begin(&m, S, 5 * S, (struct sfs_cpu){0});
	CHECK(!sfs_ratemeter_is_over(&m, 99 * S));
	CHECK(sfs_ratemeter_done(&m, 99 * S) == 0);
	rate = sfs_ratemeter_end(&m, true, 0);
	CHECK(rate.bytes_per_s == 0 && rate.cpu_s_per_gib == 0 && rate.first_s == 0);
}

/* Marks that follow each other closely do not push out those of the last seconds. */
static void many_marks(void)
{
	struct sfs_ratemeter m;
	uint64_t ms;

	sfs_ratemeter_begin(&m, 10 * S, 0, (struct sfs_cpu){0});
	for (ms = 1; ms <= 4000; ms++)
		sfs_ratemeter_mark(&m, ms * MS, ms < 2000 ? 1 : 1 + (ms - 2000) * 30,
				   (struct sfs_cpu){0});
	/* Of the last three seconds, two had 30 a ms. */
	CHECK(fabs(sfs_ratemeter_recent(&m) - 20000) < 1500);
}

int main(void)
{
	steady();
	filling();
	ended();
	many_marks();
	return 0;
}
