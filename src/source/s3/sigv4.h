/* SPDX-License-Identifier: MIT */
/* sigv4 - signs a request with AWS Signature Version 4, in its Authorization header.
 *
 * Pure: the time is an argument.  The caller gives path and query just as they are sent:
 * they are signed as they stand, as S3 wants it.
 */
#ifndef SFS_SIGV4_H
#define SFS_SIGV4_H

#include <stdint.h>

#define SFS_SIGV4_EMPTY \
	"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" /* no body */

struct sfs_sigv4_header {
	const char *name, *value; /* in lower case; without blanks at its ends */
};

struct sfs_sigv4_request {
	const char *method, *path;
	const char *query; /* "a=1&b=", sorted, each name with its '='; "" if none */
	const struct sfs_sigv4_header *headers; /* those to be signed, sorted by name */
	int n_headers;
	const char *payload_hash; /* of the body: SHA-256 in hex */
	const char *time;	  /* as in x-amz-date: see sfs_sigv4_time() */
	const char *region, *service, *key_id, *secret;
};

/* The key of a day, a region and a secret, for the next signature.  Begins as {0}.  Not
 * thread-safe. */
struct sfs_sigv4_key {
	unsigned char bytes[32];
	char *origin; /* what it was derived from; holds the secret */
};

void sfs_sigv4_key_done(struct sfs_sigv4_key *key);

/* The value of the header Authorization; the caller frees it. */
char *sfs_sigv4_sign(const struct sfs_sigv4_request *request, struct sfs_sigv4_key *key);

/* Write `s`, seconds since 1970, as "20130524T000000Z", and return buf. */
const char *sfs_sigv4_time(int64_t s, char buf[24]);

#endif
