/* SPDX-License-Identifier: MIT */
/* How this works: all runs of a direction get the same length, which is what vector code
 * likes; those that are shorter, or would leave the image, have weights of 0.
 *
 * A resize is linear, and so is making pixels anew.  So both are one sum, whose weights
 * are those of the resize, each spread over the pixels that its own is made of. */
#include "decode/taps.h"

#include <math.h>
#include <string.h>

static double scale_of(const struct sfs_direction *d)
{
	return d->length / d->n;
}

static double support_of(const struct sfs_direction *d)
{
	return scale_of(d) < 1 ? 1 : scale_of(d);
}

static uint32_t n_taps_of(const struct sfs_direction *d)
{
	double n = ceil(2 * support_of(d));

	return n < d->n_pixels ? (uint32_t)n : d->n_pixels;
}

size_t sfs_taps_room(const struct sfs_direction *d)
{
	return d->n * (1 + (size_t)n_taps_of(d));
}

static double triangle(double x)
{
	x = fabs(x);
	return x < 1 ? 1 - x : 0;
}

/* The pixels [*ret_begin, *ret_end) that count for result i, around *ret_center. */
static void find_run(const struct sfs_direction *d, uint32_t i, int32_t *ret_begin,
		     int32_t *ret_end, double *ret_center)
{
	double support = support_of(d), center = d->start + (i + 0.5) * scale_of(d);
	int32_t n_pixels = (int32_t)d->n_pixels, n_taps = (int32_t)n_taps_of(d);
	int32_t begin = (int32_t)(center - support + 0.5);
	int32_t end = (int32_t)(center + support + 0.5);

	begin = begin < 0 ? 0 : begin;
	end = end > n_pixels ? n_pixels : end;
	*ret_begin = begin;
	*ret_end = end > begin + n_taps ? begin + n_taps : end; /* (it was rounded) */
	*ret_center = center;
}

/* One result's weights. */
static void weigh(const struct sfs_direction *d, struct sfs_taps *taps, uint32_t i)
{
	double support = support_of(d), sum = 0, inverse = 1 / support, center;
	int32_t n_pixels = (int32_t)d->n_pixels, n_taps = (int32_t)taps->n_taps;
	int32_t *k = taps->k + (size_t)i * taps->stride, begin, end, first, x;

	find_run(d, i, &begin, &end, &center);
	first = begin > n_pixels - n_taps ? n_pixels - n_taps : begin;
	taps->first[i] = first;
	for (x = begin; x < end; x++)
		sum += triangle((x - center + 0.5) * inverse);
	for (x = begin; x < end; x++)
		k[x - first] = (int32_t)(0.5 + triangle((x - center + 0.5) * inverse) /
						       (sum > 0 ? sum : 1) *
						       (1 << SFS_TAPS_BITS));
}

void sfs_taps_part(const struct sfs_direction *d, uint32_t *ret_begin, uint32_t *ret_n)
{
	int32_t begin, end, ignored;
	double center;

	find_run(d, 0, &begin, &ignored, &center);
	find_run(d, d->n - 1, &ignored, &end, &center);
	*ret_begin = (uint32_t)begin;
	*ret_n = (uint32_t)(end - begin);
}

/* Taps of weights 0, for n results, in `memory`; returns what is left of it. */
static int32_t *lay_out(uint32_t n, uint32_t n_taps, int32_t *memory,
			struct sfs_taps *ret_taps)
{
	size_t n_weights = (size_t)n * n_taps;

	*ret_taps = (struct sfs_taps){memory, memory + n, n_taps, n_taps};
	memset(memory + n, 0, n_weights * sizeof *memory);
	return memory + n + n_weights;
}

int32_t *sfs_taps_make(const struct sfs_direction *d, int32_t *memory,
		       struct sfs_taps *ret_taps)
{
	uint32_t i;

	memory = lay_out(d->n, n_taps_of(d), memory, ret_taps);
	for (i = 0; i < d->n; i++)
		weigh(d, ret_taps, i);
	return memory;
}

/* ---- half of the pixels ---- */

#define SPREAD_BITS 8
#define SPREAD_MAX  4

/* Pixel x is made of those that lie `at` steps towards its side from x / 2 on.
 * (The cubic is Catmull and Rom's, a quarter of the way from one to the next.) */
struct spread {
	uint32_t n;
	int32_t at[SPREAD_MAX], k[SPREAD_MAX];
};

static const struct spread spreads[] = {
	[SFS_HALVED_CHROMA] = {2, {0, 1}, {192, 64}},
	[SFS_HALVED_DCT] = {4, {-1, 0, 1, 2}, {-18, 222, 58, -6}},
};

static int32_t within(int32_t x, int32_t n)
{
	return x < 0 ? 0 : x >= n ? n - 1 : x;
}

/* A run's ends are spread beyond half of it. */
static uint32_t n_halved(const struct sfs_taps *from, const struct spread *s)
{
	return from->n_taps / 2 + s->n;
}

/* One result's weights; n_half pixels are left. */
static void spread_weights(const struct sfs_taps *from, const struct spread *s,
			   int32_t n_half, uint32_t i, struct sfs_taps *taps)
{
	const int32_t *k = from->k + (size_t)i * from->stride;
	int32_t *to = taps->k + (size_t)i * taps->stride;
	int32_t n_taps = (int32_t)taps->n_taps, first, x, towards;
	uint32_t t, j;

	x = from->first[i];
	first = within(x % 2 ? x / 2 + s->at[0] : x / 2 - s->at[s->n - 1], n_half);
	first = first > n_half - n_taps ? n_half - n_taps : first;
	taps->first[i] = first;
	for (t = 0; t < from->n_taps; t++, x++) {
		towards = x % 2 ? 1 : -1;
		for (j = 0; j < s->n && k[t]; j++)
			to[within(x / 2 + s->at[j] * towards, n_half) - first] +=
				k[t] * s->k[j];
	}
	for (j = 0; j < taps->n_taps; j++)
		to[j] = (to[j] + (1 << (SPREAD_BITS - 1))) >> SPREAD_BITS;
}

int32_t *sfs_taps_halve(const struct sfs_taps *from, uint32_t n, uint32_t n_pixels,
			enum sfs_halving how, int32_t *memory, struct sfs_taps *ret_taps)
{
	uint32_t n_half = (n_pixels + 1) / 2, n_taps = n_halved(from, &spreads[how]), i;

	memory = lay_out(n, n_taps < n_half ? n_taps : n_half, memory, ret_taps);
	for (i = 0; i < n; i++)
		spread_weights(from, &spreads[how], (int32_t)n_half, i, ret_taps);
	return memory;
}
