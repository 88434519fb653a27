/* SPDX-License-Identifier: MIT */
/* planes - resizes an image that was decoded to planes of Y, Cb and Cr.
 *
 * The result is that of sfs_image_resize() on the pixels that the planes are, but for
 * rounding, and for pixels with colours that RGB does not have: there they are clipped
 * before they are summed, here after it.  It takes less time: there are fewer samples to
 * sum, and only results are converted to RGB.  Planes that a smaller DCT has made lack
 * the finest details.  Pure.
 */
#ifndef SFS_PLANES_H
#define SFS_PLANES_H

#include "decode/image.h"

#include <stdint.h>

#define SFS_PLANES_HALVINGS_MAX 3

struct sfs_plane {
	const unsigned char *data;
	size_t n_row; /* bytes, at least 32 */
	uint32_t width, height;
	/* How often its sides were halved: once at most because chroma is subsampled, and
	 * by a smaller DCT. */
	uint8_t n_x_chroma, n_y_chroma, n_dct;
};

struct sfs_planes {
	struct sfs_plane planes[3]; /* Y, Cb, Cr; the latter two are of one size */
	uint32_t n;		    /* 3, or 1: only Y */
	uint32_t width, height;	    /* of the image */
};

/* How often sides may be halved by a smaller DCT, so that three times as many pixels are
 * left as the result has. */
uint32_t sfs_planes_halvings(const struct sfs_box *box, const struct sfs_image_form *form);

/* As sfs_image_resize(), to n_channels, 1 (which takes one plane) or 3.  Samples that
 * are more than 16 of their own pixels away from sfs_image_part() may have any value. */
void sfs_planes_resize(struct sfs_image_scratch *scratch, const struct sfs_planes *from,
		       const struct sfs_box *box, const struct sfs_image_form *form,
		       uint32_t n_channels, void *row);

#endif
