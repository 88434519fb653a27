/* SPDX-License-Identifier: MIT */
/* How this works: libjpeg makes chroma of full size by sums of neighbours, and
 * converts it to RGB by sums, too.  A resize is a sum as well, so all can be one, over
 * the samples that are in the file (taps.h).  Between the two passes of the resize there
 * are 8 bits, as with Pillow; after the second one, six more are kept for the conversion.
 *
 * Three times as many pixels as the result has are left by a smaller DCT, because with
 * fewer, more than 2 % of a photo's values were more than 2 from Pillow's
 * (docs/decisions/0057). */
#include "decode/planes.h"

#include "decode/resample.h"
#include "decode/taps.h"

#include "base/alloc.h"

#include <string.h>

#define GAP 3 /* see sfs_planes_halvings() */

uint32_t sfs_planes_halvings(const struct sfs_box *box, const struct sfs_image_form *form)
{
	uint32_t n = 0;

	while (n < SFS_PLANES_HALVINGS_MAX &&
	       box->width >= (double)form->width * (GAP << (n + 1)) &&
	       box->height >= (double)form->height * (GAP << (n + 1)))
		n++;
	return n;
}

struct plane_taps {
	struct sfs_taps x, y;
};

struct words { /* memory for taps */
	int32_t *next;
};

static struct sfs_taps halve(const struct sfs_taps *whole, const struct sfs_direction *d,
			     uint32_t n_chroma, uint32_t n_dct, struct words *words)
{
	struct sfs_taps taps = *whole, before;
	uint32_t n_pixels = d->n_pixels, i;

	for (i = 0; i < n_chroma + n_dct; i++) {
		before = taps;
		words->next = sfs_taps_halve(&before, d->n, n_pixels,
					     i < n_chroma ? SFS_HALVED_CHROMA
							  : SFS_HALVED_DCT,
					     words->next, &taps);
		n_pixels = (n_pixels + 1) / 2;
	}
	return taps;
}

/* Of all that halve() makes of `d` for two planes. */
static size_t room_for(const struct sfs_direction *d)
{
	size_t n = sfs_taps_room(d);

	return n + 2 * (SFS_PLANES_HALVINGS_MAX + 1) * (n + SFS_TAPS_EXTRA * (size_t)d->n);
}

/* Those of Y and of chroma. */
static void make_taps(struct sfs_image_scratch *s, const struct sfs_planes *from,
		      const struct sfs_direction *x, const struct sfs_direction *y,
		      struct plane_taps taps[2])
{
	struct plane_taps whole;
	struct words words;
	uint32_t i;

	s->weights = sfs_make_room(s->weights, &s->n_weights, room_for(x) + room_for(y),
				   sizeof *s->weights);
	words.next = sfs_taps_make(x, s->weights, &whole.x);
	words.next = sfs_taps_make(y, words.next, &whole.y);
	for (i = 0; i < 2 && i < from->n; i++) {
		const struct sfs_plane *p = &from->planes[i];

		taps[i].x = halve(&whole.x, x, p->n_x_chroma, p->n_dct, &words);
		taps[i].y = halve(&whole.y, y, p->n_y_chroma, p->n_dct, &words);
	}
}

/* Rows that the second pass reads; all in one block of memory. */
static void choose_rows(const struct sfs_plane *p, const struct plane_taps *taps,
			const struct sfs_image_form *form, struct sfs_resample_rows *rows)
{
	uint32_t last = form->height - 1;

	*rows = (struct sfs_resample_rows){
		.from = p->data + (size_t)taps->y.first[0] * p->n_row,
		.n_rows =
			(size_t)(taps->y.first[last] - taps->y.first[0]) + taps->y.n_taps,
		.n_row = p->n_row,
		.n_channels = 1,
		.n = form->width,
		.to_stride = (size_t)form->width + SFS_RESAMPLE_PAD,
	};
}

static size_t bytes_of(const struct sfs_resample_rows *rows)
{
	return (rows->n_rows + SFS_RESAMPLE_BLOCK - 1) / SFS_RESAMPLE_BLOCK *
	       SFS_RESAMPLE_BLOCK * rows->to_stride;
}

/* The first pass.  Returns memory behind its results, for lines. */
static unsigned char *make_rows(struct sfs_image_scratch *s, const struct sfs_planes *from,
				const struct plane_taps taps[2],
				const struct sfs_image_form *form, size_t n_lines_bytes,
				struct sfs_resample_rows rows[3])
{
	unsigned char *at;
	size_t n = n_lines_bytes;
	uint32_t i;

	for (i = 0; i < from->n; i++) {
		choose_rows(&from->planes[i], &taps[i > 0], form, &rows[i]);
		n += bytes_of(&rows[i]);
	}
	at = s->rows = sfs_make_room(s->rows, &s->n_rows_bytes, n, 1);
	at += n_lines_bytes; /* lines first: they are of 16 bits */
	for (i = 0; i < from->n; i++) {
		rows[i].to = at;
		sfs_resample_rows(&rows[i], &taps[i > 0].x);
		at += bytes_of(&rows[i]);
	}
	return s->rows;
}

static void spread_gray(const int16_t *from, size_t n, uint32_t n_channels,
			unsigned char *to)
{
	size_t i;

	for (i = 0; i < n; i++, to += n_channels)
		memset(to, sfs_resample_round_fine(from[i]), n_channels);
}

/* Line y of the result. */
static void make_line(const struct sfs_resample_rows rows[3],
		      const struct plane_taps taps[2], uint32_t n_planes, uint32_t y,
		      uint32_t n_channels, int16_t *const fine[3], unsigned char *to)
{
	size_t n = rows[0].n;
	uint32_t i;

	for (i = 0; i < n_planes; i++) {
		const struct sfs_taps *t = &taps[i > 0].y;

		sfs_resample_fine_column(
			rows[i].to + (size_t)(t->first[y] - t->first[0]) * rows[i].to_stride,
			rows[i].to_stride, t->k + (size_t)y * t->stride, t->n_taps, n,
			fine[i]);
	}
	if (n_planes == 3)
		sfs_resample_colors(fine[0], fine[1], fine[2], n, to);
	else
		spread_gray(fine[0], n, n_channels, to);
}

void sfs_planes_resize(struct sfs_image_scratch *s, const struct sfs_planes *from,
		       const struct sfs_box *box, const struct sfs_image_form *form,
		       uint32_t n_channels, void *row)
{
	struct sfs_direction x = {box->x, box->width, from->width, form->width};
	struct sfs_direction y = {box->y, box->height, from->height, form->height};
	bool is_plain = sfs_image_is_plain(form, n_channels);
	size_t n_line = (size_t)form->width * n_channels, n_fine = form->width;
	struct sfs_resample_rows rows[3];
	struct plane_taps taps[2];
	int16_t *fine[3];
	unsigned char *line;
	uint32_t i;

	make_taps(s, from, &x, &y, taps);
	fine[0] = (int16_t *)make_rows(s, from, taps, form,
				       3 * n_fine * sizeof *fine[0] + n_line, rows);
	fine[1] = fine[0] + n_fine;
	fine[2] = fine[1] + n_fine;
	line = (unsigned char *)(fine[2] + n_fine);
	for (i = 0; i < form->height; i++) {
		make_line(rows, taps, from->n, i, n_channels, fine,
			  is_plain ? (unsigned char *)row + i * n_line : line);
		if (!is_plain)
			sfs_image_store_row(line, form, n_channels, i, row);
	}
}
