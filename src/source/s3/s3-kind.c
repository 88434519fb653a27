/* SPDX-License-Identifier: MIT */
#include "source/s3/s3-kind.h"

#include "source/s3/aws-credentials.h"
#include "source/s3/google-credentials.h"

const struct sfs_s3_kind sfs_s3_aws = {
	.scheme = SFS_SCHEME_S3,
	.name = "S3",
	.words = &sfs_s3_words_aws,
	.find = sfs_aws_credentials_find,
	.settings = sfs_aws_settings,
	.region = "us-east-1",
	.has_regions = true,
	.encodes_keys = true,
};

/* Its signatures name a region, and any will do.  Names have no characters that XML could
 * not hold, and how it would encode a '+' is not documented. */
const struct sfs_s3_kind sfs_s3_google = {
	.scheme = SFS_SCHEME_GS,
	.name = "Google Cloud Storage",
	.words = &sfs_s3_words_google,
	.find = sfs_google_credentials_find,
	.settings = sfs_google_settings,
	.region = "auto",
	.takes_bearer = true,
	.has_generations = true,
};
