/* SPDX-License-Identifier: MIT */
/* How this works
 *
 * libpng reads from memory by a callback and leaves by longjmp(); all that must outlive
 * the jump is in `struct read`.
 */
#include "decode/decode-png.h"

#include "base/alloc.h"

#include <errno.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <png.h>

#define PIXELS_MAX (64U << 20) /* more is a bomb */

struct read {
	png_structp png;
	png_infop info;
	const unsigned char *next;
	uint64_t n_left;
	char message[160];
};

void sfs_png_done(struct sfs_png *png)
{
	free(png->pixels);
	free(png->rows);
	memset(png, 0, sizeof *png);
}

static void on_error(png_structp png, png_const_charp message)
{
	struct read *r = png_get_error_ptr(png);

	snprintf(r->message, sizeof r->message, "%s", message);
	png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp message)
{
	(void)png, (void)message; /* of chunks that are not pixels */
}

static void read_bytes(png_structp png, png_bytep to, size_t n)
{
	struct read *r = png_get_io_ptr(png);

	if (n > r->n_left)
		png_error(png, "the file is truncated");
	memcpy(to, r->next, n);
	r->next += n;
	r->n_left -= n;
}

/* Returns the number of channels that libpng makes: it makes no gray, for it would round
 * down. */
static uint32_t set_transforms(struct read *r, uint32_t n_channels)
{
	int color = png_get_color_type(r->png, r->info);

	png_set_strip_16(r->png);
	png_set_packing(r->png);
	if (color == PNG_COLOR_TYPE_PALETTE)
		png_set_palette_to_rgb(r->png);
	if (color == PNG_COLOR_TYPE_GRAY)
		png_set_expand_gray_1_2_4_to_8(r->png);
	png_set_strip_alpha(r->png);
	if (n_channels == 3 && !(color & PNG_COLOR_MASK_COLOR))
		png_set_gray_to_rgb(r->png);
	png_set_interlace_handling(r->png);
	png_read_update_info(r->png, r->info);
	return color & PNG_COLOR_MASK_COLOR ? 3 : n_channels;
}

static void make_gray(unsigned char *pixels, size_t n)
{
	const unsigned char *rgb = pixels;
	size_t i;

	for (i = 0; i < n; i++, rgb += 3)
		pixels[i] = sfs_image_gray(rgb);
}

static void read_image(struct read *r, struct sfs_png *png, uint32_t n_channels,
		       struct sfs_pixels *ret_pixels)
{
	uint32_t width = png_get_image_width(r->png, r->info), y;
	uint32_t height = png_get_image_height(r->png, r->info);
	uint32_t n_made;
	size_t n_row;

	if ((uint64_t)width * height > PIXELS_MAX)
		png_error(r->png, "more than 64 million pixels");
	if (n_channels > 0) {
		n_made = set_transforms(r, n_channels);
		n_row = (size_t)width * n_made;
		if (png_get_rowbytes(r->png, r->info) != n_row)
			png_error(r->png, "an unknown pixel format");
		png->pixels = sfs_make_room(png->pixels, &png->n_pixels_bytes,
					    n_row * height, 1);
		png->rows =
			sfs_make_room(png->rows, &png->n_rows, height, sizeof *png->rows);
		for (y = 0; y < height; y++)
			png->rows[y] = png->pixels + y * n_row;
		png_read_image(r->png, png->rows);
		png_read_end(r->png, NULL);
		if (n_made > n_channels)
			make_gray(png->pixels, (size_t)width * height);
	}
	*ret_pixels = (struct sfs_pixels){n_channels ? png->pixels : NULL, width, height,
					  n_channels};
}

int sfs_png_decode(struct sfs_png *png, const unsigned char *bytes, uint64_t n_bytes,
		   uint32_t n_channels, struct sfs_pixels *ret_pixels,
		   struct sfs_error *err)
{
	struct read r = {.next = bytes, .n_left = n_bytes};
	volatile int ret = 0; /* (it is set behind the jump) */

	r.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &r, on_error, on_warning);
	r.info = r.png ? png_create_info_struct(r.png) : NULL;
	if (!r.info)
		abort(); /* no memory */
	if (setjmp(png_jmpbuf(r.png))) {
		ret = sfs_error_set(err, -EBADMSG, "libpng: %s", r.message);
	} else {
		png_set_read_fn(r.png, &r, read_bytes);
		png_read_info(r.png, r.info);
		read_image(&r, png, n_channels, ret_pixels);
	}
	png_destroy_read_struct(&r.png, &r.info, NULL);
	return ret;
}
