/* SPDX-License-Identifier: MIT */
/* A large progressive JPEG decodes, also a flat one, whose scans have next to nothing;
 * one whose bytes are too few for its pixels is refused before its coefficients get
 * memory; and one that goes over them again and again is refused when that is too much.
 */
#include "check.h"
#include "decode/decode-jpeg.h"

#include <errno.h>
#include <jpeglib.h>
#include <stdbool.h>

#define SIDE 4096

struct file {
	unsigned char *bytes;
	unsigned long n;
};

/* Pixel x of a line is x * x * slope: flat, or not. */
static struct file compress(int side, int n_channels, int slope)
{
	struct jpeg_compress_struct c;
	struct jpeg_error_mgr errors;
	struct file file = {NULL, 0};
	unsigned char *line = calloc((size_t)side, (size_t)n_channels);
	int i;

	for (i = 0; i < side * n_channels; i++)
		line[i] = (unsigned char)(200 + i * i * slope);
	c.err = jpeg_std_error(&errors);
	jpeg_create_compress(&c);
	jpeg_mem_dest(&c, &file.bytes, &file.n);
	c.image_width = c.image_height = (JDIMENSION)side;
	c.input_components = n_channels;
	c.in_color_space = n_channels == 3 ? JCS_RGB : JCS_GRAYSCALE;
	jpeg_set_defaults(&c);
	jpeg_simple_progression(&c);
	jpeg_start_compress(&c, TRUE);
	while (c.next_scanline < c.image_height)
		jpeg_write_scanlines(&c, &line, 1);
	jpeg_finish_compress(&c);
	jpeg_destroy_compress(&c);
	free(line);
	return file;
}

static int decode(const struct file *file, int n_channels, struct sfs_error *err)
{
	struct sfs_jpeg *jpeg = sfs_jpeg_new();
	struct sfs_pixels pixels = {.width = 0};
	int ret = sfs_jpeg_decode(jpeg, file->bytes, file->n, (uint32_t)n_channels,
				  &pixels, err);

	if (ret == 0)
		CHECK(pixels.width == pixels.height && pixels.data);
	sfs_jpeg_free(jpeg);
	return ret;
}

static void check_honest(int side, int n_channels, int slope)
{
	struct file file = compress(side, n_channels, slope);
	struct sfs_error err = {""};

	if (decode(&file, n_channels, &err) < 0)
		fprintf(stderr, "%lu bytes: %s\n", file.n, err.text);
	CHECK_STR(err.text, "");
	free(file.bytes);
}

static void append(struct file *to, const unsigned char *bytes, unsigned long n)
{
	memcpy(to->bytes + to->n, bytes, n);
	to->n += n;
}

/* All headers of a file, and of its last scan n_scans in all, without data, behind
 * n_padding bytes of comments. */
static struct file hollow(const struct file *from, int n_scans, unsigned long n_padding)
{
	static const unsigned char end[] = {0xff, 0xd9}, comment[] = {0xff, 0xfe, 4, 2};
	struct file to = {calloc(1, from->n + n_padding + 65536), 0};
	const unsigned char *p = from->bytes + 2, *last = NULL;
	unsigned long n, n_last = 0;
	int n_seen = 0;

	append(&to, from->bytes, 2);
	for (; n_padding >= 1028; n_padding -= 1028) {
		append(&to, comment, sizeof comment);
		to.n += 1024;
	}
	while (p[1] != 0xd9) {
		n = 2 + ((unsigned long)p[2] << 8 | p[3]);
		append(&to, p, n);
		n_seen += p[1] == 0xda;
		last = p[1] == 0xda ? p : last;
		n_last = p[1] == 0xda ? n : n_last;
		for (p += n; p[0] != 0xff || p[1] == 0; p++)
			;
	}
	for (; n_seen < n_scans; n_seen++)
		append(&to, last, n_last);
	append(&to, end, sizeof end);
	return to;
}

static void check_hostile(const struct file *honest, int n_scans, unsigned long n_padding,
			  const char *why)
{
	struct file file = hollow(honest, n_scans, n_padding);
	struct sfs_error err = {""};
	int ret = decode(&file, 3, &err);

	CHECK_EQ(ret, why ? -EBADMSG : 0);
	CHECK_HAS(err.text, why ? why : "");
	free(file.bytes);
}

int main(void)
{
	struct file file = compress(SIDE, 3, 0);

	check_honest(SIDE, 3, 0);
	check_honest(SIDE, 1, 0);
	check_honest(SIDE, 3, 77);
	check_hostile(&file, 0, 0,
		      " x 4096 pixels, which would take 48 MiB: too many for so few bytes");
	check_hostile(&file, 0, 43000, NULL); /* (broken, but not too large) */
	check_hostile(&file, 40, 43000, "libjpeg: too many scans: ");
	free(file.bytes);
	file = compress(64, 3, 0);
	check_hostile(&file, 400, 0, NULL);
	check_hostile(&file, 501, 0, "libjpeg: too many scans: 501");
	free(file.bytes);
	return 0;
}
