/* SPDX-License-Identifier: MIT */
#include "order/merge.h"

#include "base/alloc.h"
#include "order/order.h"

#include <assert.h>

_Static_assert(SFS_LANES_MAX <= 1 << 16, "a lane fits 16 bits");

void sfs_merge_init(struct sfs_merge *merge, uint32_t n_lanes)
{
	*merge = (struct sfs_merge){
		.heap = sfs_reallocarray(NULL, n_lanes, sizeof *merge->heap)};
}

void sfs_merge_done(struct sfs_merge *merge)
{
	free(merge->heap);
	*merge = (struct sfs_merge){0};
}

void sfs_merge_add(struct sfs_merge *merge, uint32_t lane, uint64_t time)
{
	uint64_t key = time << 16 | lane;
	uint32_t i = merge->n++, above;

	assert(time >> 48 == 0);
	for (; i > 0 && merge->heap[above = (i - 1) / 2] > key; i = above)
		merge->heap[i] = merge->heap[above];
	merge->heap[i] = key;
}

void sfs_merge_set(struct sfs_merge *merge, uint64_t time)
{
	uint64_t key = time << 16 | sfs_merge_lane(merge), *heap = merge->heap;
	uint32_t i = 0, below;

	assert(time == SFS_NEVER || time >> 48 == 0);
	if (time == SFS_NEVER)
		key = heap[--merge->n];
	for (; (below = 2 * i + 1) < merge->n; i = below) {
		below += below + 1 < merge->n && heap[below + 1] < heap[below];
		if (key <= heap[below])
			break;
		heap[i] = heap[below];
	}
	heap[i] = key;
}
