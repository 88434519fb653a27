/* SPDX-License-Identifier: MIT */
/* How this works: an area is a stack of free slabs over one mapping without a reserve, so
 * a slab costs memory from its first use on.  `n_made` slabs were ever handed out; the
 * rest of the mapping has never been touched.  Of the free stack, the lowest `n_cold`
 * entries hold no memory any more (they were trimmed).
 *
 * There are two areas.  Slabs come from the private one, which is anonymous memory, until
 * they are shared: pages of a file are dearer to get (decision 33).  From then on they
 * come from the shared one, and a private slab that is put back loses its memory at once.
 *
 * The size of the shared file is sealed, so who maps it cannot be hurt by a file that
 * shrinks.  It is not sealed against writing, for then the kernel would refuse to take
 * pages out of it, too; others get a descriptor that is opened for reading.
 *
 * The mappings ask for no huge pages.  Small ones come from where the kernel has given
 * and got pages of late; a huge one is memory that has long been free, which the host of
 * a virtual machine may have taken back, and that costs more than all else (decision 21).
 * A slab that is trimmed then is memory that is given back, as well: of a huge page the
 * kernel would fill it again. */
#include "memory/slab.h"

#include "base/alloc.h"
#include "base/log.h"

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

#define TRIM_SLABS 16 /* at a time: a few ms at most */

struct area {
	char *base; /* NULL: there is none */
	int fd;	    /* of the file; -1: anonymous memory */
	size_t n_made;
	size_t n_free, n_cold;
	void **free_stack;
};

struct sfs_slabs {
	size_t capacity; /* of each area, in slabs */
	atomic_bool is_shared;

	pthread_mutex_t lock; /* guards all below */
	struct area private, shared;
};

static size_t n_bytes(const struct sfs_slabs *slabs)
{
	return slabs->capacity * SFS_SLAB_BYTES;
}

/* ---- areas ---- */

/* `fd`: -1, or of a file, which the area takes. */
static int area_init(struct area *area, const struct sfs_slabs *slabs, int fd)
{
	int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
	char *base = mmap(NULL, n_bytes(slabs), PROT_READ | PROT_WRITE,
			  flags | MAP_NORESERVE, fd, 0);

	if (base == MAP_FAILED)
		return -errno;
	madvise(base, n_bytes(slabs), MADV_NOHUGEPAGE);
	area->base = base;
	area->fd = fd;
	area->free_stack = sfs_reallocarray(NULL, slabs->capacity, sizeof(void *));
	return 0;
}

static void area_done(struct area *area, const struct sfs_slabs *slabs)
{
	if (!area->base)
		return;
	assert(area->n_free == area->n_made);
	ASAN_UNPOISON_MEMORY_REGION(area->base, n_bytes(slabs));
	munmap(area->base, n_bytes(slabs));
	if (area->fd >= 0)
		close(area->fd);
	free(area->free_stack);
}

static bool is_in(const struct area *area, const struct sfs_slabs *slabs,
		  const void *bytes, size_t n)
{
	uintptr_t base = (uintptr_t)area->base, at = (uintptr_t)bytes;

	return base && at >= base && at - base <= n_bytes(slabs) &&
	       n <= n_bytes(slabs) - (at - base);
}

static void free_memory(const struct area *area, void *slab)
{
	/* What the mapping alone gives up stays in a file. */
	madvise(slab, SFS_SLAB_BYTES, area->fd >= 0 ? MADV_REMOVE : MADV_DONTNEED);
}

static void get_some(struct area *area, size_t capacity, void **ret_slabs, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (area->n_free > 0) {
			ret_slabs[i] = area->free_stack[--area->n_free];
		} else {
			assert(area->n_made < capacity);
			ret_slabs[i] = area->base + area->n_made++ * SFS_SLAB_BYTES;
		}
		ASAN_UNPOISON_MEMORY_REGION(ret_slabs[i], SFS_SLAB_BYTES);
	}
	if (area->n_cold > area->n_free)
		area->n_cold = area->n_free;
}

/* A few, for others wait for the lock meanwhile.  false: that was the last. */
static bool trim_some(struct area *area, size_t keep)
{
	int n = 0;

	for (; n < TRIM_SLABS && area->n_free - area->n_cold > keep; n++)
		free_memory(area, area->free_stack[area->n_cold++]);
	return n == TRIM_SLABS;
}

/* ---- slabs ---- */

struct sfs_slabs *sfs_slabs_new(uint64_t capacity_bytes)
{
	struct sfs_slabs *slabs = sfs_calloc(1, sizeof *slabs);

	slabs->capacity = sfs_slab_count(capacity_bytes);
	if (area_init(&slabs->private, slabs, -1) < 0) {
		sfs_error("cannot reserve %zu bytes of address space: raise ulimit -v",
			  n_bytes(slabs));
		abort();
	}
	pthread_mutex_init(&slabs->lock, NULL);
	return slabs;
}

void sfs_slabs_free(struct sfs_slabs *slabs)
{
	if (!slabs)
		return;
	area_done(&slabs->private, slabs);
	area_done(&slabs->shared, slabs);
	pthread_mutex_destroy(&slabs->lock);
	free(slabs);
}

void sfs_slabs_get(struct sfs_slabs *slabs, void **ret_slabs, size_t n)
{
	pthread_mutex_lock(&slabs->lock);
	get_some(slabs->is_shared ? &slabs->shared : &slabs->private, slabs->capacity,
		 ret_slabs, n);
	pthread_mutex_unlock(&slabs->lock);
}

/* Private slabs that will not be used again lose their memory. */
static void retire(struct sfs_slabs *slabs, void *const *some, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (some[i] && is_in(&slabs->private, slabs, some[i], SFS_SLAB_BYTES))
			free_memory(&slabs->private, some[i]);
}

void sfs_slabs_put(struct sfs_slabs *slabs, void *const *some, size_t n)
{
	struct area *area;
	size_t i;

	if (atomic_load_explicit(&slabs->is_shared, memory_order_relaxed))
		retire(slabs, some, n);
	pthread_mutex_lock(&slabs->lock);
	for (i = 0; i < n; i++) {
		if (!some[i])
			continue;
		ASAN_POISON_MEMORY_REGION(some[i], SFS_SLAB_BYTES);
		area = is_in(&slabs->private, slabs, some[i], SFS_SLAB_BYTES)
			       ? &slabs->private
			       : &slabs->shared;
		area->free_stack[area->n_free++] = some[i];
	}
	pthread_mutex_unlock(&slabs->lock);
}

void sfs_slabs_trim(struct sfs_slabs *slabs, uint64_t keep_bytes)
{
	size_t keep = sfs_slab_count(keep_bytes);
	bool has_more;

	do {
		pthread_mutex_lock(&slabs->lock);
		has_more = trim_some(&slabs->private, slabs->is_shared ? 0 : keep);
		has_more |= trim_some(&slabs->shared, keep);
		pthread_mutex_unlock(&slabs->lock);
	} while (has_more && sched_yield() == 0);
}

uint64_t sfs_slabs_used(struct sfs_slabs *slabs)
{
	uint64_t n;

	pthread_mutex_lock(&slabs->lock);
	n = slabs->private.n_made - slabs->private.n_free + slabs->shared.n_made -
	    slabs->shared.n_free;
	pthread_mutex_unlock(&slabs->lock);
	return n * SFS_SLAB_BYTES;
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
