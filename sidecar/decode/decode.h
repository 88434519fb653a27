/* SPDX-License-Identifier: MIT */
/* decode - turns the fields of one sample into the rows of a batch.
 *
 * A decoder has scratch memory for one thread.  What it makes of a sample depends only on
 * the spec, the seed, the epoch and the sample (its key and its bytes): not on threads,
 * ranks, batches, or where the stream was begun.
 */
#ifndef SFS_DECODE_H
#define SFS_DECODE_H

#include "ring/layout.h"
#include "decode/sample.h"
#include "decode/spec.h"

struct sfs_decoder;

struct sfs_decode_settings {
	const struct sfs_spec *spec; /* borrowed */
	uint64_t seed, epoch;	     /* of random crops and flips */
};

struct sfs_decoder *sfs_decoder_new(const struct sfs_decode_settings *settings);
void sfs_decoder_free(struct sfs_decoder *decoder); /* NULL is fine */

/* Keep no buffer of more than `most` bytes for the next sample. */
void sfs_decoder_trim(struct sfs_decoder *decoder, uint64_t most);

/* The layout of batches of `n_samples`, by the spec and, where that leaves it open, by
 * this sample.  -EBADMSG: the sample cannot tell; -EINVAL, -E2BIG: layout.h.  With an
 * error. */
int sfs_decode_layout(struct sfs_decoder *decoder, const struct sfs_sample *sample,
		      uint32_t n_samples, struct shufflefs_layout *ret_layout,
		      struct sfs_error *err);

/* Decode the sample: tensor t goes to rows[t], layout->tensors[t].row_bytes bytes, all of
 * which are written.  -EBADMSG: it is broken, lacks a field, or has another dtype or
 * shape than the layout; *err says which field and why, but not which sample. */
int sfs_decode_sample(struct sfs_decoder *decoder, const struct sfs_sample *sample,
		      const struct shufflefs_layout *layout, void *const *rows,
		      struct sfs_error *err);

#endif
