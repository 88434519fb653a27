/* SPDX-License-Identifier: MIT */
/* Whoever feeds the stretches of an epoch, in whatever sequence and however the bytes are
 * cut: together they have each sample of each shard once, in its place, and the shards
 * have their tables from them.  If tars lie in members, a set that is not marked as wrong
 * has all samples all the same; and so has the next set, in which nothing is guessed any
 * more: its stretches wait until their shard was scanned so far.  Of the stretches that
 * begin in one sample, one is searched.  If only some are read, those that are sure begin
 * where samples do; when their shards were scanned, all are, or the set is wrong.  Sets
 * that nobody has are kept, or make room. */
#include "base/alloc.h"
#include "base/ledger.h"
#include "base/rng.h"
#include "catalog/stretches.h"
#include "check.h"
#include "tars.h"

#define N	 5
#define N_ROUNDS 60
#define MAX	 4000

static const struct sfs_order_settings settings = {.segment = SFS_SEGMENT_RANDOM};

static struct sfs_rng rng = {63};
static struct sfs_budget budget;
static struct sfs_shards shards;
static struct tar tars[N];
static uint64_t starts[N][MAX]; /* of the samples that a scan finds */
static uint64_t n_starts[N];
static int n_wrong, n_right, n_waited;

static uint64_t below(uint64_t n)
{
	return sfs_rng_below(&rng, n);
}

/* ---- shards ---- */

static void add_bytes(struct tar *t, const char *name, size_t n)
{
	unsigned char *data;
	size_t i;

	tar_header(t, "ustar", '0', name, n);
	data = tar_grow(t, (n + BLOCK - 1) / BLOCK * BLOCK);
	for (i = 0; i < n; i++)
		data[i] = (unsigned char)below(256);
}

/* A member that is a tar of files of some KiB. */
static void add_tar(struct tar *t, const char *name)
{
	struct tar inner = {0};
	char file[32];
	unsigned i, n = 3 + (unsigned)below(40);

	for (i = 0; i < n; i++) {
		snprintf(file, sizeof file, "%03u.txt", i);
		tar_file(&inner, file, 1000 + below(9000), 'i');
	}
	tar_end(&inner);
	tar_header(t, "ustar", '0', name, inner.n);
	memcpy(tar_grow(t, inner.n), inner.bytes, inner.n);
	tar_done(&inner);
}

/* One in tar_of samples has a tar; 0: none. */
static void make_tar(struct tar *t, unsigned tar_of)
{
	unsigned i,
		n = (unsigned)below(4) == 0 ? (unsigned)below(3) : (unsigned)below(60);
	char name[32];

	for (i = 0; i < n; i++) {
		snprintf(name, sizeof name, "d/%04u.cls", i);
		tar_file(t, name, below(20), 'c');
		snprintf(name, sizeof name, "d/%04u.%s", i, "bin");
		if (tar_of > 0 && below(tar_of) == 0)
			add_tar(t, name);
		else
			add_bytes(t, name, below(10) == 0 ? below(400000) : below(20000));
	}
	if (below(3) == 0)
		tar_file(t, "README", below(2000), 'r'); /* in no sample */
	tar_end(t);
}

static void on_sample(void *ctx, const struct sfs_extent *extent)
{
	const int k = *(const int *)ctx;

	CHECK(n_starts[k] < MAX);
	starts[k][n_starts[k]++] = extent->start;
}

static void find_starts(int k)
{
	const struct sfs_scan_sink sink = {.ctx = &k, .sample = on_sample};
	struct sfs_scan scan;

	n_starts[k] = 0;
	sfs_scan_init(&scan, tars[k].n);
	sfs_scan_feed(&scan, 0, tars[k].bytes, tars[k].n, &sink);
	CHECK(scan.is_complete);
	sfs_scan_done(&scan);
}

/* Three samples, in each of which several stretches begin. */
static void make_long_tar(struct tar *t)
{
	char name[32];
	unsigned i;

	for (i = 0; i < 3; i++) {
		snprintf(name, sizeof name, "%04u.bin", i);
		add_bytes(t, name, 300000 + below(300000));
		snprintf(name, sizeof name, "%04u.cls", i);
		tar_file(t, name, below(20), 'c');
	}
	tar_end(t);
}

/* With the tars that were made. */
static void begin_shards(void)
{
	struct sfs_object objects[N];
	char *names[N];
	int k;

	for (k = 0; k < N; k++) {
		find_starts(k);
		objects[k] = (struct sfs_object){.size = tars[k].n};
		names[k] = sfs_asprintf("s%d.tar", k);
	}
	sfs_budget_init(&budget, 1 << 30);
	sfs_shards_init(&shards, N, names, objects, false, SFS_STRETCH_SETS, &budget);
}

static void begin(unsigned tar_of)
{
	int k;

	for (k = 0; k < N; k++)
		make_tar(&tars[k], tar_of);
	begin_shards();
}

static void end(void)
{
	int k;

	sfs_stretches_done(&shards);
	sfs_shards_done(&shards);
	CHECK_EQ(sfs_budget_used(&budget), 0);
	sfs_budget_done(&budget);
	sfs_ledger_clear();
	for (k = 0; k < N; k++)
		tar_done(&tars[k]);
}

/* ---- stretches ---- */

static struct sfs_shard *stretch_at(const struct sfs_stretch_set *set, uint32_t i)
{
	return &shards.shards[set->first + i];
}

/* Feed one piece of a shard, or of a stretch, that begins with the wanted byte, or
 * before. */
static void feed_piece(struct sfs_shard *shard)
{
	const struct tar *t = &tars[sfs_shards_number(&shards, shard->object)];
	uint64_t at = sfs_shard_wanted(shard), n = BLOCK * (1 + below(200));

	if (at == UINT64_MAX)
		return;
	CHECK(at < t->n);
	at -= at < BLOCK * below(20) ? 0 : at % BLOCK;
	sfs_shard_feed(&shards, shard, at, t->bytes + at,
		       n < t->n - at ? (size_t)n : (size_t)(t->n - at));
}

/* It waits for its shard: scan some of that. */
static void feed_whole(struct sfs_shard *stretch)
{
	CHECK(sfs_stretch_waits(stretch));
	n_waited++;
	sfs_shard_pin(&shards, stretch->part.whole);
	feed_piece(stretch->part.whole);
	sfs_stretch_catch_up(&shards, stretch);
	sfs_shard_unpin(&shards, stretch->part.whole);
}

static void feed(struct sfs_shard *stretch)
{
	if (sfs_shard_wanted(stretch) == SFS_WANTED_LATER)
		feed_whole(stretch);
	else
		feed_piece(stretch);
}

static void feed_all(const struct sfs_stretch_set *set)
{
	uint32_t i, first = (uint32_t)below(set->n), n_left = set->n;
	bool is_parallel = below(2);

	for (i = 0; i < set->n; i++)
		sfs_shard_pin(&shards, stretch_at(set, i));
	while (n_left > 0) {
		for (i = n_left = 0; i < set->n; i++) {
			struct sfs_shard *stretch = stretch_at(set, (first + i) % set->n);

			do {
				feed(stretch);
			} while (!is_parallel && sfs_shard_wanted(stretch) != UINT64_MAX);
			n_left += sfs_shard_wanted(stretch) != UINT64_MAX;
		}
	}
}

/* Have the stretches each sample once? */
static bool has_each_once(const struct sfs_stretch_set *set)
{
	const struct sfs_sample_table *table;
	const struct sfs_shard *stretch;
	uint64_t n[N] = {0}, j, i;
	uint32_t k;

	for (i = 0; i < set->n; i++) {
		stretch = stretch_at(set, (uint32_t)i);
		k = sfs_shards_number(&shards, stretch->object);
		table = sfs_shard_table(stretch_at(set, (uint32_t)i));
		if (sfs_sample_table_state(table) != SFS_SAMPLE_TABLE_WHOLE)
			return false;
		for (j = 0; j < sfs_sample_table_n(table); j++) {
			uint64_t start = sfs_sample_table_start(table, j), m;

			for (m = 0; m < n_starts[k] && starts[k][m] != start; m++)
				;
			if (m == n_starts[k] || start < stretch->part.begin ||
			    start >= stretch->part.end)
				return false;
			n[k]++;
		}
	}
	for (k = 0; k < N; k++)
		if (n[k] != n_starts[k])
			return false;
	return true;
}

/* The tables of the shards, from those of their stretches. */
static void check_wholes(void)
{
	uint64_t n_samples, n_bytes, i;
	int k;

	for (k = 0; k < N; k++) {
		CHECK(sfs_shard_totals(&shards.shards[k], &n_samples, &n_bytes));
		CHECK_EQ(n_samples, n_starts[k]);
		sfs_shard_pin(&shards, &shards.shards[k]);
		for (i = 0; i < n_samples; i++)
			CHECK_EQ(sfs_sample_table_start(
					 sfs_shard_table(&shards.shards[k]), i),
				 starts[k][i]);
		sfs_shard_unpin(&shards, &shards.shards[k]);
	}
}

static bool read_epoch(uint64_t epoch)
{
	struct sfs_stretch_set *set = sfs_stretches_take(&shards, &settings, epoch);
	bool is_right;
	uint32_t i;

	CHECK(set != NULL);
	feed_all(set);
	is_right = sfs_stretches_agree(&shards, set);
	CHECK(is_right == !atomic_load(&set->is_wrong));
	CHECK(!is_right || has_each_once(set));
	for (i = 0; i < set->n; i++)
		sfs_shard_unpin(&shards, stretch_at(set, i));
	sfs_stretches_release(&shards, set);
	return is_right;
}

/* ---- sentences ---- */

static void ordinary_members(void)
{
	int round;

	for (round = 0; round < N_ROUNDS; round++) {
		begin(0);
		CHECK(read_epoch(below(1000)));
		check_wholes();
		end();
	}
}

static void tars_in_members(void)
{
	int round, k;

	for (round = 0; round < N_ROUNDS; round++) {
		begin(1 + (unsigned)below(20));
		/* Each wrong epoch marks a shard. */
		for (k = 0; k < N + 1 && !read_epoch(1000 + below(1000)); k++)
			n_wrong++;
		CHECK(k < N + 1);
		n_right++;
		check_wholes();
		end();
	}
	CHECK(n_right == N_ROUNDS);
	CHECK(n_waited > 0);
}

/* Which is the first sample of shard k that starts at or after the byte? */
static uint64_t number_from(uint32_t k, uint64_t byte)
{
	uint64_t i;

	for (i = 0; i < n_starts[k] && starts[k][i] < byte; i++)
		;
	return i;
}

/* The byte that a stretch wants which knows its first sample. */
static uint64_t wanted_if_known(uint32_t k, uint64_t first,
				const struct sfs_shard *stretch)
{
	if (first == n_starts[k] || starts[k][first] >= stretch->part.end)
		return UINT64_MAX;
	return starts[k][first];
}

static void one_of_a_long_sample_is_searched(void)
{
	uint64_t n_searched[N][4] = {0}, n_begin = 0, i, j, first;
	struct sfs_stretch_set *set;
	struct sfs_shard *stretch;
	uint32_t k;

	for (k = 0; k < N; k++)
		make_long_tar(&tars[k]);
	begin_shards();
	set = sfs_stretches_take(&shards, &settings, below(1000));
	for (j = 0; j < set->n; j++) {
		i = (j * 7 + 3) %
		    set->n; /* some later ones first, and some earlier ones */
		stretch = stretch_at(set, (uint32_t)i);
		k = sfs_shards_number(&shards, stretch->object);
		sfs_shard_pin(&shards, stretch);
		if (stretch->part.begin > 0) {
			first = number_from(k, stretch->part.begin);
			n_begin++;
			n_searched[k][first] += sfs_shard_wanted(stretch) !=
						wanted_if_known(k, first, stretch);
			CHECK(n_searched[k][first] <= 1);
		}
		while (sfs_shard_wanted(stretch) != UINT64_MAX)
			feed(stretch);
		sfs_shard_unpin(&shards, stretch);
	}
	CHECK(n_begin > 2 * 3 * N && set->n % 7 != 0);
	CHECK(sfs_stretches_agree(&shards, set) && has_each_once(set));
	sfs_stretches_release(&shards, set);
	end();
}

/* ---- shares ---- */

/* Where the first sample of a stretch begins; 0 for the first stretch of a shard. */
static uint64_t true_first(const struct sfs_shard *stretch)
{
	uint32_t k = sfs_shards_number(&shards, stretch->object);
	uint64_t i = 0;

	if (stretch->part.begin == 0)
		return 0;
	while (i < n_starts[k] && starts[k][i] < stretch->part.begin)
		i++;
	return i < n_starts[k] ? starts[k][i] : sfs_tar_padded(tars[k].n);
}

/* What is sure is true. */
static void check_sure(const struct sfs_stretch_set *set, uint32_t first, uint32_t step)
{
	uint32_t i;

	for (i = first; i < set->n; i += step)
		if (sfs_stretch_is_sure(stretch_at(set, i)) &&
		    stretch_at(set, i)->part.begin > 0)
			CHECK_EQ(atomic_load(&stretch_at(set, i)->part.first),
				 true_first(stretch_at(set, i)));
}

static void read_stretch(struct sfs_shard *stretch)
{
	sfs_shard_pin(&shards, stretch);
	while (sfs_shard_wanted(stretch) != UINT64_MAX)
		feed(stretch);
	sfs_shard_unpin(&shards, stretch);
}

static void scan_whole(struct sfs_shard *stretch)
{
	struct sfs_shard *whole = stretch->part.whole;

	sfs_shard_pin(&shards, whole);
	while (sfs_shard_wanted(whole) != UINT64_MAX)
		feed_piece(whole);
	sfs_stretch_catch_up(&shards, stretch);
	sfs_shard_unpin(&shards, whole);
}

/* true: it was right. */
static bool read_share(uint64_t epoch, uint32_t step)
{
	struct sfs_stretch_set *set = sfs_stretches_take(&shards, &settings, epoch);
	uint32_t first = (uint32_t)below(step), i;
	bool is_right;

	for (i = first; i < set->n; i += step)
		read_stretch(stretch_at(set, i));
	if (!atomic_load(&set->is_wrong))
		check_sure(set, 0, 1);
	for (i = first; i < set->n; i += step)
		if (!sfs_stretch_is_sure(stretch_at(set, i)))
			scan_whole(stretch_at(set, i));
	is_right = !atomic_load(&set->is_wrong);
	for (i = first; is_right && i < set->n; i += step) {
		CHECK(sfs_stretch_is_sure(stretch_at(set, i)));
		CHECK(sfs_sample_table_state(sfs_shard_table(stretch_at(set, i))) ==
		      SFS_SAMPLE_TABLE_WHOLE);
	}
	if (is_right)
		check_sure(set, first, step);
	sfs_stretches_release(&shards, set);
	return is_right;
}

static void shares_are_proven_or_wrong(void)
{
	int round, k, n = 0;

	for (round = 0; round < N_ROUNDS; round++) {
		begin(round % 2 ? 0 : 1 + (unsigned)below(20));
		for (k = 0; k < N + 1 && !read_share(2000 + below(1000), 2 + (uint32_t)below(7));
		     k++)
			n++;
		CHECK(k < N + 1);
		CHECK(k == 0 || round % 2 == 0);
		end();
	}
	fprintf(stderr, "of shares with tars in members, %d were wrong\n", n);
	CHECK(n > 0);
}

static void sets_are_kept_or_make_room(void)
{
	struct sfs_stretch_set *sets[SFS_STRETCH_SETS];
	int i;

	begin(0);
	for (i = 0; i < SFS_STRETCH_SETS; i++)
		sets[i] = sfs_stretches_take(&shards, &settings, (uint64_t)i);
	CHECK(sets[SFS_STRETCH_SETS - 1] != NULL);
	CHECK(sfs_stretches_take(&shards, &settings, 99) == NULL);
	CHECK(sfs_stretches_take(&shards, &settings, 3) == sets[3]);
	sfs_stretches_release(&shards, sets[3]);
	for (i = 0; i < SFS_STRETCH_SETS; i++)
		sfs_stretches_release(&shards, sets[i]);
	i = SFS_STRETCH_SETS - 1; /* the latest one */
	CHECK(sfs_stretches_take(&shards, &settings, (uint64_t)i) == sets[i]);
	sfs_stretches_release(&shards, sets[i]);
	end();
}

int main(void)
{
	ordinary_members();
	tars_in_members();
	one_of_a_long_sample_is_searched();
	shares_are_proven_or_wrong();
	sets_are_kept_or_make_room();
	fprintf(stderr, "of epochs with tars in members, %d were wrong\n", n_wrong);
	return 0;
}
