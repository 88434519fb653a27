/* SPDX-License-Identifier: MIT */
/* google-jwt - what a service account of Google's shows to get an access token: a JSON
 * Web Token (RFC 7523), signed with the account's key.  Pure: the time is an argument. */
#ifndef SFS_GOOGLE_JWT_H
#define SFS_GOOGLE_JWT_H

#include "base/error.h"

#include <stdint.h>

/* The token for `audience`, good for an hour; `account` is the file of the account's key,
 * JSON.  The caller frees it.  NULL and *err, without the file's name: something is
 * missing in there, or its key is none. */
char *sfs_google_jwt(const char *account, const char *audience, int64_t now_s,
		     struct sfs_error *err);

#endif
