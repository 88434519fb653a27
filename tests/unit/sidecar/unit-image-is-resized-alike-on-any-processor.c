/* SPDX-License-Identifier: MIT */
/* Whatever the sizes, the box and the form, vector code and plain code give the same
 * bytes, and neither reads beyond the image nor writes beyond the row. */
#include "check.h"

#include "base/rng.h"
#include "decode/image.h"
#include "decode/resample.h"

#include <string.h>

#define N_TURNS 400
#define GUARD	0xa5

static struct sfs_rng rng;

/* Widths of the first three kinds are taken in one piece, the fourth in several. */
static uint32_t draw_size(unsigned n_kinds)
{
	static const uint32_t max[] = {3, 40, 300, 2000};

	return 1 + (uint32_t)sfs_rng_below(&rng, max[sfs_rng_below(&rng, n_kinds)]);
}

/* Within n pixels: all, at an end, or anywhere. */
static void draw_range(uint32_t n, double *ret_begin, double *ret_length)
{
	double a = (double)sfs_rng_below(&rng, 1000) / 1000 * n;
	double b = (double)sfs_rng_below(&rng, 1000) / 1000 * n;

	*ret_begin = a < b ? a : b;
	*ret_length = (a < b ? b - a : a - b) + 0.001 * n;
	if (sfs_rng_below(&rng, 3) == 0)
		*ret_begin = 0;
	if (sfs_rng_below(&rng, 3) == 0)
		*ret_length = n - *ret_begin;
}

/* The memory ends with the image, so that a sanitizer sees what is read behind it. */
static unsigned char *make_pixels(struct sfs_pixels *p)
{
	size_t n, i;
	unsigned char *bytes;

	p->width = draw_size(4);
	p->height = draw_size(3);
	p->n_channels = sfs_rng_below(&rng, 3) ? 3 : 1;
	n = (size_t)p->width * p->height * p->n_channels;
	bytes = malloc(n);
	for (i = 0; i < n; i++)
		bytes[i] = (unsigned char)sfs_rng_next(&rng);
	p->data = bytes;
	return bytes;
}

static unsigned char *resize(const struct sfs_pixels *p, const struct sfs_box *box,
			     const struct sfs_image_form *form, size_t n)
{
	struct sfs_image_scratch scratch = {0};
	unsigned char *row = malloc(n + 8);

	memset(row, GUARD, n + 8);
	sfs_image_resize(&scratch, p, box, form, row);
	sfs_image_scratch_done(&scratch);
	CHECK(row[n] == GUARD && memcmp(row + n, row + n + 1, 7) == 0);
	return row;
}

int main(void)
{
	struct sfs_image_form form;
	unsigned char *pixels, *a, *b;
	struct sfs_pixels p;
	struct sfs_box box;
	size_t n;
	int i;

	sfs_rng_init(&rng, &(uint64_t){11}, 1);
	for (i = 0; i < N_TURNS; i++) {
		pixels = make_pixels(&p);
		draw_range(p.width, &box.x, &box.width);
		draw_range(p.height, &box.y, &box.height);
		form = (struct sfs_image_form){.width = draw_size(3),
					       .height = draw_size(3),
					       .is_mirrored = i % 2,
					       .is_nchw = i / 2 % 2,
					       .is_float = i / 4 % 2};
		n = (size_t)form.width * form.height * p.n_channels *
		    (form.is_float ? sizeof(float) : 1);
		sfs_resample_set_plain(true);
		a = resize(&p, &box, &form, n);
		sfs_resample_set_plain(false);
		b = resize(&p, &box, &form, n);
		CHECK(memcmp(a, b, n) == 0);
		free(pixels);
		free(a);
		free(b);
	}
	if (!sfs_resample_set_plain(false))
		puts("this machine has no vector code to compare with");
	return 0;
}
