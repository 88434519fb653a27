/* SPDX-License-Identifier: MIT */
/* How this works
 *
 * Pillow's algorithm (src/libImaging/Resample.c): each result is a weighted sum of a run
 * of pixels, first along rows, then along columns, rounded to 8 bits between the two.
 * Weights are integers of 22 bits behind the point.  Only rows that the second pass reads
 * are made in the first.
 *
 * All runs of a direction get the same length, which is what vector code likes; those
 * that are shorter, or would leave the image, have weights of 0.
 */
#include "decode/image.h"

#include "decode/resample.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

void sfs_image_scratch_done(struct sfs_image_scratch *scratch)
{
	free(scratch->rows);
	free(scratch->weights);
	memset(scratch, 0, sizeof *scratch);
}

void sfs_image_scratch_trim(struct sfs_image_scratch *scratch, uint64_t most)
{
	if (scratch->n_rows_bytes > most)
		sfs_image_scratch_done(scratch);
}

/* ---- weights ---- */

/* `length` of n_pixels pixels, from `start` on, become n results. */
struct direction {
	double start, length;
	uint32_t n_pixels, n;
};

static double scale_of(const struct direction *d)
{
	return d->length / d->n;
}

static double support_of(const struct direction *d)
{
	return scale_of(d) < 1 ? 1 : scale_of(d);
}

static uint32_t n_taps_of(const struct direction *d)
{
	double n = ceil(2 * support_of(d));

	return n < d->n_pixels ? (uint32_t)n : d->n_pixels;
}

static size_t n_weights_of(const struct direction *d)
{
	return d->n * (1 + (size_t)n_taps_of(d));
}

static double triangle(double x)
{
	x = fabs(x);
	return x < 1 ? 1 - x : 0;
}

/* The pixels [*ret_begin, *ret_end) that count for result i, around *ret_center. */
static void find_run(const struct direction *d, uint32_t i, int32_t *ret_begin,
		     int32_t *ret_end, double *ret_center)
{
	double support = support_of(d), center = d->start + (i + 0.5) * scale_of(d);
	int32_t n_pixels = (int32_t)d->n_pixels, n_taps = (int32_t)n_taps_of(d);
	int32_t begin = (int32_t)(center - support + 0.5);
	int32_t end = (int32_t)(center + support + 0.5);

	begin = begin < 0 ? 0 : begin;
	end = end > n_pixels ? n_pixels : end;
	*ret_begin = begin;
	*ret_end = end > begin + n_taps ? begin + n_taps : end; /* (it was rounded) */
	*ret_center = center;
}

/* One result's weights. */
static void weigh(const struct direction *d, struct sfs_taps *taps, uint32_t i)
{
	double support = support_of(d), sum = 0, inverse = 1 / support, center;
	int32_t n_pixels = (int32_t)d->n_pixels, n_taps = (int32_t)taps->n_taps;
	int32_t *k = taps->k + (size_t)i * taps->stride, begin, end, first, x;

	find_run(d, i, &begin, &end, &center);
	first = begin > n_pixels - n_taps ? n_pixels - n_taps : begin;
	taps->first[i] = first;
	for (x = begin; x < end; x++)
		sum += triangle((x - center + 0.5) * inverse);
	for (x = begin; x < end; x++)
		k[x - first] = (int32_t)(0.5 + triangle((x - center + 0.5) * inverse) /
						       (sum > 0 ? sum : 1) *
						       (1 << SFS_RESAMPLE_BITS));
}

static void find_part(const struct direction *d, uint32_t *ret_begin, uint32_t *ret_n)
{
	int32_t begin, end, ignored;
	double center;

	find_run(d, 0, &begin, &ignored, &center);
	find_run(d, d->n - 1, &ignored, &end, &center);
	*ret_begin = (uint32_t)begin;
	*ret_n = (uint32_t)(end - begin);
}

struct sfs_part sfs_image_part(uint32_t width, uint32_t height, const struct sfs_box *box,
			       const struct sfs_image_form *form)
{
	struct direction x = {box->x, box->width, width, form->width};
	struct direction y = {box->y, box->height, height, form->height};
	struct sfs_part part;

	find_part(&x, &part.x, &part.width);
	find_part(&y, &part.y, &part.height);
	return part;
}

/* In `memory`; returns what is left of it. */
static int32_t *make_taps(const struct direction *d, int32_t *memory,
			  struct sfs_taps *ret_taps)
{
	struct sfs_taps taps = {.first = memory, .k = memory + d->n};
	uint32_t i;

	taps.n_taps = n_taps_of(d);
	taps.stride = taps.n_taps;
	memset(taps.k, 0, (size_t)d->n * taps.stride * sizeof *taps.k);
	for (i = 0; i < d->n; i++)
		weigh(d, &taps, i);
	*ret_taps = taps;
	return taps.k + (size_t)d->n * taps.stride;
}

/* ---- rows of a batch ---- */

bool sfs_image_is_plain(const struct sfs_image_form *form, uint32_t n_channels)
{
	return !form->is_mirrored && !form->is_float &&
	       (!form->is_nchw || n_channels == 1);
}

/* Row y of an image, of n channels. */
static void store_row(const unsigned char *from, const struct sfs_image_form *form,
		      uint32_t n, uint32_t y, void *row)
{
	size_t w = form->width, n_plane = form->is_nchw ? w * form->height : 1;
	size_t step = form->is_nchw ? 1 : n, at = y * w * step, x, c;
	ptrdiff_t from_step = form->is_mirrored ? -(ptrdiff_t)n : (ptrdiff_t)n;
	const unsigned char *p;

	from += form->is_mirrored ? (w - 1) * n : 0;
	for (c = 0; c < n; c++) {
		unsigned char *to = (unsigned char *)row + at + c * n_plane;
		float *floats = (float *)row + at + c * n_plane;

		if (form->is_float)
			for (x = 0, p = from + c; x < w; x++, p += from_step)
				floats[x * step] = (float)*p / 255;
		else
			for (x = 0, p = from + c; x < w; x++, p += from_step)
				to[x * step] = *p;
	}
}

void sfs_image_store(const struct sfs_pixels *from, const struct sfs_image_form *form,
		     void *row)
{
	uint32_t n = from->n_channels, y;
	size_t n_row = (size_t)form->width * n;

	if (sfs_image_is_plain(form, n))
		memcpy(row, from->data, n_row * form->height);
	else
		for (y = 0; y < form->height; y++)
			store_row(from->data + y * n_row, form, n, y, row);
}

/* The second pass; `line` has room for a row of pixels. */
static void resize_columns(const struct sfs_resample_rows *rows,
			   const struct sfs_taps *taps, unsigned char *line,
			   const struct sfs_image_form *form, void *row)
{
	uint32_t n_channels = (uint32_t)rows->n_channels, y;
	size_t n = rows->n * n_channels;
	bool has_line = !sfs_image_is_plain(form, n_channels);
	const unsigned char *from;

	for (y = 0; y < form->height; y++) {
		from = rows->to +
		       (size_t)(taps->first[y] - taps->first[0]) * rows->to_stride;
		if (!has_line)
			line = (unsigned char *)row + y * n;
		sfs_resample_column(from, rows->to_stride,
				    taps->k + (size_t)y * taps->stride, taps->n_taps, n,
				    line);
		if (has_line)
			store_row(line, form, n_channels, y, row);
	}
}

void sfs_image_resize(struct sfs_image_scratch *s, const struct sfs_pixels *from,
		      const struct sfs_box *box, const struct sfs_image_form *form,
		      void *row)
{
	struct direction x = {box->x, box->width, from->width, form->width};
	struct direction y = {box->y, box->height, from->height, form->height};
	struct sfs_resample_rows rows = {
		.n_row = (size_t)from->width * from->n_channels,
		.n_channels = from->n_channels,
		.n = form->width,
		.to_stride = (size_t)form->width * from->n_channels + SFS_RESAMPLE_PAD,
	};
	struct sfs_taps taps_x, taps_y;
	size_t n_rows;

	s->weights =
		sfs_make_room(s->weights, &s->n_weights,
			      n_weights_of(&x) + n_weights_of(&y), sizeof *s->weights);
	make_taps(&y, make_taps(&x, s->weights, &taps_x), &taps_y);
	rows.n_rows = (size_t)(taps_y.first[y.n - 1] - taps_y.first[0]) + taps_y.n_taps;
	rows.from = from->data + (size_t)taps_y.first[0] * rows.n_row;
	n_rows = (rows.n_rows + SFS_RESAMPLE_BLOCK - 1) / SFS_RESAMPLE_BLOCK *
		 SFS_RESAMPLE_BLOCK;
	s->rows = sfs_make_room(s->rows, &s->n_rows_bytes,
				(n_rows + 1) * rows.to_stride, 1);
	rows.to = s->rows;
	sfs_resample_rows(&rows, &taps_x);
	resize_columns(&rows, &taps_y, s->rows + n_rows * rows.to_stride, form, row);
}
