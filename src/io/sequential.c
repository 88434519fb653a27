/* SPDX-License-Identifier: MIT */
#include "io/sequential.h"

/* A reader may skip a header, and the kernel may ask out of order. */
#define GAP_BYTES ((uint64_t)256 << 10)

uint64_t sfs_sequential_note(struct sfs_sequential *t, const void *of, uint64_t offset,
			     size_t n)
{
	int i;

	for (i = 0; i < SFS_N_SEQUENTIAL; i++) {
		if (t->runs[i].n_bytes == 0 || t->runs[i].of != of ||
		    offset < t->runs[i].end || offset > t->runs[i].end + GAP_BYTES)
			continue;
		t->runs[i].end = offset + n;
		t->runs[i].n_bytes += n;
		return t->runs[i].n_bytes;
	}
	i = t->next;
	t->next = (i + 1) % SFS_N_SEQUENTIAL;
	t->runs[i].of = of;
	t->runs[i].end = offset + n;
	t->runs[i].n_bytes = n;
	return n;
}
