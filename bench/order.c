/* SPDX-License-Identifier: MIT */
/* What an order costs to open, to resume and to play through, from made-up tables:
 *
 *	make bench/order && bench/order [--shards=N] [--samples=N] [--rounds=N]
 *		[--segments=shard,1M,sample] [--folder=DIR]
 *
 * Samples are of 1 KB to 220 KB.  With --folder their indexes are written there, if they
 * are not there yet, and the tables are those of the mapped files; else they are in
 * memory.  Prints a table in Markdown: the least seconds of the rounds, by the clock and
 * of the processor; the memory is what is held beside the tables. */
#include "base/clock.h"
#include "order/partition.h"
#include "catalog/index-format.h"
#include "order/locate.h"
#include "base/alloc.h"
#include "order/iterate.h"
#include "base/rng.h"
#include "base/strbuf.h"

#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static struct {
	uint32_t n_shards, n_samples; /* in a shard */
	int n_rounds;
	const char *segments, *folder; /* NULL: in memory */
} wanted = {10000, 10000, 3, "shard,1M,sample", NULL};

static struct sfs_sample_table *tables;
static struct mapped {
	void *bytes;
	size_t n;
} * files;

/* ---- clocks ---- */

struct span {
	double wall, cpu;
};

static struct span now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (struct span){(double)sfs_clock_ns() / 1e9,
			     (double)t.tv_sec + (double)t.tv_nsec / 1e9};
}

/* Keep what was least since `begin`. */
static void note(struct span *least, struct span begin)
{
	struct span end = now();
	double wall = end.wall - begin.wall, cpu = end.cpu - begin.cpu;

	if (least->wall == 0 || wall < least->wall)
		least->wall = wall;
	if (least->cpu == 0 || cpu < least->cpu)
		least->cpu = cpu;
}

/* A line of /proc/self/status, in KiB. */
static uint64_t memory(const char *what)
{
	FILE *f = fopen("/proc/self/status", "r");
	unsigned long long n = 0;
	char line[256];

	while (f && fgets(line, sizeof line, f))
		if (strncmp(line, what, strlen(what)) == 0)
			sscanf(line + strlen(what), ": %llu", &n);
	if (f)
		fclose(f);
	return n;
}

/* From now on VmHWM is the peak. */
static void forget_peak(void)
{
	FILE *f = fopen("/proc/self/clear_refs", "w");

	if (f) {
		fputs("5", f);
		fclose(f);
	}
}

/* ---- tables ---- */

static const struct sfs_sample_table *table_of(void *ctx, uint32_t shard)
{
	return &tables[shard];
}

/* As make_table() makes them: no gaps, and an end of zeros. */
static uint64_t size_of(void *ctx, uint32_t shard)
{
	return sfs_sample_table_place(&tables[shard],
				      sfs_sample_table_n(&tables[shard])) +
	       1024;
}

static bool totals_of(void *ctx, uint32_t shard, uint64_t *ret_n, uint64_t *ret_bytes)
{
	*ret_n = sfs_sample_table_n(&tables[shard]);
	*ret_bytes = sfs_sample_table_place(&tables[shard], *ret_n);
	return true;
}

static const struct sfs_sample_tables all_tables = {.get = table_of, .size = size_of};
static const struct sfs_share all = {.first = 0, .step = 1, .n_ranks = 1};

/* The bytes of the shard. */
static uint64_t make_table(struct sfs_sample_table *t, uint32_t shard)
{
	struct sfs_rng r = {shard};
	uint64_t at = 0, i, n_bytes;

	for (i = 0; i < wanted.n_samples; i++) {
		n_bytes = 512 * (2 + sfs_rng_below(&r, 427));
		sfs_sample_table_add(t, &(struct sfs_extent){at, n_bytes,
							     sfs_rng_next(&r), false});
		at += n_bytes;
	}
	sfs_sample_table_end(t, SFS_SAMPLE_TABLE_WHOLE);
	return at + 1024;
}

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "order: %s: %s\n", what, why);
	exit(1);
}

static void write_index(const char *path, uint32_t shard)
{
	struct sfs_sample_table t = {0};
	uint64_t shard_bytes = make_table(&t, shard);
	size_t n;
	sfs_autofree void *bytes = sfs_index_write(&t, shard_bytes, 1, NULL, &n);
	FILE *f = fopen(path, "w");

	sfs_sample_table_done(&t);
	if (!f || fwrite(bytes, 1, n, f) != n || fclose(f) != 0)
		fail(path, "cannot be written");
}

static char *index_path(uint32_t shard)
{
	return sfs_asprintf("%s/%u-%06u.index", wanted.folder, wanted.n_samples, shard);
}

static struct mapped map_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct mapped file = {0};
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		fail(path, "cannot be opened");
	file.n = (size_t)st.st_size;
	file.bytes = mmap(NULL, file.n, PROT_READ, MAP_PRIVATE, fd, 0);
	if (file.bytes == MAP_FAILED)
		fail(path, "cannot be mapped");
	close(fd);
	return file;
}

static void open_index(uint32_t shard)
{
	sfs_autofree char *path = index_path(shard);
	struct sfs_error err = {0};
	struct sfs_index index;

	files[shard] = map_file(path);
	if (sfs_index_open(files[shard].bytes, files[shard].n, files[shard].n, &index,
			   &err) < 0)
		fail(path, err.text);
	sfs_sample_table_borrow(&tables[shard], index.entries, index.n_samples);
}

static void close_tables(void)
{
	uint32_t i;

	for (i = 0; i < wanted.n_shards; i++) {
		sfs_sample_table_done(&tables[i]);
		if (files[i].bytes)
			munmap(files[i].bytes, files[i].n);
		files[i] = (struct mapped){0};
	}
}

static void print_row(const char *what, struct span span, const char *more)
{
	printf("| %s | %.3f | %.3f | %s |\n", what, span.wall, span.cpu, more);
	fflush(stdout);
}

static void make_tables(void)
{
	struct span least = {0}, begin;
	struct stat st;
	uint32_t i;
	int round;

	for (i = 0; !wanted.folder && i < wanted.n_shards; i++)
		make_table(&tables[i], i);
	for (i = 0; wanted.folder && i < wanted.n_shards; i++) {
		sfs_autofree char *path = index_path(i);

		if (stat(path, &st) < 0)
			write_index(path, i);
	}
	for (round = 0; wanted.folder && round < wanted.n_rounds; round++) {
		close_tables();
		begin = now();
		for (i = 0; i < wanted.n_shards; i++)
			open_index(i);
		note(&least, begin);
	}
	if (wanted.folder)
		print_row("all indexes: map, check and borrow them", least, "");
}

/* ---- what is measured ---- */

struct work {
	struct sfs_order_settings settings;
	const char *segment;
	uint64_t n_all;
	struct span deal, rank, map, nth[3], play;
	uint64_t order_kib, map_kib, peak_kib;
	uint64_t slices;
};

static void measure_map(struct work *w, const struct sfs_order *order)
{
	const uint64_t numbers[] = {w->n_all / 1000, w->n_all / 2,
				    w->n_all - w->n_all / 1000 - 1};
	struct span begin = now();
	struct sfs_locator map;
	struct sfs_spot spot;
	uint64_t number;
	uint32_t shard;
	size_t i;

	sfs_locator_init(&map, order, &all_tables, totals_of);
	if (sfs_locator_nth(&map, UINT64_MAX, &spot, &shard) < 0)
		fail(w->segment, "the map does not know its end");
	note(&w->map, begin);
	w->map_kib = memory("VmRSS");
	for (i = 0; i < SFS_COUNT(numbers); i++) {
		begin = now();
		if (sfs_locator_nth(&map, numbers[i], &spot, &shard) < 0 ||
		    sfs_locator_number(&map, &spot, &number, &shard) < 0 ||
		    number != numbers[i])
			fail(w->segment, "the map has another number");
		note(&w->nth[i], begin);
	}
	sfs_locator_done(&map);
}

static void measure_play(struct work *w, const struct sfs_order *order)
{
	struct span begin = now();
	struct sfs_iterator play;
	uint64_t n = 0;

	sfs_iterator_init(&play, order, &all_tables);
	while (sfs_iterator_next(&play))
		n++;
	sfs_iterator_done(&play);
	note(&w->play, begin);
	if (n != w->n_all)
		fail(w->segment, "an epoch has another number of samples");
}

static void measure_round(struct work *w, uint64_t epoch)
{
	const struct sfs_share rank = {.first = 0, .step = 8, .n_ranks = 8};
	uint64_t before = memory("VmRSS");
	struct sfs_order order;
	struct span begin;

	forget_peak();
	begin = now();
	sfs_partition(&order, &w->settings, epoch, wanted.n_shards, &all_tables, all);
	note(&w->deal, begin);
	w->slices = sfs_order_slices(&order);
	w->order_kib = memory("VmRSS") - before;
	measure_map(w, &order);
	w->map_kib -= before + w->order_kib;
	w->peak_kib = memory("VmHWM") - before;
	measure_play(w, &order);
	sfs_order_done(&order);

	begin = now();
	sfs_partition(&order, &w->settings, epoch, wanted.n_shards, &all_tables, rank);
	sfs_partition_sum(&order, &all_tables);
	note(&w->rank, begin);
	sfs_order_done(&order);
}

static void print_work(const struct work *w)
{
	double n = (double)w->n_all;
	const struct {
		const char *what;
		struct span span;
	} rows[] = {{"deal rank 0 of 8", w->rank},
		    {"map", w->map},
		    {"the sample at 1/1000", w->nth[0]},
		    {"the sample in the middle", w->nth[1]},
		    {"the sample at 999/1000", w->nth[2]}};
	char what[80], more[120];
	size_t i;

	snprintf(what, sizeof what, "segment=%s: deal an epoch", w->segment);
	snprintf(more, sizeof more, "%" PRIu64 " slices", w->slices);
	print_row(what, w->deal, more);
	for (i = 0; i < SFS_COUNT(rows); i++) {
		snprintf(what, sizeof what, "segment=%s: %s", w->segment, rows[i].what);
		print_row(what, rows[i].span, "");
	}
	snprintf(what, sizeof what, "segment=%s: play it through", w->segment);
	snprintf(more, sizeof more, "**%.1f** million positions/s (%.1f by the clock)",
		 n / w->play.cpu / 1e6, n / w->play.wall / 1e6);
	print_row(what, w->play, more);
	printf("| segment=%s: memory | | | order %.1f, map %.1f, at the peak %.1f bytes "
	       "a "
	       "sample |\n",
	       w->segment, 1024.0 * (double)w->order_kib / n,
	       1024.0 * (double)w->map_kib / n, 1024.0 * (double)w->peak_kib / n);
	fflush(stdout);
}

static uint64_t segment_of(const char *s)
{
	char *end;
	uint64_t n;

	if (strcmp(s, "shard") == 0)
		return SFS_SEGMENT_SHARD;
	if (strcmp(s, "sample") == 0)
		return SFS_SEGMENT_SAMPLE;
	n = strtoull(s, &end, 10) * (*end == 'M' ? 1 << 20 : *end == 'K' ? 1 << 10 : 1);
	if (n < SFS_SEGMENT_SIZE_MIN)
		fail(s, "no segment");
	return n;
}

static void measure(const char *segment)
{
	struct work w = {.segment = segment,
			 .settings = {.lanes = 384,
				      .buffer_bytes = 64 << 20,
				      .segment = segment_of(segment)}};
	uint32_t i;
	int round;

	for (i = 0; i < wanted.n_shards; i++)
		w.n_all += sfs_sample_table_n(&tables[i]);
	for (round = 0; round < wanted.n_rounds; round++)
		measure_round(&w, (uint64_t)round);
	print_work(&w);
}

static void take_arguments(int argc, char **argv)
{
	static const struct option options[] = {
		{"shards", required_argument, NULL, 'n'},
		{"samples", required_argument, NULL, 's'},
		{"rounds", required_argument, NULL, 'r'},
		{"segments", required_argument, NULL, 'g'},
		{"folder", required_argument, NULL, 'f'},
		{0}};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'n': wanted.n_shards = (uint32_t)strtoul(optarg, NULL, 10); break;
		case 's': wanted.n_samples = (uint32_t)strtoul(optarg, NULL, 10); break;
		case 'r': wanted.n_rounds = atoi(optarg); break;
		case 'g': wanted.segments = optarg; break;
		case 'f': wanted.folder = optarg; break;
		default: exit(2);
		}
	}
	if (wanted.n_shards == 0 || wanted.n_samples == 0 || wanted.n_rounds < 1)
		fail("arguments", "shards, samples and rounds are more than none");
}

int main(int argc, char **argv)
{
	sfs_autofree char *segments = NULL;
	char *at, *segment;

	take_arguments(argc, argv);
	tables = sfs_calloc(wanted.n_shards, sizeof *tables);
	files = sfs_calloc(wanted.n_shards, sizeof *files);
	printf("%u shards of %u samples, tables %s, the best of %d rounds\n\n",
	       wanted.n_shards, wanted.n_samples,
	       wanted.folder ? "of mapped indexes" : "in memory", wanted.n_rounds);
	printf("| what | s by the clock | s of a processor | |\n| --- | ---: | ---: | "
	       "--- "
	       "|\n");
	make_tables();
	segments = sfs_strdup(wanted.segments);
	for (at = segments; (segment = strsep(&at, ",")) != NULL;)
		measure(segment);
	close_tables();
	free(tables);
	free(files);
	return 0;
}
