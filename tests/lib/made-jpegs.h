/* SPDX-License-Identifier: MIT */
/* made-jpegs - JPEGs of any kind, and ranges of their columns and rows, at random. */
#ifndef SFS_TESTS_MADE_JPEGS_H
#define SFS_TESTS_MADE_JPEGS_H

#include "base/rng.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jpeglib.h>

struct jpeg_kind {
	uint32_t width, height;
	int h_samp, v_samp, restart_rows;
	J_COLOR_SPACE from, to; /* a file's colours */
	bool is_progressive;
};

/* Writes one of quality 90 into `file`, which has `n` bytes and is large enough, from rows
 * that draw_row() puts into `row`.  Returns its size. */
static unsigned long jpeg_make(const struct jpeg_kind *k, unsigned char *file,
			       unsigned long n, unsigned char *row,
			       void (*draw_row)(unsigned char *row, uint32_t y,
						uint32_t width, uint32_t n_channels))
{
	JSAMPROW rows[] = {row};
	struct jpeg_compress_struct c;
	struct jpeg_error_mgr errors;

	c.err = jpeg_std_error(&errors);
	jpeg_create_compress(&c);
	jpeg_mem_dest(&c, &file, &n);
	c.image_width = k->width;
	c.image_height = k->height;
	c.in_color_space = k->from;
	c.input_components = k->from == JCS_GRAYSCALE ? 1 : k->from == JCS_CMYK ? 4 : 3;
	jpeg_set_defaults(&c);
	jpeg_set_colorspace(&c, k->to);
	jpeg_set_quality(&c, 90, TRUE);
	c.comp_info[0].h_samp_factor = k->h_samp;
	c.comp_info[0].v_samp_factor = k->v_samp;
	c.restart_in_rows = k->restart_rows;
	if (k->is_progressive)
		jpeg_simple_progression(&c);
	jpeg_start_compress(&c, TRUE);
	while (c.next_scanline < c.image_height) {
		draw_row(row, c.next_scanline, k->width, (uint32_t)c.input_components);
		jpeg_write_scanlines(&c, rows, 1);
	}
	jpeg_finish_compress(&c);
	jpeg_destroy_compress(&c);
	return n;
}

/* A range of n: one in `ends` goes to the end, one in `begins` begins at 0. */
static void jpeg_draw_range(struct sfs_rng *rng, uint32_t n, uint32_t ends,
			    uint32_t begins, double *ret_begin, double *ret_length)
{
	uint32_t begin = (uint32_t)sfs_rng_below(rng, n);
	uint32_t length = 1 + (uint32_t)sfs_rng_below(rng, n - begin);

	if (sfs_rng_below(rng, ends) == 0)
		length = n - begin;
	if (sfs_rng_below(rng, begins) == 0)
		begin = 0;
	*ret_begin = begin;
	*ret_length = length;
}

#endif
