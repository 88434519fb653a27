/* SPDX-License-Identifier: MIT */
/* plot - shows a shuffle as an image: the shard of each position.
 *
 * Panels side by side with a dot for each sample: x is its position, y its shard.  Rows
 * of dots are consecutive samples of one shard.  An SVG 1.1 file.  Pure.
 */
#ifndef SFS_PLOT_H
#define SFS_PLOT_H

#include "base/strbuf.h"

#include <stddef.h>
#include <stdint.h>

#define SFS_PLOT_DOTS 8000 /* in a panel; of more samples, only each k-th gets one */

struct sfs_panel {
	const char *title, *subtitle;
	uint64_t n_samples; /* of the epoch */
	uint32_t n_shards;
	uint64_t every; /* samples from dot to dot */

	uint64_t n; /* samples that were added */
	size_t n_dots;
	uint32_t dots[SFS_PLOT_DOTS]; /* their shards */
};

void sfs_panel_begin(struct sfs_panel *panel, const char *title, const char *subtitle,
		     uint64_t n_samples, uint32_t n_shards);
/* The next sample is of this shard. */
void sfs_panel_add(struct sfs_panel *panel, uint32_t shard);

/* All panels as one file. */
void sfs_plot_print(const struct sfs_panel *panels, int n_panels,
		    struct sfs_strbuf *text);

#endif
