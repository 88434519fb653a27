/* SPDX-License-Identifier: MIT */
#include "ring/layout.h"

#include "base/alloc.h"
#include "base/rng.h"

#include <errno.h>
#include <string.h>

static const struct {
	const char *name;
	uint32_t n_bytes;
} dtypes[] = {{"u1", 1}, {"u2", 2}, {"u4", 4}, {"u8", 8}, {"i1", 1}, {"i2", 2}, {"i4", 4},
	      {"i8", 8}, {"f2", 2}, {"f4", 4}, {"f8", 8}, {"b1", 1}, {"bf2", 2}};

uint32_t sfs_dtype_bytes(const char *dtype)
{
	size_t i;

	for (i = 0; i < SFS_COUNT(dtypes); i++)
		if (strcmp(dtypes[i].name, dtype) == 0)
			return dtypes[i].n_bytes;
	return 0;
}

static uint64_t align(uint64_t n)
{
	return (n + SFS_LAYOUT_ALIGN - 1) / SFS_LAYOUT_ALIGN * SFS_LAYOUT_ALIGN;
}

static int check_row(const struct shufflefs_layout *layout, const struct sfs_row *row,
		     struct sfs_error *err)
{
	uint32_t i;

	if (layout->n_tensors == SHUFFLEFS_TENSORS_MAX)
		return sfs_error_set(err, -E2BIG, "a batch has at most %d tensors",
				     SHUFFLEFS_TENSORS_MAX);
	if (layout->n_samples == 0 || layout->n_samples > SFS_LAYOUT_BATCH_MAX)
		return sfs_error_set(err, -EINVAL, "a batch has 1 to %u samples, not %u",
				     SFS_LAYOUT_BATCH_MAX, layout->n_samples);
	if (!row->name[0] || strlen(row->name) >= SHUFFLEFS_NAME_BYTES)
		return sfs_error_set(err, -EINVAL,
				     "'%s': a tensor's name has 1 to %d bytes", row->name,
				     SHUFFLEFS_NAME_BYTES - 1);
	for (i = 0; i < layout->n_tensors; i++)
		if (strcmp(layout->tensors[i].name, row->name) == 0)
			return sfs_error_set(err, -EINVAL, "two tensors are called '%s'",
					     row->name);
	if (sfs_dtype_bytes(row->dtype) == 0)
		return sfs_error_set(err, -EINVAL, "%s: '%s' is not a dtype", row->name,
				     row->dtype);
	if (row->rank >= SHUFFLEFS_DIMS_MAX)
		return sfs_error_set(err, -EINVAL,
				     "%s: a sample has at most %d dimensions", row->name,
				     SHUFFLEFS_DIMS_MAX - 1);
	return 0;
}

static int too_large(const char *name, struct sfs_error *err)
{
	return sfs_error_set(err, -E2BIG,
			     "%s: a batch would be larger than 4 GiB; make it smaller",
			     name);
}

int sfs_layout_add(struct shufflefs_layout *layout, const struct sfs_row *row,
		   struct sfs_error *err)
{
	struct shufflefs_tensor t = {.rank = row->rank + 1};
	uint32_t i;
	int ret;

	ret = check_row(layout, row, err);
	if (ret < 0)
		return ret;
	memcpy(t.name, row->name, strlen(row->name));
	memcpy(t.dtype, row->dtype, strlen(row->dtype));
	t.item_bytes = sfs_dtype_bytes(row->dtype);
	t.row_bytes = t.item_bytes;
	for (i = 0; i < SHUFFLEFS_DIMS_MAX; i++)
		t.dims[i] = i == 0		? layout->n_samples
			    : i - 1 < row->rank ? row->dims[i - 1]
						: 1;
	for (i = 1; i < SHUFFLEFS_DIMS_MAX; i++) {
		if (t.dims[i] == 0)
			return sfs_error_set(err, -EINVAL, "%s: a dimension is 0",
					     t.name);
		if (t.dims[i] > SFS_LAYOUT_SLOT_MAX / t.row_bytes)
			return too_large(t.name, err);
		t.row_bytes *= t.dims[i];
	}
	t.offset = align(layout->slot_bytes);
	if (t.row_bytes > (SFS_LAYOUT_SLOT_MAX - t.offset) / layout->n_samples)
		return too_large(t.name, err);
	layout->slot_bytes = t.offset + t.row_bytes * layout->n_samples;
	layout->tensors[layout->n_tensors++] = t;
	return 0;
}

/* Made once more from its rows, it must be the same. */
int sfs_layout_check(const struct shufflefs_layout *layout, struct sfs_error *err)
{
	struct shufflefs_layout again = {.n_samples = layout->n_samples};
	uint32_t i;

	if (layout->n_tensors == 0 || layout->n_tensors > SHUFFLEFS_TENSORS_MAX)
		return sfs_error_set(err, -EPROTO, "a layout of %u tensors",
				     layout->n_tensors);
	for (i = 0; i < layout->n_tensors; i++) {
		const struct shufflefs_tensor *t = &layout->tensors[i];
		struct sfs_row row = {.name = t->name,
				      .dtype = t->dtype,
				      .rank = t->rank - 1};

		if (!memchr(t->name, 0, sizeof t->name) ||
		    !memchr(t->dtype, 0, sizeof t->dtype))
			return sfs_error_set(err, -EPROTO,
					     "tensor %u has a name without an end", i);
		memcpy(row.dims, t->dims + 1, sizeof row.dims);
		if (sfs_layout_add(&again, &row, err) < 0)
			return -EPROTO;
	}
	if (!sfs_layout_equal(layout, &again))
		return sfs_error_set(err, -EPROTO,
				     "a layout whose offsets or sizes are wrong");
	return 0;
}

bool sfs_layout_equal(const struct shufflefs_layout *a, const struct shufflefs_layout *b)
{
	return memcmp(a, b, sizeof *a) == 0; /* (there is no padding in it) */
}

uint64_t sfs_layout_hash(const struct shufflefs_layout *layout)
{
	uint64_t words[sizeof *layout / sizeof(uint64_t)];
	struct sfs_rng rng;

	_Static_assert(sizeof words == sizeof *layout, "whole words");
	memcpy(words, layout, sizeof words);
	sfs_rng_init(&rng, words, SFS_COUNT(words));
	return sfs_rng_next(&rng);
}
