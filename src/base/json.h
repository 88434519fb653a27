/* SPDX-License-Identifier: MIT */
/* json - reads a JSON text (RFC 8259) token by token, from memory.
 *
 * Strict: a text that is read to its end is valid JSON in UTF-8, nested at most
 * SFS_JSON_DEPTH deep.  It builds nothing; the caller keeps what it needs.  A name that
 * an object has twice is returned twice.
 *
 *	struct sfs_json json;
 *
 *	sfs_json_init(&json, bytes, n);
 *	while ((token = sfs_json_next(&json)) > SFS_JSON_END)
 *		...
 *	sfs_json_done(&json);
 *
 * Pure; one thread.  (json-writer.h writes.)
 */
#ifndef SFS_JSON_H
#define SFS_JSON_H

#include "base/error.h"
#include "base/strbuf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SFS_JSON_DEPTH 64

enum sfs_json_token {
	SFS_JSON_BAD, /* not JSON, and so are all that follow; `error` has line and cause */
	SFS_JSON_END, /* after the one value */
	SFS_JSON_OBJECT,
	SFS_JSON_OBJECT_END,
	SFS_JSON_ARRAY,
	SFS_JSON_ARRAY_END,
	SFS_JSON_KEY,	 /* a name in an object; its value is next */
	SFS_JSON_STRING, /* `text` holds a KEY or STRING decoded: it may hold NULs */
	SFS_JSON_NUMBER, /* `text` holds it as it was written */
	SFS_JSON_TRUE,
	SFS_JSON_FALSE,
	SFS_JSON_NULL,
};

struct sfs_json {
	struct sfs_strbuf text; /* of the last KEY, STRING or NUMBER */
	struct sfs_error error; /* after BAD */

	const char *begin, *p, *end;
	int want;	  /* what may come next */
	unsigned depth;	  /* how many are open */
	uint64_t objects; /* bit d: what was opened at depth d is an object */
};

/* The n bytes are borrowed until sfs_json_done(). */
void sfs_json_init(struct sfs_json *json, const void *bytes, size_t n);
void sfs_json_done(struct sfs_json *json);

enum sfs_json_token sfs_json_next(struct sfs_json *json);

/* Skip the rest of the value that began with `token`, the last one.  false: BAD. */
bool sfs_json_skip(struct sfs_json *json, enum sfs_json_token token);

/* Does `text` hold just this? */
bool sfs_json_is(const struct sfs_json *json, const char *text);

/* The last NUMBER; false if it has a sign, a point or an exponent, or is too large. */
bool sfs_json_uint(const struct sfs_json *json, uint64_t *ret);

/* Set *err (NULL is fine) to "line N: " and this message, for a token that is valid JSON
 * but not what is expected; after BAD, to the reason for that.  Returns -EBADMSG. */
int sfs_json_refuse(const struct sfs_json *json, struct sfs_error *err,
		    const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
