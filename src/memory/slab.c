/* SPDX-License-Identifier: MIT */
/* How this works: an area is one mapping without a reserve, of blocks of 2 MiB (blocks.h);
 * a slab costs memory from its first use on, or from when its block was filled.
 *
 * The mapping asks for small pages.  A thread makes huge ones of its lowest blocks, one
 * after the other: it touches them before anybody gets their slabs, because the kernel may
 * take milliseconds to find and clear a huge page (on a virtual machine whose host has
 * taken back what was free), and nobody should wait for that.  It keeps a little ahead of
 * what is in use.  Who is faster gets slabs in small pages; when they are free again, the
 * thread makes huge ones of as many (decision 50).
 *
 * It touches blocks by writing, not by MADV_POPULATE_WRITE: a page fault does not hold up
 * others who change the address space, and all kernels have it.
 *
 * There are two areas.  Slabs come from the private one, which is anonymous memory, until
 * they are shared: pages of a file are dearer to get (decision 33).  From then on they
 * come from the shared one, and a private slab that is put back loses its memory at once,
 * or with the last of its block.
 *
 * The size of the shared file is sealed, so who maps it cannot be hurt by a file that
 * shrinks.  It is not sealed against writing, for then the kernel would refuse to take
 * pages out of it, too; others get a descriptor that is opened for reading. */
#include "memory/slab.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/cond.h"
#include "base/log.h"
#include "base/threadpool.h"
#include "memory/blocks.h"
#include "memory/budget.h"
#include "memory/huge.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n)	  ((void)0)
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)0)
#endif

#define BLOCK_BYTES ((size_t)SFS_BLOCK_SLABS * SFS_SLAB_BYTES)
#define TRIM_SLABS  16 /* at a time: a few ms at most */
#define AHEAD_MOST  ((uint64_t)16 << 20) /* what is filled before it is needed, */
#define AHEAD_PART  16			 /* of the budget */
#define LEAST_BUDGET ((uint64_t)64 << 20)
#define SPARE_LEAST ((uint64_t)4 << 20)	 /* less than this is not worth a trim */
#define FILL_NICE   15
#define REST_NS	    (SFS_NS_PER_S / 10)	 /* before it is tried again where there was no room */

struct area {
	char *base; /* NULL: there is none */
	int fd;	    /* of the file; -1: anonymous memory */
	struct sfs_blocks blocks;
	bool *is_huge;	/* of each block: the mapping asks for huge pages there */
	size_t least_ready; /* the fewest that were ready since sfs_slabs_settle() */
	size_t n_ahead; /* slabs that are filled before they are needed; 0: none, */
	const char *refusal; /* because */
};

struct sfs_slabs {
	size_t n_blocks; /* of each area */
	atomic_bool is_shared;

	/* What fills blocks. */
	pthread_t filler;
	bool has_filler;
	struct sfs_budget *budget;

	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t wake;  /* the filler */
	bool is_stopping;
	bool is_filling; /* the filler has work */
	struct area private, shared;
};

static size_t n_bytes(const struct sfs_slabs *slabs)
{
	return slabs->n_blocks * BLOCK_BYTES;
}

/* ---- areas ---- */

/* `fd`: -1, or of a file, which the area takes. */
static int area_init(struct area *area, const struct sfs_slabs *slabs, int fd)
{
	int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
	size_t n = n_bytes(slabs), before;
	char *base = mmap(NULL, n + BLOCK_BYTES, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (base == MAP_FAILED)
		return -errno;
	before = BLOCK_BYTES - (uintptr_t)base % BLOCK_BYTES; /* of a huge page */
	munmap(base, before);
	munmap(base + before + n, BLOCK_BYTES - before);
	base += before;
	if (mmap(base, n, PROT_READ | PROT_WRITE, flags | MAP_NORESERVE | MAP_FIXED, fd,
		 0) == MAP_FAILED) {
		munmap(base, n);
		return -errno;
	}
	madvise(base, n, MADV_NOHUGEPAGE);
	area->base = base;
	area->fd = fd;
	area->is_huge = sfs_calloc(slabs->n_blocks, sizeof *area->is_huge);
	sfs_blocks_init(&area->blocks, slabs->n_blocks);
	return 0;
}

static void area_done(struct area *area, const struct sfs_slabs *slabs)
{
	if (!area->base)
		return;
	assert(area->blocks.n_used == 0);
	ASAN_UNPOISON_MEMORY_REGION(area->base, n_bytes(slabs));
	munmap(area->base, n_bytes(slabs));
	if (area->fd >= 0)
		close(area->fd);
	sfs_blocks_done(&area->blocks);
	free(area->is_huge);
}

static bool is_in(const struct area *area, const struct sfs_slabs *slabs,
		  const void *bytes, size_t n)
{
	uintptr_t base = (uintptr_t)area->base, at = (uintptr_t)bytes;

	return base && at >= base && at - base <= n_bytes(slabs) &&
	       n <= n_bytes(slabs) - (at - base);
}

static void free_memory(const struct area *area, void *bytes, size_t n)
{
	/* What the mapping alone gives up stays in a file. */
	madvise(bytes, n, area->fd >= 0 ? MADV_REMOVE : MADV_DONTNEED);
}

/* (Neighbours that ask for the same are one mapping to the kernel.) */
static void ask_for_huge(struct area *area, size_t block, bool is_huge)
{
	if (area->is_huge[block] != is_huge)
		madvise(area->base + block * BLOCK_BYTES, BLOCK_BYTES,
			is_huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	area->is_huge[block] = is_huge;
}

static void *get_one(struct area *area)
{
	bool is_new;
	size_t i = sfs_blocks_get(&area->blocks, &is_new);
	char *slab = area->base + i * SFS_SLAB_BYTES;

	if (is_new)
		ask_for_huge(area, i / SFS_BLOCK_SLABS, false);
	ASAN_UNPOISON_MEMORY_REGION(slab, SFS_SLAB_BYTES);
	return slab;
}

/* The memory of a free small slab, if there is one, goes back. */
static bool cool_one(struct area *area)
{
	size_t i;

	if (!area->base || !sfs_blocks_cool(&area->blocks, &i))
		return false;
	free_memory(area, area->base + i * SFS_SLAB_BYTES, SFS_SLAB_BYTES);
	return true;
}

/* That of a filled block that nobody uses. */
static bool empty_one(struct area *area)
{
	size_t i;

	if (!area->base || !sfs_blocks_empty(&area->blocks, &i))
		return false;
	free_memory(area, area->base + i * BLOCK_BYTES, BLOCK_BYTES);
	return true;
}

/* A few, for others wait for the lock meanwhile.  false: that was all. */
static bool trim_some(struct area *area, size_t keep)
{
	int n = 0;

	while (n < TRIM_SLABS && sfs_blocks_ready(&area->blocks) > keep) {
		if (!cool_one(area) && !empty_one(area))
			return false;
		n++;
	}
	return n == TRIM_SLABS;
}

/* ---- slabs ---- */

struct sfs_slabs *sfs_slabs_new(uint64_t capacity_bytes)
{
	struct sfs_slabs *slabs = sfs_calloc(1, sizeof *slabs);

	/* One more, for a block that is being filled is nobody's. */
	slabs->n_blocks = (size_t)((capacity_bytes + BLOCK_BYTES - 1) / BLOCK_BYTES) + 1;
	if (area_init(&slabs->private, slabs, -1) < 0) {
		sfs_error("cannot reserve %zu bytes of address space: raise ulimit -v",
			  n_bytes(slabs));
		abort();
	}
	pthread_mutex_init(&slabs->lock, NULL);
	pthread_cond_init(&slabs->wake, NULL);
	return slabs;
}

static void stop_filler(struct sfs_slabs *slabs)
{
	if (!slabs->has_filler)
		return;
	pthread_mutex_lock(&slabs->lock);
	slabs->is_stopping = true;
	pthread_cond_signal(&slabs->wake);
	pthread_mutex_unlock(&slabs->lock);
	pthread_join(slabs->filler, NULL);
}

void sfs_slabs_free(struct sfs_slabs *slabs)
{
	if (!slabs)
		return;
	stop_filler(slabs);
	area_done(&slabs->private, slabs);
	area_done(&slabs->shared, slabs);
	pthread_cond_destroy(&slabs->wake);
	pthread_mutex_destroy(&slabs->lock);
	free(slabs);
}

/* The one that slabs come from. */
static struct area *current(struct sfs_slabs *slabs)
{
	return slabs->is_shared ? &slabs->shared : &slabs->private;
}

/* Should a block be filled: because too few slabs are ready, or because enough small ones
 * are free for one to take their place? */
static bool is_behind(const struct area *area)
{
	const struct sfs_blocks *b = &area->blocks;

	return area->n_ahead > 0 && (b->n_filled_free < area->n_ahead ||
				     b->n_small_warm >= SFS_BLOCK_SLABS);
}

static void wake_filler(struct sfs_slabs *slabs)
{
	if (slabs->is_filling || !is_behind(current(slabs)))
		return;
	slabs->is_filling = true;
	pthread_cond_signal(&slabs->wake);
}

void sfs_slabs_get(struct sfs_slabs *slabs, void **ret_slabs, size_t n)
{
	struct area *area;
	size_t i;

	pthread_mutex_lock(&slabs->lock);
	area = current(slabs);
	for (i = 0; i < n; i++)
		ret_slabs[i] = get_one(area);
	i = sfs_blocks_ready(&area->blocks);
	area->least_ready = i < area->least_ready ? i : area->least_ready;
	wake_filler(slabs);
	pthread_mutex_unlock(&slabs->lock);
}

/* What comes back to an area that is not used any more gives its memory up. */
static void put_one(struct sfs_slabs *slabs, void *slab)
{
	bool is_private = is_in(&slabs->private, slabs, slab, SFS_SLAB_BYTES);
	struct area *area = is_private ? &slabs->private : &slabs->shared;
	size_t i = (size_t)((char *)slab - area->base) / SFS_SLAB_BYTES;
	bool is_small = sfs_blocks_put(&area->blocks, i);

	ASAN_POISON_MEMORY_REGION(slab, SFS_SLAB_BYTES);
	if (area != current(slabs))
		is_small ? cool_one(area) : empty_one(area);
}

void sfs_slabs_put(struct sfs_slabs *slabs, void *const *some, size_t n)
{
	size_t i;

	pthread_mutex_lock(&slabs->lock);
	for (i = 0; i < n; i++)
		if (some[i])
			put_one(slabs, some[i]);
	if (current(slabs)->blocks.n_small_warm >= SFS_BLOCK_SLABS)
		wake_filler(slabs);
	pthread_mutex_unlock(&slabs->lock);
}

void sfs_slabs_trim(struct sfs_slabs *slabs, uint64_t keep_bytes)
{
	size_t keep = sfs_slab_count(keep_bytes);
	bool has_more;

	do {
		pthread_mutex_lock(&slabs->lock);
		slabs->is_filling = false; /* until more is wanted */
		has_more = trim_some(&slabs->private, slabs->is_shared ? 0 : keep);
		has_more |= trim_some(&slabs->shared, keep);
		pthread_mutex_unlock(&slabs->lock);
	} while (has_more && sched_yield() == 0);
}

/* How many slabs to keep of those that are ready: all but those which were never needed
 * since the last call.  The lock is held. */
static size_t begin_to_settle(struct area *area)
{
	size_t ready = sfs_blocks_ready(&area->blocks), keep = ready, spare;

	spare = area->least_ready < ready ? area->least_ready : ready;
	if (spare * SFS_SLAB_BYTES >= AHEAD_MOST + SPARE_LEAST)
		keep -= spare - (size_t)(AHEAD_MOST / SFS_SLAB_BYTES);
	area->least_ready = keep;
	return keep;
}

void sfs_slabs_settle(struct sfs_slabs *slabs)
{
	struct area *area;
	bool has_more = true;
	size_t keep;

	pthread_mutex_lock(&slabs->lock);
	area = current(slabs);
	keep = begin_to_settle(area);
	while (has_more) {
		has_more = trim_some(area, keep);
		pthread_mutex_unlock(&slabs->lock);
		sched_yield();
		pthread_mutex_lock(&slabs->lock);
	}
	pthread_mutex_unlock(&slabs->lock);
}

struct sfs_slabs_memory sfs_slabs_memory(struct sfs_slabs *slabs)
{
	struct sfs_slabs_memory m;
	const struct sfs_blocks *a = &slabs->private.blocks, *b = &slabs->shared.blocks;

	pthread_mutex_lock(&slabs->lock);
	m.used_bytes = (a->n_used + b->n_used) * SFS_SLAB_BYTES;
	m.ready_bytes = (sfs_blocks_ready(a) + sfs_blocks_ready(b)) * SFS_SLAB_BYTES;
	m.held_bytes = (sfs_blocks_held(a) + sfs_blocks_held(b)) * SFS_SLAB_BYTES;
	m.filled_bytes = (a->n_filled + b->n_filled) * BLOCK_BYTES;
	pthread_mutex_unlock(&slabs->lock);
	return m;
}

uint64_t sfs_slabs_used(struct sfs_slabs *slabs)
{
	return sfs_slabs_memory(slabs).used_bytes;
}

/* ---- the filler ---- */

/* What the budget leaves for memory that nobody uses. */
static size_t room(struct sfs_slabs *slabs)
{
	uint64_t used = sfs_budget_used(slabs->budget),
		 limit = slabs->budget->limit_bytes;

	return limit > used ? (size_t)((limit - used) / SFS_SLAB_BYTES) : 0;
}

/* One byte of each page: the first gets all of the block, if it is a huge page. */
static void touch(char *block)
{
	size_t at, n_page = (size_t)sysconf(_SC_PAGESIZE);

	ASAN_UNPOISON_MEMORY_REGION(block, BLOCK_BYTES);
	for (at = 0; at < BLOCK_BYTES; at += n_page)
		*(volatile char *)(block + at) = 0;
	ASAN_POISON_MEMORY_REGION(block, BLOCK_BYTES);
}

/* Fill a block, in place of small slabs that nobody uses.  false: there is no room.  The
 * lock is held. */
static bool fill_one(struct sfs_slabs *slabs, struct area *area, size_t most_ready)
{
	struct sfs_blocks *b = &area->blocks;
	size_t i;

	for (i = 0; i < SFS_BLOCK_SLABS && cool_one(area);)
		i++;
	if (sfs_blocks_ready(b) + SFS_BLOCK_SLABS > most_ready || !sfs_blocks_fill(b, &i))
		return false;
	ask_for_huge(area, i, true);
	pthread_mutex_unlock(&slabs->lock);
	touch(area->base + i * BLOCK_BYTES);
	pthread_mutex_lock(&slabs->lock);
	sfs_blocks_filled(b, i);
	if (area != current(slabs))
		empty_one(area);
	return true;
}

/* Fill a block, if one is wanted.  The lock is held. */
static void fill_some(struct sfs_slabs *slabs)
{
	struct area *area = current(slabs);
	uint64_t until;
	size_t n;

	slabs->is_filling = is_behind(area);
	if (!slabs->is_filling)
		return;
	pthread_mutex_unlock(&slabs->lock);
	n = room(slabs);
	pthread_mutex_lock(&slabs->lock);
	if (!slabs->is_filling || slabs->is_stopping || area != current(slabs) ||
	    fill_one(slabs, area, n))
		return;
	until = sfs_clock_ns() + REST_NS;
	while (!slabs->is_stopping && sfs_clock_ns() < until)
		sfs_cond_wait_until(&slabs->wake, &slabs->lock, until);
	slabs->is_filling = false;
}

static void *fill(void *arg)
{
	struct sfs_slabs *slabs = arg;

	/* Whoever has work to do goes first, above all in the first second of a stream. */
	setpriority(PRIO_PROCESS, (id_t)gettid(), FILL_NICE);
	pthread_mutex_lock(&slabs->lock);
	while (!slabs->is_stopping) {
		if (slabs->is_filling)
			fill_some(slabs);
		else
			sfs_cond_wait_until(&slabs->wake, &slabs->lock, UINT64_MAX);
	}
	pthread_mutex_unlock(&slabs->lock);
	return NULL;
}

static void allow(struct area *area, size_t n_bytes, uint64_t budget_bytes,
		  bool is_shared)
{
	uint64_t ahead = budget_bytes / AHEAD_PART;

	area->refusal = sfs_huge_refusal(SFS_HUGE_FOLDER, is_shared);
	if (area->refusal && area->base)
		/* Smaller ones, if the kernel has any: a page fault brings more then. */
		madvise(area->base, n_bytes, MADV_HUGEPAGE);
	else if (!area->refusal && budget_bytes < LEAST_BUDGET)
		area->refusal = "the budget is too small for them";
	else if (!area->refusal)
		area->n_ahead = (size_t)((ahead < AHEAD_MOST ? ahead : AHEAD_MOST) /
					 SFS_SLAB_BYTES);
}

void sfs_slabs_fill(struct sfs_slabs *slabs, struct sfs_budget *budget)
{
	slabs->budget = budget;
	allow(&slabs->private, n_bytes(slabs), budget->total_bytes, false);
	allow(&slabs->shared, 0, budget->total_bytes, true);
	slabs->has_filler = slabs->private.n_ahead > 0 || slabs->shared.n_ahead > 0;
	if (slabs->has_filler)
		slabs->filler = sfs_thread_start("sfs-filler", fill, slabs);
}

const char *sfs_slabs_refusal(struct sfs_slabs *slabs)
{
	return current(slabs)->refusal;
}

/* ---- sharing ---- */

/* (To make a file larger than RLIMIT_FSIZE is a signal that kills.) */
static bool may_share(const struct sfs_slabs *slabs)
{
	const char *wanted = getenv("SHUFFLEFS_SLABS");
	struct rlimit limit;

	if (wanted && strcmp(wanted, "private") == 0)
		return false;
	return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur >= n_bytes(slabs);
}

static int open_memory(const struct sfs_slabs *slabs)
{
	int fd, ret;

	if (!may_share(slabs))
		return -ENOTSUP;
	fd = memfd_create("shufflefs-slabs", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)n_bytes(slabs)) == 0 &&
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
		return fd;
	ret = -errno;
	close(fd);
	return ret;
}

static int begin_to_share(struct sfs_slabs *slabs)
{
	int fd = open_memory(slabs), ret;

	if (fd < 0)
		return fd;
	ret = area_init(&slabs->shared, slabs, fd);
	if (ret < 0)
		close(fd);
	else
		slabs->is_shared = true;
	return ret;
}

int sfs_slabs_share(struct sfs_slabs *slabs, int *ret_fd, uint64_t *ret_n_bytes)
{
	int ret = 0, fd = -1;
	char path[64];

	pthread_mutex_lock(&slabs->lock);
	if (!slabs->is_shared)
		ret = begin_to_share(slabs);
	pthread_mutex_unlock(&slabs->lock);
	if (ret < 0)
		return ret;
	snprintf(path, sizeof path, "/proc/self/fd/%d", slabs->shared.fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	sfs_slabs_trim(slabs, UINT64_MAX / 2); /* the private ones */
	*ret_fd = fd;
	*ret_n_bytes = n_bytes(slabs);
	return 0;
}

bool sfs_slabs_find(struct sfs_slabs *slabs, const void *bytes, size_t n,
		    uint64_t *ret_offset)
{
	if (!slabs->is_shared || !is_in(&slabs->shared, slabs, bytes, n))
		return false;
	*ret_offset = (uint64_t)((const char *)bytes - slabs->shared.base);
	return true;
}
