/* SPDX-License-Identifier: MIT */
#include "stream/extent-map.h"

#include "base/alloc.h"

void sfs_extent_map_init(struct sfs_extent_map *l, uint64_t offset)
{
	*l = (struct sfs_extent_map){.start = offset, .end = offset, .capacity = 64};
	l->ring = sfs_calloc(l->capacity, sizeof *l->ring);
}

void sfs_extent_map_done(struct sfs_extent_map *l)
{
	free(steal(&l->ring));
}

static void grow(struct sfs_extent_map *l)
{
	struct sfs_extent_map larger = *l;
	uint64_t i;

	larger.capacity *= 2;
	larger.ring = sfs_calloc(larger.capacity, sizeof *larger.ring);
	for (i = l->head; i < l->tail; i++)
		*sfs_extent_map_at(&larger, i) = *sfs_extent_map_at(l, i);
	free(l->ring);
	*l = larger;
}

struct sfs_mapped_extent *sfs_extent_map_append(struct sfs_extent_map *l, uint32_t lane,
						uint64_t start, uint64_t n_bytes)
{
	struct sfs_mapped_extent *e;

	if (l->tail - l->head == l->capacity)
		grow(l);
	e = sfs_extent_map_at(l, l->tail++);
	*e = (struct sfs_mapped_extent){.offset = l->end,
					.start = start,
					.n_bytes = n_bytes,
					.lane = lane};
	l->end += n_bytes;
	return e;
}

void sfs_extent_map_drop_head(struct sfs_extent_map *l)
{
	l->head++;
	l->start = l->head < l->tail ? sfs_extent_map_at(l, l->head)->offset : l->end;
}

uint64_t sfs_extent_map_find(const struct sfs_extent_map *l, uint64_t offset)
{
	uint64_t low = l->head, high = l->tail - 1, middle;

	while (low < high) {
		middle = high - (high - low) / 2;
		if (sfs_extent_map_at(l, middle)->offset <= offset)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

bool sfs_mapped_extent_overlaps(const struct sfs_mapped_extent *e,
				const struct sfs_read *read)
{
	return read->offset < e->offset + e->n_bytes &&
	       e->offset < read->offset + read->n_bytes;
}
