/* SPDX-License-Identifier: MIT */
/* s3-kind - in what the services differ that speak S3's language: AWS and its like, and
 * Google Cloud Storage by its XML API. */
#ifndef SFS_S3_KIND_H
#define SFS_S3_KIND_H

#include "source/http/keys.h"
#include "source/s3/s3-refusal.h"

struct sfs_s3_kind {
	enum sfs_scheme scheme;
	const char *name;
	const struct sfs_s3_words *words;
	sfs_keys_find *find;

	/* The region and the endpoint that the user's settings name; each NULL if they
	 * name none.  The caller frees both. */
	int (*settings)(char **ret_region, char **ret_endpoint, struct sfs_error *err);

	const char *region;   /* that requests are signed for, if none is named */
	bool takes_bearer;    /* tokens of the options are for it, too */
	bool has_regions;     /* region= counts */
	bool encodes_keys;    /* in listings, as it is asked to */
	bool has_generations; /* which tell versions apart, better than tags */
};

extern const struct sfs_s3_kind sfs_s3_aws, sfs_s3_google;

#endif
