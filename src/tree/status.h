/* SPDX-License-Identifier: MIT */
/* status - the files in which a mount describes itself: README and .shufflefs/.
 *
 * Each text is made when the file is opened; .shufflefs/errors is read from the ledger.
 */
#ifndef SFS_STATUS_H
#define SFS_STATUS_H

#include "base/strbuf.h"
#include "engine/engine.h"

void sfs_status_readme(struct sfs_engine *engine, struct sfs_strbuf *text);
void sfs_status_stats(struct sfs_engine *engine, struct sfs_strbuf *text); /* JSON */
void sfs_status_metrics(struct sfs_engine *engine,
			struct sfs_strbuf *text); /* Prometheus */
void sfs_status_config(struct sfs_engine *engine, struct sfs_strbuf *text);

#endif
