/* SPDX-License-Identifier: MIT */
/* webhdfs-refusal - why WebHDFS refused a request, and what to do about it.
 *
 * The reason is an exception of Java's, in the body as JSON; a 403 has several.  Every
 * byte of it comes from a server.  Pure.
 */
#ifndef SFS_WEBHDFS_REFUSAL_H
#define SFS_WEBHDFS_REFUSAL_H

#include <stdbool.h>
#include <stddef.h>

struct sfs_webhdfs_refusal {
	int status;
	/* The exception, and the first line of its message; printable, without queries.
	 * "": it is no exception of Hadoop's. */
	char exception[64], message[256];
	bool is_of_rpc; /* a port that talks RPC, not HTTP */
};

void sfs_webhdfs_refusal_read(int status, const char *body, size_t n,
			      struct sfs_webhdfs_refusal *ret);

/* The negative errno of a refusal. */
int sfs_webhdfs_refusal_err(const struct sfs_webhdfs_refusal *refusal);

/* May it be better soon: another namenode takes over, or a block comes back? */
bool sfs_webhdfs_refusal_is_later(const struct sfs_webhdfs_refusal *refusal);

/* Has the file no byte where a range began? */
bool sfs_webhdfs_refusal_is_of_range(const struct sfs_webhdfs_refusal *refusal);

/* What the sentence names. */
struct sfs_webhdfs_asked {
	const char *path;	/* of a file; of a folder with a '/' at its end, or "" */
	const char *user;	/* NULL: none was named */
	const char *token_from; /* where the token comes from; NULL: there is none */
	bool has_more;		/* namenodes than this one are known */
	bool can_negotiate;	/* this libcurl knows SPNEGO */
	bool has_negotiated;	/* it was tried */
};

/* Write a sentence that says what is wrong and what to change. */
void sfs_webhdfs_refusal_describe(const struct sfs_webhdfs_refusal *refusal,
				  const struct sfs_webhdfs_asked *asked, char *why,
				  size_t size);

#endif
