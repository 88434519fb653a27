/* SPDX-License-Identifier: MIT */
/* Whoever feeds a shard, its table grows once; sums outlive tables that are
 * dropped for want of memory; damage is noted once and ends the table, or with
 * skip only the shard. */
#include "base/alloc.h"
#include "base/keyhash.h"
#include "base/ledger.h"
#include "base/threadpool.h"
#include "catalog/index-find.h"
#include "catalog/shard.h"
#include "check.h"
#include "tars.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#define N 6

static struct sfs_budget budget;
static struct sfs_shards shards;
static struct tar tars[N];

/* Shard k has 300 samples of 1024 + 512 * (k + 1) bytes. */
#define N_SAMPLES	300
#define SAMPLE_BYTES(k) (1024 + 512 * ((uint64_t)(k) + 1))

static void make_tars(void)
{
	char name[30];
	int k, i;

	for (k = 0; k < N; k++) {
		tar_file(&tars[k], "README", 0, 'r'); /* in no sample */
		for (i = 0; i < N_SAMPLES; i++) {
			snprintf(name, sizeof name, "%03d.jpg", i);
			tar_file(&tars[k], name, 512 * ((size_t)k + 1), 'x');
			snprintf(name, sizeof name, "%03d.cls", i);
			tar_header(&tars[k], "ustar", '0', name, 0);
		}
		tar_end(&tars[k]);
	}
}

static void begin(uint64_t budget_bytes, bool skip)
{
	struct sfs_object objects[N];
	char *names[N];
	int k;

	for (k = 0; k < N; k++) {
		objects[k] = (struct sfs_object){.size = tars[k].n};
		names[k] = sfs_asprintf("s%d.tar", k);
	}
	sfs_budget_init(&budget, budget_bytes);
	sfs_shards_init(&shards, N, names, objects, skip, 0, &budget);
}

static void end(void)
{
	sfs_shards_done(&shards);
	CHECK_EQ(sfs_budget_used(&budget), 0);
	sfs_budget_done(&budget);
	sfs_ledger_clear();
}

static uint64_t feed(int k, uint64_t offset, size_t n)
{
	if (n > tars[k].n - offset)
		n = tars[k].n - offset;
	return sfs_shard_feed(&shards, &shards.shards[k], offset, tars[k].bytes + offset,
			      n);
}

static void pin(int k)
{
	sfs_shard_pin(&shards, &shards.shards[k]);
}

static void unpin(int k)
{
	sfs_shard_unpin(&shards, &shards.shards[k]);
}

static bool has_totals(int k)
{
	uint64_t n, n_bytes;

	if (!sfs_shard_totals(&shards.shards[k], &n, &n_bytes))
		return false;
	CHECK_EQ(n, N_SAMPLES);
	CHECK_EQ(n_bytes, N_SAMPLES * SAMPLE_BYTES(k));
	return true;
}

static void whole(int k)
{
	const struct sfs_sample_table *t = sfs_shard_table(&shards.shards[k]);
	struct sfs_sample_table_sample s;

	CHECK(t != NULL);
	CHECK(sfs_shards_table(&shards, (uint32_t)k) == t);
	CHECK_EQ(sfs_sample_table_state(t), SFS_SAMPLE_TABLE_WHOLE);
	CHECK_EQ(sfs_sample_table_n(t), N_SAMPLES);
	s = sfs_sample_table_get(t, 299);
	CHECK_EQ(s.start, 512 + 299 * SAMPLE_BYTES(k));
	CHECK_EQ(s.n_bytes, SAMPLE_BYTES(k));
	CHECK(s.key_hash == sfs_keyhash("299", 3));
	CHECK(sfs_shard_wanted(&shards.shards[k]) == UINT64_MAX);
	CHECK(sfs_shard_progress(&shards.shards[k]).frontier == UINT64_MAX);
	CHECK(has_totals(k));
}

static void beginnings(void)
{
	struct sfs_shard *s;

	begin(1 << 30, false);
	s = &shards.shards[3];
	CHECK_STR(s->name, "s3.tar");
	CHECK_STR(s->folder, "s3");
	CHECK_EQ(s->index, 3);
	CHECK(!sfs_shard_table(s));
	CHECK(!has_totals(3));
	pin(3);
	CHECK_EQ(sfs_shard_wanted(s), 0);
	CHECK_EQ(sfs_shard_progress(s).frontier, 0);
	CHECK_EQ(sfs_sample_table_n(sfs_shard_table(s)), 0);
	unpin(3);
	end();
}

static void grows(void)
{
	struct sfs_shard *s;
	uint64_t at, bytes = SAMPLE_BYTES(1);
	const struct sfs_sample_table *t;

	begin(1 << 30, false);
	s = &shards.shards[1];
	pin(1);
	pin(1); /* by two */
	CHECK_EQ(feed(1, 0, 512), 512);
	CHECK_EQ(sfs_shard_progress(s).frontier, 512);
	CHECK_EQ(feed(1, 100000, 5000), 512); /* not wanted yet */
	at = feed(1, 512, 512);
	CHECK_EQ(at, 512 + bytes - 512);      /* the next header, over the data */
	CHECK_EQ(sfs_shard_progress(s).frontier, 512); /* its sample may go on */
	at = feed(1, at, 512 + 512);
	t = sfs_shard_table(s);
	CHECK_EQ(sfs_sample_table_n(t), 1); /* the next one has begun */
	CHECK_EQ(sfs_shard_progress(s).frontier, 512 + bytes);
	CHECK_EQ(feed(1, 0, 512 + bytes), at); /* seen before */
	CHECK_EQ(sfs_sample_table_n(t), 1);
	CHECK(!has_totals(1));
	feed(1, 0, tars[1].n);
	whole(1);
	CHECK(feed(1, 0, tars[1].n) == UINT64_MAX);
	whole(1);
	unpin(1);
	whole(1); /* there is room */
	unpin(1);
	CHECK_EQ(sfs_account_used(&shards.account), sfs_sample_table_memory(N_SAMPLES));
	pin(1);
	whole(1);
	unpin(1);
	end();
}

/* ---- while others scan ---- */

static atomic_bool is_scanned;

/* As another stream does, which is ahead. */
static void *scan_all(void *arg)
{
	int k;

	for (k = 0; k < N; k++)
		feed(k, 0, tars[k].n);
	atomic_store(&is_scanned, true);
	return NULL;
}

/* What is known of a shard is of one moment: no sample that begins before the frontier is
 * missing, and the frontier is not beyond the byte that is wanted. */
static void agrees(int k)
{
	struct sfs_shard_progress known = sfs_shard_progress(&shards.shards[k]);
	const struct sfs_sample_table *t = sfs_shard_table(&shards.shards[k]);
	uint64_t n = known.n_samples;

	CHECK(known.frontier <= known.wanted);
	if (n > 0)
		CHECK(sfs_sample_table_end_of(t, n - 1) <= known.frontier);
	if (n < sfs_sample_table_n(t))
		CHECK(sfs_sample_table_start(t, n) >= known.frontier);
}

static void seen_while_it_grows(void)
{
	int round, k;
	pthread_t other;

	for (round = 0; round < 100; round++) {
		begin(1 << 30, false);
		for (k = 0; k < N; k++)
			pin(k);
		atomic_store(&is_scanned, false);
		CHECK_EQ(pthread_create(&other, NULL, scan_all, NULL), 0);
		while (!atomic_load(&is_scanned))
			for (k = 0; k < N; k++)
				agrees(k);
		pthread_join(other, NULL);
		for (k = 0; k < N; k++) {
			agrees(k);
			whole(k);
			unpin(k);
		}
		end();
	}
}

/* Tables may have a quarter of the budget: here, two of them. */
static void dropped(void)
{
	uint64_t one = sfs_sample_table_memory(N_SAMPLES);
	int k;

	begin(8 * one + 100, false);
	for (k = 0; k < N; k++) {
		pin(k);
		feed(k, 0, tars[k].n);
		whole(k);
	}
	CHECK_EQ(sfs_account_used(&shards.account),
		 N * one); /* none while it is in use */
	for (k = 0; k < N; k++)
		unpin(k);
	CHECK_EQ(sfs_account_used(&shards.account), 2 * one);
	for (k = 0; k < N; k++) {
		CHECK(has_totals(k)); /* they stay */
		CHECK_EQ(sfs_shard_table(&shards.shards[k]) != NULL, k >= N - 2);
	}
	/* Anew; now the fourth is the one that was unused for longest. */
	pin(0);
	CHECK_EQ(sfs_shard_wanted(&shards.shards[0]), 0);
	CHECK(has_totals(0));
	feed(0, 0, tars[0].n);
	whole(0);
	unpin(0);
	whole(0);
	CHECK(!sfs_shard_table(&shards.shards[4]));
	whole(5);
	/* One that is pinned is not the oldest. */
	pin(5);
	for (k = 1; k < 4; k++) {
		pin(k);
		feed(k, 0, tars[k].n);
		unpin(k);
		whole(5);
	}
	unpin(5);
	end();
}

static void damaged(bool skip)
{
	struct sfs_shard *s;
	uint64_t at = 512 + 100 * SAMPLE_BYTES(2), n, n_bytes;
	enum sfs_event event = skip ? SFS_EVENT_SKIP : SFS_EVENT_LOST;
	uint64_t n_noted = sfs_ledger_count(event);
	struct sfs_strbuf text = {0};

	begin(1 << 30, skip);
	s = &shards.shards[2];
	tars[2].bytes[at] ^= 1; /* in the header of sample 100 */
	pin(2);
	CHECK(feed(2, 0, tars[2].n) == UINT64_MAX);
	CHECK(feed(2, 0, tars[2].n) == UINT64_MAX);
	CHECK_EQ(sfs_ledger_count(event) - n_noted, 1);
	sfs_ledger_print(&text);
	CHECK_HAS(text.s, "\"shard\":\"s2.tar\"");
	CHECK_HAS(text.s, "checksum");
	sfs_strbuf_done(&text);
	/* Sample 99 may have gone on there. */
	CHECK_EQ(sfs_sample_table_n(sfs_shard_table(s)), 99);
	CHECK_EQ(sfs_sample_table_state(sfs_shard_table(s)),
		 skip ? SFS_SAMPLE_TABLE_WHOLE : SFS_SAMPLE_TABLE_DAMAGED);
	CHECK(sfs_shard_progress(s).frontier == UINT64_MAX);
	CHECK_EQ(sfs_shard_totals(s, &n, &n_bytes), skip);
	if (skip)
		CHECK(n == 99 && n_bytes == 99 * SAMPLE_BYTES(2));
	unpin(2);
	tars[2].bytes[at] ^= 1;
	end();
}

static void empty(void)
{
	struct sfs_shard *s;
	uint64_t n_noted = sfs_ledger_count(SFS_EVENT_LOST);
	uint64_t n, n_bytes;

	/* A file without a byte is damaged. */
	begin(1 << 30, false);
	s = &shards.shards[0];
	s->object->size = 0;
	pin(0);
	CHECK_EQ(sfs_shard_wanted(s), 0);
	CHECK(sfs_shard_feed(&shards, s, 0, NULL, 0) == UINT64_MAX);
	CHECK_EQ(sfs_sample_table_state(sfs_shard_table(s)), SFS_SAMPLE_TABLE_DAMAGED);
	CHECK_EQ(sfs_ledger_count(SFS_EVENT_LOST) - n_noted, 1);
	unpin(0);
	end();

	/* A missing one that counts as empty (on-error=skip) is whole. */
	begin(1 << 30, true);
	s = &shards.shards[0];
	s->object->size = 0;
	s->has_totals = true;
	pin(0);
	CHECK(sfs_shard_wanted(s) == UINT64_MAX);
	CHECK_EQ(sfs_sample_table_state(sfs_shard_table(s)), SFS_SAMPLE_TABLE_WHOLE);
	CHECK_EQ(sfs_sample_table_n(sfs_shard_table(s)), 0);
	CHECK(sfs_shards_totals(&shards, 0, &n, &n_bytes) && n == 0 && n_bytes == 0);
	unpin(0);
	end();
}

/* ---- indexes ---- */

/* The index of shard k, as one that was found; `change` is added to its 200th start. */
static struct sfs_index_search find(int k, uint32_t change)
{
	sfs_autofree void *bytes = NULL;
	struct sfs_index_search f = {0};
	struct sfs_error err;
	uint32_t start;
	unsigned char *entry;
	size_t n;

	pin(k);
	feed(k, 0, tars[k].n);
	bytes = sfs_index_write(sfs_shard_table(&shards.shards[k]), tars[k].n, 1, NULL,
				&n);
	unpin(k);
	sfs_shards_drop_unused(&shards);
	shards.shards[k].has_totals = false;
	CHECK_EQ(sfs_charge_take(&f.bytes, &shards.account, n, UINT64_MAX), 0);
	memcpy(f.bytes.bytes, bytes, n);
	CHECK_EQ(sfs_index_open(f.bytes.bytes, n, n, &f.index, &err), 0);
	entry = (unsigned char *)f.bytes.bytes + 112 + 200 * SFS_SAMPLE_TABLE_ENTRY_BYTES;
	memcpy(&start, entry, sizeof start);
	start += change;
	memcpy(entry, &start, sizeof start);
	return f;
}

static bool is_unverified(int k, uint64_t i)
{
	return sfs_sample_table_get(sfs_shard_table(&shards.shards[k]), i).is_unverified;
}

static int adopt(int k, struct sfs_index_search *f)
{
	int ret = sfs_shard_adopt(&shards, &shards.shards[k], f);

	CHECK(!f->bytes.bytes); /* taken, in any case */
	return ret;
}

static void adopted(void)
{
	struct sfs_index_search f;
	size_t n;

	/* By an empty table: the index's own bytes. */
	begin(1 << 30, false);
	f = find(1, 0);
	n = f.bytes.n;
	pin(1);
	CHECK_EQ(sfs_account_used(&shards.account), n);
	CHECK_EQ(adopt(1, &f), 0);
	whole(1);
	CHECK(is_unverified(1, 0));
	CHECK_EQ(sfs_account_used(&shards.account), n);
	unpin(1);
	sfs_shards_drop_unused(&shards);
	CHECK_EQ(sfs_account_used(&shards.account), 0);
	CHECK(has_totals(1));

	/* By one that has begun to grow, and that somebody reads: the rest is added. */
	f = find(2, 0);
	pin(2);
	feed(2, 0, 512 + 150 * SAMPLE_BYTES(2));
	CHECK(!is_unverified(2, 0));
	CHECK_EQ(adopt(2, &f), 0);
	whole(2);
	CHECK(is_unverified(2, 299));
	CHECK_EQ(sfs_account_used(&shards.account), sfs_sample_table_memory(N_SAMPLES));
	f = find(3, 0);
	unpin(2);

	/* By one that is whole: it is of no use. */
	pin(3);
	feed(3, 0, tars[3].n);
	CHECK_EQ(adopt(3, &f), 0);
	whole(3);
	CHECK(!is_unverified(3, 299));
	unpin(3);
	end();
}

/* An index that contradicts what was read is not taken, and the table goes on growing. */
static void contradicted(void)
{
	uint64_t n_noted = sfs_ledger_count(SFS_EVENT_INDEX);
	struct sfs_index_search f;

	begin(1 << 30, false);
	f = find(4, 1);
	pin(4);
	feed(4, 0, 512 + 250 * SAMPLE_BYTES(4));
	CHECK_EQ(adopt(4, &f), -ESTALE);
	CHECK_EQ(sfs_ledger_count(SFS_EVENT_INDEX) - n_noted, 1);
	feed(4, 0, tars[4].n);
	whole(4);
	CHECK(!is_unverified(4, 299));
	unpin(4);
	end();
}

/* A lie is noted once. */
static void lies(void)
{
	uint64_t n_noted = sfs_ledger_count(SFS_EVENT_LOST);

	begin(1 << 30, false);
	sfs_shard_note_lie(&shards.shards[5], 512, "no header");
	sfs_shard_note_lie(&shards.shards[5], 1024, "no header");
	sfs_shard_note_lie(&shards.shards[4], 512, "no header");
	CHECK_EQ(sfs_ledger_count(SFS_EVENT_LOST) - n_noted, 2);
	end();
}

/* ---- many at once ---- */

static void *feed_along(void *arg)
{
	int piece = *(int *)arg, k;
	size_t at;

	for (k = 0; k < N; k++) {
		pin(k);
		for (at = 0; at < tars[k].n; at += (size_t)piece)
			feed(k, at, (size_t)piece);
		feed(k, 0, tars[k].n); /* what another has not fed yet */
		whole(k);
		unpin(k);
	}
	return NULL;
}

static void many_threads(void)
{
	static int pieces[] = {700, 5000, 131072};
	pthread_t threads[3];
	size_t i;

	begin(8 * sfs_sample_table_memory(N_SAMPLES), false);
	for (i = 0; i < SFS_COUNT(threads); i++)
		threads[i] = sfs_thread_start("feeds", feed_along, &pieces[i]);
	for (i = 0; i < SFS_COUNT(threads); i++)
		pthread_join(threads[i], NULL);
	for (i = 0; i < N; i++)
		CHECK(has_totals((int)i));
	end();
}

int main(void)
{
	size_t k;

	sfs_log_set_level(SFS_LOG_ERROR);
	make_tars();
	beginnings();
	grows();
	seen_while_it_grows();
	dropped();
	damaged(false);
	damaged(true);
	empty();
	adopted();
	contradicted();
	lies();
	many_threads();
	for (k = 0; k < N; k++)
		tar_done(&tars[k]);
	return 0;
}
