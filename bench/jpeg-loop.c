/* SPDX-License-Identifier: MIT */
/* jpeg-loop - decodes the JPEGs of a tar in memory to RGB, and does nothing else: what
 * libjpeg-turbo gives on one core.
 *
 *	jpeg-loop FILE.tar SECONDS [WIDTH HEIGHT]
 *
 * With a size, it decodes each image as a whole, row by row, and then resizes it by the
 * function that the sidecar uses (sidecar/decode/image.h: Pillow's BILINEAR, with AVX2),
 * into the same memory each time.  So the sidecar is compared with its own resize, and
 * what it takes beside that is the reading of tars, threads, batches and copies.
 *
 * Prints images, seconds. */
#include "decode/image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jpeglib.h>

struct result { /* width 0: pixels are thrown away */
	struct sfs_image_scratch scratch;
	struct sfs_image_form form;
	unsigned char *row;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static unsigned char *make_room(size_t n)
{
	static unsigned char *bytes;
	static size_t n_bytes;

	if (n_bytes < n) {
		n_bytes = n;
		bytes = realloc(bytes, n);
	}
	return bytes;
}

static void resize(const unsigned char *pixels, uint32_t width, uint32_t height,
		   struct result *to)
{
	struct sfs_pixels p = {pixels, width, height, 3};
	struct sfs_box all = {0, 0, width, height};

	sfs_image_resize(&to->scratch, &p, &all, &to->form, to->row);
}

static void decode(struct jpeg_decompress_struct *d, unsigned char *bytes, size_t n,
		   struct result *to)
{
	size_t n_row, step;
	unsigned char *pixels, *row;

	jpeg_mem_src(d, bytes, n);
	jpeg_read_header(d, TRUE);
	d->out_color_space = JCS_RGB;
	jpeg_start_decompress(d);
	n_row = (size_t)d->output_width * 3;
	step = to->form.width > 0 ? n_row : 0;
	pixels = make_room(n_row + step * d->output_height);
	while (d->output_scanline < d->output_height) {
		row = pixels + d->output_scanline * step;
		jpeg_read_scanlines(d, &row, 1);
	}
	jpeg_finish_decompress(d);
	if (step > 0)
		resize(pixels, d->output_width, d->output_height, to);
}

static unsigned char *load(const char *path, size_t *ret_n)
{
	FILE *f = fopen(path, "rb");
	unsigned char *bytes;

	if (!f || fseek(f, 0, SEEK_END) < 0)
		exit(1);
	*ret_n = (size_t)ftell(f);
	rewind(f);
	bytes = malloc(*ret_n);
	if (!bytes || fread(bytes, 1, *ret_n, f) != *ret_n)
		exit(1);
	fclose(f);
	return bytes;
}

int main(int argc, char **argv)
{
	struct jpeg_decompress_struct d;
	struct jpeg_error_mgr errors;
	struct result result = {0};
	unsigned long n_images = 0;
	size_t n, at, size;
	unsigned char *tar;
	double start, end;

	if (argc < 3)
		return 2;
	tar = load(argv[1], &n);
	if (argc > 4) {
		result.form.width = (uint32_t)strtoul(argv[3], NULL, 10);
		result.form.height = (uint32_t)strtoul(argv[4], NULL, 10);
		result.row = malloc((size_t)result.form.width * result.form.height * 3);
	}
	d.err = jpeg_std_error(&errors);
	jpeg_create_decompress(&d);
	start = now();
	end = start + atof(argv[2]);
	while (now() < end)
		for (at = 0; at + 512 <= n && tar[at] && now() < end;
		     at += 512 + (size + 511) / 512 * 512) {
			size = strtoul((char *)tar + at + 124, NULL, 8);
			if (!strstr((char *)tar + at, ".jpg"))
				continue;
			decode(&d, tar + at + 512, size, &result);
			n_images++;
		}
	printf("%lu %.3f\n", n_images, now() - start);
	return 0;
}
