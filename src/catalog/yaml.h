/* SPDX-License-Identifier: MIT */
/* yaml - turns a YAML text that describes a dataset into JSON, for json.h.
 *
 * One document of lists, maps and plain values, as people and programs write such files.
 * Numbers are whole and decimal, all else but true, false and null (and their like in
 * YAML 1.1) is text.  Tags, anchors and merged maps are refused: so the JSON is as large
 * as its text, about, and means the same to all readers.  Pure.
 */
#ifndef SFS_YAML_H
#define SFS_YAML_H

#include "base/error.h"
#include "base/strbuf.h"

#include <stddef.h>

/* Add the JSON of these n bytes, in which each value is on the line that it has in the
 * text.  -EBADMSG: they are no such YAML; *err has the line and the cause.  -EOPNOTSUPP:
 * shufflefs was built without libyaml. */
int sfs_yaml_to_json(const char *bytes, size_t n, struct sfs_strbuf *json,
		     struct sfs_error *err);

/* That of libyaml; NULL: shufflefs was built without it. */
const char *sfs_yaml_version(void);

#endif
