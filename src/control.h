/* SPDX-License-Identifier: MIT */
/* control - the files in which a mount speaks about itself: README and .shufflefs/.
 *
 * Each is made when it is opened; .shufflefs/errors is read from the ledger. */
#ifndef SFS_CONTROL_H
#define SFS_CONTROL_H

#include "core.h"
#include "text.h"

void sfs_control_readme(struct sfs_core *core, struct sfs_text *text);
void sfs_control_stats(struct sfs_core *core, struct sfs_text *text);	/* JSON */
void sfs_control_metrics(struct sfs_core *core, struct sfs_text *text); /* Prometheus */
void sfs_control_config(struct sfs_core *core, struct sfs_text *text);

#endif
