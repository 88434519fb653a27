/* SPDX-License-Identifier: MIT */
/* How this works
 *
 * Each tensor of the spec is one of the layout; BYTES are two.  A layout is made by
 * describing one sample, and a sample is decoded into the shapes that the layout has.
 *
 * What chance decides is named by the seed, the epoch, the sample's key, and the first 4
 * KiB and the size of the field of its first image: keys may repeat, contents do not.  So
 * an image and its mask, which are of one size, get the same crop and flip.
 */
#include "decode/decode.h"

#include "decode/augment.h"
#include "decode/decode-array.h"
#include "decode/decode-jpeg.h"
#include "decode/image.h"
#include "decode/decode-png.h"
#include "decode/planes.h"

#include "base/alloc.h"
#include "base/checksum.h"
#include "base/rng.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define NAMED_BYTES 4096

struct sfs_decoder {
	struct sfs_decode_settings settings;
	struct sfs_jpeg *jpeg;
	struct sfs_png png;
	struct sfs_image_scratch scratch;
	struct sfs_sample_field key; /* of the sample in hand, as if it were a field */
};

struct sfs_decoder *sfs_decoder_new(const struct sfs_decode_settings *settings)
{
	struct sfs_decoder *d = sfs_calloc(1, sizeof *d);

	d->settings = *settings;
	d->jpeg = sfs_jpeg_new();
	return d;
}

void sfs_decoder_free(struct sfs_decoder *d)
{
	if (!d)
		return;
	sfs_jpeg_free(d->jpeg);
	sfs_png_done(&d->png);
	sfs_image_scratch_done(&d->scratch);
	free(d);
}

void sfs_decoder_trim(struct sfs_decoder *d, uint64_t most)
{
	sfs_jpeg_trim(d->jpeg, most);
	if (d->png.n_pixels_bytes > most)
		sfs_png_done(&d->png);
	sfs_image_scratch_trim(&d->scratch, most);
}

/* The first of the tensor's fields that the sample has; NULL: none. */
static const struct sfs_sample_field *look_for(struct sfs_decoder *d,
					       const struct sfs_sample *sample,
					       const struct sfs_spec_tensor *t)
{
	const struct sfs_sample_field *f;
	uint32_t i;

	for (i = 0; i < t->n_fields; i++) {
		f = sfs_sample_find(sample, &t->fields[i], 1);
		if (f)
			return f;
		if (strcmp(t->fields[i], "key") == 0) {
			d->key = (struct sfs_sample_field){
				"key", (const unsigned char *)sample->key,
				strlen(sample->key)};
			return &d->key;
		}
	}
	return NULL;
}

static int find_field(struct sfs_decoder *d, const struct sfs_sample *sample,
		      const struct sfs_spec_tensor *t,
		      const struct sfs_sample_field **ret_field, struct sfs_error *err)
{
	char names[512] = "";
	size_t n = 0;
	uint32_t i;

	*ret_field = look_for(d, sample, t);
	if (*ret_field)
		return 0;
	for (i = 0; i < sample->n_fields && n < sizeof names; i++)
		n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", i ? ", " : "",
				      sample->fields[i].name);
	return sfs_error_set(err, -EBADMSG, "it has no field '%s', only: %s",
			     t->fields[0], names);
}

static bool is_png(const struct sfs_sample_field *f)
{
	return f->n_bytes >= 4 && memcmp(f->bytes, "\x89PNG", 4) == 0;
}

static int decode_pixels(struct sfs_decoder *d, const struct sfs_sample_field *f,
			 uint32_t n_channels, struct sfs_pixels *ret_pixels,
			 struct sfs_error *err)
{
	if (is_png(f))
		return sfs_png_decode(&d->png, f->bytes, f->n_bytes, n_channels,
				      ret_pixels, err);
	if (n_channels == 0)
		return sfs_jpeg_size(d->jpeg, f->bytes, f->n_bytes, ret_pixels, err);
	return sfs_jpeg_decode(d->jpeg, f->bytes, f->n_bytes, n_channels, ret_pixels,
			       err);
}

static int describe_image(struct sfs_decoder *d, const struct sfs_spec_tensor *t,
			  const struct sfs_sample_field *f, struct sfs_row *row,
			  struct sfs_error *err)
{
	struct sfs_pixels p = {.height = t->height, .width = t->width};
	int ret = p.height > 0 ? 0 : decode_pixels(d, f, 0, &p, err);

	row->dtype = t->dtype;
	row->rank = 3;
	row->dims[0] = t->is_nchw ? t->n_channels : p.height;
	row->dims[1] = t->is_nchw ? p.height : p.width;
	row->dims[2] = t->is_nchw ? p.width : t->n_channels;
	return ret;
}

static int read_array(const struct sfs_spec_tensor *t, const struct sfs_sample_field *f,
		      struct sfs_array *ret_array, struct sfs_error *err)
{
	if (t->kind == SFS_SPEC_NPY)
		return sfs_npy_read(f->bytes, f->n_bytes, ret_array, err);
	return sfs_ten_read(f->bytes, f->n_bytes, ret_array, err);
}

static int add_array(const struct sfs_spec_tensor *t, const struct sfs_sample_field *f,
		     struct shufflefs_layout *layout, struct sfs_error *err)
{
	struct sfs_row row = {.name = t->name, .dtype = t->dtype, .rank = t->rank};
	struct sfs_array a;
	int ret;

	memcpy(row.dims, t->dims, sizeof row.dims);
	if (!t->dtype[0]) {
		ret = read_array(t, f, &a, err);
		if (ret < 0)
			return sfs_error_wrap(err, ret, "field '%s'", f->name);
		row.dtype = a.dtype;
		row.rank = a.rank;
		memcpy(row.dims, a.dims, sizeof row.dims);
	}
	return sfs_layout_add(layout, &row, err);
}

static int add_bytes(const struct sfs_spec_tensor *t, struct shufflefs_layout *layout,
		     struct sfs_error *err)
{
	char name[SHUFFLEFS_NAME_BYTES + 4];
	struct sfs_row row = {.name = t->name,
			      .dtype = "u1",
			      .rank = 1,
			      .dims = {t->n_bytes}};
	struct sfs_row length = {.name = name, .dtype = "i4"};
	int ret = sfs_layout_add(layout, &row, err);

	snprintf(name, sizeof name, "%s_len", t->name);
	return ret < 0 ? ret : sfs_layout_add(layout, &length, err);
}

static int add_tensor(struct sfs_decoder *d, const struct sfs_spec_tensor *t,
		      const struct sfs_sample *sample, struct shufflefs_layout *layout,
		      struct sfs_error *err)
{
	struct sfs_row row = {.name = t->name, .dtype = t->dtype};
	const struct sfs_sample_field *f = NULL;
	bool is_open = t->kind == SFS_SPEC_IMAGE ? t->height == 0 : !t->dtype[0];
	int ret = is_open ? find_field(d, sample, t, &f, err) : 0;

	if (ret < 0)
		return ret;
	switch (t->kind) {
	case SFS_SPEC_NPY:
	case SFS_SPEC_TEN:
	case SFS_SPEC_RAW: return add_array(t, f, layout, err);
	case SFS_SPEC_BYTES: return add_bytes(t, layout, err);
	case SFS_SPEC_INT: break;
	case SFS_SPEC_IMAGE:
		ret = describe_image(d, t, f, &row, err);
		if (ret < 0)
			return sfs_error_wrap(err, ret, "field '%s'", f->name);
	}
	return sfs_layout_add(layout, &row, err);
}

int sfs_decode_layout(struct sfs_decoder *d, const struct sfs_sample *sample,
		      uint32_t n_samples, struct shufflefs_layout *ret_layout,
		      struct sfs_error *err)
{
	struct shufflefs_layout layout = {.n_samples = n_samples};
	uint32_t i;
	int ret;

	for (i = 0; i < d->settings.spec->n; i++) {
		ret = add_tensor(d, &d->settings.spec->tensors[i], sample, &layout, err);
		if (ret < 0)
			return ret;
	}
	*ret_layout = layout;
	return 0;
}

/* The field of the first image that the spec wants and the sample has. */
static const struct sfs_sample_field *find_image(struct sfs_decoder *d,
						 const struct sfs_sample *sample)
{
	const struct sfs_spec_tensor *t = d->settings.spec->tensors;

	while (t->kind != SFS_SPEC_IMAGE)
		t++; /* (called for an image, so there is one) */
	return look_for(d, sample, t);
}

static void name_rng(struct sfs_decoder *d, const struct sfs_sample *sample,
		     struct sfs_rng *rng)
{
	const struct sfs_sample_field *f = find_image(d, sample);
	uint64_t n = f->n_bytes < NAMED_BYTES ? f->n_bytes : NAMED_BYTES;
	uint64_t words[] = {d->settings.seed, d->settings.epoch,
			    sfs_checksum(sample->key, strlen(sample->key)),
			    sfs_checksum(f->bytes, n), f->n_bytes};

	sfs_rng_init(rng, words, SFS_COUNT(words));
}

/* Of rows of pixels libjpeg can leave out the ends, of rows of planes not: planes take
 * less time from this share on. */
#define PLANES_FROM 0.75 /* of an image's width */

/* A JPEG's planes, without pixels of full size.  -ENOTSUP: use those. */
static int decode_fast(struct sfs_decoder *d, const struct sfs_spec_tensor *t,
		       const struct sfs_sample_field *f, uint32_t width,
		       const struct sfs_box *box, const struct sfs_part *part,
		       const struct sfs_image_form *form, void *row,
		       struct sfs_error *err)
{
	uint32_t n_halvings = sfs_planes_halvings(box, form);
	struct sfs_planes planes;
	int ret;

	if (n_halvings == 0 && part->width < PLANES_FROM * width)
		return -ENOTSUP;
	ret = sfs_jpeg_decode_planes(d->jpeg, f->bytes, f->n_bytes, t->n_channels,
				     n_halvings, part, &planes, err);
	if (ret == 0)
		sfs_planes_resize(&d->scratch, &planes, box, form, t->n_channels, row);
	return ret;
}

/* Decode as much of the image as its box needs, and put that into the row. */
static int decode_box(struct sfs_decoder *d, const struct sfs_spec_tensor *t,
		      const struct sfs_sample_field *f, const struct sfs_image_form *form,
		      struct sfs_rng *rng, void *row, struct sfs_error *err)
{
	bool is_fast = t->is_fast && !is_png(f);
	bool is_part = is_fast || (t->mode != SFS_SPEC_FIT && !is_png(f));
	struct sfs_pixels p;
	struct sfs_part part;
	struct sfs_box box;
	int ret = decode_pixels(d, f, is_part ? 0 : t->n_channels, &p, err);

	if (ret < 0)
		return ret;
	box = sfs_augment_box(t, p.width, p.height, rng);
	part = sfs_image_part(p.width, p.height, &box, form);
	if (is_fast) {
		ret = decode_fast(d, t, f, p.width, &box, &part, form, row, err);
		if (ret != -ENOTSUP)
			return ret;
	}
	if (is_part)
		ret = sfs_jpeg_decode_part(d->jpeg, f->bytes, f->n_bytes, t->n_channels,
					   &part, &p, err);
	if (ret == 0)
		sfs_image_resize(&d->scratch, &p, &box, form, row);
	return ret;
}

static int decode_image(struct sfs_decoder *d, const struct sfs_spec_tensor *t,
			const struct sfs_sample *sample, const struct sfs_sample_field *f,
			const struct shufflefs_tensor *shape, void *row,
			struct sfs_error *err)
{
	uint64_t height = shape->dims[t->is_nchw ? 2 : 1];
	uint64_t width = shape->dims[t->is_nchw ? 3 : 2];
	struct sfs_image_form form = {.width = (uint32_t)width,
				      .height = (uint32_t)height,
				      .is_nchw = t->is_nchw,
				      .is_float = strcmp(t->dtype, "f4") == 0};
	struct sfs_pixels p;
	struct sfs_rng rng;
	bool is_plain;
	int ret;

	name_rng(d, sample, &rng);
	form.is_mirrored = sfs_rng_below(&rng, 2) == 1 && t->flips;
	is_plain = t->height == 0 && sfs_image_is_plain(&form, t->n_channels);
	sfs_jpeg_aim(d->jpeg, is_plain ? row : NULL, form.width, form.height);
	if (t->height > 0)
		return decode_box(d, t, f, &form, &rng, row, err);
	ret = decode_pixels(d, f, t->n_channels, &p, err);
	if (ret < 0)
		return ret;
	if (p.width != width || p.height != height)
		return sfs_error_set(err, -EBADMSG,
				     "it has %u x %u pixels, but those before it have "
				     "%llu x %llu; give the field a size",
				     p.width, p.height, (unsigned long long)width,
				     (unsigned long long)height);
	if (p.data != row)
		sfs_image_store(&p, &form, row);
	return 0;
}

static int decode_array(const struct sfs_spec_tensor *t, const struct sfs_sample_field *f,
			const struct shufflefs_tensor *shape, void *row,
			struct sfs_error *err)
{
	struct sfs_array a;
	int ret = read_array(t, f, &a, err);

	if (ret < 0)
		return ret;
	if (strcmp(a.dtype, shape->dtype) != 0)
		return sfs_error_set(err, -EBADMSG, "its dtype is %s, not %s", a.dtype,
				     shape->dtype);
	if (a.rank + 1 != shape->rank ||
	    memcmp(a.dims, shape->dims + 1, a.rank * sizeof a.dims[0]) != 0)
		return sfs_error_set(err, -EBADMSG,
				     "its shape is not that of the batch");
	memcpy(row, a.data, a.n_bytes);
	return 0;
}

static int decode_raw(const struct sfs_sample_field *f, uint64_t n_bytes, void *row,
		      struct sfs_error *err)
{
	if (f->n_bytes != n_bytes)
		return sfs_error_set(err, -EBADMSG, "it has %llu bytes, not %llu",
				     (unsigned long long)f->n_bytes,
				     (unsigned long long)n_bytes);
	memcpy(row, f->bytes, n_bytes);
	return 0;
}

static int decode_bytes(const struct sfs_sample_field *f, uint64_t n_bytes,
			unsigned char *row, void *row_of_length, struct sfs_error *err)
{
	int32_t length = (int32_t)f->n_bytes;

	if (f->n_bytes > n_bytes)
		return sfs_error_set(err, -EBADMSG, "it has %llu bytes, more than %llu",
				     (unsigned long long)f->n_bytes,
				     (unsigned long long)n_bytes);
	memcpy(row, f->bytes, f->n_bytes);
	memset(row + f->n_bytes, 0, n_bytes - f->n_bytes);
	memcpy(row_of_length, &length, sizeof length);
	return 0;
}

int sfs_decode_sample(struct sfs_decoder *d, const struct sfs_sample *sample,
		      const struct shufflefs_layout *layout, void *const *rows,
		      struct sfs_error *err)
{
	const struct sfs_spec_tensor *t = d->settings.spec->tensors;
	const struct sfs_spec_tensor *end = t + d->settings.spec->n;
	const struct shufflefs_tensor *shape = layout->tensors;
	const struct sfs_sample_field *f;
	int ret;

	for (; t < end; t++, shape++, rows++) {
		ret = find_field(d, sample, t, &f, err);
		if (ret < 0)
			return ret;
		switch (t->kind) {
		case SFS_SPEC_IMAGE:
			ret = decode_image(d, t, sample, f, shape, *rows, err);
			break;
		case SFS_SPEC_NPY:
		case SFS_SPEC_TEN: ret = decode_array(t, f, shape, *rows, err); break;
		case SFS_SPEC_RAW:
			ret = decode_raw(f, shape->row_bytes, *rows, err);
			break;
		case SFS_SPEC_INT:
			ret = sfs_number_read(f->bytes, f->n_bytes, t->dtype, *rows, err);
			break;
		case SFS_SPEC_BYTES:
			ret = decode_bytes(f, t->n_bytes, rows[0], rows[1], err);
			shape++, rows++;
			break;
		}
		if (ret < 0)
			return sfs_error_wrap(err, ret, "field '%s'", f->name);
	}
	return 0;
}
