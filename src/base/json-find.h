/* SPDX-License-Identifier: MIT */
/* json-find - one value of a JSON text, by the names that lead to it.  Pure. */
#ifndef SFS_JSON_FIND_H
#define SFS_JSON_FIND_H

#include "base/json.h"

#include <stdbool.h>
#include <stddef.h>

/* The string, or the number as it is written, at "name" or "name.of.another" in the
 * object that these bytes are.  "" if it is anything else, or holds a NUL; NULL: there is
 * none, or no object.  If the object has a name twice, the last one counts.  `is_whole`:
 * the text must be JSON to its end; else what comes before it breaks counts.  The caller
 * frees the value; of others no copy is left. */
char *sfs_json_find(const void *bytes, size_t n, const char *path, bool is_whole);

/* The same of a value of any kind: read on to it, from the beginning.  Returns its first
 * token; SFS_JSON_BAD: there is none. */
enum sfs_json_token sfs_json_seek(struct sfs_json *json, const char *path);

#endif
