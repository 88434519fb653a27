/* SPDX-License-Identifier: MIT */
/* ais-token - the user's token for AIStore, from where its own tools look.
 *
 * 1. AIS_AUTHN_TOKEN: the token
 * 2. AIS_AUTHN_TOKEN_FILE: a file with it, as it is or as JSON, {"token": ...}
 * 3. ~/.config/ais/cli/auth.token, as ais auth login writes it; it need not exist
 *
 * A file is read again when it has changed.  While it is missing, empty or no token, the
 * old one stays in use.  One thread at a time.  Looking at a file is a stat(), at most
 * once a second.
 */
#ifndef SFS_AIS_TOKEN_H
#define SFS_AIS_TOKEN_H

#include "base/error.h"

#include <stdbool.h>

struct sfs_ais_token;

/* NULL and *err: a token that should be there is not. */
struct sfs_ais_token *sfs_ais_token_start(struct sfs_error *err);
void sfs_ais_token_stop(struct sfs_ais_token *token); /* NULL is fine */

/* The present token, borrowed until the next call, and its edition, from 1 on.  NULL:
 * there is none. */
const char *sfs_ais_token_get(struct sfs_ais_token *token, unsigned *ret_edition);

/* That of `edition` was refused.  Is there another by now? */
bool sfs_ais_token_renew(struct sfs_ais_token *token, unsigned edition);

/* Where it comes from, for sentences; NULL: there is none. */
const char *sfs_ais_token_from(const struct sfs_ais_token *token);

/* Pure: the token that a file holds, in place of its text; NULL: it holds none. */
char *sfs_ais_token_read(char *text);

#endif
