/* SPDX-License-Identifier: MIT */
/* ais-refusal - why AIStore refused a request, and what to do about it.
 *
 * The reason is in the body, as JSON.  Every byte of it comes from a server.  Pure.
 */
#ifndef SFS_AIS_REFUSAL_H
#define SFS_AIS_REFUSAL_H

#include <stddef.h>

struct sfs_ais_refusal {
	int status;
	char code[48], message[256]; /* the server's; printable, without queries */
};

void sfs_ais_refusal_read(int status, const char *body, size_t n,
			  struct sfs_ais_refusal *ret);

/* What the sentence names. */
struct sfs_ais_asked {
	const char *bucket, *key;	 /* key NULL: the request was for a listing */
	const char *endpoint, *provider; /* provider NULL: none was named */
	const char *token_from; /* where the token comes from; NULL: there is none */
};

/* Write a sentence that says what is wrong and what to change. */
void sfs_ais_refusal_describe(const struct sfs_ais_refusal *refusal,
			      const struct sfs_ais_asked *asked, char *why, size_t size);

/* The negative errno of a refusal. */
int sfs_ais_refusal_err(const struct sfs_ais_refusal *refusal);

#endif
