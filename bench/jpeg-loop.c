/* SPDX-License-Identifier: MIT */
/* jpeg-loop - decodes the JPEGs of a tar in memory to RGB, and does nothing else: what
 * libjpeg-turbo gives on one core.
 *
 *	jpeg-loop FILE.tar SECONDS
 *
 * Prints images, seconds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jpeglib.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void decode(struct jpeg_decompress_struct *d, unsigned char *bytes, size_t n)
{
	static unsigned char *row;
	static size_t n_row;

	jpeg_mem_src(d, bytes, n);
	jpeg_read_header(d, TRUE);
	d->out_color_space = JCS_RGB;
	jpeg_start_decompress(d);
	if (n_row < d->output_width * 3) {
		n_row = d->output_width * 3;
		row = realloc(row, n_row);
	}
	while (d->output_scanline < d->output_height)
		jpeg_read_scanlines(d, &row, 1);
	jpeg_finish_decompress(d);
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
	unsigned long n_images = 0;
	size_t n, at, size;
	unsigned char *tar;
	double start, end;

	if (argc < 3)
		return 2;
	tar = load(argv[1], &n);
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
			decode(&d, tar + at + 512, size);
			n_images++;
		}
	printf("%lu %.3f\n", n_images, now() - start);
	return 0;
}
