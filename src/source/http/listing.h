/* SPDX-License-Identifier: MIT */
/* listing - lists a bucket of a store page by page, and keeps what a URL means
 * (key-pattern.h). */
#ifndef SFS_LISTING_H
#define SFS_LISTING_H

#include "base/error.h"
#include "source/http/curl-call.h"
#include "source/http/dialect.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sfs_listing_item {
	char *key;
	uint64_t size;
	char *tag;	 /* a strong one with its quotes; NULL: the server gave none */
	int64_t mtime_s; /* 0: it did not say */
};

struct sfs_listing {
	struct sfs_listing_item *items;
	size_t n;
	char *next; /* the token of the next page; NULL: this is the last */
};

/* Takes over what *item holds. */
void sfs_listing_add(struct sfs_listing *listing, struct sfs_listing_item *item);
void sfs_listing_item_done(struct sfs_listing_item *item);
void sfs_listing_done(struct sfs_listing *listing);

/* Digits only, below 2^63. */
bool sfs_listing_read_size(const char *s, uint64_t *ret);

/* What a request for a page asks for. */
struct sfs_listing_ask {
	const char *bucket, *pattern;
	const char *token; /* NULL: the first page */
};

/* Make the request, and read the page.  < 0: *err says why, and *ret_again is whether it
 * may be made again. */
typedef int sfs_listing_get(void *ctx, const struct sfs_listing_ask *ask,
			    struct sfs_listing *ret, enum sfs_renewal *ret_again,
			    struct sfs_error *err);

/* sfs_curl_call() for a page: a connection that broke may be tried again.  A server that
 * got too many requests (429) is asked again when it says so, as far as there is time. */
int sfs_listing_call(struct sfs_curl_caller *caller, const struct sfs_curl_call *call,
		     struct sfs_curl_answer *ret, enum sfs_renewal *ret_again,
		     struct sfs_error *err);

/* One page: it is asked for again where that is of use, as below.  Waits. */
int sfs_listing_get_page(int n_retries, sfs_listing_get *get, void *ctx,
			 const struct sfs_listing_ask *ask, struct sfs_listing *ret,
			 struct sfs_error *err);

/* The objects that the URL means, in the order of their keys' bytes.  Pages that fail are
 * asked for again, where that is of use; with SFS_RENEWAL_SOON twice at most, or
 * n_retries times.  Waits.  -ENOTDIR: it is the URL of one object; -ENOENT: there are
 * none; others; *err says why. */
int sfs_listing_read(const struct sfs_uri *uri, int n_retries, sfs_listing_get *get,
		     void *ctx, struct sfs_listing *ret, struct sfs_error *err);

#endif
