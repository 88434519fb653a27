/* SPDX-License-Identifier: MIT */
/* uri - what names a shard: a local path or a URL (RFC 3986).
 *
 * Understood: plain paths, file://, http://, https://, s3://, ais://, gs:// (or gcs://),
 * az:// (or abfs://, abfss://), hf://, webhdfs:// (or swebhdfs://, hdfs://).  A URL is kept as
 * it was given, but for its user part (kept apart, so that it is never printed), its fragment
 * (dropped, as curl does) and bytes that no URL may hold (space, control, non-ASCII:
 * percent-encoded).  Pure.
 */
#ifndef SFS_URI_H
#define SFS_URI_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

enum sfs_scheme {
	SFS_SCHEME_FILE,
	SFS_SCHEME_HTTP,
	SFS_SCHEME_HTTPS,
	SFS_SCHEME_S3,
	SFS_SCHEME_AIS,
	SFS_SCHEME_GS,
	SFS_SCHEME_AZ,
	SFS_SCHEME_WEBHDFS, /* and swebhdfs://, hdfs:// */
	SFS_SCHEME_HF,
};

struct sfs_uri {
	enum sfs_scheme scheme;
	char *location; /* a local path, or the URL to ask for: no user, no fragment; or
			 * "s3://bucket/key", the key as it is: nothing is encoded (of the
			 * other stores likewise; of Azure the bucket is "container" or
			 * "container@host", however it was written); or
			 * "webhdfs://host:port/path", likewise */
	char *user;	/* "name:password", decoded; NULL if none or local */
	char *origin; /* "https://host:443", lower case, port always; "s3://bucket"; NULL
		       * if local */
	char *path;   /* the path, decoded where that is harmless: see below */
	bool is_foreign; /* a server named it, of another origin than its own: credentials
			  * of options are not for it */
};

/* `path` is percent-decoded for names and folders to be made of it.  If decoding
 * would yield a control character, or a slash inside a component, or a component
 * ".." or ".", it is left encoded.
 *
 * -EINVAL with a sentence: an unknown scheme, no host, a file:// URL of another
 * machine, a control character in a local path or a key of S3.  *ret_uri is then
 * untouched. */
int sfs_uri_parse(const char *text, struct sfs_uri *ret_uri, struct sfs_error *err);
void sfs_uri_done(struct sfs_uri *uri);

/* `text` as people may read it: no password, no query (it may hold a signature).
 * The caller frees it. */
char *sfs_uri_redact(const char *text);

/* Is it WebDataset's "pipe:COMMAND"?  sfs_uri_parse() refuses that: a command cannot be
 * asked for a range. */
bool sfs_uri_is_pipe(const char *text);

/* Is it one of stores, where a URL is "scheme://bucket/key" (of HDFS: host and path) and
 * the key is any text? */
bool sfs_scheme_has_keys(enum sfs_scheme scheme);

/* Does text begin with "scheme://" of any scheme? */
bool sfs_uri_has_scheme(const char *text);

#endif
