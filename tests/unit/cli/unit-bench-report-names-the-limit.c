/* SPDX-License-Identifier: MIT */
/* From rates to a sentence: the stage at which the rate drops most is named, and what was
 * not measured, or for too short a time, is not judged. */
#include "check.h"
#include "cli/bench-report.h"

static struct sfs_strbuf text;

static struct sfs_rate rate(double gb_per_s, double cpu_s_per_gib)
{
	return (struct sfs_rate){.is_there = true,
				 .bytes_per_s = gb_per_s * 1e9,
				 .cpu_s_per_gib = cpu_s_per_gib,
				 .first_s = 0.6,
				 .seconds = 10,
				 .n_bytes = 1000000000};
}

/* On 16 connections and 4 processors; a rate below 0: not measured. */
static struct sfs_bench_facts facts(double source, double order, double mount)
{
	struct sfs_bench_facts f = {.dataset = "https://host/{0..9}.tar",
				    .n_shards = 10,
				    .n_connections = 16,
				    .n_processors = 4,
				    .wanted_s = 10,
				    .reach_s = 0.153,
				    .sizes_per_s = 2310,
				    .sample_bytes = 1e5};

	if (source >= 0)
		f.rates[SFS_BENCH_STAGE_SOURCE] = rate(source, 0.4);
	if (order >= 0)
		f.rates[SFS_BENCH_STAGE_ORDER] = rate(order, 0.5);
	if (mount >= 0)
		f.rates[SFS_BENCH_STAGE_MOUNT] = rate(mount, 0.6);
	return f;
}

static const char *say(const struct sfs_bench_facts *f)
{
	sfs_strbuf_done(&text);
	sfs_bench_report_say(f, &text);
	return text.s;
}

static void huge_pages(void)
{
	struct sfs_bench_facts f = facts(1, 1, 1);

	CHECK(!strstr(say(&f), "uge pages"));
	f.huge_pages_off = "because";
	CHECK_HAS(say(&f), "\nHuge pages are off, which may cost a third of the rate: "
			   "because.\n");
}

static void limits(void)
{
	static const struct {
		double source, order, mount;
		enum sfs_bench_stage limit;
	} cases[] = {
		{0.243, 0.241, 0.240, SFS_BENCH_STAGE_SOURCE},
		{0.243, 0.30, 0.25, SFS_BENCH_STAGE_SOURCE},
		{3.2, 2.9, 2.1, SFS_BENCH_STAGE_MOUNT},
		{3.2, 1.1, 0.9, SFS_BENCH_STAGE_ORDER},
		{3.2, 1.1, -1, SFS_BENCH_STAGE_ORDER},
		{3.2, -1, 1.1, SFS_BENCH_STAGE_MOUNT},
		{3.2, -1, -1, SFS_BENCH_STAGE_SOURCE},
		{-1, 2, 1, SFS_BENCH_STAGE_MOUNT},
		{-1, 2, 2, SFS_BENCH_STAGE_ORDER},
		{-1, -1, 2, SFS_BENCH_STAGE_MOUNT},
		{-1, -1, -1, SFS_BENCH_N_STAGES},
	};
	struct sfs_bench_facts f;
	size_t i;

	for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		f = facts(cases[i].source, cases[i].order, cases[i].mount);
		CHECK_EQ(sfs_bench_report_limit(&f), cases[i].limit);
	}
}

static void sentences(void)
{
	struct sfs_bench_facts f = facts(0.243, 0.241, 0.24);

	CHECK_HAS(say(&f),
		  "The source delivers 0.243 GB/s on 16 connections, and the mount keeps "
		  "up with it: the network or the server is the limit.");
	CHECK_HAS(text.s, "The first sample arrived after 0.60 s.");
	CHECK(!strstr(text.s, "page cache") && !strstr(text.s, "skipped"));
	f.n_local = f.n_shards;
	CHECK_HAS(say(&f), "on 16 threads, and the mount keeps up with it: the disk is");
	CHECK_HAS(text.s, "Local files in the page cache");
	f = facts(3.2, 2.9, 2.1);
	CHECK_HAS(say(&f), "The source delivers 3.20 GB/s, the order 2.90, the mount "
			   "2.10: passing the bytes through the kernel to the reader is");
	CHECK_HAS(text.s, "several readers, such as");
	f.rates[SFS_BENCH_STAGE_MOUNT].n_busy = 3.9;
	CHECK_HAS(say(&f), "all 4 processors are busy, 1.2 of them");
	CHECK(!strstr(text.s, "several readers, such as"));
	f = facts(3.2, 1, 1);
	CHECK_HAS(say(&f), "shuffling is the limit; it uses 0.5 of 4");
	f = facts(-1, -1, 2);
	CHECK_HAS(say(&f), "The mount delivers 2.00 GB/s. To find the limit, run the "
			   "earlier stages");
	f = facts(3, 3, -1);
	f.absent[SFS_BENCH_STAGE_MOUNT] = "/dev/fuse: No such file or directory";
	CHECK_HAS(say(&f), "The mount stage was skipped: /dev/fuse: No such file or");
	CHECK_HAS(text.s, "and the order keeps up with it");
}

/* Of the ways to read a mount the simplest of those that are about as fast as any. */
static void ways(void)
{
	struct sfs_bench_facts f = facts(3.2, 2.9, 2.1);

	CHECK_EQ(sfs_bench_report_best(&f), SFS_BENCH_N_STAGES);
	CHECK(!strstr(say(&f), "The way to read"));
	f.rates[SFS_BENCH_STAGE_CACHED] = rate(1.1, 1);
	CHECK_HAS(say(&f),
		  "The way to read it here is 1 MiB or more at a time with "
		  "O_DIRECT, or mounted with -o direct_io: 2.10 GB/s; through the "
		  "page cache a reader gets 1.10.");
	f.rates[SFS_BENCH_STAGE_MOUNT2] = rate(2.2, 1);
	CHECK_EQ(sfs_bench_report_best(&f), SFS_BENCH_STAGE_MOUNT);
	f.rates[SFS_BENCH_STAGE_MOUNT2] = rate(2.5, 1);
	f.rates[SFS_BENCH_STAGE_MOUNT4] = rate(2.6, 1);
	CHECK_HAS(say(&f), "O_DIRECT with 2 reads of 1 MiB in flight: 2.50 GB/s");
	f.rates[SFS_BENCH_STAGE_MOUNT4] = rate(3, 1);
	CHECK_EQ(sfs_bench_report_best(&f), SFS_BENCH_STAGE_MOUNT4);
	f.rates[SFS_BENCH_STAGE_MOUNT4].is_early = true;
	CHECK_EQ(sfs_bench_report_best(&f), SFS_BENCH_STAGE_MOUNT2);
	f.rates[SFS_BENCH_STAGE_CACHED] = rate(2.4, 1);
	CHECK_HAS(say(&f), "is through the page cache, one reader: 2.40 GB/s.");
	/* An epoch that is over at once says nothing. */
	f.rates[SFS_BENCH_STAGE_CACHED].has_ended = true;
	f.rates[SFS_BENCH_STAGE_CACHED].seconds = 0.5;
	CHECK_EQ(sfs_bench_report_best(&f), SFS_BENCH_STAGE_MOUNT2);
}

/* What was measured while nothing was steady. */
static void doubts(void)
{
	struct sfs_bench_facts f = facts(3, 2, 1);

	f.rates[SFS_BENCH_STAGE_ORDER].has_ended = true;
	f.rates[SFS_BENCH_STAGE_ORDER].seconds = 3;
	CHECK_EQ(sfs_bench_report_limit(&f), SFS_BENCH_STAGE_MOUNT);
	CHECK_HAS(say(&f),
		  "The epoch ended early (order): the dataset is too small for 10 s");
	/* A whole epoch has its beginning in its rate, and is slower for that. */
	f = facts(3, 3, 2.5);
	CHECK_EQ(sfs_bench_report_limit(&f), SFS_BENCH_STAGE_MOUNT);
	f.rates[SFS_BENCH_STAGE_MOUNT].has_ended = true;
	CHECK_EQ(sfs_bench_report_limit(&f), SFS_BENCH_STAGE_SOURCE);
	f = facts(3, 3, 2);
	f.rates[SFS_BENCH_STAGE_MOUNT].has_ended = true;
	CHECK_EQ(sfs_bench_report_limit(&f), SFS_BENCH_STAGE_MOUNT);
	f.rates[SFS_BENCH_STAGE_MOUNT].seconds = 0.5;
	CHECK_EQ(sfs_bench_report_limit(&f), SFS_BENCH_N_STAGES);
	CHECK_HAS(say(&f), "less than a second: too short to find the limit");
	CHECK_HAS(text.s, "(mount)");
	f = facts(3, 0.1, 0.1);
	f.rates[SFS_BENCH_STAGE_ORDER].is_early =
		f.rates[SFS_BENCH_STAGE_MOUNT].is_early = true;
	CHECK_EQ(sfs_bench_report_limit(&f), SFS_BENCH_STAGE_SOURCE);
	CHECK(!strstr(say(&f), "keeps up"));
	CHECK_HAS(text.s, "The order stage was still filling its buffer");
}

static void whole(void)
{
	struct sfs_bench_facts f = facts(0.243, 0.241, -1);

	sfs_strbuf_done(&text);
	sfs_bench_report_table(&f, &text);
	CHECK_HAS(text.s, "https://host/{0..9}.tar: 10 shards\n");
	CHECK_HAS(text.s, "response after 0.153 s, then 2310 sizes per second\n");
	CHECK_HAS(text.s,
		  "\nsource      0.243        2430       0.40     0.60 s     10.0 s\n");
	CHECK(!strstr(text.s, "\nmount "));
	f.sample_bytes = 0;
	f.absent[SFS_BENCH_STAGE_MOUNT] = "no \"fuse\"";
	sfs_strbuf_done(&text);
	sfs_bench_report_json(&f, &text);
	CHECK_HAS(text.s, "{\"dataset\":\"https://host/{0..9}.tar\",\"shards\":10,");
	CHECK_HAS(text.s, "{\"stage\":\"order\",\"bytes_per_s\":241000000,"
			  "\"samples_per_s\":null,");
	CHECK_HAS(text.s, "{\"stage\":\"mount\",\"left_out\":\"no \\\"fuse\\\"\"}]");
	CHECK_HAS(text.s, "\"limit\":\"source\",\"verdict\":\"The source delivers");
	CHECK_STR(strchr(text.s, '\n'), "\n");
	f = facts(-1, -1, -1);
	sfs_strbuf_done(&text);
	sfs_bench_report_json(&f, &text);
	CHECK_HAS(text.s, "\"limit\":null,\"verdict\":\"\"}");
}

int main(void)
{
	huge_pages();
	limits();
	sentences();
	ways();
	doubts();
	whole();
	sfs_strbuf_done(&text);
	return 0;
}
