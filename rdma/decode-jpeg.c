/* SPDX-License-Identifier: MIT */
/* How this works
 *
 * libjpeg leaves by longjmp() when it fails, so whatever must outlive the jump is in the
 * object, and the functions that call setjmp() have no locals that change.
 */
#include "decode-jpeg.h"

#include "base/alloc.h"

#include <errno.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>

#include <jerror.h>

/* A progressive file may go over all its pixels again and again; real ones do so about
 * ten times. */
#define SCANS_MAX	   500
#define SCANNED_PIXELS_MAX ((uint64_t)1 << 30)

struct sfs_jpeg {
	struct jpeg_decompress_struct d;
	struct jpeg_error_mgr errors;
	struct jpeg_progress_mgr progress;
	jmp_buf failed;
	char message[JMSG_LENGTH_MAX]; /* of what has failed */
	unsigned char *memory, *cmyk;
	size_t n_memory, n_cmyk_bytes;
	unsigned char *pixels; /* in memory, or at the aim */
	void *aim;	       /* NULL: none */
	uint32_t aim_width, aim_height;
};

static void keep_message(j_common_ptr d)
{
	struct sfs_jpeg *jpeg = sfs_container((j_decompress_ptr)d, struct sfs_jpeg, d);

	if (!jpeg->message[0])
		d->err->format_message(d, jpeg->message);
}

static void on_error(j_common_ptr d)
{
	keep_message(d);
	longjmp(sfs_container((j_decompress_ptr)d, struct sfs_jpeg, d)->failed, 1);
}

/* Level -1 is a warning; the others are traces.  Large datasets have files with a few
 * bytes too many, and other readers take them; but one that was cut is broken. */
static void on_message(j_common_ptr d, int level)
{
	if (level < 0 && d->err->msg_code == JWRN_JPEG_EOF)
		on_error(d);
}

static void on_progress(j_common_ptr d)
{
	struct sfs_jpeg *jpeg = sfs_container((j_decompress_ptr)d, struct sfs_jpeg, d);
	uint64_t n = (uint64_t)jpeg->d.input_scan_number;

	if (n <= SCANS_MAX &&
	    n * jpeg->d.image_width * jpeg->d.image_height <= SCANNED_PIXELS_MAX)
		return;
	snprintf(jpeg->message, sizeof jpeg->message, "too many scans");
	longjmp(jpeg->failed, 1);
}

struct sfs_jpeg *sfs_jpeg_new(void)
{
	struct sfs_jpeg *jpeg = sfs_calloc(1, sizeof *jpeg);

	jpeg->d.err = jpeg_std_error(&jpeg->errors);
	jpeg->errors.error_exit = on_error;
	jpeg->errors.emit_message = on_message;
	jpeg->errors.output_message = keep_message;
	jpeg_create_decompress(&jpeg->d);
	jpeg->progress.progress_monitor = on_progress;
	jpeg->d.progress = &jpeg->progress;
	return jpeg;
}

void sfs_jpeg_free(struct sfs_jpeg *jpeg)
{
	if (!jpeg)
		return;
	jpeg_destroy_decompress(&jpeg->d);
	free(jpeg->memory);
	free(jpeg->cmyk);
	free(jpeg);
}

static unsigned char *grow(unsigned char *memory, size_t *n, size_t wanted)
{
	if (*n >= wanted)
		return memory;
	free(memory);
	*n = wanted;
	return sfs_malloc(wanted);
}

static int read_header(struct sfs_jpeg *jpeg, const unsigned char *bytes,
		       uint64_t n_bytes, struct sfs_error *err)
{
	jpeg->message[0] = 0;
	if (n_bytes == 0)
		return sfs_error_set(err, -EBADMSG, "it is empty");
	jpeg_mem_src(&jpeg->d, bytes, (unsigned long)n_bytes);
	jpeg_read_header(&jpeg->d, TRUE);
	if ((uint64_t)jpeg->d.image_width * jpeg->d.image_height > SFS_IMAGE_PIXELS_MAX)
		return sfs_error_set(err, -EBADMSG,
				     "%u x %u pixels are more than 64 million",
				     jpeg->d.image_width, jpeg->d.image_height);
	return 0;
}

/* What libjpeg converts to what we want; CMYK it leaves to us, and so does Pillow. */
static void choose_colors(struct sfs_jpeg *jpeg, uint32_t n_channels)
{
	J_COLOR_SPACE from = jpeg->d.jpeg_color_space;

	if (from == JCS_CMYK || from == JCS_YCCK)
		jpeg->d.out_color_space = JCS_CMYK;
	else
		jpeg->d.out_color_space = n_channels == 3 ? JCS_RGB : JCS_GRAYSCALE;
}

static inline unsigned char mul_255(unsigned a, unsigned b)
{
	unsigned t = a * b + 128;

	return (unsigned char)(((t >> 8) + t) >> 8);
}

/* Adobe stores CMYK inverted, and Pillow takes all for Adobe's: these are amounts of
 * light, RGB = CMY * K. */
static void convert_cmyk(const unsigned char *from, uint32_t n_channels, uint32_t width,
			 unsigned char *to)
{
	unsigned char rgb[3];
	uint32_t x, c;

	for (x = 0; x < width; x++, from += 4, to += n_channels) {
		for (c = 0; c < 3; c++)
			rgb[c] = mul_255(from[c], from[3]);
		if (n_channels == 3)
			memcpy(to, rgb, 3);
		else
			to[0] = sfs_image_gray(rgb);
	}
}

static void read_rows(struct sfs_jpeg *jpeg, uint32_t n_channels)
{
	size_t n_row = (size_t)jpeg->d.output_width * n_channels;
	bool is_cmyk = jpeg->d.out_color_space == JCS_CMYK;
	unsigned char *rows[4], *to;
	uint32_t i;

	if (is_cmyk)
		jpeg->cmyk = grow(jpeg->cmyk, &jpeg->n_cmyk_bytes,
				  (size_t)jpeg->d.output_width * 4);
	while (jpeg->d.output_scanline < jpeg->d.output_height) {
		to = jpeg->pixels + jpeg->d.output_scanline * n_row;
		for (i = 0; i < SFS_COUNT(rows); i++)
			rows[i] = is_cmyk ? jpeg->cmyk : to + i * n_row;
		jpeg_read_scanlines(&jpeg->d, rows, is_cmyk ? 1 : SFS_COUNT(rows));
		if (is_cmyk)
			convert_cmyk(jpeg->cmyk, n_channels, jpeg->d.output_width, to);
	}
}

void sfs_jpeg_aim(struct sfs_jpeg *jpeg, void *to, uint32_t width, uint32_t height)
{
	jpeg->aim = to;
	jpeg->aim_width = width;
	jpeg->aim_height = height;
}

static void choose_place(struct sfs_jpeg *jpeg, uint32_t n_channels)
{
	if (jpeg->aim && jpeg->aim_width == jpeg->d.output_width &&
	    jpeg->aim_height == jpeg->d.output_height) {
		jpeg->pixels = jpeg->aim;
		return;
	}
	jpeg->memory =
		grow(jpeg->memory, &jpeg->n_memory,
		     (size_t)jpeg->d.output_width * jpeg->d.output_height * n_channels);
	jpeg->pixels = jpeg->memory;
}

/* Clean up after libjpeg has left. */
static int give_up(struct sfs_jpeg *jpeg, struct sfs_error *err)
{
	jpeg_abort_decompress(&jpeg->d);
	return sfs_error_set(err, -EBADMSG, "libjpeg: %s", jpeg->message);
}

int sfs_jpeg_size(struct sfs_jpeg *jpeg, const unsigned char *bytes, uint64_t n_bytes,
		  struct sfs_pixels *ret_pixels, struct sfs_error *err)
{
	int ret;

	if (setjmp(jpeg->failed))
		return give_up(jpeg, err);
	ret = read_header(jpeg, bytes, n_bytes, err);
	if (ret == 0)
		*ret_pixels = (struct sfs_pixels){.width = jpeg->d.image_width,
						  .height = jpeg->d.image_height};
	jpeg_abort_decompress(&jpeg->d);
	return ret;
}

int sfs_jpeg_decode(struct sfs_jpeg *jpeg, const unsigned char *bytes, uint64_t n_bytes,
		    uint32_t n_channels, struct sfs_pixels *ret_pixels,
		    struct sfs_error *err)
{
	int ret;

	if (setjmp(jpeg->failed))
		return give_up(jpeg, err);
	ret = read_header(jpeg, bytes, n_bytes, err);
	if (ret < 0) {
		jpeg_abort_decompress(&jpeg->d);
		return ret;
	}
	choose_colors(jpeg, n_channels);
	jpeg_start_decompress(&jpeg->d);
	choose_place(jpeg, n_channels);
	read_rows(jpeg, n_channels);
	*ret_pixels = (struct sfs_pixels){jpeg->pixels, jpeg->d.output_width,
					  jpeg->d.output_height, n_channels};
	jpeg_finish_decompress(&jpeg->d);
	return 0;
}
