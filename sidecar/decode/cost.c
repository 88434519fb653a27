/* SPDX-License-Identifier: MIT */
#include "decode/cost.h"

#include <stdbool.h>
#include <string.h>

#define PIXEL_BYTES 6 /* decoded, and while it is resized */
#define COEFS_BYTES 2 /* of a component's */

static uint64_t get(const unsigned char *p, int n)
{
	uint64_t v = 0;

	while (n-- > 0)
		v = v << 8 | *p++;
	return v;
}

static bool is_png(const unsigned char *p, uint64_t n)
{
	return n >= 24 && memcmp(p, "\x89PNG\r\n\x1a\n", 8) == 0;
}

/* The frame's header: a segment SOF0 to SOF15 that is no table (DHT, JPG, DAC). */
static bool is_frame(unsigned marker)
{
	return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 &&
	       marker != 0xcc;
}

static uint64_t cost_of_frame(const unsigned char *p, unsigned marker)
{
	uint64_t n = get(p + 5, 2) * get(p + 7, 2);
	bool is_progressive = marker == 0xc2;

	return n * PIXEL_BYTES + (is_progressive ? n * p[9] * COEFS_BYTES : 0);
}

static uint64_t cost_of_jpeg(const unsigned char *p, uint64_t n)
{
	uint64_t at = 2, length;

	if (n < 2 || get(p, 2) != 0xffd8)
		return 0;
	while (at + 10 <= n && p[at] == 0xff) {
		length = 2 + get(p + at + 2, 2);
		if (is_frame(p[at + 1]))
			return cost_of_frame(p + at, p[at + 1]);
		if (p[at + 1] == 0xff) /* filling */
			length = 1;
		at += length;
	}
	return 0;
}

uint64_t sfs_decode_cost(const struct sfs_spec *spec, const struct sfs_sample *sample)
{
	const struct sfs_sample_field *f;
	uint64_t most = 0, cost;
	uint32_t i;

	for (i = 0; i < spec->n; i++) {
		if (spec->tensors[i].kind != SFS_SPEC_IMAGE)
			continue;
		f = sfs_sample_find(sample, spec->tensors[i].fields,
				    spec->tensors[i].n_fields);
		if (!f)
			continue;
		cost = is_png(f->bytes, f->n_bytes)
			       ? get(f->bytes + 16, 4) * get(f->bytes + 20, 4) *
					 PIXEL_BYTES
			       : cost_of_jpeg(f->bytes, f->n_bytes);
		most = cost > most ? cost : most;
	}
	return most;
}
