/* SPDX-License-Identifier: MIT */
/* How this works
 *
 * Pillow's algorithm (src/libImaging/Resample.c): each result is a weighted sum of a run
 * of pixels, first along rows, then along columns, rounded to 8 bits between the two.
 * Only rows that the second pass reads are made in the first.
 */
#include "decode/image.h"

#include "decode/resample.h"
#include "decode/taps.h"

#include "base/alloc.h"

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

struct sfs_part sfs_image_part(uint32_t width, uint32_t height, const struct sfs_box *box,
			       const struct sfs_image_form *form)
{
	struct sfs_direction x = {box->x, box->width, width, form->width};
	struct sfs_direction y = {box->y, box->height, height, form->height};
	struct sfs_part part;

	sfs_taps_part(&x, &part.x, &part.width);
	sfs_taps_part(&y, &part.y, &part.height);
	return part;
}

/* ---- rows of a batch ---- */

bool sfs_image_is_plain(const struct sfs_image_form *form, uint32_t n_channels)
{
	return !form->is_mirrored && !form->is_float &&
	       (!form->is_nchw || n_channels == 1);
}

void sfs_image_store_row(const unsigned char *from, const struct sfs_image_form *form,
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
			sfs_image_store_row(from->data + y * n_row, form, n, y, row);
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
			sfs_image_store_row(line, form, n_channels, y, row);
	}
}

void sfs_image_resize(struct sfs_image_scratch *s, const struct sfs_pixels *from,
		      const struct sfs_box *box, const struct sfs_image_form *form,
		      void *row)
{
	struct sfs_direction x = {box->x, box->width, from->width, form->width};
	struct sfs_direction y = {box->y, box->height, from->height, form->height};
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
			      sfs_taps_room(&x) + sfs_taps_room(&y), sizeof *s->weights);
	sfs_taps_make(&y, sfs_taps_make(&x, s->weights, &taps_x), &taps_y);
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
