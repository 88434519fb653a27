/* SPDX-License-Identifier: MIT */
/* How this works: what is used is a list, in the order of addresses, and the first gap
 * that is large enough is taken.  The range is RESERVE times what can be in use (the
 * limit, and what was begun below it), which first fit never needs.  There are some
 * hundreds of entries at most: the smallest is a chunk of input.h.
 *
 * The descriptor for others is opened again for reading.  F_SEAL_FUTURE_WRITE would do
 * the same for a process that opens /proc/PID/fd, but then pages cannot go back. */
#include "decode/pool.h"

#include "base/alloc.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE	4096ULL
#define RESERVE 16

struct extent {
	struct extent *next;
	uint64_t begin, end;
};

struct sfs_pool {
	uint64_t limit, n_bytes;
	int fd, read_fd;
	unsigned char *bytes;
	_Atomic uint64_t n_used;

	pthread_mutex_t lock;	/* guards all below */
	struct extent *extents; /* that are in use, in order */
};

static int reopen_for_reading(int fd)
{
	sfs_autofree char *path = sfs_asprintf("/proc/self/fd/%d", fd);

	return open(path, O_RDONLY | O_CLOEXEC);
}

static int make_memory(struct sfs_pool *p)
{
	void *bytes;

	p->fd = memfd_create("shufflefs-samples", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (p->fd < 0 || ftruncate(p->fd, (off_t)p->n_bytes) < 0 ||
	    fcntl(p->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return -errno;
	bytes = mmap(NULL, p->n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
		     p->fd, 0);
	if (bytes == MAP_FAILED)
		return -errno;
	p->bytes = bytes;
	p->read_fd = reopen_for_reading(p->fd);
	return p->read_fd < 0 ? -errno : 0;
}

int sfs_pool_new(uint64_t limit, struct sfs_pool **ret_pool, struct sfs_error *err)
{
	struct sfs_pool *p = sfs_calloc(1, sizeof *p);
	int ret;

	p->limit = limit;
	p->n_bytes = RESERVE * (limit + SFS_POOL_LARGEST) / PAGE * PAGE;
	p->fd = p->read_fd = -1;
	pthread_mutex_init(&p->lock, NULL);
	ret = make_memory(p);
	if (ret < 0) {
		sfs_pool_free(p);
		return sfs_error_set(err, ret,
				     "cannot get shared memory for samples: %s",
				     strerror(-ret));
	}
	*ret_pool = p;
	return 0;
}

void sfs_pool_free(struct sfs_pool *p)
{
	if (!p)
		return;
	assert(!p->extents);
	if (p->bytes)
		munmap(p->bytes, p->n_bytes);
	if (p->read_fd >= 0)
		close(p->read_fd);
	if (p->fd >= 0)
		close(p->fd);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

/* The first gap of n bytes; false: there is none. */
static bool find_gap(struct sfs_pool *p, uint64_t n, struct extent ***ret_at,
		     uint64_t *ret_begin)
{
	struct extent **at;
	uint64_t begin = 0;

	for (at = &p->extents; *at && (*at)->begin - begin < n; at = &(*at)->next)
		begin = (*at)->end;
	if (p->n_bytes - begin < n)
		return false;
	*ret_at = at;
	*ret_begin = begin;
	return true;
}

void *sfs_pool_get(struct sfs_pool *p, uint64_t n)
{
	struct extent **at, *e = NULL;
	uint64_t begin;

	if (n > p->n_bytes)
		return NULL;
	n = n > 0 ? (n + PAGE - 1) / PAGE * PAGE : PAGE;
	pthread_mutex_lock(&p->lock);
	if (find_gap(p, n, &at, &begin)) {
		e = sfs_malloc(sizeof *e);
		*e = (struct extent){.next = *at, .begin = begin, .end = begin + n};
		*at = e;
		p->n_used += n;
	}
	pthread_mutex_unlock(&p->lock);
	return e ? p->bytes + begin : NULL;
}

static struct extent *find(struct sfs_pool *p, const void *bytes)
{
	struct extent *e = p->extents;
	uint64_t begin = (uint64_t)((const unsigned char *)bytes - p->bytes);

	while (e->begin != begin)
		e = e->next;
	return e;
}

static void remove_extent(struct sfs_pool *p, struct extent *e)
{
	struct extent **at = &p->extents;

	while (*at != e)
		at = &(*at)->next;
	*at = e->next;
	p->n_used -= e->end - e->begin;
	free(e);
}

void sfs_pool_put(struct sfs_pool *p, void *bytes)
{
	struct extent *e;
	uint64_t keep;

	pthread_mutex_lock(&p->lock); /* (it is nobody's until its pages have gone) */
	e = find(p, bytes);
	pthread_mutex_unlock(&p->lock);
	keep = e->begin > p->limit ? e->begin : p->limit;
	if (e->end > keep)
		fallocate(p->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)keep,
			  (off_t)(e->end - keep));
	pthread_mutex_lock(&p->lock);
	remove_extent(p, e);
	pthread_mutex_unlock(&p->lock);
}

uint64_t sfs_pool_used(struct sfs_pool *p)
{
	return p->n_used;
}

void sfs_pool_look(const struct sfs_pool *p, struct sfs_pool_memory *ret)
{
	*ret = (struct sfs_pool_memory){p->read_fd, p->bytes, p->n_bytes};
}
