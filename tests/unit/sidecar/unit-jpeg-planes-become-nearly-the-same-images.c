/* SPDX-License-Identifier: MIT */
/* An image that is resized from planes of Y, Cb and Cr has nearly the values that it has
 * when it is resized from pixels: if its colours are RGB's, all but one in a thousand are
 * at most 2 from them, and none more than 4; in gray they are the same.  With each subsampling, with restart markers and scans, in gray, of
 * all sizes, enlarged and cut; with a smaller DCT, if that leaves three times as many
 * pixels as the result has.  Vector code and plain code agree, nothing depends on samples
 * that the part does not need, and mirrored, planar and float rows have the same values.
 * A file of other colours, other subsampling, or few columns is refused as one without
 * planes, and one that is cut is an error. */
#include "check.h"
#include "made-jpegs.h"

#include "base/rng.h"
#include "decode/decode-jpeg.h"
#include "decode/planes.h"
#include "decode/resample.h"

#include <errno.h>

#define N_TURNS	   8
#define SIDE_MAX   700
#define FORM_MAX   96
#define ROW_BYTES  (FORM_MAX * FORM_MAX * 3)
#define FILE_BYTES (4 << 20)

struct kind {
	struct jpeg_kind jpeg;
	bool is_refused;
};

static const struct kind kinds[] = {
	{{150, 130, 1, 1, 0, JCS_RGB, JCS_YCbCr, false}, false},
	{{150, 130, 2, 1, 0, JCS_RGB, JCS_YCbCr, false}, false},
	{{151, 131, 2, 2, 0, JCS_RGB, JCS_YCbCr, false}, false},
	{{150, 130, 1, 2, 0, JCS_RGB, JCS_YCbCr, false}, false},
	{{150, 130, 2, 2, 1, JCS_RGB, JCS_YCbCr, false}, false},
	{{150, 130, 2, 1, 1, JCS_RGB, JCS_YCbCr, true}, false},
	{{149, 133, 2, 2, 0, JCS_RGB, JCS_YCbCr, true}, false},
	{{161, 97, 1, 1, 0, JCS_GRAYSCALE, JCS_GRAYSCALE, false}, false},
	{{1, 1, 2, 2, 0, JCS_RGB, JCS_YCbCr, false}, true},
	{{4, 199, 2, 2, 0, JCS_RGB, JCS_YCbCr, false}, true},
	{{5, 199, 2, 2, 0, JCS_RGB, JCS_YCbCr, false}, false},
	{{200, 3, 2, 2, 1, JCS_RGB, JCS_YCbCr, false}, false},
	{{7, 1, 2, 1, 0, JCS_RGB, JCS_YCbCr, false}, false},
	{{17, 33, 2, 2, 0, JCS_RGB, JCS_YCbCr, true}, false},
	{{700, 601, 2, 2, 0, JCS_RGB, JCS_YCbCr, false}, false},
	{{699, 650, 1, 1, 0, JCS_RGB, JCS_YCbCr, false}, false},
	{{97, 161, 2, 2, 0, JCS_CMYK, JCS_YCCK, false}, true},
	{{150, 130, 4, 1, 0, JCS_RGB, JCS_YCbCr, false}, true},
	{{150, 130, 1, 1, 0, JCS_RGB, JCS_RGB, false}, true},
};

static struct sfs_rng rng;
static struct sfs_error err;
static unsigned char *file;
static unsigned long n_values, n_off; /* those that are more than 2 off */

/* Colours that change slowly, with some noise: far from the ends of what RGB has. */
static unsigned char draw_sample(uint32_t x, uint32_t y, uint32_t c)
{
	uint32_t wave = (x * (3 + c) + y * (5 - c)) % 256;

	wave = wave < 128 ? wave : 255 - wave;
	return (unsigned char)(60 + wave + sfs_rng_below(&rng, 9));
}

static void draw_row(unsigned char *row, uint32_t y, uint32_t width, uint32_t n_channels)
{
	uint32_t i;

	for (i = 0; i < width * n_channels; i++)
		row[i] = draw_sample(i / n_channels, y, i % n_channels);
}

/* Into `file`; returns its size. */
static unsigned long make_file(const struct kind *k)
{
	static unsigned char row[SIDE_MAX * 4];

	return jpeg_make(&k->jpeg, file, FILE_BYTES, row, draw_row);
}

/* (a decoder of its own, whose memory has nothing of another part) */
static void resize_planes(unsigned long n_bytes, uint32_t n_channels,
			  const struct sfs_part *part, const struct sfs_box *box,
			  const struct sfs_image_form *form, void *row)
{
	struct sfs_image_scratch scratch = {0};
	struct sfs_jpeg *jpeg = sfs_jpeg_new();
	struct sfs_planes planes;

	CHECK_EQ(sfs_jpeg_decode_planes(jpeg, file, n_bytes, n_channels,
					sfs_planes_halvings(box, form), part, &planes,
					&err),
		 0);
	sfs_planes_resize(&scratch, &planes, box, form, n_channels, row);
	sfs_image_scratch_done(&scratch);
	sfs_jpeg_free(jpeg);
}

/* Mirrored, planes first, as floats: the plain row's values, elsewhere. */
static void check_form(unsigned long n_bytes, uint32_t n, const struct sfs_part *part,
		       const struct sfs_box *box, struct sfs_image_form form,
		       const unsigned char *plain)
{
	static float row[ROW_BYTES];
	size_t x, y, c, at;

	form.is_mirrored = form.is_nchw = form.is_float = true;
	resize_planes(n_bytes, n, part, box, &form, row);
	for (c = 0; c < n; c++)
		for (y = 0; y < form.height; y++)
			for (x = 0; x < form.width; x++) {
				at = (y * form.width + form.width - 1 - x) * n + c;
				CHECK(row[(c * form.height + y) * form.width + x] ==
				      (float)plain[at] / 255);
			}
}

static void check_near(const unsigned char *a, const unsigned char *b, size_t n, int most)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (abs(a[i] - b[i]) > most) {
			fprintf(stderr, "value %zu of %zu is %d, not %d\n", i, n, b[i],
				a[i]);
			exit(1);
		}
		n_off += abs(a[i] - b[i]) > 2;
	}
	n_values += n;
}

static void check_box(const struct kind *k, unsigned long n_bytes,
		      const struct sfs_pixels *whole, const struct sfs_box *box,
		      const struct sfs_image_form *form)
{
	static unsigned char want[ROW_BYTES], a[ROW_BYTES], b[ROW_BYTES];
	struct sfs_part part = sfs_image_part(whole->width, whole->height, box, form);
	struct sfs_part all = {0, 0, whole->width, whole->height};
	size_t n = (size_t)form->width * form->height * whole->n_channels;
	bool is_exact = (whole->n_channels == 1 || k->jpeg.to == JCS_GRAYSCALE) &&
			sfs_planes_halvings(box, form) == 0;
	struct sfs_image_scratch scratch = {0};

	sfs_image_resize(&scratch, whole, box, form, want);
	sfs_image_scratch_done(&scratch);
	resize_planes(n_bytes, whole->n_channels, &part, box, form, a);
	check_near(want, a, n, is_exact ? 0 : 4);
	sfs_resample_set_plain(true);
	resize_planes(n_bytes, whole->n_channels, &all, box, form, b);
	sfs_resample_set_plain(false);
	CHECK(memcmp(a, b, n) == 0);
	check_form(n_bytes, whole->n_channels, &part, box, *form, a);
}

static void check_boxes(const struct kind *k, unsigned long n_bytes,
			const struct sfs_pixels *whole)
{
	struct sfs_image_form form = {0};
	struct sfs_box box;
	int i;

	for (i = 0; i < N_TURNS; i++) {
		form.width = 1 + (uint32_t)sfs_rng_below(&rng, FORM_MAX);
		form.height = 1 + (uint32_t)sfs_rng_below(&rng, FORM_MAX);
		jpeg_draw_range(&rng, whole->width, 3, 2, &box.x, &box.width);
		jpeg_draw_range(&rng, whole->height, 3, 2, &box.y, &box.height);
		check_box(k, n_bytes, whole, &box, &form);
	}
	box = (struct sfs_box){0, 0, whole->width, whole->height};
	form.width = form.height = 13; /* from 78 on the DCT is halved, from 312 on twice */
	check_box(k, n_bytes, whole, &box, &form);
}

static void check_refused(struct sfs_jpeg *jpeg, unsigned long n_bytes, int ret)
{
	struct sfs_part part = {0, 0, 1, 1};
	struct sfs_planes planes;

	CHECK_EQ(sfs_jpeg_decode_planes(jpeg, file, n_bytes, 3, 0, &part, &planes, &err),
		 ret);
}

static void check_kind(const struct kind *k, uint32_t n_channels)
{
	struct sfs_jpeg *jpeg = sfs_jpeg_new(), *other = sfs_jpeg_new();
	unsigned long n = make_file(k);
	struct sfs_pixels whole;

	if (k->is_refused) {
		check_refused(other, n, -ENOTSUP);
	} else {
		CHECK_EQ(sfs_jpeg_decode(jpeg, file, n, n_channels, &whole, &err), 0);
		check_boxes(k, n, &whole);
		if (n > 2000)
			check_refused(other, n - 200, -EBADMSG);
		check_refused(other, n, 0);
	}
	/* Whatever was before, the same decoder makes pixels again. */
	CHECK_EQ(sfs_jpeg_decode(other, file, n, n_channels, &whole, &err), 0);
	sfs_jpeg_free(jpeg);
	sfs_jpeg_free(other);
}

/* Three times as many pixels as the result has are left. */
static void test_halvings(void)
{
	static const struct {
		double width, height;
		uint32_t n;
	} cases[] = {{599, 600, 0}, {600, 600, 1},   {6000, 599, 0}, {1200, 1199, 1},
		     {1200, 1200, 2}, {2400, 2400, 3}, {9600, 9600, 3}, {50, 50, 0}};
	struct sfs_image_form form = {100, 100, false, false, false};
	struct sfs_box box = {0};
	size_t i;

	for (i = 0; i < sizeof cases / sizeof *cases; i++) {
		box.width = cases[i].width;
		box.height = cases[i].height;
		CHECK_EQ(sfs_planes_halvings(&box, &form), cases[i].n);
	}
}

int main(void)
{
	size_t i;

	file = malloc(FILE_BYTES);
	sfs_rng_init(&rng, &(uint64_t){5}, 1);
	test_halvings();
	for (i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		check_kind(&kinds[i], 3);
		check_kind(&kinds[i], 1);
	}
	CHECK(n_values > 1000000 && n_off * 1000 < n_values);
	free(file);
	return 0;
}
