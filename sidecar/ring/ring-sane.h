/* SPDX-License-Identifier: MIT */
/* ring-sane - can what a producer has sent be the memory of a ring?
 *
 * A consumer asks once, before it maps it: later nothing in the memory decides where it
 * reads.  (In a header, for the library of trainers is one source file.)
 */
#ifndef SFS_RING_SANE_H
#define SFS_RING_SANE_H

#include "ring/ring-memory.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

static inline bool sfs_ring_is_layout_sane(const struct shufflefs_layout *layout)
{
	uint32_t i;

	if (layout->n_tensors == 0 || layout->n_tensors > SHUFFLEFS_TENSORS_MAX ||
	    layout->n_samples == 0)
		return false;
	for (i = 0; i < layout->n_tensors; i++) {
		const struct shufflefs_tensor *t = &layout->tensors[i];

		if (!memchr(t->name, 0, sizeof t->name) ||
		    !memchr(t->dtype, 0, sizeof t->dtype) || t->rank == 0 ||
		    t->rank > SHUFFLEFS_DIMS_MAX || t->offset > layout->slot_bytes ||
		    t->row_bytes > (layout->slot_bytes - t->offset) / layout->n_samples)
			return false;
	}
	return true;
}

/* Does all of it lie within the `n_bytes` of the file? */
static inline bool sfs_ring_is_memory_sane(const struct sfs_ring_memory *m, uint64_t n_bytes)
{
	return memcmp(m->magic, SFS_RING_MAGIC, sizeof m->magic) == 0 &&
	       m->version == SFS_RING_VERSION && m->n_bytes == n_bytes &&
	       m->n_slots > 0 && m->n_slots <= SFS_RING_SLOTS_MAX &&
	       m->slots_offset <= n_bytes && m->slots_offset == SFS_RING_SLOTS_OFFSET &&
	       m->slot_stride % SFS_RING_PAGE == 0 &&
	       m->slot_stride >= m->layout.slot_bytes &&
	       m->slot_stride <= (n_bytes - m->slots_offset) / m->n_slots &&
	       sfs_ring_is_layout_sane(&m->layout);
}

/* The memfd must be sealed: if it could shrink, reading would be a SIGBUS. */
static inline bool sfs_ring_is_memfd_sane(int memfd, uint64_t n_slots_bytes)
{
	int seals = fcntl(memfd, F_GET_SEALS);
	struct stat st;

	return seals >= 0 && (seals & F_SEAL_SHRINK) && fstat(memfd, &st) == 0 &&
	       (uint64_t)st.st_size == n_slots_bytes;
}

#endif
