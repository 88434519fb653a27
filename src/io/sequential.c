/* SPDX-License-Identifier: MIT */
#include "io/sequential.h"

/* A reader that jumps over a header, or a kernel that asks out of order. */
#define GAP_BYTES ((uint64_t)256 << 10)

uint64_t sfs_sequential_note(struct sfs_sequential *t, const void *of, uint64_t offset,
			     size_t n)
{
	int i;

	for (i = 0; i < SFS_N_SEQUENTIAL; i++) {
		if (t->trails[i].n_bytes == 0 || t->trails[i].of != of ||
		    offset < t->trails[i].end || offset > t->trails[i].end + GAP_BYTES)
			continue;
		t->trails[i].end = offset + n;
		t->trails[i].n_bytes += n;
		return t->trails[i].n_bytes;
	}
	i = t->next;
	t->next = (i + 1) % SFS_N_SEQUENTIAL;
	t->trails[i].of = of;
	t->trails[i].end = offset + n;
	t->trails[i].n_bytes = n;
	return n;
}
