/* SPDX-License-Identifier: MIT */
/* What was added to a table is there, wherever it is asked for, and while it grows; who
 * asks for more than it knows is stopped. */
#include "base/alloc.h"
#include "base/rng.h"
#include "base/threadpool.h"
#include "check.h"
#include "order/samples.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define N 20000

static struct sfs_sample_table t;
static struct sfs_extent extents[N];
static uint64_t places[N + 1];

static void make_extents(void)
{
	struct sfs_rng r = {4};
	uint64_t at = 0;
	size_t i;

	for (i = 0; i < N; i++) {
		at += 512 * sfs_rng_below(&r, 3); /* members in no sample between */
		extents[i] = (struct sfs_extent){
			.start = at,
			.n_bytes = 512 * (1 + sfs_rng_below(&r, 9)),
			.key_hash = sfs_rng_next(&r),
			.has_global = sfs_rng_below(&r, 4) == 0,
		};
		at += extents[i].n_bytes;
		places[i + 1] = places[i] + extents[i].n_bytes;
	}
}

static void is_there(size_t i)
{
	struct sfs_sample_table_sample s = sfs_sample_table_get(&t, i);

	CHECK_EQ(s.start, extents[i].start);
	CHECK_EQ(s.n_bytes, extents[i].n_bytes);
	CHECK_EQ(s.place, places[i]);
	CHECK(s.key_hash == extents[i].key_hash);
	CHECK_EQ(s.has_global, extents[i].has_global);
}

static void empty(void)
{
	CHECK_EQ(sfs_sample_table_n(&t), 0);
	CHECK_EQ(sfs_sample_table_state(&t), SFS_SAMPLE_TABLE_GROWING);
	CHECK_EQ(sfs_sample_table_place(&t, 0), 0);
	CHECK_EQ(sfs_sample_table_find(&t, 0, 0), 0);
	CHECK_EQ(sfs_sample_table_find(&t, 0, 1000), 0);
	CHECK_EQ(sfs_sample_table_at(&t, 0, 1000), 0);
	CHECK_EQ(sfs_sample_table_memory(0), 0);
	sfs_sample_table_done(&t);
}

static void grows(void)
{
	uint64_t memory = 0;
	size_t i;

	for (i = 0; i < N; i++) {
		sfs_sample_table_add(&t, &extents[i]);
		CHECK_EQ(sfs_sample_table_n(&t), i + 1);
		CHECK_EQ(sfs_sample_table_place(&t, i + 1), places[i + 1]);
		is_there(i);
		is_there(i / 2);
		CHECK(sfs_sample_table_memory(i + 1) >= memory);
		memory = sfs_sample_table_memory(i + 1);
		CHECK(memory >= (i + 1) * 16);
	}
	CHECK(memory <= 4 * 16 * N);
	for (i = 0; i < N; i++)
		is_there(i);
	sfs_sample_table_end(&t, SFS_SAMPLE_TABLE_WHOLE);
	CHECK_EQ(sfs_sample_table_state(&t), SFS_SAMPLE_TABLE_WHOLE);
	CHECK_EQ(sfs_sample_table_n(&t), N);
}

static void finds(size_t n)
{
	uint64_t end = extents[n - 1].start + extents[n - 1].n_bytes;
	size_t i;

	for (i = 0; i < n; i += 1 + i / 50) {
		CHECK_EQ(sfs_sample_table_find(&t, n, places[i]), i);
		CHECK_EQ(sfs_sample_table_find(&t, n, places[i] + 1), i + 1);
		CHECK_EQ(sfs_sample_table_find(&t, n, places[i + 1] - 1), i + 1);

		CHECK_EQ(sfs_sample_table_at(&t, n, extents[i].start), i);
		CHECK_EQ(sfs_sample_table_at(&t, n,
					     extents[i].start + extents[i].n_bytes - 1),
			 i);
		CHECK_EQ(sfs_sample_table_at(&t, n,
					     extents[i].start + extents[i].n_bytes),
			 i + 1);
		if (i > 0) /* between two samples: the next */
			CHECK_EQ(sfs_sample_table_at(&t, n,
						     extents[i - 1].start +
							     extents[i - 1].n_bytes),
				 i);
	}
	CHECK_EQ(sfs_sample_table_find(&t, n, places[n]), n);
	CHECK_EQ(sfs_sample_table_find(&t, n, UINT64_MAX), n);
	CHECK_EQ(sfs_sample_table_at(&t, n, end), n);
	CHECK_EQ(sfs_sample_table_at(&t, n, UINT64_MAX), n);
}

/* The largest shard there may be. */
static void limits(void)
{
	struct sfs_extent first = {.start = 0,
				   .n_bytes = SFS_SAMPLE_TABLE_SHARD_MAX - 1024,
				   .key_hash = 1};
	struct sfs_extent last = {.start = SFS_SAMPLE_TABLE_SHARD_MAX - 1024,
				  .n_bytes = 512,
				  .key_hash = 2,
				  .has_global = true};
	struct sfs_sample_table_sample s;

	sfs_sample_table_done(&t);
	CHECK_EQ(sfs_sample_table_n(&t), 0);
	CHECK_EQ(sfs_sample_table_state(&t), SFS_SAMPLE_TABLE_GROWING);
	sfs_sample_table_add(&t, &first);
	sfs_sample_table_add(&t, &last);
	s = sfs_sample_table_get(&t, 0);
	CHECK_EQ(s.n_bytes, first.n_bytes);
	s = sfs_sample_table_get(&t, 1);
	CHECK_EQ(s.start, last.start);
	CHECK_EQ(s.n_bytes, 512);
	CHECK_EQ(s.place, first.n_bytes);
	CHECK(s.has_global);
	CHECK_EQ(sfs_sample_table_at(&t, 2, last.start), 1);
	CHECK_EQ(sfs_sample_table_place(&t, 2), SFS_SAMPLE_TABLE_SHARD_MAX - 512);
	sfs_sample_table_end(&t, SFS_SAMPLE_TABLE_DAMAGED);
	CHECK_EQ(sfs_sample_table_state(&t), SFS_SAMPLE_TABLE_DAMAGED);
	sfs_sample_table_done(&t);
	sfs_sample_table_done(&t);
}

/* ---- what it does not know ---- */

static void get_more(void)
{
	sfs_sample_table_get(&t, sfs_sample_table_n(&t));
}

static void place_more(void)
{
	sfs_sample_table_place(&t, sfs_sample_table_n(&t) + 1);
}

static void start_more(void)
{
	sfs_sample_table_start(&t, 300);
}

static void find_more(void)
{
	sfs_sample_table_find(&t, 600, UINT64_MAX);
}

static void copy_more(void)
{
	unsigned char to[SFS_SAMPLE_TABLE_ENTRY_BYTES * 20];

	sfs_sample_table_copy(&t, 20, to);
}

static void is_stopped(void (*ask)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		signal(SIGABRT, SIG_DFL); /* no finding of a sanitizer's */
		close(STDERR_FILENO);	  /* what assert() says */
		ask();
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

/* A table that was dropped and grows again has less than before. */
static void grows_again(void)
{
	size_t i, n;

	for (n = 0; n < 12; n += 11) {
		sfs_sample_table_done(&t);
		for (i = 0; i < n; i++)
			sfs_sample_table_add(&t, &extents[i]);
		is_stopped(get_more);
		is_stopped(place_more);
		is_stopped(start_more);
		is_stopped(find_more);
		is_stopped(copy_more);
		CHECK_EQ(sfs_sample_table_place(&t, n), places[n]);
	}
	sfs_sample_table_done(&t);
}

/* ---- read by others while it grows ---- */

static void *read_along(void *arg)
{
	enum sfs_sample_table_state state;
	uint64_t n;

	do {
		state = sfs_sample_table_state(&t);
		n = sfs_sample_table_n(&t);
		if (n > 0) {
			is_there(n - 1);
			is_there(n / 3);
			CHECK_EQ(sfs_sample_table_find(&t, n, places[n - 1]), n - 1);
		}
	} while (state == SFS_SAMPLE_TABLE_GROWING);
	CHECK_EQ(n, N);
	return NULL;
}

static void readers(void)
{
	pthread_t threads[3];
	size_t i;

	for (i = 0; i < SFS_COUNT(threads); i++)
		threads[i] = sfs_thread_start("reads", read_along, NULL);
	for (i = 0; i < N; i++)
		sfs_sample_table_add(&t, &extents[i]);
	sfs_sample_table_end(&t, SFS_SAMPLE_TABLE_WHOLE);
	for (i = 0; i < SFS_COUNT(threads); i++)
		pthread_join(threads[i], NULL);
	sfs_sample_table_done(&t);
}

int main(void)
{
	make_extents();
	empty();
	grows();
	finds(1);
	finds(256);
	finds(257);
	finds(N);
	limits();
	grows_again();
	readers();
	return 0;
}
