/* SPDX-License-Identifier: MIT */
/* taps - the weights of a resize, along one direction of an image.
 *
 * Result i is the sum of `n_taps` pixels from first[i] on, all of them inside of the
 * image, with the weights from k + i * stride on.  Weights are integers with
 * SFS_TAPS_BITS bits behind the point.  Pure.
 */
#ifndef SFS_TAPS_H
#define SFS_TAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SFS_TAPS_BITS 22

struct sfs_taps {
	int32_t *first, *k;
	uint32_t n_taps, stride;
};

/* `length` of n_pixels pixels, from `start` on, become n results. */
struct sfs_direction {
	double start, length;
	uint32_t n_pixels, n;
};

/* How many words the taps take. */
size_t sfs_taps_room(const struct sfs_direction *d);

/* Pillow's BILINEAR, in `memory`; returns what is left of it. */
int32_t *sfs_taps_make(const struct sfs_direction *d, int32_t *memory,
		       struct sfs_taps *ret_taps);

/* The pixels that some result needs. */
void sfs_taps_part(const struct sfs_direction *d, uint32_t *ret_begin, uint32_t *ret_n);

/* The decoder has only every second one of the n_pixels pixels, (n_pixels + 1) / 2, each
 * halfway between two.  These taps of theirs give what `from` gives of all, when those
 * are made anew.  There are n_taps / 2 + SFS_TAPS_EXTRA of them at most. */
#define SFS_TAPS_EXTRA 4
enum sfs_halving {
	SFS_HALVED_CHROMA, /* as libjpeg makes them: 3/4 of the nearer one, 1/4 of the other */
	SFS_HALVED_DCT,	   /* from a smaller DCT: by a cubic through four of them */
};
int32_t *sfs_taps_halve(const struct sfs_taps *from, uint32_t n, uint32_t n_pixels,
			enum sfs_halving how, int32_t *memory, struct sfs_taps *ret_taps);

#endif
