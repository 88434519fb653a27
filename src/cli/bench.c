/* SPDX-License-Identifier: MIT */
#include "cli/bench.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* The first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal. */
static double busy_s(void)
{
	FILE *f = fopen("/proc/stat", "re");
	unsigned long long t[8] = {0};

	if (!f)
		return 0;
	if (fscanf(f, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &t[0], &t[1], &t[2],
		   &t[3], &t[4], &t[5], &t[6], &t[7]) < 4)
		memset(t, 0, sizeof t);
	fclose(f);
	return (double)(t[0] + t[1] + t[2] + t[5] + t[6] + t[7]) /
	       (double)sysconf(_SC_CLK_TCK);
}

struct sfs_cpu sfs_bench_cpu(void)
{
	struct rusage used;

	getrusage(RUSAGE_SELF, &used);
	return (struct sfs_cpu){
		.own_s = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
			 (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6,
		.all_s = busy_s(),
	};
}

void sfs_bench_show(const struct sfs_bench_run *run, enum sfs_bench_stage stage,
		    const struct sfs_ratemeter *m)
{
	uint64_t now_ns = sfs_clock_ns();
	unsigned gone_s =
		(unsigned)((now_ns - (m->first_ns ? m->first_ns : m->begun.ns)) /
			   SFS_NS_PER_S);

	if (m->first_ns == 0)
		sfs_progress_show(&run->progress, 0,
				  "%s: waiting for the first byte, %u s",
				  sfs_bench_stage_name(stage), gone_s);
	else
		sfs_progress_show(&run->progress, sfs_ratemeter_done(m, now_ns),
				  "%s: %u of %u s, %.3f GB/s%s",
				  sfs_bench_stage_name(stage), gone_s,
				  (unsigned)(m->wanted_ns / SFS_NS_PER_S),
				  sfs_ratemeter_recent(m) / 1e9,
				  m->is_filling ? ", filling the buffer" : "");
}
