/* SPDX-License-Identifier: MIT */
/* bench-report - the results of `shufflefs bench`: as a table, as JSON, and in
 * sentences that name the bottleneck.  Pure. */
#ifndef SFS_BENCH_REPORT_H
#define SFS_BENCH_REPORT_H

#include "base/ratemeter.h"
#include "base/strbuf.h"

#include <stdint.h>

/* In the order in which bytes go through them. */
enum sfs_bench_stage {
	SFS_BENCH_STAGE_SOURCE, /* the source alone */
	SFS_BENCH_STAGE_ORDER,	/* a stream, without a mount */
	SFS_BENCH_STAGE_MOUNT,	/* a mounted stream, read in large pieces with O_DIRECT */
	SFS_BENCH_STAGE_MOUNT2, /* the same with 2 such reads in flight */
	SFS_BENCH_STAGE_MOUNT4, /* with 4 */
	SFS_BENCH_STAGE_CACHED, /* one reader, through the page cache */
	SFS_BENCH_N_STAGES
};

struct sfs_bench_facts {
	const char *dataset; /* its name, without secrets; borrowed */
	uint32_t n_shards, n_local;
	int n_connections; /* or threads, where all shards are local */
	int n_processors;
	double wanted_s; /* of each stage, after its first byte */

	double reach_s;	    /* until the first shards responded */
	double sizes_per_s; /* of shards */
	struct sfs_rate rates[SFS_BENCH_N_STAGES];
	const char
		*absent[SFS_BENCH_N_STAGES]; /* why it was skipped, or NULL; borrowed */
	double sample_bytes;		     /* on average; 0: not known */
	uint64_t epoch_bytes;		     /* of samples; 0: not known */
	const char *huge_pages_off; /* why, or NULL; borrowed */
	double fill_s; /* how long a stream filled its buffer, from the first byte on */
};

const char *sfs_bench_stage_name(enum sfs_bench_stage stage);

/* The bottleneck, of source, order and mount; SFS_BENCH_N_STAGES if none was measured, or
 * for too short a time to say. */
enum sfs_bench_stage sfs_bench_report_limit(const struct sfs_bench_facts *facts);

/* The kind of reading to recommend: of those of the mount that are as fast as the
 * fastest, the simplest.  SFS_BENCH_N_STAGES if fewer than two can be compared. */
enum sfs_bench_stage sfs_bench_report_best(const struct sfs_bench_facts *facts);

/* Append sentences that name the bottleneck and what helps, one or two on a line. */
void sfs_bench_report_say(const struct sfs_bench_facts *facts, struct sfs_strbuf *text);

/* Append all results: as a table, or as a line of JSON. */
void sfs_bench_report_table(const struct sfs_bench_facts *facts, struct sfs_strbuf *text);
void sfs_bench_report_json(const struct sfs_bench_facts *facts, struct sfs_strbuf *text);

#endif
