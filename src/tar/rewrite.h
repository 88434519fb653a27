/* SPDX-License-Identifier: MIT */
/* edit - the few header bytes that a stream changes, at the same length.
 *
 * keys=auto puts a folder before a sample's names, when its neighbour in the
 * stream has the same key: in the ustar prefix of the header, or in the padding
 * behind a GNU or pax long name.  And a pax global header inside a sample is
 * blanked: it becomes one comment.  Pure.
 */
#ifndef SFS_REWRITE_H
#define SFS_REWRITE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Edit the header group at `bytes` in place: n bytes are at hand, n_left remain
 * up to the sample's end.  `folder` (without a slash at its end) goes before the
 * names of members that belong to a sample; NULL leaves names alone.
 *
 * 0: *ret_n bytes may have changed, *ret_next is where the next group begins.
 * -EAGAIN: *ret_n bytes are needed.  -ENAMETOOLONG: the longer name does not
 * fit; nothing was changed.  -EBADMSG: not what the scan saw. */
int sfs_rewrite_entry(unsigned char *bytes, size_t n, uint64_t n_left, const char *folder,
		      size_t *ret_n, uint64_t *ret_next, struct sfs_error *err);

/* The folder that a shard's name gives: without ".tar", and with "./" before it
 * if a reader would skip it as __meta__.  The caller frees it. */
char *sfs_rewrite_folder(const char *shard_name);

/* keys=auto: of two neighbours in a stream with the same key, the later gets its
 * shard's folder.  `before` is the hash of the key that the neighbour before has
 * in the stream (0: there is none), `key_hash` that of the sample's own key.
 * Returns the hash of the key it has in the stream; *ret_is_renamed says whether
 * that is the longer one. */
uint64_t sfs_rewrite_key(uint64_t before, uint64_t key_hash, const char *folder,
			 bool *ret_is_renamed);

#endif
