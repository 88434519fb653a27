/* SPDX-License-Identifier: MIT */
/* Sizes are requested of shards all over the dataset first; one sentence says how many
 * of those that have answered are missing, refused or no tars, and why the first of them
 * is. */
#include "base/alloc.h"
#include "base/ledger.h"
#include "catalog/sizes.h"
#include "check.h"
#include "memory/budget.h"

#include <errno.h>

#define N	10000
#define N_EARLY 112 /* asked before it is settled: what fails is asked again */

static struct sfs_budget budget;
static struct sfs_shards shards;

/* ---- a source that answers when the test says ---- */

static struct sfs_link asked;
static uint32_t n_asked;
static int answers[N]; /* of each shard */
static bool has_answered[N];
static const char *heads[N]; /* the first bytes of each; NULL: zeros */
static uint32_t n_heads;     /* were asked for */

static uint32_t shard_of(const struct sfs_request *r)
{
	return sfs_shards_number(&shards, r->object);
}

static void submit(struct sfs_source *source, struct sfs_request *r)
{
	n_asked++;
	sfs_list_push(&asked, &r->link);
}

static const struct sfs_source_ops ops = {.name = "scripted", .submit = submit};
static struct sfs_source source = {.ops = &ops};

/* Answer n requests. */
static void answer(uint32_t n)
{
	struct sfs_link *link;
	struct sfs_request *r;
	uint32_t shard;

	while (n-- > 0 && (link = sfs_list_pop(&asked)) != NULL) {
		r = sfs_container(link, struct sfs_request, link);
		shard = shard_of(r);
		if (answers[shard] < 0)
			sfs_error_set(r->error, 0, "http://host/%u.tar: no (%d)", shard,
				      -answers[shard]);
		else
			r->object->size = 1024;
		if (r->head && answers[shard] == 0) {
			memset(r->head, 0, SFS_HEAD_BYTES);
			if (heads[shard])
				strcpy((char *)r->head, heads[shard]);
			r->n_got = SFS_HEAD_BYTES;
		}
		n_heads += r->head != NULL;
		has_answered[shard] = true;
		sfs_request_end(r, answers[shard]);
	}
}

static struct sfs_sizes *begin_of(enum sfs_scheme scheme, uint32_t n, bool skips)
{
	struct sfs_object *objects = sfs_calloc(n, sizeof *objects);
	char **names = sfs_calloc(n, sizeof *names);
	struct sfs_sizes *sizes;
	uint32_t i;

	for (i = 0; i < n; i++) {
		objects[i] = (struct sfs_object){
			.source = &source,
			.size = SFS_SIZE_UNKNOWN,
			.uri.scheme = scheme,
			.uri.location = sfs_asprintf("http://u:p@host/%u.tar", i)};
		names[i] = sfs_asprintf("%u.tar", i);
	}
	sfs_budget_init(&budget, 64 << 20);
	sfs_shards_init(&shards, n, names, objects, skips, 0, &budget);
	free(objects);
	free(names);
	sfs_list_init(&asked);
	n_asked = n_heads = 0;
	memset(has_answered, 0, sizeof has_answered);
	sizes = sfs_sizes_start(&shards, NULL, 0);
	answer(N_EARLY);
	sfs_sizes_settle(sizes);
	return sizes;
}

static struct sfs_sizes *begin(uint32_t n, bool skips)
{
	return begin_of(SFS_SCHEME_HTTP, n, skips);
}

static void end(struct sfs_sizes *sizes)
{
	sfs_sizes_stop(sizes);
	answer(N);
	sfs_sizes_free(sizes);
	sfs_shards_done(&shards);
	sfs_budget_done(&budget);
	sfs_ledger_clear();
	memset(answers, 0, sizeof answers);
	memset(heads, 0, sizeof heads);
}

static const char *said(struct sfs_sizes *sizes)
{
	static struct sfs_error line;
	struct sfs_sizes_tally tally;

	line.text[0] = 0;
	sfs_sizes_report(sizes, &tally);
	sfs_sizes_describe(&tally, &line);
	return line.text;
}

/* ---- what is to be shown ---- */

/* After a tenth of the answers, there is no gap of a hundredth that was not looked at. */
static void asks_all_over_the_dataset(void)
{
	struct sfs_sizes *sizes = begin(N, false);
	uint32_t i, last = 0;

	answer(N / 10 - N_EARLY);
	for (i = 0; i < N; i++) {
		CHECK(i - last < N / 100);
		if (has_answered[i])
			last = i;
	}
	answer(N);
	CHECK_EQ(n_asked, N); /* each once */
	CHECK_EQ(sfs_sizes_known(sizes), N);
	CHECK_STR(said(sizes), "");
	end(sizes);
}

static void counts_what_is_missing(void)
{
	struct sfs_sizes *sizes;

	answers[3] = answers[7] = answers[8] = -ENOENT;
	sizes = begin(20, false);
	answer(N);
	CHECK_STR(said(sizes),
		  "3 of 20 shards are missing, the first: http://host/3.tar: no "
		  "(2); on-error=skip leaves them out");
	end(sizes);

	answers[7] = -ENOENT;
	sizes = begin(20, true);
	answer(N);
	CHECK_STR(said(sizes),
		  "1 of 20 shards is missing: http://host/7.tar: no (2); it is "
		  "left out");
	CHECK_EQ(sfs_sizes_known(sizes), 20);
	end(sizes);
}

static void says_what_it_does_not_know_yet(void)
{
	struct sfs_sizes *sizes;
	uint32_t i;

	for (i = 0; i < 600; i++)
		answers[i] = -ENOENT;
	sizes = begin(600, false);
	answer(5);
	CHECK_HAS(said(sizes),
		  "all of the first 5 shards that answered are missing, the first: ");
	answer(N);
	CHECK_HAS(said(sizes),
		  "all 600 shards are missing, the first: http://host/0.tar: ");
	end(sizes);

	answers[0] = -ENOENT;
	sizes = begin(600, false);
	answer(1); /* the one that has failed */
	CHECK_HAS(said(sizes), "1 of the first 112 shards that answered is missing: "
			       "http://host/0.tar: ");
	end(sizes);
}

static void tells_refused_from_missing(void)
{
	struct sfs_sizes_tally tally;
	struct sfs_sizes *sizes;

	answers[0] = -ENOENT;
	answers[1] = -EACCES;
	answers[2] = -EIO;
	sizes = begin(4, true);
	answer(N);
	CHECK_STR(said(sizes),
		  "3 of 4 shards cannot be read, the first: http://host/0.tar: no (2)");
	sfs_sizes_tally(sizes, 1, 4, &tally);
	CHECK_EQ(tally.n_asked, 3);
	CHECK_EQ(tally.n_missing, 0);
	CHECK_EQ(tally.n_refused, 1);
	CHECK_EQ(tally.n_failed, 1);
	end(sizes);

	answers[0] = -EACCES;
	sizes = begin(1, false);
	answer(N);
	CHECK_STR(said(sizes), "http://host/0.tar: no (13)");
	end(sizes);
}

static void counts_what_is_no_tar(void)
{
	struct sfs_sizes_tally tally;
	struct sfs_sizes *sizes;

	heads[19] = heads[4] = "\x1f\x8b";
	heads[7] = "<html>";
	heads[8] = "something else";
	sizes = begin(20, false);
	answer(N);
	CHECK_STR(said(sizes), "3 of 20 shards are not tar files, the first: "
			       "http://***@host/4.tar is gzip data: unpack it first "
			       "(gunzip); on-error=skip leaves them out");
	CHECK_EQ(sfs_sizes_known(sizes), 20); /* the sizes are there */
	sfs_sizes_tally(sizes, 5, 20, &tally);
	CHECK_EQ(tally.n_foreign, 2);
	CHECK_EQ(tally.n_asked, 15);
	CHECK_EQ(sfs_sizes_shard(sizes, &shards.shards[7], NULL), 0);
	CHECK_EQ(sfs_sizes_all(sizes, NULL), 0);
	end(sizes);

	heads[7] = "<html>";
	answers[3] = -ENOENT;
	sizes = begin(20, true);
	answer(N);
	CHECK_STR(said(sizes), "2 of 20 shards cannot be read, the first: "
			       "http://host/3.tar: no (2); they are left out");
	end(sizes);

	/* What the probe has requested, it tells. */
	sizes = begin(20, true);
	answer(N);
	CHECK_STR(said(sizes), "");
	sfs_sizes_look(sizes, &shards.shards[19], (const unsigned char *)"PK\3\4", 4);
	sfs_sizes_look(sizes, &shards.shards[0], (const unsigned char *)"x", 1);
	CHECK_HAS(said(sizes), "1 of 20 shards is not a tar file: http://***@host/19.tar is "
			       "a zip file: ");
	CHECK_HAS(said(sizes), "; it is left out");
	end(sizes);
}

/* Those of servers come with the sizes; those of files take an access to the disk. */
static void looks_at_a_sample_of_local_files(void)
{
	struct sfs_sizes *sizes = begin(N, false);

	answer(N);
	CHECK_EQ(n_heads, N);
	end(sizes);

	sizes = begin_of(SFS_SCHEME_FILE, N, false);
	answer(N);
	CHECK_EQ(n_heads, 256);
	CHECK_EQ(n_asked, N);
	end(sizes);

	heads[255] = "\x1f\x8b";
	sizes = begin_of(SFS_SCHEME_FILE, 256, false);
	answer(N);
	CHECK_HAS(said(sizes), "1 of 256 shards is not a tar file: ");
	end(sizes);
}

/* Nobody answers, and the wait ends all the same. */
static void waits_no_longer_than_it_is_told(void)
{
	struct sfs_sizes *sizes = begin(200, false);

	sfs_sizes_wait(sizes, 20);
	CHECK_STR(said(sizes), "");
	answer(N);
	sfs_sizes_wait(sizes, 1000000);
	end(sizes);
}

int main(void)
{
	sfs_log_set_level(SFS_LOG_ERROR);
	asks_all_over_the_dataset();
	counts_what_is_missing();
	says_what_it_does_not_know_yet();
	tells_refused_from_missing();
	counts_what_is_no_tar();
	looks_at_a_sample_of_local_files();
	waits_no_longer_than_it_is_told();
	return 0;
}
