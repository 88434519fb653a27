/* SPDX-License-Identifier: MIT */
/* A scan that fails ends the calls that wait for it with its error, and no other;
 * who asks later gets a new scan.  Few scans run at a time, and those in the
 * queue are small. */
#include "io/header-scan.h"
#include "one-runtime.h"
#include "tars.h"

#include <errno.h>
#include <malloc.h>

#define N_SHARDS    20
#define N_RUNNING   8
#define N_SAMPLES   30
#define N_MANY	    20000
#define CHUNK_BYTES (512 << 10)
#define QUEUED_MOST 400 /* bytes that a queued scan may take */

static struct tar tar;
static struct sfs_header_scanner scanner;

struct caller {
	struct sfs_waiter waiter;
	int n_calls, err;
};

static void on_done(struct sfs_waiter *waiter, int err)
{
	struct caller *c = sfs_container(waiter, struct caller, waiter);

	c->n_calls++;
	c->err = err;
}

static struct sfs_shard *shard(uint32_t i)
{
	return &runtime.shards.shards[i];
}

static void begin(struct caller *c, uint32_t i)
{
	*c = (struct caller){.waiter.done = on_done};
	CHECK_EQ(sfs_header_scan_table(&scanner, shard(i), &c->waiter), -EINPROGRESS);
}

static void check_table(uint32_t i)
{
	uint64_t n, n_bytes;

	CHECK(sfs_shard_totals(shard(i), &n, &n_bytes));
	CHECK_EQ(n, N_SAMPLES);
	CHECK_EQ(sfs_header_scan_table(&scanner, shard(i), NULL), 0);
}

static void end_all_with(int err)
{
	settle();
	while (scripted_end_all(source, err) > 0)
		settle();
}

static void start(uint32_t n_shards)
{
	sfs_autofree const void **bytes = sfs_calloc(n_shards, sizeof *bytes);
	sfs_autofree uint64_t *n = sfs_calloc(n_shards, sizeof *n);
	uint32_t i;

	for (i = 0; i < n_shards; i++) {
		bytes[i] = tar.bytes;
		n[i] = tar.n;
	}
	start_runtime((uint64_t)64 << 20, n_shards, bytes, n);
	sfs_header_scanner_init(&scanner, &runtime);
}

static void stop(void)
{
	sfs_header_scanner_stop(&scanner);
	stop_source();
	settle();
	sfs_header_scanner_done(&scanner);
	stop_runtime();
}

/* ---- tests ---- */

static void one_fails(int err)
{
	struct caller a, b, other;

	start(2);
	begin(&a, 0);
	begin(&b, 0);
	begin(&other, 1);
	settle();
	end_at(0, 0, err);
	if (scripted_find(source, shard(0)->object, CHUNK_BYTES))
		end_at(0, CHUNK_BYTES, 0); /* was fetched ahead */
	CHECK_EQ(a.n_calls, 1);
	CHECK_EQ(a.err, err);
	CHECK_EQ(b.n_calls, 1);
	CHECK_EQ(b.err, err);
	CHECK_EQ(other.n_calls, 0);

	begin(&a, 0);
	end_all_with(0);
	CHECK_EQ(a.n_calls, 1);
	CHECK_EQ(a.err, 0);
	CHECK_EQ(other.n_calls, 1);
	CHECK_EQ(other.err, 0);
	CHECK_EQ(b.n_calls, 1);
	check_table(0);
	check_table(1);
	stop();
}

/* Who has taken his waiter back is not called; the others are. */
static void one_leaves(void)
{
	struct caller a, b;

	start(1);
	begin(&a, 0);
	begin(&b, 0);
	CHECK(sfs_waiter_cancel(&a.waiter));
	CHECK(!sfs_waiter_cancel(&a.waiter));
	end_all_with(0);
	CHECK_EQ(a.n_calls, 0);
	CHECK_EQ(b.n_calls, 1);
	CHECK(!sfs_waiter_cancel(&b.waiter));
	check_table(0);
	stop();
}

/* Nobody waits any more: the scan goes on, and its table is kept. */
static void all_leave(void)
{
	struct caller a;

	start(1);
	begin(&a, 0);
	CHECK(sfs_waiter_cancel(&a.waiter));
	end_all_with(0);
	CHECK_EQ(a.n_calls, 0);
	check_table(0);
	stop();
}

/* How many shards have a request pending? */
static int n_running(void)
{
	uint32_t i;
	int n = 0;

	settle();
	for (i = 0; i < N_SHARDS; i++)
		n += scripted_find(source, shard(i)->object, 0) != NULL;
	return n;
}

static void few_run_at_a_time(void)
{
	struct caller callers[N_SHARDS];
	uint32_t i, n_done;

	start(N_SHARDS);
	for (i = 0; i < N_SHARDS; i++)
		begin(&callers[i], i);
	CHECK_EQ(n_running(), N_RUNNING);
	for (n_done = 1; n_done <= N_SHARDS; n_done++) {
		CHECK_EQ(callers[n_done - 1].n_calls, 0);
		end_at(n_done - 1, 0, n_done % 3 == 0 ? -EIO : 0);
		CHECK_EQ(callers[n_done - 1].n_calls, 1); /* in the order of the queue */
		CHECK_EQ(n_running(),
			 N_SHARDS - n_done < N_RUNNING ? N_SHARDS - n_done : N_RUNNING);
	}
	stop();
}

/* The scanner stops: what is queued ends at once; what runs, with its source. */
static void stops(void)
{
	struct caller callers[N_SHARDS];
	uint32_t i;

	start(N_SHARDS);
	for (i = 0; i < N_SHARDS; i++)
		begin(&callers[i], i);
	settle();
	sfs_header_scanner_stop(&scanner);
	for (i = 0; i < N_SHARDS; i++)
		CHECK_EQ(callers[i].n_calls, i >= N_RUNNING);
	CHECK_EQ(sfs_header_scan_table(&scanner, shard(0), NULL), -ECANCELED);
	stop();
	for (i = 0; i < N_SHARDS; i++) {
		CHECK_EQ(callers[i].n_calls, 1);
		CHECK_EQ(callers[i].err, -ECANCELED);
	}
}

/* Progress is what was scanned or jumped over, and ends with the scan. */
static void has_progress(void)
{
	struct caller a;

	start(1);
	CHECK_EQ(sfs_header_scan_progress(&scanner, shard(0)), 0);
	begin(&a, 0);
	settle();
	CHECK_EQ(sfs_header_scan_progress(&scanner, shard(0)), 0);
	while (scripted_n(source) > 0) {
		CHECK_EQ(a.n_calls, 0);
		end_at(0, scripted_nth(source, 0)->offset, 0);
		if (a.n_calls == 0)
			CHECK(sfs_header_scan_progress(&scanner, shard(0)) > 0);
	}
	CHECK_EQ(a.n_calls, 1);
	CHECK_EQ(sfs_header_scan_progress(&scanner, shard(0)), 0);
	stop();
}

static size_t used_bytes(void)
{
#if __GLIBC_PREREQ(2, 33)
	return mallinfo2().uordblks;
#else
	return (size_t)mallinfo().uordblks;
#endif
}

/* An order that needs all samples queues a scan of each shard. */
static void many_are_queued(void)
{
	sfs_autofree struct caller *callers = sfs_calloc(N_MANY, sizeof *callers);
	size_t before;
	uint32_t i;

	start(N_MANY);
	for (i = 0; i < N_RUNNING; i++)
		begin(&callers[i], i);
	settle();
	before = used_bytes();
	for (; i < N_MANY; i++)
		begin(&callers[i], i);
	CHECK(used_bytes() - before <= (size_t)N_MANY * QUEUED_MOST);
	stop();
}

static void make_tar(size_t member_bytes)
{
	char name[20];
	int i;

	tar_done(&tar);
	for (i = 0; i < N_SAMPLES; i++) {
		snprintf(name, sizeof name, "%06d.jpg", i);
		tar_file(&tar, name, member_bytes, 'x');
	}
	tar_end(&tar);
}

int main(void)
{
	make_tar(100); /* one chunk */
	one_fails(-EIO);
	one_fails(-EACCES);
	one_leaves();
	all_leave();
	few_run_at_a_time();
	stops();
	many_are_queued();
	make_tar(1000000);
	one_fails(-ETIMEDOUT);
	stops();
	has_progress();
	tar_done(&tar);
	return 0;
}
