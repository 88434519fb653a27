/* SPDX-License-Identifier: MIT */
/* Of the slabs that have memory, the lowest is handed out first; none is handed out twice;
 * trimming gives memory back, also that of a file which another process has mapped; what
 * that reads is what lies in the slabs, and it can neither write nor resize it. */
#include "base/alloc.h"
#include "base/rng.h"
#include "base/threadpool.h"
#include "check.h"
#include "memory/slab.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define N 64

static void counts(void)
{
	CHECK_EQ(sfs_slab_count(0), 0);
	CHECK_EQ(sfs_slab_count(1), 1);
	CHECK_EQ(sfs_slab_count(SFS_SLAB_BYTES), 1);
	CHECK_EQ(sfs_slab_count(SFS_SLAB_BYTES + 1), 2);
}

static void lowest_first(void)
{
	struct sfs_slabs *slabs = sfs_slabs_new(N * SFS_SLAB_BYTES);
	void *s[N], *more[3], *some[3];
	size_t i;

	CHECK_EQ(sfs_slabs_used(slabs), 0);
	sfs_slabs_get(slabs, s, N); /* all that there are */
	CHECK_EQ(sfs_slabs_used(slabs), N * SFS_SLAB_BYTES);
	for (i = 0; i < N; i++)
		memset(s[i], (int)i, SFS_SLAB_BYTES);
	for (i = 0; i < N; i++) {
		CHECK_EQ(((unsigned char *)s[i])[0], i);
		CHECK_EQ(((unsigned char *)s[i])[SFS_SLAB_BYTES - 1], i);
	}

	some[0] = s[7];
	some[1] = NULL; /* skipped */
	some[2] = s[3];
	sfs_slabs_put(slabs, some, 3);
	sfs_slabs_put(slabs, &s[9], 1);
	CHECK_EQ(sfs_slabs_used(slabs), (N - 3) * SFS_SLAB_BYTES);
	sfs_slabs_get(slabs, more, 3);
	CHECK(more[0] == s[3] && more[1] == s[7] && more[2] == s[9]);
	CHECK_EQ(((unsigned char *)s[9])[5], 9);

	sfs_slabs_put(slabs, s, N);
	CHECK_EQ(sfs_slabs_used(slabs), 0);
	sfs_slabs_free(slabs);
	sfs_slabs_free(NULL);
}

/* How many of these slabs have memory?  (All of a slab or nothing of it.) */
static size_t resident(void *const *slabs, size_t n)
{
	size_t n_pages = SFS_SLAB_BYTES / (size_t)sysconf(_SC_PAGESIZE), i, k, count = 0;
	sfs_autofree unsigned char *pages = sfs_calloc(n_pages, 1);

	for (k = 0; k < n; k++) {
		CHECK(mincore(slabs[k], SFS_SLAB_BYTES, pages) == 0);
		for (i = 0; i < n_pages; i++)
			CHECK_EQ(pages[i] & 1, pages[0] & 1);
		count += pages[0] & 1;
	}
	return count;
}

static void trim(void)
{
	struct sfs_slabs *slabs = sfs_slabs_new(N * SFS_SLAB_BYTES);
	void *s[N];
	size_t i;

	sfs_slabs_get(slabs, s, N);
	for (i = 0; i < N; i++)
		memset(s[i], 1, SFS_SLAB_BYTES);
	CHECK_EQ(resident(s, N), N);

	/* Half are in use, and stay. */
	sfs_slabs_put(slabs, s, N / 2);
	sfs_slabs_trim(slabs, UINT64_MAX / 2);
	CHECK_EQ(resident(s, N), N);
	sfs_slabs_trim(slabs, 4 * SFS_SLAB_BYTES);
	CHECK_EQ(resident(s, N / 2), 4);
	CHECK_EQ(resident(s + N / 2, N / 2), N / 2);

	/* Those that kept their memory come first, then those without, which work as
	 * well. */
	sfs_slabs_get(slabs, s, N / 2);
	CHECK_EQ(resident(s, 4), 4);
	CHECK_EQ(resident(s + 4, N / 2 - 4), 0);
	for (i = 0; i < N / 2; i++)
		memset(s[i], 2, SFS_SLAB_BYTES);
	sfs_slabs_put(slabs, s, N);
	sfs_slabs_trim(slabs, 0);
	CHECK_EQ(resident(s, N), 0);
	sfs_slabs_trim(slabs, 0);
	sfs_slabs_free(slabs);
}

/* ---- sharing ---- */

static uint64_t n_blocks(int fd)
{
	struct stat st;

	CHECK_EQ(fstat(fd, &st), 0);
	return (uint64_t)st.st_blocks;
}

static void share(void)
{
	struct sfs_slabs *slabs = sfs_slabs_new(N * SFS_SLAB_BYTES);
	uint64_t n_bytes = 0, at = 1, i;
	unsigned char *theirs;
	void *old[4], *s[3];
	char byte;
	int fd = -1;

	sfs_slabs_get(slabs, old, 4);
	for (i = 0; i < 4; i++)
		memset(old[i], 1, SFS_SLAB_BYTES);
	sfs_slabs_put(slabs, old + 2, 2);
	CHECK_EQ(sfs_slabs_share(slabs, &fd, &n_bytes), 0);
	CHECK(n_bytes >= N * SFS_SLAB_BYTES);
	theirs = mmap(NULL, n_bytes, PROT_READ, MAP_SHARED, fd, 0);
	CHECK(theirs != MAP_FAILED);

	/* What is in use stays where it is, until it is put back. */
	CHECK_EQ(resident(old, 2), 2);
	CHECK_EQ(resident(old + 2, 2), 0);
	CHECK(!sfs_slabs_find(slabs, old[0], 1, &at));
	CHECK_EQ(sfs_slabs_used(slabs), 2 * SFS_SLAB_BYTES);
	sfs_slabs_put(slabs, old, 2);
	CHECK_EQ(resident(old, 4), 0);

	sfs_slabs_get(slabs, s, 3);
	CHECK_EQ(sfs_slabs_used(slabs), 3 * SFS_SLAB_BYTES);
	for (i = 0; i < 3; i++) {
		memset(s[i], (int)i + 7, SFS_SLAB_BYTES);
		CHECK(sfs_slabs_find(slabs, (char *)s[i] + 5, SFS_SLAB_BYTES - 5, &at));
		CHECK(theirs[at] == i + 7 && theirs[at + SFS_SLAB_BYTES - 6] == i + 7);
	}
	CHECK(!sfs_slabs_find(slabs, &at, 1, &at));
	CHECK(!sfs_slabs_find(slabs, s[0], n_bytes + 1, &at));
	CHECK(sfs_slabs_find(slabs, s[0], 1, &at));
	CHECK(!sfs_slabs_find(slabs, (char *)s[0] - at - 1, 1, &at));

	/* Read-only, and of one size for good. */
	CHECK(mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) ==
	      MAP_FAILED);
	CHECK(write(fd, "x", 1) < 0);
	CHECK(ftruncate(fd, 0) < 0);
	CHECK((fcntl(fd, F_GET_SEALS) & F_SEAL_SHRINK) != 0);
	CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);

	/* Trimmed: the file has given it up, for all. */
	CHECK(n_blocks(fd) > 0);
	sfs_slabs_put(slabs, s, 3);
	sfs_slabs_trim(slabs, 0);
	CHECK_EQ(n_blocks(fd), 0);
	CHECK_EQ(theirs[0], 0);
	CHECK_EQ(pread(fd, &byte, 1, 0), 1);
	sfs_slabs_free(slabs);
	CHECK_EQ(theirs[SFS_SLAB_BYTES], 0); /* still mapped */
	munmap(theirs, n_bytes);
	close(fd);
}

static void share_nothing(void)
{
	struct sfs_slabs *slabs = sfs_slabs_new(N * SFS_SLAB_BYTES);
	uint64_t n = 0;
	void *s;
	int fd;

	CHECK_EQ(sfs_slabs_share(slabs, &fd, &n), -ENOTSUP);
	sfs_slabs_get(slabs, &s, 1);
	CHECK(!sfs_slabs_find(slabs, s, 1, &n));
	sfs_slabs_put(slabs, &s, 1);
	sfs_slabs_free(slabs);
}

/* By wish, and where no file may be so large. */
static void without_a_file(void)
{
	struct rlimit all, small;

	setenv("SHUFFLEFS_SLABS", "private", 1);
	share_nothing();
	unsetenv("SHUFFLEFS_SLABS");
	CHECK_EQ(getrlimit(RLIMIT_FSIZE, &all), 0);
	small = (struct rlimit){N * SFS_SLAB_BYTES - 1, all.rlim_max};
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
	share_nothing();
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &all), 0);
}

/* ---- many threads, each with slabs that it writes its name on ---- */

static struct sfs_slabs *shared;

static void *take_and_give(void *arg)
{
	uint64_t name = (uint64_t)(uintptr_t)arg;
	struct sfs_rng r = {name};
	void *mine[8];
	size_t n = 0, wanted, i;
	int round;

	for (round = 0; round < 5000; round++) {
		wanted = sfs_rng_below(&r, SFS_COUNT(mine) + 1);
		if (wanted > n)
			sfs_slabs_get(shared, mine + n, wanted - n);
		for (i = n; i < wanted; i++)
			((uint64_t *)mine[i])[100] = name;
		for (i = 0; i < wanted; i++)
			CHECK(((uint64_t *)mine[i])[100] == name);
		if (wanted < n)
			sfs_slabs_put(shared, mine + wanted, n - wanted);
		n = wanted;
		if (round % 100 == 0)
			sfs_slabs_trim(shared, 4 * SFS_SLAB_BYTES);
	}
	sfs_slabs_put(shared, mine, n);
	return NULL;
}

int main(void)
{
	pthread_t threads[4];
	size_t i;

	counts();
	lowest_first();
	trim();
	share();
	without_a_file();
	shared = sfs_slabs_new(32 * SFS_SLAB_BYTES);
	for (i = 0; i < SFS_COUNT(threads); i++)
		threads[i] = sfs_thread_start("slabs", take_and_give,
					      (void *)(uintptr_t)(i + 1));
	for (i = 0; i < SFS_COUNT(threads); i++)
		pthread_join(threads[i], NULL);
	CHECK_EQ(sfs_slabs_used(shared), 0);
	sfs_slabs_free(shared);
	return 0;
}
