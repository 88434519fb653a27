/* SPDX-License-Identifier: MIT */
/* png-sheet - the images of a batch side by side in a PNG, for people. */
#ifndef SFS_PNG_SHEET_H
#define SFS_PNG_SHEET_H

#include "shufflefs/ring.h"

#include "base/error.h"

#define SFS_PNG_SHEET_IMAGES 64

/* Draw the first images of the first tensor that has images (u1, HxWx3, HxWx1, 3xHxW or
 * 1xHxW), in a square of rows and columns, as many as fit.  Replaces the file.  -EINVAL:
 * no tensor has images; others: it cannot be written; with an error. */
int sfs_png_sheet_write(const char *path, const struct shufflefs_layout *layout,
			const struct shufflefs_batch *batch, struct sfs_error *err);

#endif
