/* SPDX-License-Identifier: MIT */
/* How this works
 *
 * `rrc` is torchvision's RandomResizedCrop.get_params(): an area of 8 to 100 % and a
 * log-uniform ratio of 3/4 to 4/3; the first of ten that fits is placed at random, or
 * else the centre is taken, as much of it as these ratios allow.
 */
#include "decode/augment.h"

#include <math.h>

/* 0 <= x < 1, of 53 bits. */
static double draw(struct sfs_rng *rng)
{
	return (double)(sfs_rng_next(rng) >> 11) * 0x1p-53;
}

/* The largest box in the centre with the ratio (width / height). */
static struct sfs_box center(uint32_t width, uint32_t height, double ratio)
{
	double w = width, h = height;

	if (w > h * ratio)
		w = h * ratio;
	else
		h = w / ratio;
	return (struct sfs_box){(width - w) / 2, (height - h) / 2, w, h};
}

/* What of `n` pixels becomes `n_cut`, of which the middle is cut after a resize to
 * `n_resized`: torchvision's CenterCrop rounds to the even one of two pixels. */
static void cut_middle(uint32_t n, uint64_t n_resized, uint32_t n_cut, double *ret_from,
		       double *ret_length)
{
	uint64_t rest = n_resized - n_cut, before = rest / 2;
	double scale = (double)n / (double)n_resized;

	before += rest % 2 && before % 2;
	*ret_from = (double)before * scale;
	*ret_length = n_cut * scale;
}

/* The shorter side is resized to t->shorter, the other one in proportion. */
static struct sfs_box fit_and_crop(const struct sfs_spec_tensor *t, uint32_t width,
				   uint32_t height)
{
	uint64_t w = t->shorter, h = t->shorter;
	struct sfs_box box;

	if (width < height)
		h = h * height / width;
	else
		w = w * width / height;
	cut_middle(width, w, t->width, &box.x, &box.width);
	cut_middle(height, h, t->height, &box.y, &box.height);
	return box;
}

static struct sfs_box random_box(uint32_t width, uint32_t height, struct sfs_rng *rng)
{
	double area, ratio, w, h, whole = (double)width / height;
	int i;

	for (i = 0; i < 10; i++) {
		area = (double)width * height * (0.08 + 0.92 * draw(rng));
		ratio = exp(log(3.0 / 4) + (log(4.0 / 3) - log(3.0 / 4)) * draw(rng));
		w = floor(sqrt(area * ratio) + 0.5);
		h = floor(sqrt(area / ratio) + 0.5);
		if (w >= 1 && w <= width && h >= 1 && h <= height)
			return (struct sfs_box){
				(double)sfs_rng_below(rng, width - (uint64_t)w + 1),
				(double)sfs_rng_below(rng, height - (uint64_t)h + 1), w,
				h};
	}
	return center(width, height,
		      whole < 3.0 / 4	? 3.0 / 4
		      : whole > 4.0 / 3 ? 4.0 / 3
					: whole);
}

struct sfs_box sfs_augment_box(const struct sfs_spec_tensor *t, uint32_t width,
			       uint32_t height, struct sfs_rng *rng)
{
	switch (t->mode) {
	case SFS_SPEC_CROP:
		if (t->shorter > 0)
			return fit_and_crop(t, width, height);
		return center(width, height, (double)t->width / t->height);
	case SFS_SPEC_RRC: return random_box(width, height, rng);
	case SFS_SPEC_FIT: break;
	}
	return (struct sfs_box){0, 0, width, height};
}
