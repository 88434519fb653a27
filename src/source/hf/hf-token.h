/* SPDX-License-Identifier: MIT */
/* hf-token - the user's token for the Hugging Face Hub: what the options name, or from
 * where the Hub's own tools look.
 *
 * 1. bearer-token-command=, bearer-token-file=
 * 2. HF_TOKEN (or HUGGING_FACE_HUB_TOKEN, its old name): the token
 * 3. HF_TOKEN_PATH: a file with it
 * 4. $HF_HOME/token, as hf auth login writes it (HF_HOME: ~/.cache/huggingface)
 *
 * A file of these tools need not exist.  HF_HUB_DISABLE_IMPLICIT_TOKEN: only the options
 * count.
 *
 * One thread at a time.
 */
#ifndef SFS_HF_TOKEN_H
#define SFS_HF_TOKEN_H

#include "base/error.h"
#include "source/http/renewal.h"
#include "source/source.h"

struct sfs_hf_token;

/* May wait, for a command.  `http` is borrowed.  NULL and *err: what is there is no
 * token. */
struct sfs_hf_token *sfs_hf_token_start(const struct sfs_http_options *http,
					struct sfs_error *err);
void sfs_hf_token_stop(struct sfs_hf_token *token); /* and free; NULL is fine */

/* The present token, a copy, and its edition.  NULL and 0: there is none. */
char *sfs_hf_token_get(struct sfs_hf_token *token, unsigned *ret_edition);

/* That of `edition` was refused, of a request that was made at `made_ns`; see
 * sfs_renewer_renew(). */
enum sfs_renewal sfs_hf_token_renew(struct sfs_hf_token *token, unsigned edition,
				    uint64_t made_ns, bool may_wait);

/* Where it comes from, for sentences; NULL: there is none. */
const char *sfs_hf_token_from(const struct sfs_hf_token *token);

#endif
