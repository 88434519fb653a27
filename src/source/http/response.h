/* SPDX-License-Identifier: MIT */
/* response - what an HTTP response to a request for a range means.
 *
 * A response is believed only after its status, Content-Range, Content-Encoding and
 * version were compared with what was asked for.  If-Match is sent where there is a
 * strong tag, and the tag of every response is compared all the same: AIStore and WebHDFS
 * ignore If-Match, MinIO ignores If-Range (so that is never sent).
 *
 * A version is a size and an ETag; where the tag is weak or missing, also a
 * Last-Modified.  If tags differ, the version differs, even if one of them is missing.
 *
 * The size comes from the Content-Range of a small range, never from HEAD, which
 * presigned URLs and WebHDFS refuse.  A size that no tar has (a few bytes, or none) is
 * only a claim, because broken servers make such claims.  It is believed if the server
 * confirms it when it is asked for the whole object.  One that is no whole number of
 * blocks, as of a copy that was cut off, is believed when it comes twice.
 *
 * Pure.
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
	bool is_status;	      /* for size and version, without bytes; see dialect.h */
	bool may_be_tiny;     /* of an ask: it need not be a tar */
	uint64_t first, last; /* the range, both included */
	bool is_exact;	      /* of an ask: a response with less is not the one to it */
	/* Of an ask, not NULL: the whole object was asked for, to confirm this. */
	const struct sfs_claim *claim;
	uint64_t odd_size; /* of an ask: what the response before said; 0: nothing odd */
	unsigned n_odd;	   /* and how often in a row */
	bool is_elsewhere; /* the dialect's own: the GET goes to where a redirect led */
	const char *if_match;  /* the tag that was sent, or NULL; the dialect sets it */
	bool verify_size_only; /* replicas may disagree about the rest */
};

enum sfs_response_outcome {
	SFS_RESPONSE_BYTES, /* the bytes that were asked for follow */
	SFS_RESPONSE_AGAIN, /* of no use, and may be better next time; see err */
	SFS_RESPONSE_REDIRECT,
	SFS_RESPONSE_FINAL, /* will stay so: see err */
	SFS_RESPONSE_TINY,  /* too small for a tar: to be confirmed, see claim */
	SFS_RESPONSE_ODD,   /* no size of a tar: to be asked for again, see claim.size */
	SFS_RESPONSE_IN_BODY, /* to a status: the body says it */
};

struct sfs_response_error {
	/* Of FINAL: a negative errno.  Of AGAIN: that errno, if the server goes on to say
	 * so; 0: none in particular. */
	int err;
	bool is_later;		/* of AGAIN: as a 503, whatever the status is */
	char why[768];		/* of AGAIN and FINAL: a sentence */
	struct sfs_claim claim; /* of TINY and ODD */
};

enum sfs_response_outcome sfs_response_judge(const struct sfs_http_query *q,
					     const struct sfs_http_headers *a,
					     struct sfs_response_error *ret_error);

/* The same of an object whose size and tag a listing may have said: an ask compares
 * them. */
enum sfs_response_outcome sfs_response_judge_listed(const struct sfs_http_query *q,
						    const struct sfs_http_headers *a,
						    struct sfs_response_error *ret_error);

/* Set the sentence, and err (again: 0).  Return SFS_RESPONSE_AGAIN, and final
 * SFS_RESPONSE_FINAL.  A doubt is what would be final if the server said it steadily: one
 * cache of many may be wrong, once. */
int sfs_response_again(struct sfs_response_error *error, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
int sfs_response_doubt(struct sfs_response_error *error, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
int sfs_response_final(struct sfs_response_error *error, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The response to an ask was BYTES, and has come to its end: set the object's size, time
 * and version. */
void sfs_response_learn(struct sfs_object *object, const struct sfs_http_headers *a);

/* Does this status mean "later", because the server is busy or out of order? */
bool sfs_response_is_later(int status);

/* The response was judged `outcome`, and the server says in its body why it refused: that
 * leaves no doubt, unless the server is busy.  What is it now? */
enum sfs_response_outcome sfs_response_told(bool says_later, int status,
					    enum sfs_response_outcome outcome);

#endif
