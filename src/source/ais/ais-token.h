/* SPDX-License-Identifier: MIT */
/* ais-token - the user's token for AIStore, from where its own tools look.
 *
 * 1. AIS_AUTHN_TOKEN: the token
 * 2. AIS_AUTHN_TOKEN_FILE: a file with it, as it is or as JSON, {"token": ...}
 * 3. ~/.config/ais/cli/auth.token, as ais auth login writes it; it need not exist
 */
#ifndef SFS_AIS_TOKEN_H
#define SFS_AIS_TOKEN_H

#include "source/http/bearer.h"

/* NULL and *err: a token that should be there is not. */
struct sfs_bearer *sfs_ais_token_start(struct sfs_error *err);

/* Pure: the member "token" of a JSON object, which the caller frees; NULL: there is none,
 * or it is no JSON. */
char *sfs_ais_token_unwrap(const char *text);

#endif
