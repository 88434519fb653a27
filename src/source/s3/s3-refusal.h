/* SPDX-License-Identifier: MIT */
/* s3-refusal - why a server of S3 refused a request, and what to do about it.
 *
 * The reason is in the body, as XML.  Every byte of it comes from a server.  Pure.
 */
#ifndef SFS_S3_REFUSAL_H
#define SFS_S3_REFUSAL_H

#include "source/http/headers.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sfs_s3_reason {
	SFS_S3_OTHER,
	SFS_S3_EXPIRED, /* the token */
	SFS_S3_NO_ACCESS_KEY,
	SFS_S3_WRONG_SECRET,
	SFS_S3_DENIED,
	SFS_S3_NO_BUCKET,
	SFS_S3_NO_KEY,
	SFS_S3_WRONG_REGION,
	SFS_S3_CLOCK,
	SFS_S3_PAYER, /* the requester pays, and did not say so */
	SFS_S3_LATER, /* the server is busy */
};

struct sfs_s3_refusal {
	enum sfs_s3_reason reason;
	int status;
	char code[64], message[256]; /* the server's; printable */
	char region[40]; /* the bucket's, as far as the server says; else "" */
	int64_t date_s;	 /* the server's time; 0: it did not say */
};

/* `body` may be NULL. */
void sfs_s3_refusal_read(const struct sfs_http_headers *headers, const char *body,
			 size_t n, struct sfs_s3_refusal *ret);

/* What the sentences call things. */
struct sfs_s3_words {
	const char *no_credentials; /* what to do where there are none */
	const char *token, *new_token; /* what may expire, and what to do then */
	const char *may_read, *may_list;
	const char *payer; /* what to do where the requester pays */
};

extern const struct sfs_s3_words sfs_s3_words_aws, sfs_s3_words_google;

/* What the sentence names. */
struct sfs_s3_asked {
	const struct sfs_s3_words *words;
	const char *bucket, *key; /* key NULL: the request was for a listing */
	const char *url;	  /* the bucket's */
	const char *region;
	const char *credentials; /* where they come from; NULL: the request had none */
	bool is_anonymous;	 /* and was to have none */
	bool is_temporary;	 /* they have a session token, and so an end */
	int64_t now_s;		 /* the time on this machine */
};

/* Write a sentence that says what is wrong and what to change. */
void sfs_s3_refusal_describe(const struct sfs_s3_refusal *refusal,
			     const struct sfs_s3_asked *asked, char *why, size_t size);

/* The negative errno of a refusal. */
int sfs_s3_refusal_err(const struct sfs_s3_refusal *refusal);

#endif
