/* SPDX-License-Identifier: MIT */
/* fakegpu - a "GPU" whose memory is a memfd, for tests of rings in device memory.
 *
 * Its handle is the path of that memfd, /proc/PID/fd/N; with "fakegpu-fd" trainers get
 * the memfd instead.  There are two of them: 0 with FAKE-0 as its UUID, and 1 with
 * FAKE-1. */
#ifndef FAKEGPU_H
#define FAKEGPU_H

#include "shufflefs/ring.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* What a trainer does with a handle or a descriptor; NULL: it cannot be opened. */
static inline const unsigned char *fakegpu_open(const struct shufflefs_ring *ring)
{
	const struct shufflefs_memory *memory = shufflefs_ring_memory(ring);
	int fd = shufflefs_ring_memory_fd(ring);
	void *base = MAP_FAILED;

	if (fd < 0)
		fd = open((const char *)memory->handle, O_RDWR | O_CLOEXEC);
	if (fd >= 0)
		base = mmap(NULL, memory->n_bytes, PROT_READ, MAP_SHARED, fd, 0);
	if (fd >= 0 && fd != shufflefs_ring_memory_fd(ring))
		close(fd);
	return base == MAP_FAILED ? NULL : base;
}

static inline void fakegpu_close(const struct shufflefs_memory *memory,
				 const unsigned char *base)
{
	if (base)
		munmap((void *)base, memory->n_bytes);
}

/* Where a batch's bytes are, on the host or there. */
static inline const unsigned char *fakegpu_data(const struct shufflefs_batch *batch,
						const unsigned char *base)
{
	return batch->data ? batch->data : base + batch->offset;
}

#endif
