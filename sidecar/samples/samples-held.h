/* SPDX-License-Identifier: MIT */
/* samples-held - what a trainer has had and not released: numbers from 0, each with
 * something that belongs to it.  Pure. */
#ifndef SFS_SAMPLES_HELD_H
#define SFS_SAMPLES_HELD_H

#include <stddef.h>
#include <stdint.h>

struct sfs_samples_held {
	uint64_t n_put; /* the next number */
	uint64_t n;	/* that are held */
	struct sfs_samples_held_row {
		uint64_t number;
		void *item; /* NULL: was released */
	} * rows;	    /* in order */
	size_t first, n_rows, capacity;
};

void sfs_samples_held_done(struct sfs_samples_held *held);

/* Returns its number. */
uint64_t sfs_samples_held_put(struct sfs_samples_held *held, void *item);

/* NULL: it is not held. */
void *sfs_samples_held_take(struct sfs_samples_held *held, uint64_t number);

/* The oldest below a number; NULL: there is none. */
void *sfs_samples_held_take_below(struct sfs_samples_held *held, uint64_t number);

/* The newest from a number on; NULL: there is none. */
void *sfs_samples_held_take_last(struct sfs_samples_held *held, uint64_t number);

#endif
