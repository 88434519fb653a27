/* SPDX-License-Identifier: MIT */
/* plan-draw - `shufflefs plan --svg`: which shard each position of an
 * epoch comes from. */
#ifndef SFS_PLAN_DRAW_H
#define SFS_PLAN_DRAW_H

#include "base/error.h"
#include "cli/plan-dataset.h"
#include "order/order.h"

/* Draw epoch 0 of these settings, no shuffle, WebDataset's shuffle and a permutation into
 * the file, which may exist only if it is such a drawing.  < 0: with an error. */
int sfs_plan_draw(struct sfs_plan_dataset *dataset,
		  const struct sfs_order_settings *settings, const char *path,
		  struct sfs_error *err);

#endif
