/* SPDX-License-Identifier: MIT */
/* credentials - what a store's requests are signed with, and the small files they come
 * from.
 *
 * Which of the members a store uses is its own: a pair of keys, with or without a
 * session's token; or a token alone (a bearer's); or a query that is itself the
 * signature.  They are secrets, wiped when they are freed.
 */
#ifndef SFS_CREDENTIALS_H
#define SFS_CREDENTIALS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sfs_credentials {
	char *key_id, *secret; /* NULL: none of these, */
	char *token;	       /* or of this, */
	char *query;	       /* or of this */
	int64_t expires_s;     /* seconds since 1970; 0: not known, or never */
	char *from;	       /* for sentences: "the environment", "profile 'x'" */
};

void sfs_credentials_done(struct sfs_credentials *credentials);
struct sfs_credentials sfs_credentials_copy(const struct sfs_credentials *credentials);

/* Are there any? */
bool sfs_credentials_exist(const struct sfs_credentials *credentials);

/* Are both made of the same?  Neither `from` nor the time counts. */
bool sfs_credentials_are_same(const struct sfs_credentials *a,
			      const struct sfs_credentials *b);

/* May this be a part of a header line: no blank, nothing that is not ASCII?  NULL is. */
bool sfs_credentials_is_clean(const char *s);

/* A variable of the environment that is set, and not to nothing; else NULL. */
const char *sfs_credentials_variable(const char *name);

/* The whole of a small file, without the line end behind it; NULL and *err: it cannot be
 * read, has more than 1 MiB, or a NUL.  -ENOENT in *ret_err: it is not there. */
char *sfs_credentials_read_file(const char *path, int *ret_err, struct sfs_error *err);

/* Pure: what a whole JSON object has at "name" or "name.of.another"; see json-find.h. */
char *sfs_credentials_member(const char *json, const char *name);

/* Pure: seconds since 1970 of a date as RFC 3339 writes it, "2026-11-25T09:00:00Z"; also
 * with an offset, a fraction, or a blank instead of the T.  Without an offset it is UTC.
 * 0: it is none. */
int64_t sfs_credentials_read_time(const char *text);

/* Pure: the response of a service that gives access tokens (RFC 6749, 5.1), which came at
 * `now_s`.  -EBADMSG: it is none. */
int sfs_credentials_read_grant(const char *json, const char *from, int64_t now_s,
			       struct sfs_credentials *ret, struct sfs_error *err);

#endif
