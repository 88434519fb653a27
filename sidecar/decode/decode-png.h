/* SPDX-License-Identifier: MIT */
/* decode-png - PNG into pixels, by libpng: every depth, palettes, interlaced.
 *
 * 8 bits a channel: of 16, the high ones stay.  Alpha is dropped, not blended.
 */
#ifndef SFS_DECODE_PNG_H
#define SFS_DECODE_PNG_H

#include "decode/image.h"

#include "base/error.h"

struct sfs_png { /* zeroed at first */
	unsigned char *pixels, **rows;
	size_t n_pixels_bytes, n_rows;
};
void sfs_png_done(struct sfs_png *png);

/* *ret_pixels stay until the next call; with n_channels 0 they have a size, and no data.
 * -EBADMSG, with an error. */
int sfs_png_decode(struct sfs_png *png, const unsigned char *bytes, uint64_t n_bytes,
		   uint32_t n_channels, struct sfs_pixels *ret_pixels,
		   struct sfs_error *err);

#endif
