/* SPDX-License-Identifier: MIT */
/* Slabs are filled a little ahead of what is in use, in huge pages, within the budget.  Who
 * is faster gets small ones, whose memory goes back once the others are there.  What the
 * pool says it holds is what the kernel says; trimming gives it back; nothing is filled for
 * those who want nothing; and where the kernel gives no huge pages, the pool says so and
 * fills none. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/rng.h"
#include "base/threadpool.h"
#include "check.h"
#include "memory/budget.h"
#include "memory/huge.h"
#include "memory/slab.h"

#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB   ((uint64_t)1 << 20)
#define BLOCK (2 * MIB)
#define TOTAL (256 * MIB)
#define AHEAD (16 * MIB)

static struct sfs_budget budget;
static struct sfs_account account;
static struct sfs_slabs *slabs;

static void start(uint64_t total)
{
	sfs_budget_init(&budget, total);
	CHECK_EQ(sfs_account_open(&account, &budget, 0, false, NULL), 0);
	slabs = sfs_slabs_new(total + AHEAD);
	sfs_slabs_fill(slabs, &budget);
}

static void stop(void)
{
	sfs_slabs_free(slabs);
	sfs_account_close(&account);
	sfs_budget_done(&budget);
}

/* ---- what the kernel says ---- */

/* Kilobytes of one kind in the mappings between the two addresses. */
static uint64_t kernel_says(const char *what, uintptr_t from, uintptr_t end)
{
	FILE *f = fopen("/proc/self/smaps", "re");
	unsigned long long a, b, kb;
	bool is_inside = false;
	uint64_t sum = 0;
	char line[512], name[64];

	CHECK(f != NULL);
	while (fgets(line, sizeof line, f)) {
		if (sscanf(line, "%llx-%llx ", &a, &b) == 2)
			is_inside = a < end && b > from;
		else if (is_inside && sscanf(line, "%63[^:]: %llu", name, &kb) == 2 &&
			 strcmp(name, what) == 0)
			sum += kb;
	}
	fclose(f);
	return sum << 10;
}

/* `base`: where the lowest block begins. */
static uint64_t resident(const void *base)
{
	uintptr_t at = (uintptr_t)base;

	return kernel_says("Rss", at, at + TOTAL + AHEAD + BLOCK);
}

static void touch(void *const *some, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		memset(some[i], 1, SFS_SLAB_BYTES);
}

/* ---- taking and giving as streams do: the budget first ---- */

static void get(void **some, size_t n)
{
	CHECK_EQ(sfs_account_take(&account, n * SFS_SLAB_BYTES), 0);
	sfs_slabs_get(slabs, some, n);
}

static void put(void *const *some, size_t n)
{
	sfs_slabs_put(slabs, some, n);
	sfs_account_give(&account, n * SFS_SLAB_BYTES);
}

/* The thread has done what it will do. */
static void await_filled(uint64_t n)
{
	struct sfs_slabs_memory m;

	for (;; usleep(1000)) {
		m = sfs_slabs_memory(slabs);
		if (m.filled_bytes >= n && m.ready_bytes >= AHEAD &&
		    m.held_bytes == m.used_bytes + m.ready_bytes)
			return;
	}
}

/* All that nobody uses goes back: a block that the thread fills meanwhile, too, when it is
 * full. */
static void trim_all(void)
{
	do
		sfs_slabs_trim(slabs, 0);
	while (sfs_slabs_memory(slabs).held_bytes > 0);
}

/* ---- the cases ---- */

static void ahead_of_use(void)
{
	size_t n = 64 * MIB / SFS_SLAB_BYTES, i;
	sfs_autofree void **s = sfs_calloc(n, sizeof *s);
	struct sfs_slabs_memory m;
	uint64_t huge;
	char *base;

	start(TOTAL);
	CHECK(!sfs_slabs_refusal(slabs));
	m = sfs_slabs_memory(slabs);
	CHECK(m.used_bytes == 0 && m.held_bytes == 0); /* nobody wants any */

	get(s, 1); /* nothing was filled yet, so it is small */
	await_filled(AHEAD);
	m = sfs_slabs_memory(slabs);
	CHECK_EQ(m.filled_bytes, AHEAD);
	CHECK_EQ(m.held_bytes, AHEAD + SFS_SLAB_BYTES);
	get(s + 1, 1); /* filled, and the lowest */
	base = s[1];
	CHECK_EQ((uintptr_t)base % BLOCK, 0);
	await_filled(AHEAD + BLOCK);
	memset(s[0], 1, SFS_SLAB_BYTES);
	CHECK_EQ(resident(base), AHEAD + BLOCK + SFS_SLAB_BYTES);

	/* The small one is the last to be taken again. */
	put(s, 1);
	get(s, 1);
	CHECK(s[0] == base + SFS_SLAB_BYTES);

	/* In steps that are no faster than the thread, all are filled ones. */
	for (i = 2; i < n; i++) {
		get(s + i, 1);
		CHECK(s[i] == base + i * SFS_SLAB_BYTES);
		await_filled(0);
	}
	m = sfs_slabs_memory(slabs);
	CHECK_EQ(m.filled_bytes, m.held_bytes); /* that small one was replaced */
	CHECK(m.ready_bytes <= AHEAD + BLOCK);
	touch(s, n);
	CHECK_EQ(resident(base), m.held_bytes);
	huge = kernel_says("AnonHugePages", (uintptr_t)base, (uintptr_t)base + TOTAL);
	if (huge < m.held_bytes / 2)
		printf("the kernel gave %llu of %llu bytes in huge pages\n",
		       (unsigned long long)huge, (unsigned long long)m.held_bytes);

	/* Of what is used, every other block: those between go back as a whole. */
	for (i = 0; i < n; i += 2 * BLOCK / SFS_SLAB_BYTES)
		put(s + i, BLOCK / SFS_SLAB_BYTES);
	sfs_slabs_trim(slabs, 0);
	m = sfs_slabs_memory(slabs);
	CHECK_EQ(m.held_bytes, 32 * MIB);
	CHECK_EQ(m.used_bytes, 32 * MIB);
	CHECK_EQ(resident(base), 32 * MIB);
	if (huge >= m.held_bytes)
		CHECK_EQ(kernel_says("AnonHugePages", (uintptr_t)base,
				     (uintptr_t)base + TOTAL),
			 32 * MIB);
	for (i = BLOCK / SFS_SLAB_BYTES; i < n; i += 2 * BLOCK / SFS_SLAB_BYTES)
		put(s + i, BLOCK / SFS_SLAB_BYTES);
	trim_all();
	CHECK_EQ(resident(base), 0);
	stop();
}

/* All at once: small ones.  Whenever a block's worth of them is free, huge ones take their
 * place, and no more is held than before. */
static void faster_than_the_thread(void)
{
	size_t n = 100 * MIB / SFS_SLAB_BYTES, i;
	sfs_autofree void **s = sfs_calloc(n, sizeof *s);
	struct sfs_slabs_memory m;

	start(TOTAL);
	get(s, n);
	touch(s, n);
	await_filled(AHEAD);
	for (i = 0; i + 100 <= n; i += 50) {
		/* Some go and some come, as in a stream that has all that it may. */
		put(s + i, 100);
		get(s + i, 100);
		touch(s + i, 100);
		m = sfs_slabs_memory(slabs);
		CHECK(m.held_bytes <= 100 * MIB + AHEAD + 2 * BLOCK);
		await_filled(0);
	}
	/* Nobody uses it, and it is still held, as what was used at once; but
	 * in huge pages. */
	put(s, n);
	await_filled(100 * MIB);
	m = sfs_slabs_memory(slabs);
	CHECK(m.held_bytes - m.filled_bytes < BLOCK);
	CHECK(m.held_bytes <= 100 * MIB + AHEAD + 2 * BLOCK);
	sfs_slabs_trim(slabs, 3 * BLOCK);
	CHECK_EQ(sfs_slabs_memory(slabs).held_bytes, 3 * BLOCK);
	stop();
}

/* What is filled fits the budget, also after its limit has fallen. */
static void within_the_budget(void)
{
	size_t n = 60 * MIB / SFS_SLAB_BYTES;
	sfs_autofree void **s = sfs_calloc(n, sizeof *s);
	struct sfs_slabs_memory m;
	int i;

	start(64 * MIB);
	get(s, n);
	touch(s, n);
	for (i = 0; i < 50; i++) {
		usleep(1000);
		m = sfs_slabs_memory(slabs);
		CHECK(m.held_bytes <= 64 * MIB);
	}
	sfs_budget_limit(&budget, 32 * MIB);
	put(s, n / 2);
	sfs_slabs_trim(slabs, 2 * MIB);
	get(s, 1);
	for (i = 0; i < 50; i++) {
		usleep(1000);
		m = sfs_slabs_memory(slabs);
		CHECK(m.held_bytes - m.used_bytes <= 2 * MIB + BLOCK);
	}
	put(s, 1);
	put(s + n / 2, n - n / 2);
	trim_all();
	stop();
}

static void too_small(void)
{
	void *s[4];

	start(32 * MIB);
	if (sfs_huge_refusal(SFS_HUGE_FOLDER, false))
		CHECK(sfs_slabs_refusal(slabs));
	else
		CHECK_STR(sfs_slabs_refusal(slabs), "the budget is too small for them");
	get(s, 4);
	put(s, 4);
	CHECK_EQ(sfs_slabs_memory(slabs).filled_bytes, 0);
	stop();
}

/* ---- many threads, and somebody who trims, shares, and lowers the limit ---- */

static atomic_int n_left;

static void *take_and_give(void *arg)
{
	uint64_t name = (uint64_t)(uintptr_t)arg;
	struct sfs_rng r = {name};
	void *mine[160];
	size_t n = 0, wanted, i;
	int round;

	for (round = 0; round < 600; round++) {
		wanted = sfs_rng_below(&r, SFS_COUNT(mine) + 1);
		if (wanted > n && sfs_account_take(&account, (wanted - n) *
							     SFS_SLAB_BYTES) < 0)
			wanted = n / 2;
		else if (wanted > n)
			sfs_slabs_get(slabs, mine + n, wanted - n);
		for (i = n; i < wanted; i++)
			((uint64_t *)mine[i])[100] = name * 1000 + i;
		for (i = 0; i < wanted; i++)
			CHECK(((uint64_t *)mine[i])[100] == name * 1000 + i);
		if (wanted < n)
			put(mine + wanted, n - wanted);
		n = wanted;
	}
	put(mine, n);
	n_left--;
	return NULL;
}

static void storm(void)
{
	pthread_t threads[4];
	struct sfs_slabs_memory m;
	struct sfs_rng r = {7};
	uint64_t n;
	size_t i;
	int fd = -1, k = 0;

	start(TOTAL);
	n_left = SFS_COUNT(threads);
	for (i = 0; i < SFS_COUNT(threads); i++)
		threads[i] = sfs_thread_start("slabs", take_and_give,
					      (void *)(uintptr_t)(i + 1));
	while (n_left > 0) {
		usleep(2000);
		m = sfs_slabs_memory(slabs);
		CHECK(m.used_bytes <= m.held_bytes && m.filled_bytes <= m.held_bytes);
		CHECK(m.used_bytes <= TOTAL);
		sfs_slabs_trim(slabs, sfs_rng_below(&r, 64 * MIB));
		sfs_budget_limit(&budget, TOTAL / (1 + sfs_rng_below(&r, 4)));
		if (k++ == 20)
			CHECK_EQ(sfs_slabs_share(slabs, &fd, &n), 0);
	}
	for (i = 0; i < SFS_COUNT(threads); i++)
		pthread_join(threads[i], NULL);
	trim_all();
	CHECK_EQ(sfs_slabs_memory(slabs).used_bytes, 0);
	stop();
	if (fd >= 0)
		close(fd);
}

/* ---- the kernel's settings ---- */

static void write_file(const char *folder, const char *name, const char *text)
{
	sfs_autofree char *path = sfs_asprintf("%s/%s", folder, name);
	FILE *f = fopen(path, "we");

	CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static void remove_file(const char *folder, const char *name)
{
	sfs_autofree char *path = sfs_asprintf("%s/%s", folder, name);

	unlink(path);
}

static void settings(void)
{
	char folder[] = "/tmp/shufflefs-huge-XXXXXX";
	sfs_autofree char *size = NULL;
	const char *const names[] = {"enabled", "shmem_enabled"};
	size_t i;

	CHECK(mkdtemp(folder) != NULL);
	size = sfs_asprintf("%s/hugepages-2048kB", folder);
	CHECK_STR(sfs_huge_refusal(folder, false), "the kernel has none");
	write_file(folder, "enabled", "always [madvise] never\n");
	CHECK(!sfs_huge_refusal(folder, false));
	write_file(folder, "enabled", "[always] madvise never\n");
	CHECK(!sfs_huge_refusal(folder, false));
	write_file(folder, "enabled", "always madvise [never]\n");
	CHECK_STR(sfs_huge_refusal(folder, false),
		  "the kernel's setting is never (transparent_hugepage)");
	write_file(folder, "shmem_enabled",
		   "always within_size [advise] never deny force\n");
	CHECK(!sfs_huge_refusal(folder, true));
	write_file(folder, "shmem_enabled",
		   "always within_size advise never [deny] force\n");
	CHECK(sfs_huge_refusal(folder, true));

	/* Each size may say otherwise, or the same. */
	CHECK_EQ(mkdir(size, 0700), 0);
	for (i = 0; i < SFS_COUNT(names); i++) {
		write_file(size, names[i], "always inherit [madvise] never\n");
		CHECK(!sfs_huge_refusal(folder, i == 1));
		write_file(size, names[i], "always inherit madvise [never]\n");
		CHECK(sfs_huge_refusal(folder, i == 1));
		write_file(size, names[i], "always [inherit] madvise never\n");
		CHECK(sfs_huge_refusal(folder, i == 1));
		remove_file(size, names[i]);
		remove_file(folder, names[i]);
	}
	rmdir(size);
	rmdir(folder);
}

static void none(void)
{
	void *s[4];

	CHECK_EQ(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0), 0);
	start(TOTAL);
	CHECK(sfs_slabs_refusal(slabs));
	get(s, 4);
	touch(s, 4);
	put(s, 2);
	sfs_slabs_trim(slabs, 0);
	CHECK_EQ(sfs_slabs_memory(slabs).held_bytes, 2 * SFS_SLAB_BYTES);
	put(s + 2, 2);
	CHECK_EQ(sfs_slabs_memory(slabs).filled_bytes, 0);
	stop();
	CHECK_EQ(prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0), 0);
}

int main(void)
{
	settings();
	too_small();
	none();
	if (sfs_huge_refusal(SFS_HUGE_FOLDER, false)) {
		printf("SKIP: huge pages are off: %s\n",
		       sfs_huge_refusal(SFS_HUGE_FOLDER, false));
		return 77;
	}
	ahead_of_use();
	faster_than_the_thread();
	within_the_budget();
	storm();
	return 0;
}
