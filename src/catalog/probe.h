/* SPDX-License-Identifier: MIT */
/* probe - can this dataset be read?  Asked before anything is promised.
 *
 * A wrong host, path or certificate, a server without ranges, a file that is not a tar:
 * what would fail every reader is told while the user still waits for the command.
 */
#ifndef SFS_PROBE_H
#define SFS_PROBE_H

#include "catalog/sizes.h"

/* Ask for the first and the last shard of each of the first specs (shard i is of the spec
 * spec_of[i]): their sizes and their first bytes.  Starts the census meanwhile, which the
 * caller stops, also after an error.  Waits for the answers.
 *
 * < 0, with a sentence: both shards of a spec cannot be had, or are no tars; or one is of
 * another format, such as gzip, and damage is not skipped.  If both are only missing, the
 * others are asked as well. */
int sfs_probe_start(struct sfs_shards *shards, const uint32_t *spec_of,
		    struct sfs_sizes **ret_census, struct sfs_error *err);

/* Look at what the census has found by now, or within a moment if `may_wait`: a second or
 * two over a network.
 *
 * < 0, with a sentence: no stream can be read, for shards are missing (and that is not
 * skipped) or refused.  Else a line in the log says what is left out, if anything is. */
int sfs_probe_shards(struct sfs_sizes *sizes, const struct sfs_shards *shards,
		     bool may_wait, struct sfs_error *err);

#endif
