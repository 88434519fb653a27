/* SPDX-License-Identifier: MIT */
/* The text of an order is the same from whichever byte it is read, and by however many
 * readers.  Once it was gone through, a read anywhere makes few lines.  A read that is
 * taken back ends the work for it.  Sizes are those of what is read, and of an index,
 * too.  What order_files hold is in the budget, or they are refused. */
#include "base/alloc.h"
#include "base/ledger.h"
#include "base/lock.h"
#include "base/rng.h"
#include "check.h"
#include "tars.h"
#include "tree/order-file.h"

#include <errno.h>
#include <sched.h>
#include <unistd.h>

#define N_SHARDS 12
#ifdef __SANITIZE_THREAD__ /* that is fifty times as slow */
#define N_SAMPLES 600
#else
#define N_SAMPLES 3000 /* of each */
#endif
#define N_ALL ((uint64_t)N_SHARDS * N_SAMPLES)

static struct sfs_runtime runtime;
static struct sfs_order_files *order_files;
static struct sfs_names *sizes;
static struct tar tars[N_SHARDS];

static void make_tars(void)
{
	char name[40];
	int k, i;

	for (k = 0; k < N_SHARDS; k++) {
		for (i = 0; i < N_SAMPLES; i++) {
			snprintf(name, sizeof name, "%0*d.x", 1 + i % 9, 7 * i + k);
			tar_header(&tars[k], "ustar", '0', name, 0);
		}
		tar_end(&tars[k]);
	}
}

static void keep_members(struct sfs_shard *shard)
{
	struct sfs_members members = {0};
	struct sfs_charge held = {0};
	struct sfs_tar_entry g = {.kind = SFS_TAR_ENTRY_MEMBER,
				  .is_regular = true,
				  .data = 512};
	char name[40];
	int i;

	for (i = 0; i < N_SAMPLES; i++) {
		snprintf(name, sizeof name, "%0*d.x", 1 + i % 9,
			 7 * i + (int)shard->index);
		g.name = name;
		g.n_name = strlen(name);
		sfs_members_add(&members, (uint64_t)i * 512, &g);
	}
	sfs_shard_keep_members(shard, &members, &held);
}

static void begin(struct sfs_order_settings order, uint64_t budget_bytes)
{
	struct sfs_object objects[N_SHARDS];
	char *names[N_SHARDS];
	int k;

	runtime = (struct sfs_runtime){.order = order};
	sfs_budget_init(&runtime.budget, budget_bytes);
	runtime.pool = sfs_threadpool_start("works", 2);
	for (k = 0; k < N_SHARDS; k++) {
		objects[k] = (struct sfs_object){.size = tars[k].n};
		names[k] = sfs_asprintf("s%d.tar", k);
	}
	sfs_shards_init(&runtime.shards, N_SHARDS, names, objects, false, 0,
			&runtime.budget);
	for (k = 0; k < N_SHARDS; k++) {
		struct sfs_shard *shard = &runtime.shards.shards[k];

		sfs_shard_pin(&runtime.shards, shard);
		sfs_shard_feed(&runtime.shards, shard, 0, tars[k].bytes, tars[k].n);
		keep_members(shard);
	}
	sizes = sfs_names_new();
	order_files = sfs_order_files_new(&runtime, sizes);
}

static void end(void)
{
	int k;

	sfs_threadpool_stop(runtime.pool);
	sfs_order_files_free(order_files);
	sfs_names_free(sizes);
	for (k = 0; k < N_SHARDS; k++)
		sfs_shard_unpin(&runtime.shards, &runtime.shards.shards[k]);
	sfs_shards_done(&runtime.shards);
	sfs_threadpool_free(runtime.pool);
	CHECK_EQ(sfs_budget_used(&runtime.budget), 0);
	sfs_budget_done(&runtime.budget);
	sfs_ledger_clear();
}

/* ---- reads ---- */

/* Locked before those of the engine, like the lock of pending requests. */
static pthread_mutex_t lock;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;

struct reader {
	struct sfs_read read;
	bool is_done;
	int err;
};

static void on_read(struct sfs_read *read, int err)
{
	struct reader *r = sfs_container(read, struct reader, read);

	pthread_mutex_lock(&lock);
	r->is_done = true;
	r->err = err;
	pthread_cond_broadcast(&wake);
	pthread_mutex_unlock(&lock);
}

static void ask(struct sfs_order_file *s, struct reader *r, uint64_t at, size_t n)
{
	*r = (struct reader){.read = {.offset = at, .n_bytes = n, .done = on_read}};
	sfs_order_file_read(s, &r->read);
}

static int wait_for(struct reader *r)
{
	int err;

	pthread_mutex_lock(&lock);
	while (!r->is_done)
		pthread_cond_wait(&wake, &lock);
	err = r->err;
	pthread_mutex_unlock(&lock);
	return err;
}

static int read_at(struct sfs_order_file *s, uint64_t at, size_t n, char *ret,
		   size_t *ret_n)
{
	struct reader r;
	int err;

	ask(s, &r, at, n);
	err = wait_for(&r);
	if (err == 0) {
		*ret_n = r.read.n_answered;
		sfs_read_copy(&r.read, ret);
		sfs_read_release(&r.read);
	}
	sfs_read_reset(&r.read);
	return err;
}

static char *text;
static size_t text_bytes, text_capacity;

static void read_through(struct sfs_order_file *s, size_t piece)
{
	size_t n;

	for (text_bytes = 0;; text_bytes += n) {
		if (text_bytes + piece > text_capacity) {
			text_capacity = 2 * (text_bytes + piece);
			text = sfs_realloc(text, text_capacity);
		}
		CHECK_EQ(read_at(s, text_bytes, piece, text + text_bytes, &n), 0);
		if (n == 0)
			break;
	}
}

static void check_read(struct sfs_order_file *s, uint64_t at, size_t n)
{
	static char got[70000];
	size_t n_got = 0, wanted;

	wanted = at >= text_bytes ? 0 : text_bytes - at < n ? text_bytes - at : n;
	CHECK_EQ(read_at(s, at, n, got, &n_got), 0);
	CHECK_EQ(n_got, wanted);
	CHECK(wanted == 0 || memcmp(got, text + at, wanted) == 0);
}

/* ---- the cases ---- */

static const struct sfs_share everything = {0, 1, 1};

static struct sfs_order_text text_of(uint64_t epoch, struct sfs_share share,
				     uint64_t first, bool is_index)
{
	const struct sfs_name name = {.epoch = epoch,
				      .has_first = first > 0,
				      .first = first,
				      .is_order = !is_index,
				      .is_index = is_index};
	struct sfs_order_text what = {.epoch = epoch,
				      .first = first,
				      .share = share,
				      .is_index = is_index};

	CHECK(sfs_names_put(sizes, &name, &what.number));
	return what;
}

static struct sfs_order_file *open_text(uint64_t epoch, struct sfs_share share,
					uint64_t first)
{
	const struct sfs_order_text what = text_of(epoch, share, first, false);

	return sfs_order_file_open(order_files, &what);
}

static int measure(const struct sfs_order_text *what, struct sfs_text_size *ret)
{
	struct sfs_sync sync;
	int err;

	sfs_sync_init(&sync);
	while ((err = sfs_order_file_measure(order_files, what, &sync.waiter, ret)) ==
		       -EINPROGRESS &&
	       (err = sfs_sync_wait(&sync)) == 0)
		;
	sfs_sync_done(&sync);
	return err;
}

/* The size that is found is that of what is read, at any place. */
static void measured(struct sfs_order_settings order, uint64_t first)
{
	struct sfs_order_text what;
	struct sfs_order_file *s;
	struct sfs_text_size size;
	struct sfs_rng r = {5};
	unsigned long long n_lines;
	int is_index, i;

	begin(order, 64 << 20);
	for (is_index = 0; is_index < 2; is_index++) {
		what = text_of(2, everything, first, is_index);
		CHECK_EQ(sfs_order_file_measure(order_files, &what, NULL, &size),
			 -EINPROGRESS);
		CHECK_EQ(measure(&what, &size), 0);
		CHECK_EQ(size.n_lines, N_ALL - first);
		s = sfs_order_file_open(order_files, &what);
		read_through(s, 60000);
		CHECK_EQ(text_bytes, size.n_bytes);
		text[text_bytes] = 0;
		if (is_index)
			CHECK(sscanf(text, "v1.2 %llu\nx ", &n_lines) == 1 &&
			      n_lines == N_ALL - first);
		for (i = 0; i < 100; i++)
			check_read(s, sfs_rng_below(&r, text_bytes + 100),
				   1 + sfs_rng_below(&r, 20000));
		sfs_order_file_close(s);
		CHECK_EQ(sfs_order_file_measure(order_files, &what, NULL, &size), 0);
	}
	end();
}

/* A size that nobody waits for any more is not sought. */
static void given_up(void)
{
	const struct sfs_order_settings order = {.seed = 1,
						 .lanes = 3,
						 .buffer_bytes = 100000};
	struct sfs_order_text what;
	struct sfs_text_size size;
	struct sfs_sync sync;
	int i;

	begin(order, 64 << 20);
	for (i = 0; i < 20; i++) {
		what = text_of((uint64_t)i, everything, 0, i % 2);
		sfs_sync_init(&sync);
		CHECK_EQ(sfs_order_file_measure(order_files, &what, &sync.waiter, &size),
			 -EINPROGRESS);
		if (!sfs_waiter_cancel(&sync.waiter))
			CHECK_EQ(sfs_sync_wait(&sync), 0);
		sfs_sync_done(&sync);
	}
	CHECK_EQ(measure(&what, &size), 0);
	end();
}

static void anywhere(struct sfs_order_settings order, struct sfs_share share,
		     uint64_t first)
{
	struct sfs_rng r = {7};
	struct sfs_order_file *s, *same, *other;
	uint64_t n_lines, n_all;
	int i;

	begin(order, 64 << 20);
	s = open_text(3, share, first);
	same = open_text(3, share, first);
	other = open_text(4, share, first);
	CHECK(s == same && s != other);
	read_through(s, 60000);
	CHECK(text_bytes > 0);
	n_all = sfs_order_file_lines(s);
	CHECK(n_all <= N_ALL);
	for (i = 0; i < 200; i++)
		check_read(s, sfs_rng_below(&r, text_bytes + 100),
			   1 + sfs_rng_below(&r, 20000));
	n_lines = sfs_order_file_lines(s) - n_all;
	printf("%llu lines, and for 200 reads %llu\n", (unsigned long long)n_all,
	       (unsigned long long)n_lines);
	CHECK(n_lines < 200 * 6000);
	for (i = 0; i < 20; i++)
		check_read(s, text_bytes + 1000 * (uint64_t)i, 500); /* beyond the end */
	CHECK(sfs_order_file_lines(s) - n_all - n_lines < 10000);

	/* In a script that nobody has gone through, too; and a short piece at a time. */
	for (i = 0; i < 20; i++)
		check_read(other, UINT64_MAX / 4, 1);
	sfs_order_file_close(other);
	other = open_text(3, share, first);
	CHECK(other == s);
	sfs_order_file_close(other);
	sfs_order_file_close(same);
	sfs_order_file_close(s);
	s = open_text(3, share, first);
	check_read(s, text_bytes / 2, 5000);
	check_read(s, text_bytes / 3, 5000);
	check_read(s, 0, 60000);
	for (i = 0; i < 500; i++)
		check_read(s, (uint64_t)i * 77, 77);
	sfs_order_file_close(s);
	end();
}

/* Readers side by side, at places of their own; some are taken back. */
static void side_by_side(void)
{
	const struct sfs_order_settings order = {.seed = 1,
						 .lanes = 3,
						 .buffer_bytes = 100000};
	struct reader readers[8];
	struct sfs_rng r = {9};
	struct sfs_order_file *s;
	uint64_t at[8];
	int i, round, n_cancelled = 0;

	begin(order, 64 << 20);
	s = open_text(0, everything, 0);
	read_through(s, 60000);
	for (round = 0; round < 100; round++) {
		for (i = 0; i < 8; i++) {
			at[i] = sfs_rng_below(&r, text_bytes);
			ask(s, &readers[i], at[i], 1000);
		}
		for (i = 0; i < 8; i++) {
			pthread_mutex_lock(&lock);
			if (sfs_rng_below(&r, 3) == 0 && !readers[i].is_done &&
			    sfs_read_cancel(&readers[i].read)) {
				readers[i].is_done = true;
				readers[i].err = -EINTR;
				n_cancelled++;
			}
			pthread_mutex_unlock(&lock);
		}
		for (i = 0; i < 8; i++) {
			if (wait_for(&readers[i]) == 0) {
				char got[1000];

				sfs_read_copy(&readers[i].read, got);
				CHECK(memcmp(got, text + at[i],
					     readers[i].read.n_answered) == 0);
				sfs_read_release(&readers[i].read);
			}
			sfs_read_reset(&readers[i].read);
		}
	}
	CHECK(n_cancelled > 0);
	sfs_order_file_close(s);
	end();
}

/* When the only reader has gone, no more lines are made than were under way. */
static void taken_back(void)
{
	const struct sfs_order_settings order = {.seed = 1,
						 .lanes = 3,
						 .buffer_bytes = 100000};
	struct sfs_order_file *s;
	struct reader reader;
	uint64_t before;
	bool is_ours;

	begin(order, 64 << 20);
	s = open_text(0, everything, 0);
	ask(s, &reader, 1ULL << 40, 10);
	while ((before = sfs_order_file_lines(s)) == 0)
		sched_yield();
	pthread_mutex_lock(&lock);
	is_ours = !reader.is_done && sfs_read_cancel(&reader.read);
	before = sfs_order_file_lines(s);
	pthread_mutex_unlock(&lock);
	if (is_ours) {
		usleep(50000);
		CHECK(sfs_order_file_lines(s) <= before + 3000);
	}
	printf("taken back after %llu lines\n", (unsigned long long)before);
	CHECK(before < N_ALL || !is_ours);
	sfs_read_reset(&reader.read);
	sfs_order_file_close(s);
	end();
}

/* Many epochs at once, in a budget for few of them. */
static void bounded(void)
{
	const struct sfs_order_settings order = {.seed = 1,
						 .lanes = 3,
						 .buffer_bytes = 1 << 20,
						 .segment = 1};
	struct sfs_order_file *many[40];
	size_t n;
	char got[100];
	int i, ret, n_refused = 0;

	begin(order, 16 << 20);
	for (i = 0; i < 40; i++) {
		many[i] = open_text((uint64_t)i, everything, 0);
		ret = read_at(many[i], 0, sizeof got, got, &n);
		CHECK(ret == 0 || ret == -ENOMEM);
		n_refused += ret < 0;
	}
	CHECK(n_refused > 0 && n_refused < 40);
	CHECK(sfs_budget_used(&runtime.budget) <= (16 << 20));
	printf("%d of 40 refused\n", n_refused);
	for (i = 0; i < 39; i++)
		sfs_order_file_close(many[i]);
	while (read_at(many[39], 0, sizeof got, got, &n) < 0)
		sched_yield(); /* until the others have gone */
	sfs_order_file_close(many[39]);
	end();
}

int main(void)
{
	const struct sfs_order_settings orders[] = {
		{.seed = 1, .lanes = 3, .buffer_bytes = 100000},
		{.seed = 2, .lanes = 1, .buffer_bytes = 1 << 20},
		{.seed = 3, .lanes = 384, .buffer_bytes = 1 << 20},
		{.seed = 4, .lanes = 4, .buffer_bytes = 1 << 18, .segment = 4096},
		{.seed = 5,
		 .lanes = 7,
		 .buffer_bytes = 1 << 18,
		 .segment = SFS_SEGMENT_SAMPLE,
		 .equal = SFS_EQUAL_PAD},
		{.seed = 6,
		 .lanes = 384,
		 .buffer_bytes = 1 << 18,
		 .segment = 4096,
		 .equal = SFS_EQUAL_DROP},
	};
	size_t i;
	int k;

	sfs_lock_init(&lock, SFS_LOCK_PENDING);
	make_tars();
	for (i = 0; i < SFS_COUNT(orders); i++)
		anywhere(orders[i], everything, i % 2 ? 4321 : 0);
	anywhere(orders[4], (struct sfs_share){1, 3, 3}, 0);
	measured(orders[0], 0);
	measured(orders[4], 4321);
	given_up();
	side_by_side();
	taken_back();
	bounded();
	free(text);
	for (k = 0; k < N_SHARDS; k++)
		tar_done(&tars[k]);
	return 0;
}
