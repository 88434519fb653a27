/* SPDX-License-Identifier: MIT */
/* spec - parses --fields: which fields of a sample become which tensors.
 *
 *	img=jpg|jpeg|png:rgb,224,rrc,flip;cls:i4
 *
 *	SPEC    = TENSOR { ";" TENSOR }
 *	TENSOR  = [ NAME "=" ] FIELD { "|" FIELD } [ ":" ARG { "," ARG } ]
 *
 * FIELD is what follows the key and its dot in a member's name ("jpg", "seg.png"), in
 * lower case; of several, the first that the sample has.  A sample without a field "key"
 * has its key there.  NAME is the tensor's, at most 15 bytes; by default the first FIELD.
 * Without ARGs the first FIELD's extension decides:
 *
 *	jpg jpeg png            image      rgb | gray  [SIZE | HxW] [MODE] [flip] [fast]
 *	                                               [nchw] [f4]
 *	npy                     array      npy         [DTYPE,SHAPE]
 *	ten tb                  array      ten         [DTYPE,SHAPE]
 *	cls cls2 index inx id   number     i4 | i8
 *	anything else           bytes      bytes,N
 *	                        raw array  raw,DTYPE,SHAPE
 *
 * SIZE or HxW is the result's height and width; MODE is `crop` (resize so that it just
 * covers, cut the centre: the default), `fit` (resize both ways, whatever the ratio), or
 * `rrc` (random-resized-crop).  `fit 256,crop 224` resizes the shorter side to 256 and
 * cuts 224 from the centre, as torchvision's Resize(256) and CenterCrop(224).  Without a
 * SIZE all images must have the size of the first.  `flip` mirrors every other image, at
 * random; `nchw` puts channels first; `f4` makes floats from 0 to 1; `fast` lets
 * JPEGs be resized as planes.h says.  SHAPE is `3x32x32`, or `1`.  `bytes,N` pads with
 * zeros to N bytes and adds an i4 tensor NAME_len.  Pure.
 */
#ifndef SFS_SPEC_H
#define SFS_SPEC_H

#include "shufflefs/ring.h"

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SFS_SPEC_FIELDS_MAX 8 /* alternatives */

enum sfs_spec_kind {
	SFS_SPEC_IMAGE,
	SFS_SPEC_NPY,
	SFS_SPEC_TEN,
	SFS_SPEC_RAW,
	SFS_SPEC_INT,
	SFS_SPEC_BYTES
};

enum sfs_spec_mode { SFS_SPEC_CROP, SFS_SPEC_FIT, SFS_SPEC_RRC };

struct sfs_spec_tensor {
	char name[SHUFFLEFS_NAME_BYTES];
	char *fields[SFS_SPEC_FIELDS_MAX];
	uint32_t n_fields;
	enum sfs_spec_kind kind;
	char dtype[8]; /* of the tensor; "": whatever the first sample has */
	/* image */
	uint32_t n_channels;	/* 1 or 3 */
	uint32_t height, width; /* 0: those of the first sample */
	enum sfs_spec_mode mode;
	uint32_t shorter; /* the side before CROP; 0: as small as covers */
	bool flips, is_nchw, is_fast;
	/* arrays; rank 0 with dtype "": those of the first sample */
	uint32_t rank;
	uint64_t dims[SHUFFLEFS_DIMS_MAX - 1];
	uint64_t n_bytes; /* of BYTES */
};

struct sfs_spec {
	struct sfs_spec_tensor tensors[SHUFFLEFS_TENSORS_MAX];
	uint32_t n;
};

/* Parse `text`.  -EINVAL: *err names the character (counted from 1) and what may be
 * there.  Free it with sfs_spec_done(), also after an error. */
int sfs_spec_parse(const char *text, struct sfs_spec *ret_spec, struct sfs_error *err);
void sfs_spec_done(struct sfs_spec *spec);

#endif
