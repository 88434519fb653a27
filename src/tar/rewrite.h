/* SPDX-License-Identifier: MIT */
/* rewrite - changes the few header bytes that a stream changes, at the same length.
 *
 * keys=auto puts a folder before the names of a sample when its neighbour in the stream
 * has the same key: in the ustar prefix of the header, or in the padding after a GNU or
 * pax long name.  A pax global header inside a sample becomes one comment.  Pure.
 */
#ifndef SFS_REWRITE_H
#define SFS_REWRITE_H

#include "base/error.h"
#include "tar/entry.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rewrite in place the entry that sfs_tar_entry_read() found at `bytes`; only its first
 * entry->n_bytes bytes may change.  `folder` (without a slash at its end) goes before the
 * names of members that belong to a sample; NULL leaves names alone.
 *
 * 0.  -ENAMETOOLONG: the longer name does not fit.  -EBADMSG: the entry is no part of a
 * sample.  On errors nothing has changed, and *err says why. */
int sfs_rewrite_entry(unsigned char *bytes, const struct sfs_tar_entry *entry,
		      const char *folder, struct sfs_error *err);

/* The folder for names of this shard's samples: the shard's name without ".tar", and with
 * "./" before it if readers would skip it as __meta__.  The caller frees it. */
char *sfs_rewrite_folder(const char *shard_name);

/* keys=auto: of two neighbours in a stream with the same key, the later one gets its
 * shard's folder.  `before` is the hash of the previous sample's key in the stream (0:
 * there is none), `key_hash` that of the sample's own key.  Returns the hash of the
 * sample's key in the stream; *ret_is_renamed says whether it includes the folder. */
uint64_t sfs_rewrite_key(uint64_t before, uint64_t key_hash, const char *folder,
			 bool *ret_is_renamed);

#endif
