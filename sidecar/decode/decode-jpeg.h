/* SPDX-License-Identifier: MIT */
/* decode-jpeg - JPEG into pixels, by libjpeg-turbo.
 *
 * The same pixels as Pillow's: accurate DCT, smooth chroma.  CMYK becomes RGB as Pillow
 * converts it.  As there, a file that is cut is an error, and what else libjpeg only
 * warns of is not.
 *
 * A file of several scans (a progressive one) is bounded by its bytes, with room for any
 * that is whole: it has at most 65,536 blocks (of 8 x 8, of each component) and 8 more
 * for each byte, which bounds memory; and its scans go over at most 1,048,576 blocks and
 * 128 more for each byte, never more than 67,108,864, in at most 500 scans, which bounds
 * time.
 */
#ifndef SFS_DECODE_JPEG_H
#define SFS_DECODE_JPEG_H

#include "decode/image.h"
#include "decode/planes.h"

#include "base/error.h"

#include <stdint.h>

#define SFS_IMAGE_PIXELS_MAX (64U << 20) /* more is a bomb */

struct sfs_jpeg; /* libjpeg's object and the pixels; of one thread */

struct sfs_jpeg *sfs_jpeg_new(void);
void sfs_jpeg_free(struct sfs_jpeg *jpeg); /* NULL is fine */
void sfs_jpeg_trim(struct sfs_jpeg *jpeg, uint64_t most); /* see decode.h */

/* *ret_pixels, of 1 or 3 channels, stay until the next call; those of sfs_jpeg_size()
 * have no data.  -EBADMSG, with an error. */
int sfs_jpeg_decode(struct sfs_jpeg *jpeg, const unsigned char *bytes, uint64_t n_bytes,
		    uint32_t n_channels, struct sfs_pixels *ret_pixels,
		    struct sfs_error *err);
int sfs_jpeg_size(struct sfs_jpeg *jpeg, const unsigned char *bytes, uint64_t n_bytes,
		  struct sfs_pixels *ret_pixels, struct sfs_error *err);

/* As sfs_jpeg_decode(), but only the pixels of this part of the image have their values;
 * the others, any.  All of the file is looked at, so one that is cut is an error. */
int sfs_jpeg_decode_part(struct sfs_jpeg *jpeg, const unsigned char *bytes,
			 uint64_t n_bytes, uint32_t n_channels,
			 const struct sfs_part *part, struct sfs_pixels *ret_pixels,
			 struct sfs_error *err);

/* The planes of what is needed for this part, made by a DCT that has halved their sides
 * n_halvings times; for one channel only Y.  They stay until the next call.  -ENOTSUP,
 * with an error: the file has other colours, or another subsampling. */
int sfs_jpeg_decode_planes(struct sfs_jpeg *jpeg, const unsigned char *bytes,
			   uint64_t n_bytes, uint32_t n_channels, uint32_t n_halvings,
			   const struct sfs_part *part, struct sfs_planes *ret_planes,
			   struct sfs_error *err);

/* From now on, images of this size are decoded to `to`, rather than to memory of the
 * decoder's own; NULL: none is. */
void sfs_jpeg_aim(struct sfs_jpeg *jpeg, void *to, uint32_t width, uint32_t height);

#endif
