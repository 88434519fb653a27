/* SPDX-License-Identifier: MIT */
/* resample - the two loops that take the time of a resize: weighted sums of pixels.
 *
 * Each has a plain form and one for AVX2 that gives the same bytes.  The program finds
 * out at its start which one this machine can run.
 */
#ifndef SFS_RESAMPLE_H
#define SFS_RESAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SFS_RESAMPLE_BITS  22 /* of a weight, behind the point */
#define SFS_RESAMPLE_BLOCK 16 /* rows are made so many at a time */
#define SFS_RESAMPLE_PAD   32 /* bytes behind a row that is made may be overwritten */

/* One direction: result i is the sum of `n_taps` pixels from first[i] on, all of them
 * inside of the image, with the weights from k + i * stride on. */
struct sfs_taps {
	int32_t *first, *k;
	uint32_t n_taps, stride;
};

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

/* For tests: use the plain form.  Returns whether the machine has another. */
bool sfs_resample_set_plain(bool is_plain);

#endif
