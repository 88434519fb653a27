/* SPDX-License-Identifier: MIT */
/* image - resizes pixels of 8 bits as Pillow's BILINEAR does, into a row of a batch.
 *
 * A triangle filter, whose support grows when the image shrinks (so it is antialiased),
 * with Pillow's fixed-point arithmetic: the same bytes as Image.resize(size, BILINEAR,
 * box).  Pure.
 */
#ifndef SFS_IMAGE_H
#define SFS_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sfs_pixels { /* rows without gaps, channels interleaved */
	const unsigned char *data;
	uint32_t width, height, n_channels; /* 1 or 3 */
};

/* Pillow's L of an RGB pixel (ITU-R 601-2). */
static inline unsigned char sfs_image_gray(const unsigned char *rgb)
{
	return (unsigned char)((rgb[0] * 19595U + rgb[1] * 38470U + rgb[2] * 7471U +
				0x8000) >>
			       16);
}

struct sfs_box { /* of pixels, with fractions; inside of the image */
	double x, y, width, height;
};

/* A row of a batch: mirrored, planes first, as floats from 0 to 1. */
struct sfs_image_form {
	uint32_t width, height;
	bool is_mirrored, is_nchw, is_float;
};

/* Are rows of this form just the pixels? */
bool sfs_image_is_plain(const struct sfs_image_form *form, uint32_t n_channels);

/* Put pixels of the form's size into the row. */
void sfs_image_store(const struct sfs_pixels *from, const struct sfs_image_form *form,
		     void *row);
/* One line of them, line y, of n channels. */
void sfs_image_store_row(const unsigned char *from, const struct sfs_image_form *form,
			 uint32_t n, uint32_t y, void *row);

/* Scratch memory; zeroed at first. */
struct sfs_image_scratch {
	unsigned char *rows;
	int32_t *weights;
	size_t n_rows_bytes, n_weights;
};
void sfs_image_scratch_done(struct sfs_image_scratch *scratch);
void sfs_image_scratch_trim(struct sfs_image_scratch *scratch, uint64_t most);

/* The part of a picture of this size that sfs_image_resize() looks at. */
struct sfs_part {
	uint32_t x, y, width, height;
};
struct sfs_part sfs_image_part(uint32_t width, uint32_t height, const struct sfs_box *box,
			       const struct sfs_image_form *form);

/* Put the box of the pixels into the row, at the form's size.  The pixels that are not
 * in sfs_image_part() may have any value. */
void sfs_image_resize(struct sfs_image_scratch *scratch, const struct sfs_pixels *from,
		      const struct sfs_box *box, const struct sfs_image_form *form,
		      void *row);

#endif
