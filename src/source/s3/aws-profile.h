/* SPDX-License-Identifier: MIT */
/* aws-profile - the user's profile in ~/.aws/credentials and ~/.aws/config, or where
 * AWS_SHARED_CREDENTIALS_FILE and AWS_CONFIG_FILE say.
 *
 * Reads two small files, so it may wait for the local disk.
 */
#ifndef SFS_AWS_PROFILE_H
#define SFS_AWS_PROFILE_H

#include "base/error.h"

#include <stdbool.h>

struct sfs_aws_profile {
	char *name; /* of AWS_PROFILE, or "default" */
	char *credentials_path, *config_path;
	char *credentials, *config; /* what the files hold; NULL: there is none */
};

/* -EINVAL: AWS_PROFILE names one that is in neither file; others: a file cannot be read;
 * *err says which.  There need be no file. */
int sfs_aws_profile_load(struct sfs_aws_profile *ret, struct sfs_error *err);
void sfs_aws_profile_done(struct sfs_aws_profile *profile);

/* A setting of the profile: that of the credentials' file, or else that of the other.  The
 * caller frees it.  NULL: there is none. */
char *sfs_aws_profile_get(const struct sfs_aws_profile *profile, const char *name);

/* Pure: the setting in such a file's text; NULL if it has none.  `section` as it is
 * between the brackets.  `name` NULL: "" if the section is there. */
char *sfs_aws_profile_find(const char *text, const char *section, const char *name);

#endif
