/* SPDX-License-Identifier: MIT */
#include "stream/cursor/extent-map.h"

#include "base/alloc.h"

void sfs_extent_map_init(struct sfs_extent_map *m, uint64_t offset)
{
	*m = (struct sfs_extent_map){.start = offset, .end = offset, .capacity = 64};
	m->ring = sfs_calloc(m->capacity, sizeof *m->ring);
}

void sfs_extent_map_done(struct sfs_extent_map *m)
{
	free(steal(&m->ring));
}

static void grow(struct sfs_extent_map *m)
{
	struct sfs_extent_map larger = *m;
	uint64_t i;

	larger.capacity *= 2;
	larger.ring = sfs_calloc(larger.capacity, sizeof *larger.ring);
	for (i = m->head; i < m->tail; i++)
		*sfs_extent_map_at(&larger, i) = *sfs_extent_map_at(m, i);
	free(m->ring);
	*m = larger;
}

struct sfs_mapped_extent *sfs_extent_map_append(struct sfs_extent_map *m, uint64_t start,
						uint64_t n_bytes)
{
	struct sfs_mapped_extent *e;

	if (m->tail - m->head == m->capacity)
		grow(m);
	e = sfs_extent_map_at(m, m->tail++);
	*e = (struct sfs_mapped_extent){
		.offset = m->end,
		.start = start,
		.n_bytes = n_bytes,
	};
	m->end += n_bytes;
	return e;
}

void sfs_extent_map_drop_head(struct sfs_extent_map *m)
{
	m->head++;
	m->start = m->head < m->tail ? sfs_extent_map_at(m, m->head)->offset : m->end;
}

uint64_t sfs_extent_map_find(const struct sfs_extent_map *m, uint64_t offset)
{
	uint64_t low = m->head, high = m->tail - 1, middle;

	while (low < high) {
		middle = high - (high - low) / 2;
		if (sfs_extent_map_at(m, middle)->offset <= offset)
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
