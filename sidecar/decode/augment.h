/* SPDX-License-Identifier: MIT */
/* augment - which part of an image a sample's row shows, and whether it is mirrored.
 *
 * Chance comes from a generator that the caller has named; the same one, the same box.
 * The ratio of `rrc` takes exp() and log() of libm, whose last bit may differ between
 * machines; the rest is exact.  Pure.
 */
#ifndef SFS_AUGMENT_H
#define SFS_AUGMENT_H

#include "decode/image.h"
#include "decode/spec.h"

#include "base/rng.h"

/* The box to resize to the tensor's height and width (not 0). */
struct sfs_box sfs_augment_box(const struct sfs_spec_tensor *t, uint32_t width,
			       uint32_t height, struct sfs_rng *rng);

#endif
