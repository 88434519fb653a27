/* SPDX-License-Identifier: MIT */
/* key-url - the URL of a store's server, and how an object's key is written behind it.
 *
 * "scheme://bucket/key" names an object of a store: the key is any text, and nothing of
 * it is encoded.  In a URL it is encoded strictly, all but A-Z a-z 0-9 - . _ ~ and '/'.
 * Pure.
 */
#ifndef SFS_KEY_URL_H
#define SFS_KEY_URL_H

#include "base/error.h"
#include "base/strbuf.h"

#include <stdbool.h>

/* `text` as a server's URL, such as "https://host:9000" or one with a path; no '/' is at
 * its end.  The caller frees it.  NULL: it is no http or https URL, or one with a user or
 * a query; *err says so. */
char *sfs_endpoint_read(const char *text, struct sfs_error *err);

/* Add `s`, encoded. */
void sfs_key_encode(struct sfs_strbuf *text, const char *s, bool keeps_slashes);

/* Add "?name=value" to a URL, or "&name=value", the value encoded. */
void sfs_key_add_parameter(struct sfs_strbuf *url, const char *name, const char *value);

/* "scheme://bucket/key": the bucket, which the caller frees, and the key
 * in `location`. */
char *sfs_key_split(const char *location, const char **ret_key);

#endif
