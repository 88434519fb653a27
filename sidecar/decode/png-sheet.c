/* SPDX-License-Identifier: MIT */
/* How this works: the sheet is written line by line, so that it needs the memory of
 * one line.  libpng leaves by longjmp(); all that must outlive the jump is in
 * `struct sheet`. */
#include "decode/png-sheet.h"

#include "base/alloc.h"

#include <errno.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <png.h>

struct sheet {
	const unsigned char *pixels; /* of the first image */
	uint64_t image_bytes;
	uint32_t n, n_columns, n_rows;
	uint32_t height, width, n_channels; /* of an image */
	bool has_planes;		    /* its channels come first */

	FILE *file;
	png_structp png;
	png_infop info;
	unsigned char *line;
	char message[160];
};

static bool is_channels(uint64_t n)
{
	return n == 1 || n == 3;
}

static bool is_image(const struct shufflefs_tensor *t)
{
	return strcmp(t->dtype, "u1") == 0 && t->rank == 4 &&
	       (is_channels(t->dims[3]) || is_channels(t->dims[1]));
}

static int find_images(struct sheet *s, const struct shufflefs_layout *layout,
		       const struct shufflefs_batch *batch, struct sfs_error *err)
{
	const struct shufflefs_tensor *t = layout->tensors;
	const struct shufflefs_tensor *end = t + layout->n_tensors;

	while (t < end && !is_image(t))
		t++;
	if (t == end || batch->n_samples == 0)
		return sfs_error_set(err, -EINVAL,
				     "the batch has no images: no tensor of u1 with "
				     "HxWx3, HxWx1, 3xHxW or 1xHxW");
	s->has_planes = !is_channels(t->dims[3]);
	s->n_channels = (uint32_t)t->dims[s->has_planes ? 1 : 3];
	s->height = (uint32_t)t->dims[s->has_planes ? 2 : 1];
	s->width = (uint32_t)t->dims[s->has_planes ? 3 : 2];
	s->pixels = batch->data + t->offset;
	s->image_bytes = t->row_bytes;
	s->n = batch->n_samples < SFS_PNG_SHEET_IMAGES ? batch->n_samples
						       : SFS_PNG_SHEET_IMAGES;
	while (s->n_columns * s->n_columns < s->n)
		s->n_columns++;
	s->n_rows = (s->n + s->n_columns - 1) / s->n_columns;
	return 0;
}

/* Line y of image i, which goes to `to`. */
static void copy_line(const struct sheet *s, uint32_t i, uint32_t y, unsigned char *to)
{
	const unsigned char *image = s->pixels + i * s->image_bytes;
	size_t n = (size_t)s->width * s->n_channels;
	uint32_t x, c;

	if (!s->has_planes) {
		memcpy(to, image + y * n, n);
		return;
	}
	for (c = 0; c < s->n_channels; c++)
		for (x = 0; x < s->width; x++)
			to[x * s->n_channels + c] =
				image[((uint64_t)c * s->height + y) * s->width + x];
}

static void on_error(png_structp png, png_const_charp message)
{
	struct sheet *s = png_get_error_ptr(png);

	snprintf(s->message, sizeof s->message, "%s", message);
	png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp message)
{
	(void)png, (void)message;
}

static int draw(struct sheet *s)
{
	size_t n = (size_t)s->width * s->n_channels;
	uint32_t y, i, column;

	if (setjmp(png_jmpbuf(s->png)))
		return -EIO;
	png_init_io(s->png, s->file);
	png_set_compression_level(s->png, 1);
	png_set_IHDR(s->png, s->info, s->width * s->n_columns, s->height * s->n_rows, 8,
		     s->n_channels == 3 ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_GRAY,
		     PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
		     PNG_FILTER_TYPE_DEFAULT);
	png_write_info(s->png, s->info);
	s->line = sfs_calloc(s->n_columns, n);
	for (y = 0; y < s->height * s->n_rows; y++) {
		memset(s->line, 0, s->n_columns * n);
		for (column = 0; column < s->n_columns; column++) {
			i = y / s->height * s->n_columns + column;
			if (i < s->n)
				copy_line(s, i, y % s->height, s->line + column * n);
		}
		png_write_row(s->png, s->line);
	}
	png_write_end(s->png, s->info);
	return 0;
}

int sfs_png_sheet_write(const char *path, const struct shufflefs_layout *layout,
			const struct shufflefs_batch *batch, struct sfs_error *err)
{
	struct sheet s = {.n_columns = 1};
	int ret = find_images(&s, layout, batch, err);

	if (ret < 0)
		return ret;
	s.file = fopen(path, "wbe");
	if (!s.file)
		return sfs_error_set(err, -errno, "%s: %s", path, strerror(errno));
	s.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &s, on_error, on_warning);
	s.info = png_create_info_struct(s.png);
	ret = draw(&s);
	png_destroy_write_struct(&s.png, &s.info);
	free(s.line);
	if (fclose(s.file) != 0 && ret == 0) {
		ret = -errno;
		snprintf(s.message, sizeof s.message, "%s", strerror(errno));
	}
	return ret < 0 ? sfs_error_set(err, ret, "%s: %s", path, s.message) : 0;
}
