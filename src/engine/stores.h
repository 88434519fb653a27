/* SPDX-License-Identifier: MIT */
/* stores - the stores of the HTTP source, by scheme: each is started when the first of
 * its URLs comes.
 *
 * One thread at a time.
 */
#ifndef SFS_STORES_H
#define SFS_STORES_H

#include "config/options.h"
#include "source/http/dialect.h"
#include "source/http/listing.h"

#define SFS_STORES_MOST 8

struct sfs_stores {
	const struct sfs_options *options; /* borrowed */
	struct sfs_store *stores[SFS_STORES_MOST];
	int n;
};

/* What the options say of HTTP; strings are borrowed. */
struct sfs_http_options sfs_stores_http_options(const struct sfs_options *options);

/* Have the store of this scheme, if the scheme has one.  It may wait, for credentials.
 * < 0: a setting is wrong; *err says which. */
int sfs_stores_start(struct sfs_stores *stores, enum sfs_scheme scheme,
		     struct sfs_error *err);

/* That of this scheme, if it was started; else NULL. */
struct sfs_store *sfs_stores_find(const struct sfs_stores *stores,
				  enum sfs_scheme scheme);

/* Have its store learn what it has to of the URL of an object. */
int sfs_stores_meet(struct sfs_stores *stores, const struct sfs_uri *uri,
		    struct sfs_error *err);

/* The objects that a URL means; see struct sfs_store. */
int sfs_stores_list(struct sfs_stores *stores, const struct sfs_uri *uri,
		    struct sfs_listing *ret, struct sfs_error *err);

/* Stop all; after the source. */
void sfs_stores_done(struct sfs_stores *stores);

#endif
