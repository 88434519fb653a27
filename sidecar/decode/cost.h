/* SPDX-License-Identifier: MIT */
/* cost - how much memory it takes to decode a sample, beside its rows.
 *
 * Read from the headers of its images alone: what is no image costs nothing, and decoding
 * it will fail.  Of a progressive JPEG all coefficients are in memory.  Pure.
 */
#ifndef SFS_COST_H
#define SFS_COST_H

#include "decode/sample.h"
#include "decode/spec.h"

#include <stdint.h>

/* Bytes, about; at most. */
uint64_t sfs_decode_cost(const struct sfs_spec *spec, const struct sfs_sample *sample);

#endif
