/* SPDX-License-Identifier: MIT */
/* resample - the two loops that take the time of a resize: weighted sums of pixels.
 *
 * Each has a plain form and one for AVX2 that gives the same bytes.  The program finds
 * out at its start which one this machine can run.
 */
#ifndef SFS_RESAMPLE_H
#define SFS_RESAMPLE_H

#include "decode/taps.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SFS_RESAMPLE_BLOCK 16 /* rows are made so many at a time */
#define SFS_RESAMPLE_PAD   32 /* bytes behind a row that is made may be overwritten */

/* Some rows of an image: n_rows from `from` on, of n_row bytes each, become rows of n
 * pixels, to_stride bytes apart: at least their pixels and SFS_RESAMPLE_PAD.  The rows
 * up to the next multiple of SFS_RESAMPLE_BLOCK may be overwritten, too. */
struct sfs_resample_rows {
	const unsigned char *from;
	size_t n_rows, n_row, n_channels; /* 1 or 3 */
	unsigned char *to;
	size_t n, to_stride;
};
void sfs_resample_rows(const struct sfs_resample_rows *rows, const struct sfs_taps *taps);

/* One row of n bytes out of n_taps rows, `stride` bytes apart. */
void sfs_resample_column(const unsigned char *from, size_t stride, const int32_t *k,
			 uint32_t n_taps, size_t n, unsigned char *to);

/* The same with SFS_RESAMPLE_FINE more bits behind the point, rounded down, and for
 * weights below 0, too. */
#define SFS_RESAMPLE_FINE 6
void sfs_resample_fine_column(const unsigned char *from, size_t stride, const int32_t *k,
			      uint32_t n_taps, size_t n, int16_t *to);

/* To the nearest value of 8 bits. */
static inline unsigned char sfs_resample_round_fine(int32_t v)
{
	v = (v + (1 << (SFS_RESAMPLE_FINE - 1))) >> SFS_RESAMPLE_FINE;
	return v < 0 ? 0 : v > 255 ? 255 : (unsigned char)v;
}

/* A line of n pixels of Y, Cb and Cr, as sfs_resample_fine_column() makes them, becomes
 * one of R, G and B. */
void sfs_resample_colors(const int16_t *y, const int16_t *cb, const int16_t *cr, size_t n,
			 unsigned char *to);

/* For tests: use the plain form.  Returns whether the machine has another. */
bool sfs_resample_set_plain(bool is_plain);

#endif
