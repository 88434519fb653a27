/* SPDX-License-Identifier: MIT */
/* headers - what the headers of an HTTP response say (RFC 9110, 9111).
 *
 * Header lines go in one by one; out comes what a reader of ranges must know.
 * Pure; every byte of it comes from a server that may be broken or hostile.
 *
 * Versions are compared by an ETag or a date of any length: one that does not fit, or
 * that holds control characters, is kept as its beginning, its length and a hash.  If a
 * header comes several times, all its values together are the validator. */
#ifndef SFS_HEADERS_H
#define SFS_HEADERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define SFS_HTTP_UNKNOWN UINT64_MAX

struct sfs_http_headers {
	int status;
	uint64_t length;	/* Content-Length, or SFS_HTTP_UNKNOWN */
	bool is_coded;		/* Transfer-Encoding: there is no length */
	bool has_range;		/* a Content-Range that names bytes: first to last */
	uint64_t first, last;	/* both included */
	uint64_t total;		/* of Content-Range, also in a 416; or SFS_HTTP_UNKNOWN */
	char etag[256];		/* as sent, or shortened; "" if none */
	char last_modified[96]; /* as sent, or shortened; "" if none */
	char *location;		/* as sent, of any length; NULL if none */
	char encoding[32];	/* Content-Encoding; "" if none or identity */
	int64_t retry_after_s;	/* -1: none */
	int64_t limited_s; /* of RateLimit: until there is more; -1: nothing is used up */
	int64_t date_s;		/* of Date, in seconds since 1970; 0 if none */
	char bucket_region[40]; /* of S3's x-amz-bucket-region; "" if none */
	char generation[24];	/* of Google's x-goog-generation; "" if none */
	char ais_version[96], ais_checksum[160]; /* of AIStore; "" if none */
	char error_code[40], linked_etag[160]; /* of Hugging Face; "" if none */
	bool is_multipart;
	bool is_page;	   /* HTML */
	bool is_like_s3;   /* a header of S3's, or XML, as its errors are */
	bool is_ambiguous; /* two lengths, or two ranges */
	bool is_whole;	   /* the head has ended: later lines are trailers, ignored */
};

/* Begin; a status line begins anew (1xx, redirects).  A copy of the struct borrows. */
void sfs_http_headers_init(struct sfs_http_headers *a);
void sfs_http_headers_done(struct sfs_http_headers *a);

/* Take one header line, with or without its CR LF.  `now` is the wall time, for
 * a Retry-After that is a date.  Lines that mean nothing to us are ignored. */
void sfs_http_headers_add(struct sfs_http_headers *a, const char *line, size_t n,
			  time_t now);

/* After how many seconds does the server want to be asked again?  Retry-After says so, or
 * of a 429 RateLimit; -1: neither. */
int64_t sfs_http_headers_after_s(const struct sfs_http_headers *a);

/* The errno of a status that refuses an object, where its body does not say more. */
int sfs_http_status_err(int status);

/* Are two responses with this tag of one version, byte for byte?  Two weak tags (W/"...")
 * that are equal do not prove it. */
bool sfs_http_etag_is_strong(const char *etag);

/* May it go into If-Match?  Only a strong one, as it was sent. */
bool sfs_http_etag_can_be_sent(const char *etag);

#endif
