/* SPDX-License-Identifier: MIT */
/* token-json - a token, or header lines, with the time at which they expire, as tools
 * print them in JSON.
 *
 *	{"access_token": T, "expires_in": 3599}		services of OAuth (RFC 6749)
 *	{"accessToken": T, "expires_on": 1764169200}	az account get-access-token
 *	{"token": T, "expires_at": "2026-11-26T15:00:00Z"}
 *	{"status": {"token": T, "expirationTimestamp": "2026-11-26T15:00:00Z"}}
 *							kubectl's ExecCredential
 *	{"credential": {"access_token": T, "token_expiry": "2026-11-26T15:00:00Z"}}
 *							gcloud config config-helper
 *	{"headers": {"Authorization": ["Bearer T"]}, "expires": "2026-11-26T15:00:00Z"}
 *							Bazel's credential helpers
 *
 * Others of their members are left out.  A time that is not understood is none, as is one
 * that is past: then only a refusal says that the token has expired.  Pure.
 */
#ifndef SFS_TOKEN_JSON_H
#define SFS_TOKEN_JSON_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Does the text begin as an object?  No token and no header line does. */
bool sfs_token_json_is(const char *text);

/* The token, which the caller frees, and when it expires, seconds since 1970; 0: not
 * known.  -EINVAL: there is none; *err says what is wrong with "it", without a part of
 * it. */
int sfs_token_json_read(const char *text, size_t n, int64_t now_s, char **ret_token,
			int64_t *ret_expires_s, struct sfs_error *err);

/* The same of headers: calls add() with each "Name: value", which it takes over.
 * -ENOENT: the object has none. */
int sfs_token_json_read_headers(const char *text, size_t n, int64_t now_s,
				void (*add)(void *ctx, char *line), void *ctx,
				int64_t *ret_expires_s, struct sfs_error *err);

#endif
