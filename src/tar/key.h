/* SPDX-License-Identifier: MIT */
/* key - WebDataset's rule: which sample does a member belong to?
 *
 * The key is the path up to the first dot of its last component; the field is the rest
 * after the dot, in lower case.  This is exactly, quirks included, what WebDataset 1.0.2
 * does (tariterators.py: base_plus_ext, tar_file_iterator):
 *
 *     ^((?:.*\/|)[^.]+)[.]([^\/]*)$        without the backslashes
 *
 * where "." of ".*" is anything but a newline, and [^.]+ may contain slashes: so
 * "a/.hidden.jpg" has the key "a/", and ".hidden.jpg" and "a.b/.x.jpg" have none.
 * Names whose first component is __...__ are skipped.  Pure.
 */
#ifndef SFS_KEY_H
#define SFS_KEY_H

#include <stddef.h>

/* The length of the key at the start of `name` (n bytes); 0: the member is in no sample.
 * The field begins at that length + 1. */
size_t sfs_key_length(const char *name, size_t n);

#endif
