/* SPDX-License-Identifier: MIT */
/* A part of a JPEG has the pixels that it has in the whole, and a box is resized to the
 * same bytes from the part that it needs as from the whole: with each subsampling, with
 * restart markers and scans, in gray, CMYK, at all borders, and in one pixel.  A file
 * that is cut behind the part, or before it, or lacks its tables, is an error. */
#include "check.h"
#include "made-jpegs.h"

#include "base/rng.h"
#include "decode/decode-jpeg.h"
#include "decode/image.h"

#include <errno.h>

#define N_TURNS	   12
#define SIDE_MAX   200
#define ROW_BYTES  (64 * 64 * 3)
#define FILE_BYTES (1 << 20)

static const struct jpeg_kind kinds[] = {
	{150, 130, 1, 1, 0, JCS_RGB, JCS_YCbCr, false},
	{150, 130, 2, 1, 0, JCS_RGB, JCS_YCbCr, false},
	{150, 130, 2, 2, 0, JCS_RGB, JCS_YCbCr, false},
	{150, 130, 1, 2, 0, JCS_RGB, JCS_YCbCr, false},
	{150, 130, 4, 1, 0, JCS_RGB, JCS_YCbCr, false},
	{150, 130, 2, 2, 1, JCS_RGB, JCS_YCbCr, false},
	{150, 130, 2, 1, 1, JCS_RGB, JCS_YCbCr, true},
	{150, 130, 2, 2, 0, JCS_RGB, JCS_YCbCr, true},
	{161, 97, 1, 1, 0, JCS_GRAYSCALE, JCS_GRAYSCALE, false},
	{97, 161, 2, 2, 0, JCS_CMYK, JCS_YCCK, false},
	{1, 1, 2, 2, 0, JCS_RGB, JCS_YCbCr, false},
	{1, 199, 2, 2, 0, JCS_RGB, JCS_YCbCr, false},
	{200, 3, 2, 2, 1, JCS_RGB, JCS_YCbCr, false},
	{17, 33, 2, 2, 0, JCS_RGB, JCS_YCbCr, true},
};

static struct sfs_rng rng;
static struct sfs_error err;
static unsigned char *file;

static unsigned char row[SIDE_MAX * 4];

static void draw_row(unsigned char *to, uint32_t y, uint32_t width, uint32_t n_channels)
{
	size_t i;

	for (i = 0; i < sizeof row; i++)
		to[i] = (unsigned char)sfs_rng_next(&rng);
}

/* Into `file`; returns its size. */
static unsigned long make_file(const struct jpeg_kind *k)
{
	return jpeg_make(k, file, FILE_BYTES, row, draw_row);
}

static void check_pixels(const struct sfs_pixels *whole, const struct sfs_pixels *p,
			 const struct sfs_part *part)
{
	size_t n = whole->n_channels, at, y;

	CHECK_EQ(p->width, whole->width);
	CHECK_EQ(p->height, whole->height);
	for (y = part->y; y < part->y + part->height; y++) {
		at = (y * whole->width + part->x) * n;
		CHECK(memcmp(p->data + at, whole->data + at, part->width * n) == 0);
	}
}

/* (a decoder of its own, whose memory has no pixels of the whole) */
static void check_part(unsigned long n_bytes, const struct sfs_pixels *whole)
{
	static unsigned char a[ROW_BYTES], b[ROW_BYTES];
	struct sfs_image_form form = {1 + (uint32_t)sfs_rng_below(&rng, 64),
				      1 + (uint32_t)sfs_rng_below(&rng, 64), false, false,
				      false};
	struct sfs_image_scratch scratch = {0};
	struct sfs_jpeg *jpeg = sfs_jpeg_new();
	struct sfs_pixels p;
	struct sfs_part part;
	struct sfs_box box;

	jpeg_draw_range(&rng, whole->width, 4, 4, &box.x, &box.width);
	jpeg_draw_range(&rng, whole->height, 4, 4, &box.y, &box.height);
	part = sfs_image_part(whole->width, whole->height, &box, &form);
	CHECK_EQ(sfs_jpeg_decode_part(jpeg, file, n_bytes, whole->n_channels, &part, &p,
				      &err),
		 0);
	check_pixels(whole, &p, &part);
	sfs_image_resize(&scratch, whole, &box, &form, a);
	sfs_image_resize(&scratch, &p, &box, &form, b);
	CHECK(memcmp(a, b, (size_t)form.width * form.height * p.n_channels) == 0);
	sfs_image_scratch_done(&scratch);
	sfs_jpeg_free(jpeg);
}

/* Then the decoder decodes the next file as if nothing had been. */
static void check_cut(struct sfs_jpeg *jpeg, unsigned long n_bytes,
		      const struct sfs_pixels *whole)
{
	struct sfs_part part = {0, 0, 1, 1};
	struct sfs_pixels p;

	CHECK_EQ(sfs_jpeg_decode_part(jpeg, file, n_bytes - 200, 3, &part, &p, &err),
		 -EBADMSG);
	CHECK_HAS(err.text, "Premature end");
	part = (struct sfs_part){whole->width - 1, whole->height - 1, 1, 1};
	CHECK_EQ(sfs_jpeg_decode_part(jpeg, file, n_bytes / 2, 3, &part, &p, &err),
		 -EBADMSG);
	CHECK_EQ(sfs_jpeg_decode_part(jpeg, file, n_bytes, 3, &part, &p, &err), 0);
}

/* Without its quantisation tables a file is broken, whatever was decoded before. */
static void check_tables(struct sfs_jpeg *jpeg, unsigned long n_bytes)
{
	struct sfs_pixels p;
	unsigned long i;

	for (i = 0; i + 2 < n_bytes && file[i + 1] != 0xda; i++)
		if (file[i] == 0xff && file[i + 1] == 0xdb)
			file[i + 1] = 0xef; /* DQT becomes APP15 */
	CHECK_EQ(sfs_jpeg_decode(jpeg, file, n_bytes, 3, &p, &err), -EBADMSG);
	CHECK_HAS(err.text, "Quantization table");
}

static void check_kind(const struct jpeg_kind *k, uint32_t n_channels)
{
	struct sfs_jpeg *jpeg = sfs_jpeg_new(), *other = sfs_jpeg_new();
	unsigned long n = make_file(k);
	struct sfs_pixels whole;
	int i;

	CHECK_EQ(sfs_jpeg_decode(jpeg, file, n, n_channels, &whole, &err), 0);
	for (i = 0; i < N_TURNS; i++)
		check_part(n, &whole);
	if (n > 2000)
		check_cut(other, n, &whole);
	check_tables(jpeg, n);
	sfs_jpeg_free(jpeg);
	sfs_jpeg_free(other);
}

int main(void)
{
	size_t i;

	file = malloc(FILE_BYTES);
	sfs_rng_init(&rng, &(uint64_t){5}, 1);
	for (i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		check_kind(&kinds[i], 3);
		check_kind(&kinds[i], 1);
	}
	free(file);
	return 0;
}
