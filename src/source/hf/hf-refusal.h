/* SPDX-License-Identifier: MIT */
/* hf-refusal - why the Hub refused a request, and what to do about it.
 *
 * The reason is a code in the header (X-Error-Code), and words in the body, as JSON.
 * Every byte of it comes from a server.  Pure.
 */
#ifndef SFS_HF_REFUSAL_H
#define SFS_HF_REFUSAL_H

#include "source/http/headers.h"

#include <stddef.h>

struct sfs_hf_refusal {
	int status;
	char code[40], message[256]; /* the server's; printable, without queries */
};

void sfs_hf_refusal_read(const struct sfs_http_headers *headers, const char *body,
			 size_t n, struct sfs_hf_refusal *ret);

/* What the sentence names. */
struct sfs_hf_asked {
	const char *repo, *revision, *endpoint;
	const char *path; /* of a file, or of a folder that was listed; NULL: neither, the
			   * request was for the revision */
	bool is_folder;
	const char *token_from; /* where the token comes from; NULL: there is none */
};

/* Write a sentence that says what is wrong and what to change. */
void sfs_hf_refusal_describe(const struct sfs_hf_refusal *refusal,
			     const struct sfs_hf_asked *asked, char *why, size_t size);

/* The negative errno of a refusal. */
int sfs_hf_refusal_err(const struct sfs_hf_refusal *refusal);

#endif
