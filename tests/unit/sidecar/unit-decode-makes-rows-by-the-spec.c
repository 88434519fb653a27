/* SPDX-License-Identifier: MIT */
/* A spec is read or its wrong character is named; arrays and numbers are read whole or
 * refused; crops and flips are those of seed, epoch and sample, alike for a sample's
 * images; nchw, f4 and mirrored pixels are those of the plain ones; a sample's key is a
 * field of it. */
#include "decode/decode-array.h"
#include "decode/decode.h"

#include "check.h"

#include <errno.h>
#include <png.h>

#define SIDE 40

static struct sfs_error err;

static void check_bad(const char *text, const char *words)
{
	struct sfs_spec spec;

	CHECK_EQ(sfs_spec_parse(text, &spec, &err), -EINVAL);
	CHECK_HAS(err.text, words);
	sfs_spec_done(&spec);
}

static void test_spec(void)
{
	struct sfs_spec spec;

	CHECK_EQ(sfs_spec_parse("img=jpg|png:gray,32x48,rrc,flip,nchw,f4;cls:i8;npy;"
				"txt:bytes,2147483647;bin:raw,f2,3x4",
				&spec, &err),
		 0);
	CHECK_EQ(spec.n, 5);
	CHECK_STR(spec.tensors[0].name, "img");
	CHECK_STR(spec.tensors[0].fields[1], "png");
	CHECK_EQ(spec.tensors[0].height, 32);
	CHECK_EQ(spec.tensors[0].width, 48);
	CHECK_EQ(spec.tensors[0].n_channels, 1);
	CHECK_EQ(spec.tensors[0].mode, SFS_SPEC_RRC);
	CHECK(spec.tensors[0].flips && spec.tensors[0].is_nchw);
	CHECK_STR(spec.tensors[0].dtype, "f4");
	CHECK_STR(spec.tensors[1].dtype, "i8");
	CHECK_EQ(spec.tensors[3].n_bytes, INT32_MAX);
	CHECK_EQ(spec.tensors[4].dims[1], 4);
	sfs_spec_done(&spec);
	CHECK_EQ(sfs_spec_parse("jpg: fit 256, crop 224x192,f4;png:224,fit 224", &spec,
				&err),
		 0);
	CHECK_EQ(spec.tensors[0].shorter, 256);
	CHECK_EQ(spec.tensors[0].height, 224);
	CHECK_EQ(spec.tensors[0].width, 192);
	CHECK_EQ(spec.tensors[0].mode, SFS_SPEC_CROP);
	CHECK_EQ(spec.tensors[1].shorter, 224);
	sfs_spec_done(&spec);
	CHECK_EQ(sfs_spec_parse("jpg:fast,224,rrc;png:224,fit", &spec, &err), 0);
	CHECK(spec.tensors[0].is_fast && !spec.tensors[1].is_fast);
	sfs_spec_done(&spec);
	check_bad("jpg:rgb,fast", "'fast' is about resizing");
	check_bad("jpg:224,fast,fast", "an option before it already says this");
	check_bad("jpg:rgb,fit 256", "cut them, as by 'fit 256,crop 256'");
	check_bad("jpg:fit 256,crop 257", "too small for a crop of 257x257");
	check_bad("jpg:fit 256,crop 16x257", "too small");
	check_bad("jpg:fit 256,224,rrc", "character 17:");
	check_bad("jpg:fit 256,crop 224,224", "character 22:");
	check_bad("jpg:224,crop 224", "character 9:");
	check_bad("jpg:fit 256,fit 256,crop 224", "character 13:");
	check_bad("jpg:fit ,crop 224", "'fit ' is not an image option");
	check_bad("jpg:fit 40000,crop 224", "character 5:");
	check_bad("key", "character 4:");
	check_bad("", "character 1:");
	check_bad("jpg:rgg", "character 5:");
	check_bad("jpg:rgb,gray", "character 9:");
	check_bad("jpg:rgb,fit", "character 9:");
	check_bad("cls;JPG", "character 5:");
	check_bad("cls:i2", "character 5:");
	check_bad("\xc3\xa9=cls;jpg:0", "character 11:");
	check_bad("x:raw,f3,1", "character 7:");
	check_bad("x:raw,f4", "character 9:");
	check_bad("x:raw,f4,2x", "character 10:");
	check_bad("x:bytes,2147483648", "character 9:");
	check_bad("cls;cls", "character 5:");
	check_bad("abcdefghijklmnop=cls", "character 1:");
	check_bad("txt", "character 4:");
}

static void check_cut(int (*read)(const unsigned char *, uint64_t, struct sfs_array *,
				  struct sfs_error *),
		      const void *bytes, size_t n)
{
	struct sfs_array a;
	unsigned char *copy;
	size_t i;

	for (i = 0; i <= n; i++) {
		copy = memcpy(malloc(i + 1), bytes, i);
		CHECK_EQ(read(copy, i, &a, &err), i < n ? -EBADMSG : 0);
		free(copy);
	}
}

static size_t make_npy(unsigned char *to, int version, const char *order)
{
	char header[80];
	size_t at = version > 1 ? 12 : 10;
	int n = snprintf(header, sizeof header,
			 "{'descr': '<i2', 'fortran_order': %s, 'shape': (2, 3), }\n",
			 order);

	memset(to, 0, 256);
	memcpy(to, "\x93NUMPY", 6);
	to[6] = (unsigned char)version;
	to[8] = (unsigned char)n;
	memcpy(to + at, header, (size_t)n);
	memcpy(to + at + n, "abcdefghijkl", 12);
	return at + (size_t)n + 12;
}

static void test_npy(void)
{
	unsigned char bytes[256];
	struct sfs_array a;
	size_t n;
	int v;

	for (v = 1; v <= 3; v++) {
		n = make_npy(bytes, v, "False");
		CHECK_EQ(sfs_npy_read(bytes, n, &a, &err), 0);
		CHECK_STR(a.dtype, "i2");
		CHECK_EQ(a.rank, 2);
		CHECK_EQ(a.dims[0] * 10 + a.dims[1], 23);
		CHECK(memcmp(a.data, "abcdefghijkl", a.n_bytes) == 0);
		check_cut(sfs_npy_read, bytes, n);
	}
	CHECK_EQ(sfs_npy_read(bytes, make_npy(bytes, 1, "True"), &a, &err), -EBADMSG);
	CHECK_HAS(err.text, "Fortran");
	CHECK_EQ(sfs_npy_read(bytes, make_npy(bytes, 4, "False"), &a, &err), -EBADMSG);
}

static size_t add_chunk(unsigned char *to, const void *body, uint64_t n)
{
	memset(to, 0, 16 + (n + 63) / 64 * 64);
	memcpy(to, "~TenBin~", 8);
	memcpy(to + 8, &n, 8);
	memcpy(to + 16, body, n);
	return 16 + (n + 63) / 64 * 64;
}

static void test_ten(void)
{
	unsigned char bytes[512], header[40] = "i2\0\0\0\0\0\0x";
	uint64_t dims[] = {2, 2, 3};
	struct sfs_array a;
	size_t n;

	memcpy(header + 16, dims, sizeof dims);
	n = add_chunk(bytes, header, sizeof header);
	n += add_chunk(bytes + n, "abcdefghijkl", 12);
	CHECK_EQ(sfs_ten_read(bytes, n, &a, &err), 0);
	CHECK_STR(a.dtype, "i2");
	CHECK(memcmp(a.data, "abcdefghijkl", a.n_bytes) == 0);
	check_cut(sfs_ten_read, bytes, n);
	memcpy(bytes + n, bytes, n);
	CHECK_EQ(sfs_ten_read(bytes, 2 * n, &a, &err), -EBADMSG);
	CHECK_HAS(err.text, "more than one");
	memcpy(bytes + 16, "i2345678", 8);
	CHECK_EQ(sfs_ten_read(bytes, n, &a, &err), -EBADMSG);
}

static int read_int(const char *text, const char *dtype, void *row)
{
	return sfs_number_read((const unsigned char *)text, strlen(text), dtype, row,
			       &err);
}

static void test_numbers(void)
{
	int32_t i4;
	int64_t i8;

	CHECK_EQ(read_int(" -2147483648\n", "i4", &i4), 0);
	CHECK_EQ(i4, INT32_MIN);
	CHECK_EQ(read_int("2147483647", "i4", &i4), 0);
	CHECK_EQ(i4, INT32_MAX);
	CHECK_EQ(read_int("2147483648", "i4", &i4), -EBADMSG);
	CHECK_EQ(read_int("-9223372036854775808", "i8", &i8), 0);
	CHECK(i8 == INT64_MIN);
	CHECK_EQ(read_int("9223372036854775808", "i8", &i8), -EBADMSG);
	CHECK_EQ(read_int("", "i4", &i4), -EBADMSG);
	CHECK_EQ(read_int("1 2", "i4", &i4), -EBADMSG);
	CHECK_EQ(read_int("-", "i4", &i4), -EBADMSG);
}

/* A PNG of noise; `level` makes another file of the same pixels. */
static size_t make_png(unsigned char *to, size_t room, int level)
{
	unsigned char pixels[SIDE * SIDE * 3];
	png_image image = {.version = PNG_IMAGE_VERSION,
			   .width = SIDE,
			   .height = SIDE,
			   .format = PNG_FORMAT_RGB};
	png_alloc_size_t n = room;
	uint32_t x = 1;
	size_t i;

	for (i = 0; i < sizeof pixels; i++) {
		x = x * 1664525 + 1013904223;
		pixels[i] = (unsigned char)(x >> 24);
	}
	image.flags = level ? PNG_IMAGE_FLAG_FAST : 0;
	CHECK(png_image_write_to_memory(&image, to, &n, 0, pixels, 0, NULL));
	return n;
}

struct world {
	unsigned char png[2][16384];
	struct sfs_sample_field fields[3];
	struct sfs_sample sample;
};

/* Decode into rows[] of 64 KiB each. */
static void decode(const struct world *w, const char *text, uint64_t seed, uint64_t epoch,
		   unsigned char rows[4][65536])
{
	struct sfs_spec spec;
	struct sfs_decode_settings settings = {&spec, seed, epoch};
	struct shufflefs_layout layout;
	struct sfs_decoder *d;
	void *to[] = {rows[0], rows[1], rows[2], rows[3]};

	CHECK_EQ(sfs_spec_parse(text, &spec, &err), 0);
	d = sfs_decoder_new(&settings);
	CHECK_EQ(sfs_decode_layout(d, &w->sample, 2, &layout, &err), 0);
	memset(rows, 0xee, 4 * 65536);
	CHECK_EQ(sfs_decode_sample(d, &w->sample, &layout, to, &err), 0);
	sfs_decoder_free(d);
	sfs_spec_done(&spec);
}

static unsigned char a[4][65536], b[4][65536];

static void test_chance(struct world *w)
{
	const char *spec = "png:rgb,16,rrc,flip;seg.png:rgb,16,rrc,flip";
	unsigned n_seeds = 0, n_epochs = 0, i;
	size_t n = 16 * 16 * 3;

	for (i = 0; i < 8; i++) {
		decode(w, spec, i, 0, a);
		CHECK(memcmp(a[0], a[1], n) == 0); /* image and mask */
		decode(w, spec, i, 0, b);
		CHECK(memcmp(a[0], b[0], n) == 0);
		decode(w, spec, i + 1, 0, b);
		n_seeds += memcmp(a[0], b[0], n) != 0;
		decode(w, spec, i, 1, b);
		n_epochs += memcmp(a[0], b[0], n) != 0;
	}
	CHECK_EQ(n_seeds, 8);
	CHECK_EQ(n_epochs, 8);
	decode(w, spec, 0, 0, a);
	w->sample.key = "other";
	decode(w, spec, 0, 0, b);
	CHECK(memcmp(a[0], b[0], n) != 0);
}

static void test_forms(const struct world *w)
{
	unsigned n_mirrored = 0, i, x, y, c;
	float value;

	decode(w, "png", 0, 0, a);
	for (i = 0; i < 16; i++) {
		decode(w, "png:flip;o=png:flip,nchw,f4;t=txt:bytes,5", i, 0, b);
		bool is_mirrored = memcmp(a[0], b[0], SIDE * SIDE * 3) != 0;

		n_mirrored += is_mirrored;
		for (y = 0; y < SIDE; y++)
			for (x = 0; x < SIDE; x++)
				for (c = 0; c < 3; c++) {
					unsigned from = is_mirrored ? SIDE - 1 - x : x;

					memcpy(&value,
					       b[1] + ((c * SIDE + y) * SIDE + x) * 4, 4);
					CHECK_EQ(b[0][(y * SIDE + x) * 3 + c],
						 a[0][(y * SIDE + from) * 3 + c]);
					CHECK(value ==
					      (float)b[0][(y * SIDE + x) * 3 + c] / 255);
				}
		CHECK(memcmp(b[2], "abc\0\0\xee", 6) == 0);
		CHECK(memcmp(b[3], "\3\0\0\0\xee", 5) == 0);
	}
	CHECK(n_mirrored > 0 && n_mirrored < 16);
}

/* The middle of an image that is not resized is its pixels; of one that is, near them. */
static void test_middle(const struct world *w)
{
	uint32_t y;

	decode(w, "png", 0, 0, a);
	decode(w, "png:fit 40,crop 16x9;o=png:fit 20,crop 20;p=png:20", 0, 0, b);
	for (y = 0; y < 16; y++) /* (15.5 is rounded to the even 16) */
		CHECK(memcmp(b[0] + (size_t)y * 9 * 3,
			     a[0] + ((size_t)(12 + y) * SIDE + 16) * 3, 9 * 3) == 0);
	CHECK(memcmp(b[1], b[2], 20 * 20 * 3) == 0);
}

/* It is what comes where no field of that name does. */
static void test_key(struct world *w)
{
	decode(w, "key:bytes,4;n=no|key|txt:bytes,4", 0, 0, b);
	CHECK(memcmp(b[0], "k\0\0\0\xee", 5) == 0);
	CHECK(memcmp(b[1], "\1\0\0\0\xee", 5) == 0);
	CHECK(memcmp(b[2], "k\0\0\0\xee", 5) == 0);
	decode(w, "n=txt|key:bytes,4", 0, 0, b);
	CHECK(memcmp(b[0], "abc\0\xee", 5) == 0);
	w->fields[2].name = "key";
	decode(w, "key:bytes,4", 0, 0, b);
	CHECK(memcmp(b[0], "abc\0\xee", 5) == 0);
	w->fields[2].name = "txt";
}

int main(void)
{
	static struct world w;
	const unsigned char *text = (const unsigned char *)"abc";

	test_spec();
	test_npy();
	test_ten();
	test_numbers();
	w.fields[0] =
		(struct sfs_sample_field){"png", w.png[0], make_png(w.png[0], 16384, 0)};
	w.fields[1] = (struct sfs_sample_field){"seg.png", w.png[1],
						make_png(w.png[1], 16384, 1)};
	w.fields[2] = (struct sfs_sample_field){"txt", text, 3};
	CHECK(w.fields[0].n_bytes != w.fields[1].n_bytes ||
	      memcmp(w.png[0], w.png[1], w.fields[0].n_bytes) != 0);
	w.sample = (struct sfs_sample){.key = "k", .fields = w.fields, .n_fields = 3};
	test_forms(&w);
	test_middle(&w);
	test_key(&w);
	test_chance(&w);
	return 0;
}
