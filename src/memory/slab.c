/* SPDX-License-Identifier: MIT */
/* How this works: a stack of free slabs over one mapping without a reserve, so
 * a slab costs memory from its first use on.  `n_made` slabs were ever handed
 * out; the rest of the mapping has never been touched.  Of the free stack, the
 * lowest `n_cold` entries hold no memory any more (they were trimmed).
 *
 * The mapping asks for no huge pages.  Small ones come from where the kernel has given
 * and got pages of late; a huge one is memory that has long been free, which the host of
 * a virtual machine may have taken back, and that costs more than all else (decision 21).
 * A slab that is trimmed then is memory that is given back, as well: of a huge page the
 * kernel would fill it again. */
#include "memory/slab.h"

#include "base/alloc.h"
#include "base/log.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n)	  ((void)0)
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)0)
#endif

#define TRIM_SLABS 16 /* at a time: a few ms at most */

struct sfs_slabs {
	char *base;
	size_t capacity; /* in slabs */

	pthread_mutex_t lock; /* guards all below */
	size_t n_made;
	size_t n_free, n_cold;
	void **free_stack;
};

struct sfs_slabs *sfs_slabs_new(uint64_t capacity_bytes)
{
	struct sfs_slabs *slabs = sfs_calloc(1, sizeof *slabs);

	slabs->capacity = sfs_slab_count(capacity_bytes);
	slabs->base = mmap(NULL, slabs->capacity * SFS_SLAB_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (slabs->base == MAP_FAILED) {
		sfs_error("cannot reserve %zu bytes of address space: raise ulimit -v",
			  slabs->capacity * SFS_SLAB_BYTES);
		abort();
	}
	madvise(slabs->base, slabs->capacity * SFS_SLAB_BYTES, MADV_NOHUGEPAGE);
	slabs->free_stack = sfs_reallocarray(NULL, slabs->capacity, sizeof(void *));
	pthread_mutex_init(&slabs->lock, NULL);
	return slabs;
}

void sfs_slabs_free(struct sfs_slabs *slabs)
{
	if (!slabs)
		return;
	assert(slabs->n_free == slabs->n_made);
	ASAN_UNPOISON_MEMORY_REGION(slabs->base, slabs->capacity * SFS_SLAB_BYTES);
	munmap(slabs->base, slabs->capacity * SFS_SLAB_BYTES);
	pthread_mutex_destroy(&slabs->lock);
	free(slabs->free_stack);
	free(slabs);
}

void sfs_slabs_get(struct sfs_slabs *slabs, void **ret_slabs, size_t n)
{
	size_t i;

	pthread_mutex_lock(&slabs->lock);
	for (i = 0; i < n; i++) {
		if (slabs->n_free > 0) {
			ret_slabs[i] = slabs->free_stack[--slabs->n_free];
		} else {
			assert(slabs->n_made < slabs->capacity);
			ret_slabs[i] = slabs->base + slabs->n_made++ * SFS_SLAB_BYTES;
		}
		ASAN_UNPOISON_MEMORY_REGION(ret_slabs[i], SFS_SLAB_BYTES);
	}
	if (slabs->n_cold > slabs->n_free)
		slabs->n_cold = slabs->n_free;
	pthread_mutex_unlock(&slabs->lock);
}

void sfs_slabs_put(struct sfs_slabs *slabs, void *const *some, size_t n)
{
	size_t i;

	pthread_mutex_lock(&slabs->lock);
	for (i = 0; i < n; i++) {
		if (!some[i])
			continue;
		ASAN_POISON_MEMORY_REGION(some[i], SFS_SLAB_BYTES);
		slabs->free_stack[slabs->n_free++] = some[i];
	}
	pthread_mutex_unlock(&slabs->lock);
}

/* A few, for others wait for the lock meanwhile.  false: that was the last. */
static bool trim_some(struct sfs_slabs *slabs, size_t keep)
{
	int n = 0;

	pthread_mutex_lock(&slabs->lock);
	for (; n < TRIM_SLABS && slabs->n_free - slabs->n_cold > keep; n++)
		madvise(slabs->free_stack[slabs->n_cold++], SFS_SLAB_BYTES,
			MADV_DONTNEED);
	pthread_mutex_unlock(&slabs->lock);
	return n == TRIM_SLABS;
}

void sfs_slabs_trim(struct sfs_slabs *slabs, uint64_t keep_bytes)
{
	size_t keep = sfs_slab_count(keep_bytes);

	while (trim_some(slabs, keep))
		sched_yield();
}

uint64_t sfs_slabs_used(struct sfs_slabs *slabs)
{
	uint64_t n;

	pthread_mutex_lock(&slabs->lock);
	n = (slabs->n_made - slabs->n_free) * SFS_SLAB_BYTES;
	pthread_mutex_unlock(&slabs->lock);
	return n;
}
