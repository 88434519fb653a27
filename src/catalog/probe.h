/* SPDX-License-Identifier: MIT */
/* probe - checks, before a mount or command goes on, whether the dataset can be read.
 *
 * A wrong host, path or certificate, a server without ranges, a file that is not a tar:
 * errors that every reader would get are reported while the user still waits for the
 * command.
 */
#ifndef SFS_PROBE_H
#define SFS_PROBE_H

#include "catalog/sizes.h"

/* Ask for the sizes and first bytes of the first and last shard of each of the first
 * specs (shard i is of the spec spec_of[i]), and wait for the answers.  Meanwhile
 * *ret_sizes is started, which the caller stops, also after an error.
 *
 * < 0: both shards of a spec cannot be read or are not tars; *err says which.  If both
 * are just missing, all shards of the spec are considered.  (One that has another format,
 * such as gzip, is counted in the sizes.) */
int sfs_probe_start(struct sfs_shards *shards, const uint32_t *spec_of,
		    struct sfs_sizes **ret_sizes, struct sfs_error *err);

/* Check what is known of the sizes now, or, if `may_wait`, after a moment: a second or
 * two over a network.
 *
 * 0: a line in the log says which shards are left out, if any.  < 0: shards are missing
 * or no tars (and that is not skipped), or refused, so no stream can be read; *err says
 * which. */
int sfs_probe_shards(struct sfs_sizes *sizes, const struct sfs_shards *shards,
		     bool may_wait, struct sfs_error *err);

#endif
