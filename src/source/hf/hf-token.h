/* SPDX-License-Identifier: MIT */
/* hf-token - the user's token for the Hugging Face Hub, from where its own tools look.
 *
 * 1. HF_TOKEN (or HUGGING_FACE_HUB_TOKEN, its old name): the token
 * 2. HF_TOKEN_PATH: a file with it
 * 3. $HF_HOME/token, as hf auth login writes it (HF_HOME: ~/.cache/huggingface)
 *
 * A file need not exist.
 *
 * HF_HUB_DISABLE_IMPLICIT_TOKEN: no token is sent.
 */
#ifndef SFS_HF_TOKEN_H
#define SFS_HF_TOKEN_H

#include "source/http/bearer.h"

/* NULL and *err: what is there is no token. */
struct sfs_bearer *sfs_hf_token_start(struct sfs_error *err);

#endif
