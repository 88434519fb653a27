/* SPDX-License-Identifier: MIT */
/* How this works
 *
 * libjpeg leaves by longjmp() when it fails, so whatever must outlive the jump is in the
 * object, and the functions that call setjmp() have no locals that change.
 *
 * An image of several scans is kept as coefficients, 128 bytes for each block of 8 x 8 of
 * each component, and each scan goes over its blocks, also if it has nothing for them.
 * What a file may cost is what its bytes can justify: a whole file has at least one bit
 * for each block, and a block of a flat image, of which most scans have nothing, is gone
 * over about ten times.
 *
 * Of a part of an image, libjpeg-turbo decodes all bits, but makes pixels only of the
 * blocks that the part needs.  They are put where they are in the whole.
 *
 * Planes are what libjpeg calls raw data: rows of whole blocks.  A component of which no
 * row is needed just now is declared as not needed, which saves its DCT.
 */
#include "decode/decode-jpeg.h"

#include "base/alloc.h"

#include <assert.h>
#include <errno.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>

#include <jerror.h>

/* See decode-jpeg.h. */
#define SCANS_MAX	  500
#define FREE_BLOCKS	  ((uint64_t)1 << 16)
#define BLOCKS_A_BYTE	  8
#define FREE_VISITS	  ((uint64_t)1 << 20)
#define VISITS_A_BYTE	  128
#define VISITS_MAX	  ((uint64_t)1 << 26)
#define BLOCK_COEFS_BYTES (DCTSIZE2 * sizeof(JCOEF))

/* Smooth chroma looks one sample of chroma, which is up to two pixels, to each side. */
#define MARGIN 2

/* Rows of a plane around the part that its taps may need (planes.h). */
#define PLANE_MARGIN 16

#if JPEG_LIB_VERSION >= 70
#define DCT_SIDE(c) ((uint32_t)(c)->DCT_h_scaled_size)
#define MIN_SIDE(d) ((uint32_t)(d)->min_DCT_h_scaled_size)
#else
#define DCT_SIDE(c) ((uint32_t)(c)->DCT_scaled_size)
#define MIN_SIDE(d) ((uint32_t)(d)->min_DCT_scaled_size)
#endif

struct sfs_jpeg {
	struct jpeg_decompress_struct d;
	struct jpeg_error_mgr errors;
	struct jpeg_progress_mgr progress;
	jmp_buf failed;
	char message[JMSG_LENGTH_MAX]; /* of what has failed */
	unsigned char *memory, *row;   /* a row that needs work, or is not wanted */
	size_t n_memory, n_row_bytes;
	unsigned char *pixels; /* in memory, or at the aim */
	void *aim;	       /* NULL: none */
	uint32_t aim_width, aim_height;
	uint64_t n_bytes, n_visits; /* of the file; blocks that its scans go over */
	int scan;		    /* the last that was counted */
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
	uint64_t most = FREE_VISITS + VISITS_A_BYTE * jpeg->n_bytes;

	if (jpeg->scan == jpeg->d.input_scan_number)
		return;
	jpeg->scan = jpeg->d.input_scan_number;
	jpeg->n_visits += (uint64_t)jpeg->d.MCUs_per_row * jpeg->d.MCU_rows_in_scan *
			  (uint64_t)jpeg->d.blocks_in_MCU;
	most = most < VISITS_MAX ? most : VISITS_MAX;
	if (jpeg->scan <= SCANS_MAX && jpeg->n_visits <= most)
		return;
	snprintf(jpeg->message, sizeof jpeg->message,
		 "too many scans: %d, over %llu blocks; %d, and %llu for a file of %llu "
		 "bytes, are the limit",
		 jpeg->scan, (unsigned long long)jpeg->n_visits, SCANS_MAX,
		 (unsigned long long)most, (unsigned long long)jpeg->n_bytes);
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
	return jpeg;
}

void sfs_jpeg_free(struct sfs_jpeg *jpeg)
{
	if (!jpeg)
		return;
	jpeg_destroy_decompress(&jpeg->d);
	free(jpeg->memory);
	free(jpeg->row);
	free(jpeg);
}

void sfs_jpeg_trim(struct sfs_jpeg *jpeg, uint64_t most)
{
	if (jpeg->n_memory <= most)
		return;
	free(jpeg->memory);
	jpeg->memory = NULL;
	jpeg->n_memory = 0;
}

/* A libjpeg object keeps the tables of the image before, and would decode one by them
 * that lacks its own. */
static void forget_tables(struct sfs_jpeg *jpeg)
{
	jpeg_destroy_decompress(&jpeg->d);
	jpeg_create_decompress(&jpeg->d);
	jpeg->d.progress = &jpeg->progress;
}

static int read_header(struct sfs_jpeg *jpeg, const unsigned char *bytes,
		       uint64_t n_bytes, struct sfs_error *err)
{
	jpeg->message[0] = 0;
	jpeg->n_bytes = n_bytes;
	jpeg->n_visits = 0;
	jpeg->scan = 0;
	if (n_bytes == 0)
		return sfs_error_set(err, -EBADMSG, "it is empty");
	forget_tables(jpeg);
	jpeg_mem_src(&jpeg->d, bytes, (unsigned long)n_bytes);
	jpeg_read_header(&jpeg->d, TRUE);
	if ((uint64_t)jpeg->d.image_width * jpeg->d.image_height > SFS_IMAGE_PIXELS_MAX)
		return sfs_error_set(err, -EBADMSG,
				     "%u x %u pixels are more than 64 million",
				     jpeg->d.image_width, jpeg->d.image_height);
	return 0;
}

/* Is there enough in the file for its coefficients? */
static int check_blocks(struct sfs_jpeg *jpeg, struct sfs_error *err)
{
	uint64_t n = 0;
	int i;

	if (!jpeg_has_multiple_scans(&jpeg->d))
		return 0;
	for (i = 0; i < jpeg->d.num_components; i++)
		n += (uint64_t)jpeg->d.comp_info[i].width_in_blocks *
		     jpeg->d.comp_info[i].height_in_blocks;
	if (n <= FREE_BLOCKS + BLOCKS_A_BYTE * jpeg->n_bytes)
		return 0;
	return sfs_error_set(err, -EBADMSG,
			     "a file of %llu bytes in several scans claims %u x %u "
			     "pixels, which would take %llu MiB: too many for so few "
			     "bytes",
			     (unsigned long long)jpeg->n_bytes, jpeg->d.image_width,
			     jpeg->d.image_height,
			     (unsigned long long)(n * BLOCK_COEFS_BYTES >> 20));
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

/* Leave out the columns that the part does not need; returns where those begin that
 * come. */
static uint32_t crop_columns(struct sfs_jpeg *jpeg, const struct sfs_part *part)
{
	JDIMENSION x = part->x > MARGIN ? part->x - MARGIN : 0;
	JDIMENSION n = part->x + part->width + MARGIN, all = jpeg->d.output_width;

	n = (n < all ? n : all) - x;
	if (n == all)
		return 0;
	jpeg_crop_scanline(&jpeg->d, &x, &n);
	return x;
}

/* The rows up to `end`; n_row bytes are a row of the whole image. */
static void read_rows(struct sfs_jpeg *jpeg, uint32_t n_channels, uint32_t x,
		      size_t n_row, uint32_t end)
{
	bool is_cmyk = jpeg->d.out_color_space == JCS_CMYK;
	unsigned char *rows[4], *to;
	uint32_t i, n;

	while (jpeg->d.output_scanline < end) {
		to = jpeg->pixels + jpeg->d.output_scanline * n_row +
		     (size_t)x * n_channels;
		n = end - jpeg->d.output_scanline;
		n = is_cmyk ? 1 : n < SFS_COUNT(rows) ? n : SFS_COUNT(rows);
		for (i = 0; i < n; i++)
			rows[i] = is_cmyk ? jpeg->row : to + i * n_row;
		jpeg_read_scanlines(&jpeg->d, rows, n);
		if (is_cmyk)
			convert_cmyk(jpeg->row, n_channels, jpeg->d.output_width, to);
	}
}

/* Read the last row, so that libjpeg has seen all others. */
static void read_rest(struct sfs_jpeg *jpeg)
{
	JDIMENSION n = jpeg->d.output_height - jpeg->d.output_scanline;

	if (n > 1)
		jpeg_skip_scanlines(&jpeg->d, n - 1);
	if (n > 0)
		jpeg_read_scanlines(&jpeg->d, &jpeg->row, 1);
}

static void read_part(struct sfs_jpeg *jpeg, uint32_t n_channels,
		      const struct sfs_part *part)
{
	size_t n_row = (size_t)jpeg->d.output_width * n_channels;
	uint32_t x = crop_columns(jpeg, part);

	jpeg->row = sfs_make_room(jpeg->row, &jpeg->n_row_bytes,
				  (size_t)jpeg->d.image_width * 4, 1);
	if (part->y > 0)
		jpeg_skip_scanlines(&jpeg->d, part->y);
	read_rows(jpeg, n_channels, x, n_row, part->y + part->height);
	read_rest(jpeg);
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
	jpeg->memory = sfs_make_room(jpeg->memory, &jpeg->n_memory,
				     (size_t)jpeg->d.output_width *
					     jpeg->d.output_height * n_channels,
				     1);
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

/* `part` NULL: all. */
static int decode(struct sfs_jpeg *jpeg, const unsigned char *bytes, uint64_t n_bytes,
		  uint32_t n_channels, const struct sfs_part *part,
		  struct sfs_pixels *ret_pixels, struct sfs_error *err)
{
	int ret;

	if (setjmp(jpeg->failed))
		return give_up(jpeg, err);
	ret = read_header(jpeg, bytes, n_bytes, err);
	if (ret == 0)
		ret = check_blocks(jpeg, err);
	if (ret < 0) {
		jpeg_abort_decompress(&jpeg->d);
		return ret;
	}
	choose_colors(jpeg, n_channels);
	jpeg_start_decompress(&jpeg->d);
	choose_place(jpeg, n_channels);
	*ret_pixels = (struct sfs_pixels){jpeg->pixels, jpeg->d.output_width,
					  jpeg->d.output_height, n_channels};
	read_part(jpeg, n_channels,
		  part ? part
		       : &(struct sfs_part){0, 0, jpeg->d.output_width,
					    jpeg->d.output_height});
	jpeg_finish_decompress(&jpeg->d);
	return 0;
}

int sfs_jpeg_decode(struct sfs_jpeg *jpeg, const unsigned char *bytes, uint64_t n_bytes,
		    uint32_t n_channels, struct sfs_pixels *ret_pixels,
		    struct sfs_error *err)
{
	return decode(jpeg, bytes, n_bytes, n_channels, NULL, ret_pixels, err);
}

int sfs_jpeg_decode_part(struct sfs_jpeg *jpeg, const unsigned char *bytes,
			 uint64_t n_bytes, uint32_t n_channels,
			 const struct sfs_part *part, struct sfs_pixels *ret_pixels,
			 struct sfs_error *err)
{
	return decode(jpeg, bytes, n_bytes, n_channels, part, ret_pixels, err);
}

/* ---- planes ---- */

static bool is_half(int most, int samp)
{
	return samp * 2 == most;
}

/* Chroma of full size, or half of it, and the same for both.  (Of two columns or less,
 * libjpeg makes full ones in another way.) */
static bool has_planes(const struct sfs_jpeg *jpeg, uint32_t n_channels)
{
	const struct jpeg_decompress_struct *d = &jpeg->d;
	const jpeg_component_info *c = d->comp_info;
	uint32_t i;

	if (d->jpeg_color_space != JCS_YCbCr && d->jpeg_color_space != JCS_GRAYSCALE)
		return false;
	if (d->image_width <= 4)
		return false;
	if (c[0].h_samp_factor != d->max_h_samp_factor ||
	    c[0].v_samp_factor != d->max_v_samp_factor)
		return false;
	for (i = 1; n_channels == 3 && i < (uint32_t)d->num_components; i++)
		if (c[i].h_samp_factor != c[1].h_samp_factor ||
		    c[i].v_samp_factor != c[1].v_samp_factor ||
		    (c[i].h_samp_factor != c[0].h_samp_factor &&
		     !is_half(c[0].h_samp_factor, c[i].h_samp_factor)) ||
		    (c[i].v_samp_factor != c[0].v_samp_factor &&
		     !is_half(c[0].v_samp_factor, c[i].v_samp_factor)))
			return false;
	return true;
}

/* A row of blocks more than it has: libjpeg makes rows of whole MCUs. */
static size_t n_plane_rows(const struct sfs_jpeg *jpeg, const jpeg_component_info *c)
{
	return (size_t)jpeg->d.total_iMCU_rows * (size_t)c->v_samp_factor * DCT_SIDE(c);
}

static void describe_plane(const struct sfs_jpeg *jpeg, const jpeg_component_info *c,
			   struct sfs_plane *ret)
{
	uint32_t side = DCT_SIDE(c);

	*ret = (struct sfs_plane){
		.n_row = ((size_t)c->width_in_blocks * side + 31) / 32 * 32,
		.width = c->downsampled_width,
		.height = c->downsampled_height,
		.n_x_chroma = is_half(jpeg->d.max_h_samp_factor, c->h_samp_factor),
		.n_y_chroma = is_half(jpeg->d.max_v_samp_factor, c->v_samp_factor),
	};
	for (; side < DCTSIZE; side *= 2)
		ret->n_dct++;
}

/* After jpeg_start_decompress(), which knows their sizes. */
static void place_planes(struct sfs_jpeg *jpeg, struct sfs_planes *p)
{
	const jpeg_component_info *c = jpeg->d.comp_info;
	unsigned char *at;
	size_t n = 0;
	uint32_t i;

	for (i = 0; i < p->n; i++) {
		describe_plane(jpeg, &c[i], &p->planes[i]);
		n += n_plane_rows(jpeg, &c[i]) * p->planes[i].n_row;
	}
	jpeg->memory = sfs_make_room(jpeg->memory, &jpeg->n_memory, n, 1);
	for (i = 0, at = jpeg->memory; i < p->n; i++) {
		p->planes[i].data = at;
		at += n_plane_rows(jpeg, &c[i]) * p->planes[i].n_row;
	}
}

/* Rows of MCUs, one at a time. */
static void read_planes(struct sfs_jpeg *jpeg, const struct sfs_planes *p,
			uint32_t begin, uint32_t end)
{
	struct jpeg_decompress_struct *d = &jpeg->d;
	JSAMPROW rows[3][4 * DCTSIZE];
	JSAMPARRAY arrays[MAX_COMPONENTS] = {rows[0], rows[1], rows[2]};
	uint32_t n_lines = (uint32_t)d->max_v_samp_factor * MIN_SIDE(d), i, y, n;

	while (d->output_scanline < d->output_height) {
		bool is_needed = d->output_scanline + n_lines > begin &&
				 d->output_scanline < end;

		for (i = 0; i < p->n; i++) {
			jpeg_component_info *c = &d->comp_info[i];

			n = (uint32_t)c->v_samp_factor * DCT_SIDE(c);
			assert(n <= SFS_COUNT(rows[i]));
			for (y = 0; y < n; y++)
				rows[i][y] =
					(JSAMPROW)p->planes[i].data +
					((size_t)d->output_scanline / n_lines * n + y) *
						p->planes[i].n_row;
			c->component_needed = is_needed;
		}
		jpeg_read_raw_data(d, arrays, n_lines);
	}
}

/* The image has begun: its planes, in those rows that the part needs. */
static void read_planes_of(struct sfs_jpeg *jpeg, const struct sfs_part *part,
			   uint32_t n_halvings, struct sfs_planes *p)
{
	uint32_t begin = part->y >> n_halvings, margin = 2 * PLANE_MARGIN;
	uint32_t end = ((part->y + part->height) >> n_halvings) + 1;

	place_planes(jpeg, p);
	read_planes(jpeg, p, begin > margin ? begin - margin : 0, end + margin);
}

static int begin_planes(struct sfs_jpeg *jpeg, const unsigned char *bytes,
			uint64_t n_bytes, uint32_t n_channels, uint32_t n_halvings,
			struct sfs_planes *p, struct sfs_error *err)
{
	int ret = read_header(jpeg, bytes, n_bytes, err), i;

	if (ret == 0)
		ret = check_blocks(jpeg, err);
	if (ret == 0 && !has_planes(jpeg, n_channels))
		ret = sfs_error_set(err, -ENOTSUP, "colours that are no planes");
	if (ret < 0)
		return ret;
	*p = (struct sfs_planes){.n = n_channels == 3 ? (uint32_t)jpeg->d.num_components
						      : 1,
				 .width = jpeg->d.image_width,
				 .height = jpeg->d.image_height};
	jpeg->d.scale_num = 1;
	jpeg->d.scale_denom = 1U << n_halvings;
	jpeg->d.raw_data_out = TRUE;
	jpeg->d.out_color_space = jpeg->d.jpeg_color_space;
	for (i = (int)p->n; i < jpeg->d.num_components; i++)
		jpeg->d.comp_info[i].component_needed = FALSE;
	return 0;
}

int sfs_jpeg_decode_planes(struct sfs_jpeg *jpeg, const unsigned char *bytes,
			   uint64_t n_bytes, uint32_t n_channels, uint32_t n_halvings,
			   const struct sfs_part *part, struct sfs_planes *ret_planes,
			   struct sfs_error *err)
{
	int ret;

	if (setjmp(jpeg->failed))
		return give_up(jpeg, err);
	ret = begin_planes(jpeg, bytes, n_bytes, n_channels, n_halvings, ret_planes, err);
	if (ret < 0) {
		jpeg_abort_decompress(&jpeg->d);
		return ret;
	}
	jpeg_start_decompress(&jpeg->d);
	read_planes_of(jpeg, part, n_halvings, ret_planes);
	jpeg_finish_decompress(&jpeg->d);
	return 0;
}
