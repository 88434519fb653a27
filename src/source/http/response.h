/* SPDX-License-Identifier: MIT */
/* answer - what an HTTP answer to a request for a range means.
 *
 * An answer is believed only after its status, Content-Range, Content-Encoding and
 * version were compared with what was asked for.  If-Match goes along where there is a
 * strong tag, and the tag of every answer is compared all the same: AIStore and WebHDFS
 * ignore If-Match, MinIO ignores If-Range (so that is never sent).
 *
 * A version is a size and an ETag; where the tag is weak or missing, also a
 * Last-Modified.  Any difference of tags is another version: one that came or went, too.
 *
 * The size comes from the Content-Range of a small range, never from HEAD, which
 * presigned URLs and WebHDFS refuse.  A size that no tar has (a few bytes, or none) is
 * only a claim: a server that is ill says such things.  It is believed if the server
 * confirms it when it is asked for the whole object.
 *
 * No network in here: what was asked and the answer's headers are arguments.
 */
#ifndef SFS_RESPONSE_H
#define SFS_RESPONSE_H

#include "source/http/headers.h"
#include "source/source.h"

/* What a server said of a tiny object. */
struct sfs_claim {
	uint64_t size;	  /* SFS_SIZE_UNKNOWN: nothing was claimed */
	uint64_t version; /* a hash of its tag and date; 0: it said neither */
	bool is_explicit; /* it said so of the range: a 416 with a size of 0 */
};

struct sfs_http_query {
	struct sfs_object *object;
	bool is_ask;	      /* for the size, by its first bytes */
	bool may_be_tiny;     /* of an ask: it need not be a tar */
	uint64_t first, last; /* the range, both included */
	/* Of an ask, not NULL: the whole object was asked for, to confirm this. */
	const struct sfs_claim *claim;
	const char *if_match;  /* the tag that was sent, or NULL */
	bool verify_size_only; /* replicas may disagree about the rest */
};

enum sfs_response_outcome {
	SFS_RESPONSE_BYTES, /* the bytes that were asked for follow */
	SFS_RESPONSE_AGAIN, /* may be better next time */
	SFS_RESPONSE_REDIRECT,
	SFS_RESPONSE_FINAL, /* stays so: the verdict's err */
	SFS_RESPONSE_TINY, /* an object that is no tar, if that is confirmed: see claim */
};

struct sfs_response_error {
	int err;		/* of FINAL: a negative errno */
	char why[768];		/* of AGAIN and FINAL: a sentence */
	struct sfs_claim claim; /* of TINY */
};

enum sfs_response_outcome sfs_response_judge(const struct sfs_http_query *q,
					     const struct sfs_http_headers *a,
					     struct sfs_response_error *ret_verdict);

/* Say why.  Return SFS_RESPONSE_AGAIN, and SFS_RESPONSE_FINAL. */
int sfs_response_again(struct sfs_response_error *v, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
int sfs_response_final(struct sfs_response_error *v, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* An ask was answered with BYTES, to its end: this is the object from now on. */
void sfs_response_learn(struct sfs_object *object, const struct sfs_http_headers *a);

/* Does an AGAIN with this status say "later" (the server is busy or out of order), and
 * not "no"? */
bool sfs_response_is_later(int status);

#endif
