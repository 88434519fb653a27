/* SPDX-License-Identifier: MIT */
/* How this works: rows are in the order of their numbers, which are looked for by
 * halving.  What was released in the middle leaves a row, until half of the rows are
 * such: so who keeps one sample for an epoch costs no more than who keeps it briefly. */
#include "samples/samples-held.h"

#include "base/alloc.h"

#include <string.h>

void sfs_samples_held_done(struct sfs_samples_held *h)
{
	free(h->rows);
	*h = (struct sfs_samples_held){0};
}

/* Leave out the rows of what was released. */
static void compact(struct sfs_samples_held *h)
{
	size_t i, n = 0;

	for (i = h->first; i < h->n_rows; i++)
		if (h->rows[i].item)
			h->rows[n++] = h->rows[i];
	h->first = 0;
	h->n_rows = n;
}

uint64_t sfs_samples_held_put(struct sfs_samples_held *h, void *item)
{
	if (h->n_rows == h->capacity && h->n <= h->capacity / 2)
		compact(h);
	if (h->n_rows == h->capacity) {
		h->capacity = 2 * h->capacity + 64;
		h->rows = sfs_reallocarray(h->rows, h->capacity, sizeof *h->rows);
	}
	h->rows[h->n_rows++] = (struct sfs_samples_held_row){h->n_put, item};
	h->n++;
	return h->n_put++;
}

static void *take_row(struct sfs_samples_held *h, size_t i)
{
	void *item = h->rows[i].item;

	h->rows[i].item = NULL;
	h->n -= item != NULL;
	while (h->first < h->n_rows && !h->rows[h->first].item)
		h->first++;
	while (h->n_rows > h->first && !h->rows[h->n_rows - 1].item)
		h->n_rows--;
	return item;
}

void *sfs_samples_held_take(struct sfs_samples_held *h, uint64_t number)
{
	size_t low = h->first, high = h->n_rows, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (h->rows[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == h->n_rows || h->rows[low].number != number)
		return NULL;
	return take_row(h, low);
}

void *sfs_samples_held_take_below(struct sfs_samples_held *h, uint64_t number)
{
	if (h->first == h->n_rows || h->rows[h->first].number >= number)
		return NULL;
	return take_row(h, h->first);
}

void *sfs_samples_held_take_last(struct sfs_samples_held *h, uint64_t number)
{
	if (h->first == h->n_rows || h->rows[h->n_rows - 1].number < number)
		return NULL;
	return take_row(h, h->n_rows - 1);
}
