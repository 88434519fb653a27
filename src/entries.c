/* SPDX-License-Identifier: MIT */
#include "entries.h"

#include "mem.h"

void sfs_entries_init(struct sfs_entries *l, uint64_t offset)
{
	*l = (struct sfs_entries){.start = offset, .end = offset, .capacity = 64};
	l->ring = sfs_calloc(l->capacity, sizeof *l->ring);
}

void sfs_entries_done(struct sfs_entries *l)
{
	free(steal(&l->ring));
}

static void grow(struct sfs_entries *l)
{
	struct sfs_entries larger = *l;
	uint64_t i;

	larger.capacity *= 2;
	larger.ring = sfs_calloc(larger.capacity, sizeof *larger.ring);
	for (i = l->head; i < l->tail; i++)
		*sfs_entries_at(&larger, i) = *sfs_entries_at(l, i);
	free(l->ring);
	*l = larger;
}

struct sfs_entry *sfs_entries_append(struct sfs_entries *l, uint32_t lane, uint64_t start,
				     uint64_t n_bytes)
{
	struct sfs_entry *e;

	if (l->tail - l->head == l->capacity)
		grow(l);
	e = sfs_entries_at(l, l->tail++);
	*e = (struct sfs_entry){.offset = l->end,
				.start = start,
				.n_bytes = n_bytes,
				.lane = lane};
	l->end += n_bytes;
	return e;
}

void sfs_entries_drop_head(struct sfs_entries *l)
{
	l->head++;
	l->start = l->head < l->tail ? sfs_entries_at(l, l->head)->offset : l->end;
}

uint64_t sfs_entries_find(const struct sfs_entries *l, uint64_t offset)
{
	uint64_t low = l->head, high = l->tail - 1, middle;

	while (low < high) {
		middle = high - (high - low) / 2;
		if (sfs_entries_at(l, middle)->offset <= offset)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

bool sfs_entry_overlaps(const struct sfs_entry *e, const struct sfs_read *read)
{
	return read->offset < e->offset + e->n_bytes &&
	       e->offset < read->offset + read->n_bytes;
}
